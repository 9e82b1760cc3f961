"""Hand-written: threads convert patches of a memory-mapped .npy file straight into new batches, two ahead."""
import itertools

import numpy as np

from peers.ahead import ThreadedBatches
from peers.random_patches import SIZE, window


def patches(location, batch_size, threads, memory_mib):
    volume = np.load(location, mmap_mode="r")

    def fill(batch, slot, part):
        batch[slot] = volume[part]

    groups = ([window() for _ in range(batch_size)] for _ in itertools.count())
    new_batch = lambda number, size: np.empty((size,) + SIZE, np.float32)
    for batch, _ in ThreadedBatches(threads, fill).run(groups, new_batch):
        yield batch
