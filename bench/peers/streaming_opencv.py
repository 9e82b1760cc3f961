"""MosaicML Streaming on its own format, with OpenCV."""
import torchvision_stand_in  # noqa: F401  (before streaming)
import streaming
from torch.utils.data import DataLoader

import places
from peers.torch_opencv import decode

streaming.base.util.clean_stale_shared_memory()  # of cases that were ended


class Samples(streaming.StreamingDataset):
    def __getitem__(self, index):
        sample = super().__getitem__(index)
        return decode(sample["image"]), sample["label"]


def images(batch_size, threads, antialias):
    assert not antialias, "OpenCV's bilinear resize does not filter"
    dataset = Samples(local=str(places.MDS_FOLDER), shuffle=True, batch_size=batch_size)
    loader = DataLoader(dataset, batch_size=batch_size, num_workers=threads)
    return lambda: iter(loader)
