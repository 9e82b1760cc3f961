"""d1k: 200,000 samples of 1 KB in one .npy file."""
import os

import numpy as np

import places
from data_sets.checksum import checksum


def make(seed):
    os.makedirs(places.SMALL_SAMPLES_FILE.parent, exist_ok=True)
    rng = np.random.default_rng([seed, 7])
    samples = rng.standard_normal((places.SMALL_SAMPLES_COUNT, 256), dtype=np.float32)
    np.save(places.SMALL_SAMPLES_FILE, samples)
    return {"count": len(samples), "checksum": checksum(samples)}
