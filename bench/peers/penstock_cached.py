"""Penstock with a cache of decoded images. Batches are NumPy arrays: memory is the loader's, none is torch's."""
import numpy  # noqa: F401  (batches are NumPy arrays, so it counts as import)
import penstock as ps

import places
from peers.penstock_images import training_steps

WORKING_BYTES = 256 << 20  # for batches and scratch, whatever the cache takes
SMALL_CROP = 32


def cached_images(batch_size, threads, cache_bytes):
    opened = loader(batch_size, threads, cache_bytes)
    return lambda: iter(opened)


def loader(batch_size, threads, cache_bytes, policy="keep", disk_folder=None, small_crop=False, **options):
    """Without a cache where cache_bytes is 0. small_crop: next to no work on what comes out of the cache; the crop is
    random, so that whole images are cached and not crops."""
    if cache_bytes:
        options.update(cache=cache_of(f"{cache_bytes}B", policy, disk_folder), cache_form="decoded")
    return ps.Loader(str(places.JPEG_FOLDER), batch_size=batch_size, shuffle=True, seed=0, threads=threads,
                     transform=[ps.RandomCrop(SMALL_CROP)] if small_crop else training_steps(antialias=False),
                     memory=WORKING_BYTES + (0 if disk_folder else cache_bytes), output="numpy", **options)


def cache_of(size, policy, disk_folder):
    if disk_folder:
        return ps.Cache(disk=f"{disk_folder}:{size}")
    return size if policy == "keep" else ps.Cache(ram=size, policy=policy)  # a size alone goes when its loader closes
