"""Penstock on Zarr."""
import os

import numpy  # noqa: F401  (batches are NumPy arrays, so it counts as import)
import penstock as ps

from peers.budget import MEMORY


def loader(store, batch_size, threads, memory=None, shuffle=True):
    return ps.Loader(ps.Zarr(store.location, sample_dim=0), batch_size=batch_size, shuffle=shuffle, seed=0,
                     threads=threads, memory=memory, output="numpy")


def small_loader(store, batch_size, threads, shuffle=True):
    """With the memory that every loader of large chunks has."""
    return loader(store, batch_size, threads, MEMORY, shuffle)


def remote_loader(store, batch_size, requests):
    os.environ["PENSTOCK_HTTP_REQUESTS"] = str(requests)
    return loader(store, batch_size, threads=2, memory="1GiB")
