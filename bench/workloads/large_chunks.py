"""W3, chunks that hold many samples: a shuffled epoch within a memory budget an eighth of the data."""
import time

import zarr_stores
from workloads.workload import Case, Column, Workload

BATCH = 32
THREADS = 2
SETTLE_BATCHES = 16  # enough to fill the caches
SECONDS = 4


def found_in(stats, key):
    """A number anywhere in nested dictionaries, or None."""
    if key in stats:
        return stats[key]
    inner = (found_in(value, key) for value in stats.values() if isinstance(value, dict))
    return next((value for value in inner if value is not None), None)


def whole_epoch(loader, store, started):
    """Samples a second from `started`, so construction counts."""
    delivered = sum(len(batch) for batch in loader)
    assert delivered == store.count, delivered
    return delivered / (time.perf_counter() - started)


def shared_chunks(loader, store):
    """One more epoch, which must be whole; returns its design effect if all samples of a chunk were alike: by how
    much the variance of a batch's mean exceeds that of samples drawn at random."""
    import numpy as np

    import sample_sums
    expected = sample_sums.read(store)
    seen, pairs, sharing = [], 0, 0
    for batch in loader:
        indices = sample_sums.indices(batch, expected)
        _, counts = np.unique(indices // store.chunks[0], return_counts=True)
        pairs += len(indices) * (len(indices) - 1)
        sharing += int((counts * (counts - 1)).sum())
        seen.append(indices)
    assert len(np.unique(np.concatenate(seen))) == store.count, "not every sample came"
    by_chance = (store.chunks[0] - 1) / (store.count - 1)
    return 1 + (BATCH - 1) * (sharing / pairs - by_chance)


def batches(peer, store):
    if hasattr(peer, "loader"):
        yield from peer.loader(store, BATCH, THREADS)
        return
    import random

    from peers.ahead import shuffled_groups
    read = peer.reader(store, THREADS)
    for indices in shuffled_groups(range(store.count), BATCH, random):
        yield read(indices)


def partial_epoch(peer, store):
    """Samples a second of a part of the epoch, after the first batches."""
    delivered, started = 0, None
    for number, batch in enumerate(batches(peer, store)):
        if started is not None:
            delivered += len(batch)
            if time.perf_counter() - started > SECONDS:
                break
        elif number == SETTLE_BATCHES:
            started = time.perf_counter()
    return delivered / (time.perf_counter() - started)


def measure(peer, store, whole=False):
    store = zarr_stores.LARGE_CHUNKS[store]
    if not whole:
        return {"samples_per_second": partial_epoch(peer, store)}
    started = time.perf_counter()
    loader = getattr(peer, "small_loader", peer.loader)(store, BATCH, THREADS)
    values = {"samples_per_second": whole_epoch(loader, store, started)}
    values["design_effect"] = shared_chunks(loader, store)
    reported = found_in(loader.stats(), "design_effect") if hasattr(loader, "stats") else None
    return values if reported is None else {**values, "reported_design_effect": reported}


def cases():
    for store in zarr_stores.LARGE_CHUNKS:
        yield Case("penstock", "penstock_zarr", {"store": store, "whole": True})
        yield Case("plain, windows of 16 chunks", "plain_windows", {"store": store, "whole": True}, hand_written=True)
        yield Case("TensorStore, cache", "tensorstore_cached", {"store": store})
        yield Case("TensorStore", "tensorstore_index", {"store": store})
        yield Case("zarr-python, oindex", "zarr_oindex", {"store": store})
        yield Case("zarr-python, cache", "zarr_chunk_cache", {"store": store}, hand_written=True)
        yield Case("zarrs, oindex", "zarrs_oindex", {"store": store})
        yield Case("dask", "dask_array", {"store": store})
        yield Case("dask, cache", "dask_cached", {"store": store})
        yield Case("torch + zarr-python, 2 workers", "torch_zarr", {"store": store})


WORKLOAD = Workload(
    "w3chunks", "Zarr chunks of many samples, shuffled",
    f"32,768 samples of 64 KiB (2 GiB) in chunks of 10 or 64, Blosc lz4, batch {BATCH}, two threads or workers; every "
    "loader has 256 MiB for what it keeps. Penstock and the hand-written windows are timed over the whole epoch, "
    "start-up included; the others, which decode a chunk for nearly each sample and would take minutes, over "
    f"{SECONDS} s after the first {SETTLE_BATCHES} batches. Penstock shuffles the chunks, then the samples of 16 of "
    "them; the others draw all samples at random, so these ratios hold for the two samplers and not for the readers; "
    "the section below has the same draws for both. Design effect: by how much that makes a batch's mean vary more, "
    "if all samples of a chunk were alike (the worst case; 1: not at all), counted over an epoch, and as "
    "`loader.stats()` tells it. Memory: peak PSS of the process and its workers, imports included.",
    list(cases()),
    [Column("samples_per_second", "samples/s"),
     Column("peak_pss_mb", "peak memory (PSS), MB", higher_is_better=False),
     Column("design_effect", "design effect", higher_is_better=False, digits=2),
     Column("reported_design_effect", "as reported", higher_is_better=False, digits=2)],
    measure, group_by="store", samples_memory=True)
