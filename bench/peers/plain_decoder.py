"""The codecs of the benchmark's stores, called straight into memory that is there already."""
from numcodecs import blosc
from numcodecs.zstd import Zstd

blosc.use_threads = False


def decoder(store):
    """function(encoded bytes, array to fill)"""
    return blosc.decompress if store.zarr_format == 2 else Zstd().decode


def can_read(store):
    return store.shards is None


def jobs(store, indices, batch):
    """(key of a chunk, its place in the batch) for stores in which a chunk belongs to one sample."""
    pieces = store.shape[1] // store.chunks[1]
    for slot, index in enumerate(indices):
        for piece in range(pieces):
            yield store.key(index, piece, 0, 0), batch[slot, piece] if pieces > 1 else batch[slot]
