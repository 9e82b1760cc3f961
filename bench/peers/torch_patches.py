"""torch's DataLoader over patches that zarr-python reads, opened in each worker."""
import random

import numpy as np
import torch
import zarr
from torch.utils.data import DataLoader, Dataset

from peers.random_patches import window

torch.set_num_threads(1)


class ZarrPatches(Dataset):
    def __init__(self, location):
        self.location, self.volume = location, None

    def __len__(self):
        return 100_000

    def __getitem__(self, index):
        if self.volume is None:
            zarr.config.set({"async.concurrency": 8, "threading.max_workers": 1})
            self.volume = zarr.open_array(str(self.location), mode="r")
        return torch.from_numpy(self.volume[window(random.Random(index))].astype(np.float32))


def patches(location, batch_size, threads, memory_mib):
    return iter(DataLoader(ZarrPatches(location), batch_size=batch_size, num_workers=threads))
