"""NVIDIA DALI on the CPU.

It fills the last batch from the next epoch, so an epoch is up to a batch longer or shorter than the data;
what it delivers is what counts.
"""
import nvidia.dali.plugin.pytorch as dali_torch
from nvidia.dali import fn, pipeline_def, types

import places
from peers.random_crop import MEAN, RATIO, SCALE, SIZE, STD


def epochs(pipeline, outputs, batch):
    iterator = dali_torch.DALIGenericIterator([pipeline], outputs, reader_name="reader")
    return lambda: (batch(delivered[0]) for delivered in iterator)


def image_epochs(read, batch_size, threads, antialias):
    """read() gives (encoded images, labels) of the reader named "reader"."""
    @pipeline_def(batch_size=batch_size, num_threads=threads, device_id=None, seed=7)
    def pipeline():
        encoded, labels = read()
        image = fn.decoders.image_random_crop(encoded, device="cpu", output_type=types.RGB,
                                              random_area=list(SCALE), random_aspect_ratio=list(RATIO))
        image = fn.resize(image, resize_x=SIZE, resize_y=SIZE, interp_type=types.INTERP_LINEAR,
                          antialias=antialias)
        image = fn.crop_mirror_normalize(image, dtype=types.FLOAT, output_layout="CHW",
                                         mirror=fn.random.coin_flip(probability=0.5),
                                         mean=[255 * value for value in MEAN],
                                         std=[255 * value for value in STD])
        return image, labels

    return epochs(pipeline(), ["images", "labels"], lambda batch: (batch["images"], batch["labels"]))


def images(batch_size, threads, antialias):
    return image_epochs(lambda: fn.readers.file(file_root=str(places.JPEG_FOLDER), name="reader", random_shuffle=True,
                                                initial_fill=2048), batch_size, threads, antialias)


def arrays(batch_size, threads):
    @pipeline_def(batch_size=batch_size, num_threads=threads, device_id=None, seed=7)
    def pipeline():
        return fn.readers.numpy(file_root=str(places.NPY_FOLDER), file_filter="*.npy", name="reader",
                                random_shuffle=True, initial_fill=256)

    return epochs(pipeline(), ["samples"], lambda batch: batch["samples"])
