"""Grain with Pillow."""
from peers import grain_threads, pillow_sample


def images(batch_size, threads, antialias):
    assert antialias, "Pillow always filters when it shrinks"
    return grain_threads.epochs(pillow_sample.load, batch_size, threads)
