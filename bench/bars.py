"""The bars that Penstock holds itself to, and whether a set of results meets them."""
import array_bars
import cache_bars
from bar import Bar, at_least, at_most, quotient


def bars(medians):
    """medians: see report.Medians. Bars whose results are missing are left out."""
    found = []
    for rule in (antialiased, plain, first_batch, process_start, arrays, arrays_first_batch, scheduler, memory,
                 records, checksums, open_records, cold, *array_bars.RULES, *cache_bars.RULES):
        found += [bar for bar in rule(medians) if bar]
    return found


def antialiased(medians):
    value = lambda case: medians.value("w1aa", case, "images_per_second")
    for peer, needed in (("DALI", 1.6), ("torch + Pillow", 2.2)):
        yield at_least(f"JPEG antialiased, against {peer}", quotient(value("penstock"), value(peer)), needed)


def plain(medians):
    ours = medians.value("w1plain", "penstock", "images_per_second")
    threads = medians.value("w1plain", "OpenCV threads", "images_per_second")
    yield at_least("JPEG plain bilinear, against hand-written OpenCV threads", quotient(ours, threads), 1.25, 1.4)
    name, best = medians.best_released("w1plain", "images_per_second", max)
    yield at_least("JPEG plain bilinear, against the fastest released loader", quotient(ours, best), 1.5, 1.7,
                   f" ({name})")


def first_batch(medians):
    for antialias, kind in ((True, "antialiased"), (False, "plain bilinear")):
        ours = medians.value("first", "penstock", "first_batch_ms", antialias)
        name, best = medians.best_released("first", "first_batch_ms", min, antialias)
        yield at_least(f"First batch of 64, {kind}: times sooner than the best released loader",
                       quotient(best, ours), 2, note=f" ({name})")


def process_start(medians):
    value = lambda case: medians.value("start", case, "first_batch_ms")
    yield at_least("Process start to first NumPy batch, import of torch counted on its side: times sooner than torch, 2 workers",
                   quotient(value("torch + Pillow"), value("penstock")), 4)


def arrays(medians):
    for key, epochs in (("later_epochs_per_second", "later epochs"), ("first_epoch_per_second", "first epoch")):
        for peer, needed in (("reused buffers, threads", 0.9), ("DALI", 1.5), ("torch, 2 workers", 4)):
            ratios = {batch: quotient(medians.value("w2", "penstock", key, batch), medians.value("w2", peer, key, batch))
                      for batch in medians.groups("w2")}
            ratios = {batch: ratio for batch, ratio in ratios.items() if ratio}
            if ratios:
                worst = min(ratios, key=ratios.get)
                yield at_least(f"Arrays, {epochs}, against {peer}: worst batch size", ratios[worst], needed,
                               note=f" (batch {worst})")


def arrays_first_batch(medians):
    value = lambda case: medians.value("w2", case, "first_batch_ms", 512)
    yield at_least("Arrays, first batch of 512: times sooner than torch, 4 workers",
                   quotient(value("torch, 4 workers"), value("penstock")), 5)


def scheduler(medians):
    rates = [medians.value("scheduler", "penstock", "later_epochs_per_second", batch)
             for batch in medians.groups("scheduler")]
    rates = [rate for rate in rates if rate]
    if rates:
        yield Bar("Scheduler, samples of 1 KB: worst batch size", ">= 300,000/s", f"{min(rates):,.0f}/s",
                  min(rates) >= 300_000)


def memory(medians):
    ratios = [medians.value("rss", case, "ratio") for case in medians.cases("rss")]
    ratios = [ratio for ratio in ratios if ratio]
    if ratios:
        yield Bar("Peak memory over `import penstock`, of memory=: worst case", "<= 1.10", f"{max(ratios):.2f}",
                  max(ratios) <= 1.10)


def records(medians):
    for antialias, kind in ((True, "antialiased"), (False, "plain bilinear")):
        value = lambda case: medians.value("w1rec", case, "images_per_second", antialias)
        name, best = medians.best_released("w1rec", "images_per_second", max, antialias)
        for source in ("tar", "TFRecord"):
            ours = value(f"penstock, {source}")
            yield at_least(f"JPEG from {source}, {kind}, against Penstock's folder",
                           quotient(ours, value("penstock, folder")), 0.95)
            yield at_least(f"JPEG from {source}, {kind}, against the fastest released loader of records",
                           quotient(ours, best), 1.5, note=f" ({name})")


def checksums(medians):
    # Bytes as stored are only read and copied: the table shows them, training throughput is what counts.
    yield at_most("TFRecord checksums, training pipeline: cost", medians.value("crc", "penstock, images", "cost_percent"),
                  3, "%")


def open_records(medians):
    rate = medians.value("open", "penstock, tar", "first_open_per_second")
    if rate:
        yield Bar("First open of a million records, tar", ">= 500,000/s", f"{rate:,.0f}/s", rate >= 500_000)
    for source in ("tar", "TFRecord"):
        value = lambda key: medians.value("open", f"penstock, {source}", key)
        yield at_most(f"Second open of a million records, {source}", value("second_open_ms"), 500, "ms")
        yield at_most(f"Second open of a million records, {source}: growth", value("second_open_mb"), 200, "MB")


def cold(medians):
    rates = {source: medians.value("cold", f"penstock, {source}", "images_per_second")
             for source in ("folder", "tar", "TFRecord")}
    rates = {source: rate for source, rate in rates.items() if rate}
    name, best = medians.best_released("cold", "images_per_second", max)
    if rates and best:
        worst = min(rates, key=rates.get)
        yield at_least("JPEG from a cold page cache, against the fastest released loader: worst source",
                       quotient(rates[worst], best), 1, note=f" ({worst} against {name})")
