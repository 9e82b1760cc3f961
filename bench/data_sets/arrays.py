"""d2: 2000 preprocessed samples, float32 3x224x224: one .npy file a sample, and all of them in one file."""
import os
import shutil

import numpy as np

import places
from data_sets.checksum import checksum


def make(seed):
    shutil.rmtree(places.NPY_FOLDER.parent, ignore_errors=True)
    os.makedirs(places.NPY_FOLDER)
    rng = np.random.default_rng([seed, 3])
    pool = rng.standard_normal((8,) + places.NPY_SHAPE, dtype=np.float32)
    one_file = np.lib.format.open_memmap(places.NPY_FILE, mode="w+", dtype=np.float32,
                                         shape=(places.NPY_COUNT,) + places.NPY_SHAPE)
    for i in range(places.NPY_COUNT):
        sample = np.roll(pool[int(rng.integers(8))], int(rng.integers(pool[0].size)))
        sample *= np.float32(rng.uniform(0.5, 2))
        np.save(places.NPY_FOLDER / f"s{i:05d}.npy", sample)
        one_file[i] = sample
    one_file.flush()
    return {"count": places.NPY_COUNT, "checksum": checksum(one_file)}
