"""Hand-written: as plain_chunks, into two batches used by turns, so that no fresh memory is touched."""
import itertools

import numpy as np

from peers import plain_chunks
from peers.plain_decoder import can_read  # noqa: F401  (for the workload)


def reader(store, threads):
    batches = {}

    def new_batch(size):
        if size not in batches:
            batches[size] = itertools.cycle([np.zeros((size,) + store.shape[1:], np.float32) for _ in range(2)])
        return next(batches[size])

    return plain_chunks.reader(store, threads, new_batch)
