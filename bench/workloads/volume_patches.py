"""W4: random patches of a volume."""
import time

import places
import zarr_stores
from workloads.workload import Case, Column, Workload

THREADS = 2
SECONDS = 2.5
LEAST_PATCHES = 8
ALL_MIB = 2048   # more than the volume takes
ALL_SETTLE = 8000  # patches, after which every chunk was wanted once, also where they come region by region


def location(volume):
    return places.VOLUME_FILE if volume == "npy" else zarr_stores.VOLUMES[volume].folder


def check(batch, size):
    """Patches as float32, of the volume's brightness and with its noise."""
    import numpy as np

    from peers.random_patches import SIZE
    batch = np.asarray(batch)
    assert batch.shape == (size,) + SIZE and batch.dtype == np.float32, (batch.shape, batch.dtype)
    assert 60 < batch.mean() < 140 and batch.std() > 5 and batch.max() <= 255, "not the volume's values"


def measure(peer, batch, volume="zstd", memory_mib=256, settle=64):
    started = time.perf_counter()
    iterator = peer.patches(location(volume), batch, THREADS, memory_mib)
    first = next(iterator)
    first_seconds = time.perf_counter() - started
    check(first, batch)
    del first
    for _ in range(settle // batch):
        next(iterator)
    patches, started = 0, time.perf_counter()
    while time.perf_counter() - started < SECONDS or patches < LEAST_PATCHES:
        next(iterator)
        patches += batch
    return {"patch_ms": 1e3 * (time.perf_counter() - started) / patches, "first_batch_ms": 1e3 * first_seconds}


def cases():
    everything = {"memory_mib": ALL_MIB, "settle": ALL_SETTLE}
    for batch in (1, 4):
        yield Case("penstock", "penstock_patches", {"batch": batch})
        yield Case("penstock, all cached", "penstock_patches", {"batch": batch, **everything})
        yield Case("penstock, lz4", "penstock_patches", {"batch": batch, "volume": "lz4"})
        yield Case("penstock, npy", "penstock_patches", {"batch": batch, "volume": "npy"})
        yield Case("TensorStore", "tensorstore_patches", {"batch": batch})
        yield Case("TensorStore, all cached", "tensorstore_patches", {"batch": batch, **everything},
                   against="penstock, all cached")
        yield Case("TensorStore, lz4", "tensorstore_patches", {"batch": batch, "volume": "lz4"},
                   against="penstock, lz4")
        yield Case("torch + zarr-python, 2 workers", "torch_patches", {"batch": batch})
        yield Case("mapped file, threads", "mapped_patches", {"batch": batch, "volume": "npy"}, hand_written=True,
                   against="penstock, npy")


WORKLOAD = Workload(
    "w4", "Patches of a volume",
    "Random patches of 72x136x136 as float32 from a volume of uint8 512x1024x1024, two threads or workers, ms per patch "
    "after some to fill caches. Zarr v2 in chunks of 128x128x128: Blosc zstd (1.25 to 1) unless the row says lz4 "
    "(which cannot compress this noise); npy: one raw file. Penstock has memory=256MiB, TensorStore a cache as large; "
    "\"all cached\": 2 GiB, more than the volume. Penstock's draws are clustered: it visits region by region, so that "
    "neighbours share chunks; all others draw uniformly, so these ratios hold for the two samplers and not for the "
    "readers. The section below has the same draws for both. Memory: peak PSS of the process and its workers, imports included.",
    list(cases()),
    [Column("patch_ms", "ms per patch", higher_is_better=False, digits=2),
     Column("first_batch_ms", "first batch, ms", higher_is_better=False),
     Column("peak_pss_mb", "peak memory (PSS), MB", higher_is_better=False)],
    measure, group_by="batch", samples_memory=True)
