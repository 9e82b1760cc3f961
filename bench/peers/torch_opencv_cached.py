"""torch's DataLoader with OpenCV and a dict of decoded images, of which every worker has its own.

Samples go to either worker by chance, so each dict ends up with all of the data. Normalised by table look-up: with the
images at hand, torch's operations make an epoch half as long again.
"""
from functools import cache

import numpy as np
import torch

from peers import opencv_sample, opencv_threads, torch_files
from peers.random_crop import SIZE

decoded = cache(opencv_sample.load_whole)


def load(path):
    image = np.empty((3, SIZE, SIZE), np.float32)
    opencv_threads.normalize(opencv_sample.crop_pixels(decoded(path)), image)
    return torch.from_numpy(image)


def cached_images(batch_size, threads):
    return torch_files.epochs(torch_files.ImageFiles(load), batch_size, threads)
