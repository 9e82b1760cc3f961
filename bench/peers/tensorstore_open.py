"""TensorStore: opens an array, in a folder or at a URL, with a number of threads or requests and bytes of cache."""
import tensorstore

DECODING_THREADS = 2  # where `threads` are requests


def opened(store, threads, cache_bytes=0):
    copying = min(threads, DECODING_THREADS) if store.url else threads
    context = tensorstore.Context({"data_copy_concurrency": {"limit": copying},
                                   "file_io_concurrency": {"limit": threads},
                                   "http_request_concurrency": {"limit": threads},
                                   "cache_pool": {"total_bytes_limit": cache_bytes}})
    place = store.location + "/" if store.url else {"driver": "file", "path": store.location + "/"}
    driver = "zarr" if store.zarr_format == 2 else "zarr3"
    return tensorstore.open({"driver": driver, "kvstore": place, "recheck_cached_data": "open"}, context=context,
                            open=True, read=True).result()
