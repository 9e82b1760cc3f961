"""From constructing a loader to its first batch of a Zarr array behind HTTP."""
import time

import zarr_stores
from workloads.workload import Case, Column, Workload

REQUESTS = 32
SETTINGS = (("v2_c16", 4), ("v2_c16", 16), ("v2_c1", 4), ("v3_shard", 4))


def chunks_of_batch(store, batch):
    """Returns the number of chunks that a batch is made from."""
    store = zarr_stores.WEATHER[store]
    return batch * store.shape[1] // store.chunks[1]


def first_batch(peer, store, batch):
    """(what must live until the clock was read, the batch)"""
    if hasattr(peer, "remote_loader"):
        iterator = iter(peer.remote_loader(store, batch, REQUESTS))
        return iterator, next(iterator)
    read = peer.reader(store, REQUESTS)
    return read, read([(37 * slot + 11) % store.count for slot in range(batch)])


def measure(peer, store, batch):
    import sample_sums
    import slow_server
    local = zarr_stores.WEATHER[store]
    with slow_server.started(local.folder.parent) as url:
        started = time.perf_counter()
        _kept, first = first_batch(peer, local.served_at(url), batch)
        seconds = time.perf_counter() - started
        sample_sums.check(first, sample_sums.read(local), local.shape)
    return {"first_batch_ms": 1e3 * seconds}


def cases():
    for store, batch in SETTINGS:
        options = {"store": store, "batch": batch}
        yield Case("penstock", "penstock_zarr", options)
        yield Case("TensorStore", "tensorstore_index", options)
        yield Case("zarr-python, oindex", "zarr_oindex", options)
        if store != "v3_shard":
            yield Case("plain, aiohttp", "plain_requests", options, hand_written=True)


WORKLOAD = Workload(
    "w3httpfirst", "First Zarr batch over HTTP",
    f"The store is opened and the first batch awaited, from the slow server of the section above, with {REQUESTS} "
    "requests at once; imports apart. The hand-written reader knows the store and need not open it.",
    list(cases()), [Column("first_batch_ms", "ms", higher_is_better=False)], measure, group_by=("store", "batch"))
