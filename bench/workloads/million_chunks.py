"""Opening a Zarr array of a million chunks, and its first batch."""
import time

import zarr_stores
from workloads.peak_memory import MIB, resident_mib
from workloads.workload import Case, Column, Workload

BATCH = 32
THREADS = 2
STORE = zarr_stores.MANY_CHUNKS


def first_batch(peer):
    """(what must live until the clock was read, the batch)"""
    if hasattr(peer, "loader"):
        iterator = iter(peer.loader(STORE, BATCH, THREADS))
        return iterator, next(iterator)
    import random
    read = peer.reader(STORE, THREADS)
    return read, read(random.sample(range(STORE.count), BATCH))


def measure(peer):
    started = time.perf_counter()
    _kept, batch = first_batch(peer)
    seconds = time.perf_counter() - started
    assert batch.shape == (BATCH,) + STORE.shape[1:] and len(set(batch[:, 0])) == BATCH, batch
    return {"first_batch_seconds": seconds, "peak_mb": resident_mib("VmHWM") * MIB / 1e6}


WORKLOAD = Workload(
    "million", "A million chunks",
    f"An array of 1,000,000 chunks of 64 bytes, a file each: from opening it to a first batch of {BATCH} random "
    "samples, imports apart, and the peak of the resident memory of the whole process, imports included.",
    [Case("penstock", "penstock_zarr"), Case("TensorStore", "tensorstore_index"),
     Case("zarr-python, oindex", "zarr_oindex"), Case("dask", "dask_array")],
    [Column("first_batch_seconds", "first batch, s", higher_is_better=False, digits=3),
     Column("peak_mb", "peak memory, MB", higher_is_better=False)],
    measure)
