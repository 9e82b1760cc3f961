"""uint8 HWC to float32 CHW normalised, one sample, with the torch operations that users write."""
import torch

from peers.random_crop import MEAN, STD

# As torch's own workers do; otherwise the OpenMP threads of each worker fight for the cores.
torch.set_num_threads(1)
mean = torch.tensor(MEAN).view(3, 1, 1)
std = torch.tensor(STD).view(3, 1, 1)


def normalize(pixels):
    image = torch.from_numpy(pixels).permute(2, 0, 1).to(torch.float32).div_(255)
    return image.sub_(mean).div_(std).contiguous()
