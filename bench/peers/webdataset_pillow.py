"""WebDataset with Pillow."""
import io

from peers import pillow_sample, webdataset_shards


def decode(encoded):
    return pillow_sample.load(io.BytesIO(encoded))


def images(batch_size, threads, antialias):
    assert antialias, "Pillow always filters when it shrinks"
    return webdataset_shards.epochs(decode, batch_size, threads)
