"""TensorStore: patches read and converted into new batches, one batch ahead, with a cache of decoded chunks."""
import numpy as np
import tensorstore

import zarr_stores
from peers import tensorstore_open
from peers.random_patches import SIZE, window


def patches(location, batch_size, threads, memory_mib):
    """memory_mib: of the cache."""
    store = next(store for store in zarr_stores.VOLUMES.values() if store.folder == location)
    array = tensorstore.cast(tensorstore_open.opened(store, threads, memory_mib << 20), tensorstore.float32)

    def start():
        batch = np.empty((batch_size,) + SIZE, np.float32)
        return batch, [tensorstore.array(patch).write(array[window()]) for patch in batch]

    ahead = start()
    while True:
        (batch, writes), ahead = ahead, start()
        for write in writes:
            write.result()
        yield batch
