"""zarr-python: opens an array, in a folder or at a URL."""
import zarr


def opened(store, threads):
    zarr.config.set({"async.concurrency": threads, "threading.max_workers": threads})
    if not store.url:
        return zarr.open_array(store.location, mode="r")
    from zarr.storage import FsspecStore
    return zarr.open_array(FsspecStore.from_url(store.location, read_only=True), mode="r")
