"""TensorStore with a cache of decoded chunks, as large as everybody's memory."""
from peers import tensorstore_index
from peers.budget import CACHE_BYTES


def reader(store, threads):
    return tensorstore_index.reader(store, threads, CACHE_BYTES)
