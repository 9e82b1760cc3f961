"""Penstock's image pipeline without torch, for the cases in which importing torch would be the measure."""
import numpy  # noqa: F401  (batches are NumPy arrays, so it counts as import)
import penstock as ps

import places
from peers.random_crop import MEAN, SCALE, SIZE, STD


def training_steps(antialias):
    return [ps.RandomResizedCrop(SIZE, scale=SCALE, antialias=antialias), ps.RandomHorizontalFlip(),
            ps.Normalize(mean=MEAN, std=STD)]


def image_loader(batch_size, threads, antialias=True, memory="1GiB", output="numpy", source=places.JPEG_FOLDER):
    return ps.Loader(str(source), batch_size=batch_size, transform=training_steps(antialias), shuffle=True, seed=0,
                     threads=threads, memory=memory, output=output)
