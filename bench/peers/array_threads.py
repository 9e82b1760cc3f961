"""Hand-written: Python threads that read .npy files straight into a reused ring of batches.

The limit for arrays: no parsing, no copy after the read, memory touched once.
"""
import os
import random

import numpy as np

import places
from peers.ahead import AHEAD, ThreadedBatches, shuffled_groups

HEADER_BYTES = 128  # of every file that np.save wrote for this shape
RING = AHEAD + 2    # the batches ahead, the one being filled, the one in the user's hands


def fill(batch, slot, path):
    destination = memoryview(batch[slot]).cast("B")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        assert os.preadv(descriptor, [destination], HEADER_BYTES) == len(destination), path
    finally:
        os.close(descriptor)


def arrays(batch_size, threads):
    files = places.npy_files()
    ring = [np.empty((batch_size,) + places.NPY_SHAPE, np.float32) for _ in range(RING)]
    batches = ThreadedBatches(threads, fill)

    def epoch():
        groups = shuffled_groups(files, batch_size, random)
        for batch, _ in batches.run(groups, lambda number, size: ring[number % RING][:size]):
            yield batch

    return epoch
