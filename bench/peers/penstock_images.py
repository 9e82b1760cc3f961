"""Penstock's image pipeline without torch, for the cases in which importing torch would be the measure."""
import numpy  # noqa: F401  (batches are NumPy arrays, so it counts as import)
import penstock as ps

import places
from peers.random_crop import MEAN, SCALE, SIZE, STD


def image_loader(batch_size, threads, antialias=True, memory="1GiB", output="numpy"):
    return ps.Loader(str(places.JPEG_FOLDER), batch_size=batch_size,
                     transform=[ps.RandomResizedCrop(SIZE, scale=SCALE, antialias=antialias),
                                ps.RandomHorizontalFlip(), ps.Normalize(mean=MEAN, std=STD)],
                     shuffle=True, seed=0, threads=threads, memory=memory, output=output)
