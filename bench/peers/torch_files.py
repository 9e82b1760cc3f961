"""torch's DataLoader over files: the data sets that torch users write."""
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import places

torch.set_num_threads(1)


class ImageFiles(Dataset):
    def __init__(self, load):
        self.files, self.load = places.jpeg_files(), load

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path, label = self.files[index]
        return self.load(path), label


class ArrayFiles(Dataset):
    def __init__(self):
        self.files = places.npy_files()

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return torch.from_numpy(np.load(self.files[index]))


class MappedFile(Dataset):
    """Samples along the first axis of one memory-mapped .npy file; each worker maps it itself."""

    def __init__(self, path):
        self.path, self.samples = path, None
        self.length = len(np.load(path, mmap_mode="r"))

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        if self.samples is None:
            self.samples = np.load(self.path, mmap_mode="r")
        return torch.from_numpy(np.array(self.samples[index]))


def epochs(dataset, batch_size, workers):
    # Persistent workers: without them torch is up to a third slower in later epochs.
    loader = DataLoader(dataset, batch_size=batch_size, shuffle=True, num_workers=workers, persistent_workers=True)
    return lambda: iter(loader)


def arrays(batch_size, threads):
    return epochs(ArrayFiles(), batch_size, threads)


def arrays_of_one_file(batch_size, threads):
    return epochs(MappedFile(places.NPY_FILE), batch_size, threads)


def small_samples(batch_size, threads):
    return epochs(MappedFile(places.SMALL_SAMPLES_FILE), batch_size, threads)
