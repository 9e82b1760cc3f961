"""Processes of one node over the same data: whether they have one cache together."""
import importlib
import os
from multiprocessing import get_context

from workloads.image_epoch import BATCH, THREADS
from workloads.workload import Case, Column, Workload

PROCESSES = (1, 2, 4)
FRACTION = 0.5
EPOCHS = 3
WAIT_S = 120
MB = 1e6
PREFIX = "/dev/shm/penstock-"


def case_name(processes):
    return f"penstock, {processes} process" + ("es" if processes > 1 else "")


def run_rank(peer_name, rank, processes, cache_bytes, together, results):
    """One process: all epochs in step with the others, then its counts, then it stays until it was looked at."""
    peer = importlib.import_module(peer_name)
    threads = max(1, THREADS // processes)
    with peer.loader(BATCH, threads, cache_bytes, rank=rank, world_size=processes) as loader:
        for _ in range(EPOCHS):
            together.wait(WAIT_S)
            for _ in loader:
                pass
        results.put([(epoch["cache"]["hits"], epoch["cache"]["misses"]) for epoch in loader.stats()["epochs"]])
        together.wait(WAIT_S)
        together.wait(WAIT_S)


def cache_memory(processes):
    """Returns the PSS of the cache over all processes, the blocks of its files, and the whole PSS of the processes."""
    import process_memory
    mapped = [process_memory.pss_of_files(process, PREFIX) for process in processes]
    paths = {path for files in mapped for path in files}
    assert paths, f"nobody has a file {PREFIX}* mapped"
    return {"cache_pss_mb": sum(sum(files.values()) for files in mapped) / MB,
            "cache_blocks_mb": sum(os.stat(path).st_blocks * 512 for path in paths) / MB,
            "all_pss_mb": sum(map(process_memory.pss_bytes, processes)) / MB, "files": len(paths)}


def measure(peer, processes):
    import cached_size  # needs Pillow, which only the measured process has
    context = get_context("spawn")
    together, results = context.Barrier(processes + 1), context.Queue()
    cache_bytes = cached_size.cache_bytes(FRACTION)
    ranks = [context.Process(target=run_rank, args=(peer.__name__, rank, processes, cache_bytes, together, results),
                             daemon=True) for rank in range(processes)]
    for rank in ranks:
        rank.start()
    for _ in range(EPOCHS):
        together.wait(WAIT_S)
    counts = [results.get(timeout=WAIT_S) for _ in ranks]
    together.wait(WAIT_S)
    values = cache_memory([rank.pid for rank in ranks])
    together.wait(WAIT_S)
    for rank in ranks:
        rank.join()
    ratios = []
    for epoch in range(1, EPOCHS):
        hits, misses = (sum(rank[epoch][kind] for rank in counts) for kind in (0, 1))
        ratios.append(hits / (hits + misses))
    off = max(abs(ratio - FRACTION) for ratio in ratios)
    return {"joint_hit_ratio": sum(ratios) / len(ratios), "off": off, "cache_mb": cache_bytes / MB, **values}


WORKLOAD = Workload(
    "cacheshared", "A cache that processes share",
    f"The plain bilinear JPEG pipeline on so many ranks of this machine, in step, with a cache of {FRACTION:g} of the "
    f"decoded data (2.3 GB) asked for by each of them; {EPOCHS} epochs. Joint hit ratio: hits of all by look-ups of "
    "all in the later epochs. Memory is looked at after the last of them, with all processes there: what they have "
    "mapped of the cache (PSS, shared pages counted once), the blocks of its files in /dev/shm, and the PSS of all of "
    "their memory.",
    [Case(case_name(processes), "penstock_cached", {"processes": processes}) for processes in PROCESSES],
    [Column("joint_hit_ratio", "joint hit ratio", digits=4),
     Column("off", "farthest off", higher_is_better=False, digits=4),
     Column("cache_mb", "asked for, MB", higher_is_better=False),
     Column("cache_pss_mb", "mapped of it (PSS), MB", higher_is_better=False),
     Column("cache_blocks_mb", "its files, MB", higher_is_better=False),
     Column("files", "files", higher_is_better=False),
     Column("all_pss_mb", "all memory (PSS), MB", higher_is_better=False)],
    measure)
