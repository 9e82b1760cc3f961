"""How long an epoch takes by the share of the decoded data that is cached, and what other caches take."""
import time
from statistics import median

import places
from workloads.image_epoch import BATCH, THREADS, check
from workloads.workload import Case, Column, Workload

FRACTIONS = (0.25, 0.5, 0.75)  # those between the ends of the line
NONE, ALL = "penstock, no cache", "penstock, all cached"
THREADED = "OpenCV threads, dict"
MEASURED = 3
TORCH_SETTLE = 7  # after so many epochs a worker's dict lacks one sample in a hundred


def case_name(fraction):
    return f"penstock, c = {fraction:g}"


def epoch_seconds(epoch):
    started, delivered, first = time.perf_counter(), 0, None
    for images, _ in epoch():
        first = images if first is None else first
        delivered += len(images)
    seconds = time.perf_counter() - started
    assert delivered == places.JPEG_COUNT, delivered
    check(first)
    return seconds


def measure(peer, settle=1, fraction=None):
    options = {}
    if fraction is not None:
        import cached_size  # needs Pillow, which only the measured process has
        options = {"cache_bytes": cached_size.cache_bytes(fraction)}
    epoch = peer.cached_images(BATCH, THREADS, **options)
    seconds = [epoch_seconds(epoch) for _ in range(settle + MEASURED)]
    return {"later_epochs_s": median(seconds[settle:]), "first_epoch_s": seconds[0]}


def cases():
    yield Case(NONE, "penstock_cached", {"fraction": 0})
    for fraction in FRACTIONS:
        yield Case(case_name(fraction), "penstock_cached", {"fraction": fraction})
    yield Case(ALL, "penstock_cached", {"fraction": 1})
    yield Case(THREADED, "opencv_cached_threads", hand_written=True, against=ALL)
    yield Case("tf.data, cache()", "tfdata_cached", against=ALL)
    yield Case("torch + OpenCV, dict in 2 workers", "torch_opencv_cached", {"settle": TORCH_SETTLE}, against=ALL)


WORKLOAD = Workload(
    "cachetime", "Epoch time with a cache",
    "The plain bilinear JPEG pipeline, shuffled; c: the cache in RAM as a share of the decoded data (2.3 GB), "
    f"Penstock's with cache_form=\"decoded\". Seconds of an epoch, the median of {MEASURED} after those that fill the "
    f"cache: one, and {TORCH_SETTLE} of torch, whose workers have a dict each and get samples by chance. The others "
    "keep everything. Memory: peak PSS of the process and its workers, imports included.",
    list(cases()),
    [Column("later_epochs_s", "s, later epochs", higher_is_better=False, digits=2),
     Column("first_epoch_s", "s, first epoch", higher_is_better=False, digits=2),
     Column("peak_pss_mb", "peak memory (PSS), MB", higher_is_better=False)],
    measure, samples_memory=True)
