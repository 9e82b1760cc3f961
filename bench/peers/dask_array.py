"""dask: an array of lazy chunks, one computation a batch on its thread pool."""
import dask.array

from peers import zarr_open


def reader(store, threads):
    array = dask.array.from_zarr(zarr_open.opened(store, threads))
    return lambda indices: array[indices].compute(scheduler="threads", num_workers=threads)
