"""W1: a whole shuffled epoch of JPEGs through the usual training pipeline."""
import time

import places
from workloads.workload import Case, Column, Workload

BATCH = 64
THREADS = 2

ANTIALIASED_CASES = [
    Case("penstock", "penstock_loader", {"antialias": True}),
    Case("DALI", "dali", {"antialias": True}),
    Case("torch + Pillow", "torch_pillow", {"antialias": True}),
    Case("Grain + Pillow", "grain_pillow", {"antialias": True}),
    Case("SPDL", "spdl_ffmpeg", {"antialias": True}),
]
PLAIN_CASES = [
    Case("penstock", "penstock_loader", {"antialias": False}),
    Case("OpenCV threads", "opencv_threads", {"antialias": False}, hand_written=True),
    Case("DALI", "dali", {"antialias": False}),
    Case("torch + OpenCV", "torch_opencv", {"antialias": False}),
    Case("Grain + OpenCV", "grain_opencv", {"antialias": False}),
    Case("tf.data", "tfdata", {"antialias": False}),
]


def check(images):
    """A loader that hands out something else would be fast too."""
    assert tuple(images.shape) == (BATCH, 3, 224, 224), images.shape
    assert "float32" in str(images.dtype), images.dtype
    assert -3 < float(images.mean()) < 3 and 0.3 < float(images.std()) < 3, "not normalised images"


def measure(peer, antialias):
    started = time.perf_counter()
    first = first_seconds = None
    delivered = 0
    for images, _ in peer.images(BATCH, THREADS, antialias)():
        if first is None:
            first, first_seconds = images, time.perf_counter() - started
        delivered += len(images)
    seconds = time.perf_counter() - started
    assert delivered >= places.JPEG_COUNT, delivered
    check(first)
    return {"images_per_second": delivered / seconds, "first_batch_ms": 1e3 * first_seconds}


COMMON_TEXT = ("4000 JPEGs in class folders, decode, RandomResizedCrop 224 (scale 0.25-1), flip, normalise to float32 "
               "NCHW, batch 64, two threads or workers. The whole shuffled epoch, start-up included, imports apart. ")
COLUMNS = [Column("images_per_second", "images/s")]

ANTIALIASED = Workload(
    "w1aa", "JPEG training pipeline, antialiased", COMMON_TEXT + "Loaders that filter when they shrink an image.",
    ANTIALIASED_CASES, COLUMNS, measure)
PLAIN = Workload(
    "w1plain", "JPEG training pipeline, plain bilinear", COMMON_TEXT + "Loaders that interpolate without a filter.",
    PLAIN_CASES, COLUMNS, measure)
