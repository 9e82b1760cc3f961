"""zarr-python with the codec pipeline of zarrs, a whole batch in one call."""
from peers import zarr_oindex, zarrs_pipeline


def reader(store, threads):
    zarrs_pipeline.use(threads)
    return zarr_oindex.reader(store, threads)
