"""Whether a loader delivered the samples it should, told by a weighted sum of each: those of one array all differ."""
from functools import lru_cache

import numpy as np

import zarr_stores

TOLERANCE = 1e-5  # the order of adding up is free


@lru_cache
def weights(size):
    return np.random.default_rng(0).standard_normal(size)


def sums(samples):
    rows = np.asarray(samples).reshape(len(samples), -1)
    return np.array([row.astype(np.float64) @ weights(row.size) for row in rows])


def read(store):
    return np.load(zarr_stores.sums_file(store))


def indices(batch, expected):
    """Which samples a batch holds. A sample that the array does not have is an error."""
    found = sums(batch)
    order = np.argsort(expected)
    sorted_sums = expected[order]
    above = np.clip(np.searchsorted(sorted_sums, found), 1, len(expected) - 1)
    nearest = above - (found - sorted_sums[above - 1] < sorted_sums[above] - found)
    wrong = np.abs(sorted_sums[nearest] - found) > TOLERANCE
    assert not wrong.any(), f"{wrong.sum()} of {len(batch)} samples are none of the array's"
    return order[nearest]


def check(batch, expected, shape, asked=None):
    """One batch of different samples, as they are stored; `asked`: exactly these, in this order."""
    batch = np.asarray(batch)
    assert batch.shape[1:] == shape[1:] and batch.dtype == np.float32, (batch.shape, batch.dtype)
    got = indices(batch, expected)
    assert len(set(got)) == len(got), "a sample came twice"
    assert asked is None or list(got) == list(asked), "other samples than asked for"
