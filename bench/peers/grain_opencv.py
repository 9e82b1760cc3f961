"""Grain with OpenCV."""
from peers import grain_threads
from peers.torch_opencv import load


def images(batch_size, threads, antialias):
    assert not antialias, "OpenCV's bilinear resize does not filter"
    return grain_threads.epochs(load, batch_size, threads)
