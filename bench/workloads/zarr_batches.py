"""W3: shuffled batches of weather-like samples from Zarr, over formats, chunks and shards."""
import zarr_stores
from workloads.workload import Case, Column, Workload

BATCHES = (4, 16)
SECONDS = 0.7
FIRST_STORE = next(iter(zarr_stores.WEATHER))


def measure(peer, batch, threads=2):
    from workloads import batch_timing  # needs NumPy, which only the measured process has
    values = {}
    for name, store in zarr_stores.WEATHER.items():
        if getattr(peer, "can_read", lambda _: True)(store):
            timed = batch_timing.timed(peer, store, batch, threads, SECONDS)
            values[f"{name}_ms"] = timed["batch_ms"]
            values[f"{name}_first_ms"] = timed["first_ms"]
    return values


def cases():
    for batch in BATCHES:
        yield Case("penstock", "penstock_zarr", {"batch": batch})
        yield Case("plain", "plain_chunks", {"batch": batch}, hand_written=True)
        yield Case("plain, reused memory", "plain_chunks_reused", {"batch": batch}, hand_written=True)
        yield Case("TensorStore", "tensorstore_index", {"batch": batch})
        yield Case("TensorStore, loop", "tensorstore_loop", {"batch": batch})
        yield Case("zarr-python, oindex", "zarr_oindex", {"batch": batch})
        yield Case("zarr-python, loop", "zarr_loop", {"batch": batch})
        yield Case("zarrs, oindex", "zarrs_oindex", {"batch": batch})
        yield Case("zarrs, loop", "zarrs_loop", {"batch": batch})
        yield Case("dask", "dask_array", {"batch": batch})
        yield Case("xbatcher", "xbatcher_windows", {"batch": batch})
        yield Case("torch + zarr-python, 2 workers", "torch_zarr", {"batch": batch})


WORKLOAD = Workload(
    "w3", "Zarr batches",
    "480 samples of float32 16x181x360 (4.2 MB each), ms per batch, two threads or workers. Zarr v2 is compressed by "
    "Blosc (lz4, shuffle), v3 by Zstandard 1; a chunk holds a whole sample (c16) or one of its 16 channels (c1), "
    "shards hold 16 samples of such channels. Penstock and torch: the mean over shuffled epochs, the first quarter of "
    "each left out. The others are asked for random samples, batch after batch; their "
    "median. xbatcher cannot take free choices: its batch is a run of neighbours. Values are compared with what was "
    "written. First batch: from opening the store, the first one of the process, imports apart.",
    list(cases()),
    [Column(f"{name}_ms", f"{name}, ms", higher_is_better=False, digits=1) for name in zarr_stores.WEATHER] +
    [Column(f"{FIRST_STORE}_first_ms", f"first batch of {FIRST_STORE}, ms", higher_is_better=False, digits=1)],
    measure, group_by="batch")
