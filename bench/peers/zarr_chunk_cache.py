"""Hand-written: zarr-python with 256 MB of decoded chunks in memory, of which the one used longest ago goes first."""
from functools import lru_cache

import numpy as np

from peers import zarr_open
from peers.budget import CACHE_BYTES


def reader(store, threads):
    array = zarr_open.opened(store, threads)
    length = store.chunks[0]
    chunk_bytes = array.dtype.itemsize * int(np.prod(store.chunks))

    @lru_cache(maxsize=CACHE_BYTES // chunk_bytes)
    def chunk(number):
        return array[number * length:(number + 1) * length]

    return lambda indices: np.stack([chunk(index // length)[index % length] for index in indices])
