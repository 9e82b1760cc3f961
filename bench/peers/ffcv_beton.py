"""FFCV on its own format. It shrinks with OpenCV's area filter.

It compiles each loader, which takes ten seconds and more; that counts as import here, by an epoch when this
module is imported.
"""
import numpy as np
from ffcv.fields.basics import IntDecoder
from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, Squeeze, ToTensor, ToTorchImage

import places
from peers.random_crop import MEAN, RATIO, SCALE, SIZE, STD
from workloads.image_epoch import BATCH, THREADS

loader = Loader(str(places.BETON_FILE), batch_size=BATCH, num_workers=THREADS, order=OrderOption.RANDOM,
                os_cache=True, drop_last=False,
                pipelines={"image": [RandomResizedCropRGBImageDecoder((SIZE, SIZE), scale=SCALE, ratio=RATIO),
                                     RandomHorizontalFlip(),
                                     NormalizeImage(255 * np.array(MEAN), 255 * np.array(STD), np.float32),
                                     ToTensor(), ToTorchImage(channels_last=False)],
                           "label": [IntDecoder(), ToTensor(), Squeeze()]})
for _ in loader:
    pass


def images(batch_size, threads, antialias):
    assert antialias and (batch_size, threads) == (BATCH, THREADS)
    return lambda: iter(loader)
