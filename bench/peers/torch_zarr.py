"""torch's DataLoader over zarr-python, opened in each worker."""
import torch
from torch.utils.data import DataLoader, Dataset

from peers import zarr_open

torch.set_num_threads(1)


class ZarrSamples(Dataset):
    def __init__(self, store):
        self.store, self.array = store, None

    def __len__(self):
        return self.store.count

    def __getitem__(self, index):
        if self.array is None:
            self.array = zarr_open.opened(self.store, threads=2)
        return self.array[index]


def loader(store, batch_size, threads):
    return DataLoader(ZarrSamples(store), batch_size=batch_size, shuffle=True, num_workers=threads,
                      persistent_workers=True)
