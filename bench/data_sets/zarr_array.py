"""Writes one of the benchmark's Zarr arrays."""
import shutil

import zarr
from numcodecs import Blosc
from zarr.codecs import ZstdCodec

BLOSC = {"lz4": Blosc("lz4", 5, Blosc.SHUFFLE), "zstd": Blosc("zstd", 3, Blosc.BITSHUFFLE)}


def create(store, dtype, dimensions):
    """An empty array in the store's folder, with names for its dimensions."""
    shutil.rmtree(store.folder, ignore_errors=True)
    if store.zarr_format == 3:
        return zarr.create_array(store=str(store.folder), shape=store.shape, dtype=dtype, zarr_format=3,
                                 chunks=store.chunks, shards=store.shards, compressors=ZstdCodec(level=1),
                                 dimension_names=dimensions)
    array = zarr.create_array(store=str(store.folder), shape=store.shape, dtype=dtype, zarr_format=2,
                              chunks=store.chunks, compressors=BLOSC[store.codec],
                              chunk_key_encoding={"name": "v2", "separator": "."})
    array.attrs["_ARRAY_DIMENSIONS"] = list(dimensions)
    return array


def stored_bytes(store):
    return sum(path.stat().st_size for path in store.folder.rglob("*") if path.is_file())
