"""From constructing a loader to its first batch of 64 images in hand."""
import time

from workloads.image_epoch import ANTIALIASED_CASES, BATCH, PLAIN_CASES, THREADS, check
from workloads.workload import Column, Workload


def measure(peer, antialias):
    started = time.perf_counter()
    # The iterator is kept: dropping it here would shut the loader down inside the timed part, which
    # doubles the time of loaders with worker processes.
    iterator = iter(peer.images(BATCH, THREADS, antialias)())
    images, _ = next(iterator)
    seconds = time.perf_counter() - started
    check(images)
    return {"first_batch_ms": 1e3 * seconds}


WORKLOAD = Workload(
    "first", "First batch of 64 images",
    "The loader is constructed on a folder it has seen before, and the first batch of the JPEG pipeline is "
    "awaited. Imports apart, files in the page cache.",
    ANTIALIASED_CASES + PLAIN_CASES, [Column("first_batch_ms", "ms", higher_is_better=False)], measure,
    group_by="antialias", warm_up=True)
