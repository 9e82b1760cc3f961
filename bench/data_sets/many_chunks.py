"""dmillion: a Zarr array of 1,000,000 chunks, each a file of 64 bytes: sample i holds i and 15 random numbers."""
import json
import shutil

import numpy as np

import zarr_stores

STORE = zarr_stores.MANY_CHUNKS
METADATA = {"zarr_format": 2, "shape": STORE.shape, "chunks": STORE.chunks, "dtype": "<i4", "compressor": None,
            "fill_value": 0, "order": "C", "filters": None}


def make(seed):
    shutil.rmtree(STORE.folder, ignore_errors=True)
    STORE.folder.mkdir(parents=True)
    (STORE.folder / ".zarray").write_text(json.dumps(METADATA))
    samples = np.random.default_rng([seed, 9]).integers(0, 1000, STORE.shape, dtype=np.int32)
    samples[:, 0] = np.arange(STORE.count)
    for number, sample in enumerate(samples):
        with open(f"{STORE.folder}/{STORE.key(number, 0)}", "wb", buffering=0) as chunk:
            chunk.write(sample)
    return {"count": STORE.count}
