"""Finds balls in a volume: learns from random patches, then predicts a grid of patches and joins the results.

    python examples/segment_volume.py                                    # makes a small volume and learns it
    python examples/segment_volume.py scan.zarr/0 labels.zarr/0 --size 64 64 64 --output found.npy

Volumes are Zarr arrays, .npy files or TIFF stacks, local or on a server. Image and label get the same flips and turns,
and labels are never interpolated. The patches of the grid overlap, and their scores are averaged there.
"""

import argparse
import pathlib
import tempfile
import time

import numpy as np
import torch

import penstock as ps
import tiny_arrays

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("image", nargs="?", help="a volume of your own")
parser.add_argument("label", nargs="?", help="one of the same shape: 0 is nothing")
parser.add_argument("--size", type=int, nargs=3, default=(24, 32, 32), help="of a patch")
parser.add_argument("--patches", type=int, default=256, help="an epoch")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--output", help="writes what was found to this .npy file")
args = parser.parse_args()
if args.image and not args.label:
    parser.error("an image wants a label to learn from")
if not args.image:
    args.image, args.label = tiny_arrays.write_volume(pathlib.Path(tempfile.mkdtemp(prefix="penstock-")) / "volume")

# At least a twentieth of each patch is foreground; otherwise most patches would show nothing.
source = ps.Patches(args.image, args.size, args.patches, labels=args.label, min_foreground=0.05)
turned = [ps.RandomFlip3D(), ps.RandomRot90()]
loader = ps.Loader(source, args.batch_size, shuffle=True, seed=0, output="torch", fields=["image", "label"],
                   transform={"image": [*turned, ps.Normalize(0.45, 0.1)], "label": turned})
print(f"{source.kind}: {len(source)} an epoch")

torch.manual_seed(0)
torch.set_num_threads(1)  # the network is small, so the cores are for decoding
model = torch.nn.Sequential(
    torch.nn.Conv3d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv3d(8, 8, 3, padding=1), torch.nn.ReLU(),
    torch.nn.Conv3d(8, 1, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)

for epoch in range(args.epochs):
    began, losses, seen = time.perf_counter(), [], 0
    for images, labels in loader:
        scores = model(images.unsqueeze(1)).squeeze(1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, (labels != 0).float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seen += len(images)
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}, {seen / (time.perf_counter() - began):.0f} patches/s")
print("waited for:", loader.stats()["bottleneck"])

# The grid covers all of the volume, in order. `position` says where each patch begins.
covering = ps.Patches(args.image, args.size, labels=args.label, overlap=0.5)
places = torch.cat([positions for positions, in ps.Loader(covering, 256, fields=["position"], output="torch")])
shape = (places.amax(0) + torch.tensor(args.size)).tolist()
sums, visits, truth = torch.zeros(shape), torch.zeros(shape), torch.zeros(shape, dtype=torch.bool)
grid = ps.Loader(covering, args.batch_size, output="torch", fields=["image", "label", "position"],
                 transform={"image": [ps.Normalize(0.45, 0.1)]})
with torch.no_grad():
    for images, labels, positions in grid:
        scores = model(images.unsqueeze(1)).squeeze(1).sigmoid()
        for score, label, position in zip(scores, labels, positions.tolist()):
            box = tuple(slice(at, at + size) for at, size in zip(position, args.size))
            sums[box] += score
            visits[box] += 1
            truth[box] = label != 0
found = sums / visits > 0.5
dice = 2 * int((found & truth).sum()) / max(int(found.sum() + truth.sum()), 1)
print(f"whole volume: {len(covering)} patches, each place in {visits.min():.0f} to {visits.max():.0f}, dice {dice:.2f}")
if args.output:
    np.save(args.output, found.numpy())
