"""W3 over HTTP: an epoch from a slow server, against what so many requests at once could bring at best."""
import time
from math import prod

import zarr_stores
from workloads.workload import Case, Column, Workload

BATCH = 16
SECONDS = 3


def chunk_sizes(store):
    """Bytes of every stored chunk; those of shards are about alike."""
    sizes = [path.stat().st_size for path in store.folder.rglob("*") if path.is_file() and path.name[0] not in ".z"]
    if store.shards is None:
        return sizes
    inner = prod(store.shards) // prod(store.chunks)
    return [size / inner for size in sizes for _ in range(inner)]


def epoch_seconds(peer, store, requests):
    """A whole epoch of a loader that has opened the store."""
    loader = peer.remote_loader(store, BATCH, requests)
    started = time.perf_counter()
    delivered = sum(len(batch) for batch in loader)
    assert delivered == store.count, delivered
    return time.perf_counter() - started


def measure(peer, store, requests):
    import slow_server
    from workloads import batch_timing  # needs NumPy, which only the measured process has
    local = zarr_stores.WEATHER[store]
    with slow_server.started(local.folder.parent) as url:
        remote = local.served_at(url)
        if hasattr(peer, "remote_loader"):
            seconds = epoch_seconds(peer, remote, requests)
        else:
            timed = batch_timing.timed_reader(peer, remote, BATCH, requests, SECONDS, least=3)
            seconds = local.count / BATCH * timed["batch_ms"] / 1e3
    return {"samples_per_second": local.count / seconds,
            "of_ideal": slow_server.ideal_seconds(chunk_sizes(local), requests) / seconds}


def cases():
    for requests in (8, 16, 32, 64):
        yield Case("penstock", "penstock_zarr", {"store": "v2_c16", "requests": requests})
    for store in ("v2_c1", "v3_shard"):
        yield Case("penstock", "penstock_zarr", {"store": store, "requests": 32})
    for store in ("v2_c16", "v2_c1", "v3_shard"):
        options = {"store": store, "requests": 32}
        yield Case("TensorStore", "tensorstore_index", options)
        yield Case("zarr-python, oindex", "zarr_oindex", options)
        if store != "v3_shard":
            yield Case("plain, aiohttp", "plain_requests", options, hand_written=True)


WORKLOAD = Workload(
    "w3http", "Zarr over HTTP",
    f"The samples of the section above, batch {BATCH}, from a server of this machine that waits 30 ms before each "
    "answer and sends 20 MB/s over each connection; the heading says how many requests are in flight at once. "
    "Penstock: a whole shuffled epoch, from asking for its first batch, with memory=1GiB. The others: the median "
    "batch, as they do not read ahead. Ideal: every chunk is one request and all requests are always in flight; it "
    "includes neither decoding nor a server that shares the machine, but a reader that merges or splits requests can "
    "beat it.",
    list(cases()),
    [Column("samples_per_second", "samples/s"), Column("of_ideal", "of ideal", digits=2)],
    measure, group_by=("store", "requests"))
