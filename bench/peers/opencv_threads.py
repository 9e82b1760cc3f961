"""Hand-written: Python threads with OpenCV (which drops the GIL) into one array a batch.

What a user gets who gives up every framework; normalisation is a table look-up.
"""
import random

import numpy as np

import places
from peers.ahead import ThreadedBatches, shuffled_groups
from peers.opencv_sample import load_pixels
from peers.random_crop import MEAN, SIZE, STD

levels = np.arange(256) / 255
tables = [((levels - mean) / std).astype(np.float32) for mean, std in zip(MEAN, STD)]


def normalize(pixels, destination):
    for channel, table in enumerate(tables):
        np.take(table, pixels[:, :, channel], out=destination[channel], mode="clip")


def images(batch_size, threads, antialias):
    assert not antialias, "OpenCV's bilinear resize does not filter"
    return epochs(load_pixels, batch_size, threads)


def epochs(load, batch_size, threads):
    """load(path) gives the pixels of a sample."""
    files = places.jpeg_files()
    batches = ThreadedBatches(threads, lambda batch, slot, file: normalize(load(file[0]), batch[slot]))

    def epoch():
        groups = shuffled_groups(files, batch_size, random)
        for batch, group in batches.run(groups, lambda _, size: np.empty((size, 3, SIZE, SIZE), np.float32)):
            yield batch, np.array([label for _, label in group])

    return epoch
