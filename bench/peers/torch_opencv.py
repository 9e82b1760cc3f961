"""torch's DataLoader with OpenCV."""
import numpy as np

from peers import opencv_sample, torch_files
from peers.torch_normalize import normalize


def load(path):
    return normalize(opencv_sample.load_pixels(path))


def decode(encoded):
    """encoded: the bytes of a JPEG, as the loaders of records hand them out."""
    return normalize(opencv_sample.decode_pixels(np.frombuffer(encoded, np.uint8)))


def images(batch_size, threads, antialias):
    assert not antialias, "OpenCV's bilinear resize does not filter"
    return torch_files.epochs(torch_files.ImageFiles(load), batch_size, threads)
