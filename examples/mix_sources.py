"""Trains on two sets of tar shards at once, 70% of the samples from the first and 30% from the second.

    python examples/mix_sources.py                 # makes two tiny sets
    python examples/mix_sources.py 'photos-{00..31}.tar' 'drawings-{00..03}.tar'
"""

import argparse
import time

import torch

import penstock as ps
import tiny_data

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("paths", nargs="*", help="two sets of your own, with jpg and cls")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--batch-size", type=int, default=16)
args = parser.parse_args()

first, second = (ps.Tar(path) for path in args.paths or [
    tiny_data.write_tar(tiny_data.scratch_folder("many"), count=192),
    tiny_data.write_tar(tiny_data.scratch_folder("few"), count=48)])
# Samples of the smaller set come more often. `epoch_size` is the number of samples per epoch.
loader = ps.Loader(ps.Mix([first, second], weights=[0.7, 0.3]), args.batch_size, fields=["jpg", "cls"], shuffle=True,
                   epoch_size=256, output="torch", transform=[ps.Resize((32, 32)), ps.Normalize(0.45, 0.25)])

torch.manual_seed(0)
torch.set_num_threads(1)  # the network is small, so the cores are for decoding
model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 5, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveMaxPool2d(2),
                            torch.nn.Flatten(), torch.nn.LazyLinear(1000))
model(torch.zeros(1, 3, 32, 32))
optimizer = torch.optim.Adam(model.parameters(), 3e-3)

for epoch in range(args.epochs):
    began, losses = time.perf_counter(), []
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}, {256 / (time.perf_counter() - began):.0f} images/s")

print("waited for:", loader.stats()["bottleneck"])
