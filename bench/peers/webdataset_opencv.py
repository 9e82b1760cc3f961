"""WebDataset with OpenCV."""
from peers import webdataset_shards
from peers.torch_opencv import decode


def images(batch_size, threads, antialias):
    assert not antialias, "OpenCV's bilinear resize does not filter"
    return webdataset_shards.epochs(decode, batch_size, threads)
