"""Whether a cache holds to the budget where the decoded data is three times as large, and pays from the start."""
import importlib
import os
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from statistics import median

from workloads.cache_ratio import whole_epoch
from workloads.image_epoch import BATCH, THREADS
from workloads.workload import Case, Column, Workload

TIMES_BUDGET = 3
SPARE_BYTES = 400_000_000  # for the interpreter and its libraries
EPOCHS = 3
PAIRS = 4
MB = 1e6


def epoch_seconds(peer, cache_bytes):
    """(first epoch with construction, median of the later ones) of a new loader with an empty cache"""
    seconds = []
    started = time.perf_counter()
    with peer.loader(BATCH, THREADS, cache_bytes) as loader:
        for _ in range(EPOCHS):
            whole_epoch(loader)
            now = time.perf_counter()
            seconds.append(now - started)
            started = now
    return seconds[0], median(seconds[1:])


def pairs_of_loaders(peer_name, budget_bytes):
    """Loaders with and without a cache by turns. Called in the process that is limited."""
    peer = importlib.import_module(peer_name)
    found = {True: [], False: []}
    for number in range(PAIRS):
        for cached in (True, False) if number % 2 else (False, True):
            found[cached].append(epoch_seconds(peer, budget_bytes - peer.WORKING_BYTES if cached else 0))
    values = {}
    for index, epoch in enumerate(("first", "later")):
        with_cache, without = ([pair[index] for pair in found[cached]] for cached in (True, False))
        values[f"{epoch}_s"], values[f"{epoch}_without_s"] = median(with_cache), median(without)
        values[f"{epoch}_slower_percent"] = median(100 * (ours / plain - 1) for ours, plain in zip(with_cache, without))
    return values


def measure(peer):
    import cached_size  # needs Pillow, which only the measured process has
    import memory_cgroup
    import process_memory
    budget = cached_size.decoded_bytes() // TIMES_BUDGET
    limit = budget + SPARE_BYTES
    values = {"limit_mb": limit / MB, "killed": 0}
    with memory_cgroup.made(limit) as group:
        enter = group.enter if group else None
        with ProcessPoolExecutor(1, get_context("spawn"), enter) as processes:
            with process_memory.watched(processes.submit(os.getpid).result()) as peaks:
                try:
                    values.update(processes.submit(pairs_of_loaders, peer.__name__, budget).result())
                except BrokenProcessPool:
                    values["killed"] = 1
        if group and group.peak_bytes():
            values["peak_cgroup_mb"] = group.peak_bytes() / MB
    return {**values, "peak_pss_mb": peaks.pss_bytes / MB, "swapped_mb": peaks.swapped_bytes / MB}


WORKLOAD = Workload(
    "cachebudget", "A cache within a budget",
    "The plain bilinear JPEG pipeline with memory= a third of the decoded data (2.3 GB), 256 MiB of it for batches "
    f"and scratch and the rest for the cache; the process is in a memory cgroup of memory= and {SPARE_BYTES / MB:g} MB "
    f"(without a column of the cgroup: none could be made, and PSS was only watched). {PAIRS} new loaders with a cache "
    f"and as many without (256 MiB as well) alternately in one process, {EPOCHS} epochs each: the first, which fills the "
    "cache, with construction, and the median of the later ones. The cgroup's peak counts the pages of files too.",
    [Case("penstock", "penstock_cached")],
    [Column("limit_mb", "limit, MB", higher_is_better=False),
     Column("peak_pss_mb", "peak memory (PSS), MB", higher_is_better=False),
     Column("peak_cgroup_mb", "peak of the cgroup, MB", higher_is_better=False),
     Column("swapped_mb", "swapped, MB", higher_is_better=False), Column("killed", "killed", higher_is_better=False),
     Column("first_s", "s, first epoch", higher_is_better=False, digits=2),
     Column("first_without_s", "without cache", higher_is_better=False, digits=2),
     Column("first_slower_percent", "slower by, %", higher_is_better=False, digits=1),
     Column("later_s", "s, later epochs", higher_is_better=False, digits=2),
     Column("later_without_s", "without cache", higher_is_better=False, digits=2),
     Column("later_slower_percent", "slower by, %", higher_is_better=False, digits=1)],
    measure)
