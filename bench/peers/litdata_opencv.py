"""LitData on its own chunks, with OpenCV."""
import litdata

import places
from peers.torch_opencv import decode


class Samples(litdata.StreamingDataset):
    def __getitem__(self, index):
        sample = super().__getitem__(index)
        return decode(sample["image"]), sample["label"]


def images(batch_size, threads, antialias):
    assert not antialias, "OpenCV's bilinear resize does not filter"
    dataset = Samples(str(places.LITDATA_FOLDER), shuffle=True)
    loader = litdata.StreamingDataLoader(dataset, batch_size=batch_size, num_workers=threads)
    return lambda: iter(loader)
