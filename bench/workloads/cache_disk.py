"""The disk tier: whether a second run starts warm, and how fast it gives its bytes back."""
import importlib
import os
import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import places
from workloads.cache_ratio import whole_epoch
from workloads.image_epoch import BATCH, THREADS
from workloads.workload import Case, Column, Workload

HALF, ALL = "penstock, half of the data", "penstock, all of it"
SERVING = "penstock, all of it, crop of 32"
GB = 1e9


def first_epoch(peer_name, folder, cache_bytes, small_crop):
    """(hit ratio, bytes that the disk gave, seconds) of a new process's first epoch, construction apart"""
    peer = importlib.import_module(peer_name)
    with peer.loader(BATCH, THREADS, cache_bytes, disk_folder=folder, small_crop=small_crop) as loader:
        started = time.perf_counter()
        whole_epoch(loader)
        seconds = time.perf_counter() - started
        cache = loader.stats()["epochs"][0]["cache"]
    assert "disk" in cache["tiers"], "the loader went on without its disk tier"
    return cache["hit_ratio"], cache["tiers"]["disk"]["bytes"], seconds


def in_new_process(function, *arguments):
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        return processes.submit(function, *arguments).result()


def rates(run, folder, cold):
    """Bytes a second of a run, and of reading as much with `pread`."""
    import page_cache
    import sequential_read

    def settle():
        os.sync()  # what is still being written would disturb
        if cold:
            page_cache.forget(folder)

    settle()
    hit_ratio, served_bytes, seconds = run()
    settle()
    plain = sequential_read.bytes_per_second(folder, served_bytes, THREADS)
    kind = "cold" if cold else "warm"
    return hit_ratio, {f"{kind}_gb_per_second": served_bytes / seconds / GB, f"{kind}_pread_gb_per_second": plain / GB,
                       f"{kind}_of_pread": served_bytes / seconds / plain}


def measure(peer, fraction, small_crop=False):
    import cached_size  # needs Pillow, which only the measured process has
    places.DISK_TIERS.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=places.DISK_TIERS))
    arguments = (peer.__name__, folder, cached_size.cache_bytes(fraction), small_crop)
    run = lambda: in_new_process(first_epoch, *arguments)
    try:
        first_ratio, _, _ = run()
        assert first_ratio == 0, f"the first run found {first_ratio:.0%} in an empty folder"
        hit_ratio, warm = rates(run, folder, cold=False)
        cold_ratio, cold = rates(run, folder, cold=True)
    finally:
        shutil.rmtree(folder)
    values = {"hit_ratio": hit_ratio, "off": max(abs(ratio - fraction) for ratio in (hit_ratio, cold_ratio))}
    return {**values, **warm, **cold} if fraction == 1 else values  # with misses, decoding is what takes the time


WORKLOAD = Workload(
    "cachedisk", "The disk tier",
    "The JPEGs, shuffled, with cache=ps.Cache(disk=...) for half or all of the decoded data (2.3 GB), no RAM tier. One "
    "process fills the tier in one epoch; a second one, started after it, is measured in its first epoch: hit ratio, "
    "and the bytes that the tier gave a second, against `pread` of as many bytes of the tier's files from front to "
    "back, in pieces of 4 MiB, by two threads as well. Warm: the tier's files are in the page cache; cold: their pages "
    "were dropped before either. With the plain bilinear pipeline, and with a random crop of 32 pixels, which leaves "
    "next to nothing but serving bytes.",
    [Case(HALF, "penstock_cached", {"fraction": 0.5}), Case(ALL, "penstock_cached", {"fraction": 1}),
     Case(SERVING, "penstock_cached", {"fraction": 1, "small_crop": True})],
    [Column("hit_ratio", "hit ratio", digits=4), Column("off", "farthest off", higher_is_better=False, digits=4),
     *(Column(f"{kind}_{value}", f"{kind}, {label}", digits=2) for kind in ("warm", "cold")
       for value, label in (("gb_per_second", "GB/s"), ("pread_gb_per_second", "`pread` GB/s"),
                            ("of_pread", "of `pread`")))],
    measure)
