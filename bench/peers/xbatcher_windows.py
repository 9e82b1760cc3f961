"""xbatcher on dask. It makes windows, not free choices: a batch is a run of neighbours, taken in shuffled order, which
is kinder to the store than what the others are asked for."""
import dask
import dask.array
import xarray
import xbatcher

from peers import zarr_open

ANY_SAMPLES = True  # it does not deliver the samples it is asked for


def reader(store, threads):
    dask.config.set(scheduler="threads", num_workers=threads)
    names = ("time", "channel", "latitude", "longitude")
    array = xarray.DataArray(dask.array.from_zarr(zarr_open.opened(store, threads)), dims=names)
    generators = {}

    def read(indices):
        size = len(indices)
        if size not in generators:
            window = dict(zip(names, (size,) + store.shape[1:]))
            generators[size] = xbatcher.BatchGenerator(array, window, preload_batch=False)
        return generators[size][indices[0] % len(generators[size])].values

    return read
