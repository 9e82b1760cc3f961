"""TensorStore, a whole batch in one read."""
from peers import tensorstore_open


def reader(store, threads, cache_bytes=0):
    array = tensorstore_open.opened(store, threads, cache_bytes)
    return lambda indices: array[indices].read().result()
