"""zarr-python with the codec pipeline of zarrs, sample by sample."""
from peers import zarr_loop, zarrs_pipeline


def reader(store, threads):
    zarrs_pipeline.use(threads)
    return zarr_loop.reader(store, threads)
