"""Whether a loader keeps its pace: late batches of a long run against early ones."""
import time

import zarr_stores
from workloads.workload import Case, Column, Workload

BATCH = 16
THREADS = 2
BATCHES = 400
EARLY, LATE = (20, 40), (200, 400)


def moments_of_loader(loader):
    """Yields when each batch came, over epochs without end."""
    while True:
        for _ in loader:
            yield time.perf_counter()


def moments_of_reader(read, count):
    import random
    while True:
        read(random.sample(range(count), BATCH))
        yield time.perf_counter()


def measure(peer):
    store = zarr_stores.WEATHER["v2_c16"]
    if hasattr(peer, "loader"):
        source = moments_of_loader(peer.loader(store, BATCH, THREADS))
    else:
        source = moments_of_reader(peer.reader(store, THREADS), store.count)
    moments = [next(source) for _ in range(BATCHES + 1)]
    early, late = (1e3 * (moments[end] - moments[begin]) / (end - begin) for begin, end in (EARLY, LATE))
    return {"late_ms": late, "early_ms": early, "slower_percent": 100 * (late / early - 1)}


WORKLOAD = Workload(
    "w3long", "A long run",
    f"{BATCHES} batches of {BATCH} samples of v2_c16, epoch after epoch: ms per batch of batches {LATE[0]}-{LATE[1]} "
    f"against batches {EARLY[0]}-{EARLY[1]}.",
    [Case("penstock", "penstock_zarr"), Case("TensorStore", "tensorstore_index"), Case("dask", "dask_array")],
    [Column("late_ms", "ms, late", higher_is_better=False, digits=1),
     Column("early_ms", "ms, early", higher_is_better=False, digits=1),
     Column("slower_percent", "late slower by, %", higher_is_better=False, digits=1)],
    measure)
