"""The bars of chunked arrays: Zarr, HTTP and patches. See bars."""
from statistics import geometric_mean

from bar import at_least, at_most, quotient
from workloads.http_first_batch import REQUESTS, SETTINGS, chunks_of_batch
from zarr_stores import LARGE_CHUNKS, WEATHER


def worst(text, ratios, needed):
    """The bar for the smallest of {where: ratio}."""
    ratios = {where: ratio for where, ratio in ratios.items() if ratio}
    if not ratios:
        return None
    where = min(ratios, key=ratios.get)
    return at_least(f"{text}: worst case", ratios[where], needed, note=f" ({where})")


def mean(text, ratios, needed):
    ratios = [ratio for ratio in ratios if ratio]
    return at_least(f"{text}: geometric mean", geometric_mean(ratios), needed) if ratios else None


def zarr_cells(medians):
    """(name of the cell, Penstock's ms, key, batch)"""
    for batch in medians.groups("w3"):
        for store in WEATHER:
            key = f"{store}_ms"
            yield f"{store}, batch {batch}", medians.value("w3", "penstock", key, batch), key, batch


def zarr(medians):
    others, peers, dask = {}, [], []
    for cell, ours, key, batch in zarr_cells(medians):
        name, best = medians.best_other("w3", key, min, batch)
        others[f"{cell}, {name}"] = quotient(best, ours)
        peers.append(quotient(medians.best_released("w3", key, min, batch)[1], ours))
        dask.append(quotient(medians.value("w3", "dask", key, batch), ours))
    yield worst("Zarr batches, against the best of all others, hand-written ones too", others, 0.9)
    yield mean("Zarr batches, against the fastest released reader of each store", peers, 1.1)
    yield mean("Zarr batches, against dask", dask, 5)


def large_chunks(medians):
    ratios = {}
    for store in LARGE_CHUNKS:
        name, best = medians.best_released("w3chunks", "samples_per_second", max, store)
        ours = medians.value("w3chunks", "penstock", "samples_per_second", store)
        ratios[f"{store}, {name}"] = quotient(ours, best)
    yield worst("Zarr chunks of many samples, our windows against uniform draws of the fastest released loader", ratios, 4)
    yield same_draws(medians, "w3same", "Zarr chunks of many samples")


def same_draws(medians, workload, text):
    ratios = {}
    for group in medians.groups(workload):
        for draws in ("clustered", "uniform"):
            value = lambda case: medians.value(workload, f"{case}, {draws}", "per_second", group)
            ratios[f"{draws}, {group}" if group else draws] = quotient(value("penstock"), value("TensorStore"))
    return worst(f"{text}, against TensorStore with the same draws", ratios, 0.9)


def http(medians):
    shares = {f"{store}, {requests} requests": medians.value("w3http", "penstock", "of_ideal", (store, requests))
              for store, requests in medians.groups("w3http")}
    yield worst("Zarr over HTTP, of the ideal rate", shares, 0.9)


def http_first_batch(medians):
    ratios = {}
    for store, batch in SETTINGS:
        if chunks_of_batch(store, batch) < REQUESTS:
            name, best = medians.best_released("w3httpfirst", "first_batch_ms", min, (store, batch))
            ours = medians.value("w3httpfirst", "penstock", "first_batch_ms", (store, batch))
            ratios[f"{store}, batch {batch}, {name}"] = quotient(best, ours)
    yield worst("First Zarr batch over HTTP, fewer chunks than connections: times sooner than the best released reader",
                ratios, 2)


def patches(medians):
    for ours, peer, needed in (("penstock", "TensorStore", 3), ("penstock", "torch + zarr-python, 2 workers", 6),
                               ("penstock, all cached", "TensorStore, all cached", 0.9)):
        ratios = {f"batch {batch}": quotient(medians.value("w4", peer, "patch_ms", batch),
                                             medians.value("w4", ours, "patch_ms", batch))
                  for batch in medians.groups("w4")}
        yield worst(f"Patches, our clustered draws against uniform ones of {peer}", ratios, needed)
    yield same_draws(medians, "w4same", "Patches")


def long_run(medians):
    slower = medians.value("w3long", "penstock", "slower_percent")
    yield at_most("A long run of Zarr batches: slower at the end by", slower, 5, "%")


def million_chunks(medians):
    value = lambda key: medians.value("million", "penstock", key)
    yield at_most("First batch of a million chunks", value("first_batch_seconds"), 5, "s")
    yield at_most("First batch of a million chunks: peak memory", value("peak_mb"), 300, "MB")


RULES = (zarr, large_chunks, http, http_first_batch, patches, long_run, million_chunks)
