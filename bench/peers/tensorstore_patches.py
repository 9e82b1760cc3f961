"""TensorStore: patches read and converted into new batches, one batch ahead, with a cache of decoded chunks."""
import numpy as np
import tensorstore

import zarr_stores
from peers import tensorstore_open
from peers.random_patches import SIZE, window


def windows(location, draws):
    if draws == "uniform":
        while True:
            yield window()
    from peers import penstock_patches
    for begins in penstock_patches.places(location):
        yield tuple(slice(begin, begin + size) for begin, size in zip(begins, SIZE))


def patches(location, batch_size, threads, memory_mib, draws="uniform"):
    """memory_mib: of the cache. draws: "uniform", or "clustered": the places that Penstock's default shuffle visits."""
    store = next(store for store in zarr_stores.VOLUMES.values() if store.folder == location)
    array = tensorstore.cast(tensorstore_open.opened(store, threads, memory_mib << 20), tensorstore.float32)

    wanted = windows(location, draws)

    def start():
        batch = np.empty((batch_size,) + SIZE, np.float32)
        return batch, [tensorstore.array(patch).write(array[next(wanted)]) for patch in batch]

    ahead = start()
    while True:
        (batch, writes), ahead = ahead, start()
        for write in writes:
            write.result()
        yield batch
