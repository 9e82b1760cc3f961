"""d4: a microscopy-like volume, uint8 512x1024x1024: one .npy file, and Zarr arrays of 128x128x128 chunks."""
import shutil

import numpy as np

import places
import zarr_stores
from data_sets import zarr_array

CELL = 16  # voxels between the points of the coarse field


class SmoothPlanes:
    """A random field on a coarse grid, blended linearly in between; plane by plane."""

    def __init__(self, rng, shape):
        self.coarse = rng.standard_normal([extent // CELL + 2 for extent in shape]).astype(np.float32)
        self.rows, self.row_part = divmod(np.arange(shape[1]), CELL)
        self.columns, self.column_part = divmod(np.arange(shape[2]), CELL)

    def plane(self, z):
        below, part = divmod(z, CELL)
        plane = blend(self.coarse[below], self.coarse[below + 1], part)
        rows = blend(plane[self.rows], plane[self.rows + 1], self.row_part[:, None])
        return blend(rows[:, self.columns], rows[:, self.columns + 1], self.column_part[None, :])


def blend(first, second, part):
    share = np.float32(part) / np.float32(CELL) if np.isscalar(part) else part.astype(np.float32) / CELL
    return first * (1 - share) + second * share


def make(seed):
    shutil.rmtree(places.VOLUME_FOLDER, ignore_errors=True)
    places.VOLUME_FOLDER.mkdir(parents=True)
    rng = np.random.default_rng([seed, 5])
    planes = SmoothPlanes(rng, places.VOLUME_SHAPE)
    size = places.VOLUME_SHAPE[1] * places.VOLUME_SHAPE[2]
    noise = 4 * rng.standard_normal(2 * size, dtype=np.float32)
    volume = np.lib.format.open_memmap(places.VOLUME_FILE, mode="w+", dtype=np.uint8, shape=places.VOLUME_SHAPE)
    for z in range(len(volume)):
        start = int(rng.integers(size))
        plane = 100 + 45 * planes.plane(z) + noise[start:start + size].reshape(volume.shape[1:])
        volume[z] = np.clip(plane, 0, 255).astype(np.uint8)
    volume.flush()
    for store in zarr_stores.VOLUMES.values():
        array = zarr_array.create(store, "uint8", ("z", "y", "x"))
        for z in range(0, len(volume), store.chunks[0]):
            array[z:z + store.chunks[0]] = volume[z:z + store.chunks[0]]
    stored = {name: zarr_array.stored_bytes(store) for name, store in zarr_stores.VOLUMES.items()}
    return {"shape": places.VOLUME_SHAPE, "stored_bytes": stored}
