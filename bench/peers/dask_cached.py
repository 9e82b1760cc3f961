"""dask with its opportunistic cache, which keeps results that took long for their size."""
import cachey  # noqa: F401  (what dask.cache needs)
from dask.cache import Cache

from peers import dask_array
from peers.budget import CACHE_BYTES


def reader(store, threads):
    Cache(CACHE_BYTES).register()
    return dask_array.reader(store, threads)
