"""The bars of the cache: hit ratios, epoch times, the budget, sharing, the disk tier. See bars."""
from bar import Bar, at_least, at_most, quotient
from workloads import cache_disk, cache_ratio, cache_shared, cache_time


def largest_off(text, distances, limit):
    """The bar for the largest of {where: distance}."""
    distances = {where: distance for where, distance in distances.items() if distance is not None}
    if not distances:
        return None
    where = max(distances, key=distances.get)
    return Bar(f"{text}: worst case", f"within {limit:g}", f"{distances[where]:.4f} off ({where})",
               distances[where] <= limit)


def ratio(medians):
    for policy, name, limit in (("keep", "Hit ratio of the cache, against c", 0.01),
                                ("lru", "Hit ratio of LRU, against its formula", 0.02)):
        distances = {f"c = {fraction:g}": medians.value("cacheratio", cache_ratio.case_name(fraction), f"{policy}_off")
                     for fraction in cache_ratio.FRACTIONS}
        yield largest_off(f"{name}, epochs 2-{cache_ratio.EPOCHS}", distances, limit)


def time(medians):
    value = lambda case: medians.value("cachetime", case, "later_epochs_s")
    misses, hits = value(cache_time.NONE), value(cache_time.ALL)
    for fraction in cache_time.FRACTIONS:
        measured = value(cache_time.case_name(fraction))
        if misses and hits and measured:
            line = (1 - fraction) * misses + fraction * hits
            off = measured / line - 1
            yield Bar(f"Epoch time with c = {fraction:g}, against the line between no cache and all cached",
                      "within 10 %", f"{100 * off:+.1f} %", abs(off) <= 0.1)
    yield at_least("Epoch, all cached, against hand-written OpenCV threads with a dict",
                   quotient(value(cache_time.THREADED), hits), 0.85)
    name, best = medians.best_released("cachetime", "later_epochs_s", min)
    yield at_least("Epoch, all cached, against the fastest loader with a cache of its own", quotient(best, hits), 2,
                   note=f" ({name})")


def budget(medians):
    value = lambda key: medians.value("cachebudget", "penstock", key)
    most = lambda key: max(medians.list_of("cachebudget", "penstock", key), default=None)  # one kill is too many
    if value("limit_mb"):
        where = "watched, no cgroup" if value("peak_cgroup_mb") is None else "in a cgroup"
        killed, swapped_mb = most("killed"), most("swapped_mb")
        yield Bar(f"Cache within budget + 400 MB ({where}), decoded data 3x the budget: killed, swapped", "no, 0 MB",
                  f"{'yes' if killed else 'no'}, {swapped_mb:.0f} MB", not killed and not swapped_mb)
        yield at_most("Cache within budget + 400 MB: peak memory (PSS)", most("peak_pss_mb"), round(value("limit_mb")),
                      "MB")
    yield at_most("First epoch that fills a cache: slower than without by", value("first_slower_percent"), 10, "%")
    yield at_least("Later epochs with a cache a fifth of the data, against none",
                   quotient(value("later_without_s"), value("later_s")), 1)


def shared(medians):
    value = lambda processes, key: medians.value("cacheshared", cache_shared.case_name(processes), key)
    several = [processes for processes in cache_shared.PROCESSES if processes > 1]
    for key, name in (("cache_pss_mb", "what all have mapped of it"), ("cache_blocks_mb", "its files")):
        times = {processes: quotient(value(processes, key), value(1, key)) for processes in several}
        times = {processes: growth for processes, growth in times.items() if growth}
        if times:
            worst = max(times, key=times.get)
            yield Bar(f"Cache of several processes, {name}, of what one process takes: worst case", "<= 1.05",
                      f"{times[worst]:.2f} ({worst} processes)", times[worst] <= 1.05)
    distances = {f"{processes} processes": value(processes, "off") for processes in several}
    yield largest_off("Joint hit ratio of several processes, against c", distances, 0.01)


def disk(medians):
    value = lambda case, key: medians.value("cachedisk", case, key)
    cases = (cache_disk.HALF, cache_disk.ALL, cache_disk.SERVING)
    yield largest_off("Disk tier: hit ratio of a second run's first epoch, against c",
                      {case.removeprefix("penstock, "): value(case, "off") for case in cases}, 0.01)
    for kind in ("warm", "cold"):
        yield at_least(f"Disk tier, {kind}: bytes per second, against sequential `pread`",
                       value(cache_disk.SERVING, f"{kind}_of_pread"), 0.8)


RULES = (ratio, time, budget, shared, disk)
