"""Trains a small segmentation network on images and masks that a CSV table names.

    python examples/segment.py                     # makes a tiny table with its files and learns it
    python examples/segment.py data/train.csv --size 256

The table has the columns "image" and "mask", which are paths relative to its folder. Image and mask get the same random
crops and flips. Masks are never interpolated, and are delivered as whole numbers.
"""

import argparse
import time

import torch

import penstock as ps
import tiny_data

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("path", nargs="?", help="a table of your own")
parser.add_argument("--classes", type=int, default=1 + len(tiny_data.CLASSES), help="values of a mask, 0 included")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--size", type=int, default=48, help="pixels a side that the network sees")
args = parser.parse_args()

source = ps.Manifest(args.path or tiny_data.write_masks(tiny_data.scratch_folder("masks")), image="image", mask="mask")
print(source)
loader = ps.Loader(source, args.batch_size, shuffle=True, output="torch",
                   transform={"image": [ps.RandomCrop(args.size), ps.RandomHorizontalFlip(), ps.Normalize(0.45, 0.25)],
                              "mask": [ps.RandomCrop(args.size), ps.RandomHorizontalFlip()]})

torch.manual_seed(0)
torch.set_num_threads(1)  # the network is small, so the cores are for decoding
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 5, padding=2), torch.nn.ReLU(), torch.nn.Conv2d(16, 16, 5, padding=2), torch.nn.ReLU(),
    torch.nn.Conv2d(16, args.classes, 1))
optimizer = torch.optim.Adam(model.parameters(), 5e-3)

for epoch in range(args.epochs):
    began, losses, seen, right, pixels = time.perf_counter(), [], 0, 0, 0
    for images, masks in loader:
        masks = masks.long().squeeze(1)
        scores = model(images)
        loss = torch.nn.functional.cross_entropy(scores, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seen += len(images)
        right += int((scores.argmax(1) == masks).sum())
        pixels += masks.numel()
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}, right pixels {right / pixels:.2f}, "
          f"{seen / (time.perf_counter() - began):.0f} images/s")

print("waited for:", loader.stats()["bottleneck"])
