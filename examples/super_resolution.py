"""Trains a small super-resolution network twice, without a cache and with one, and compares the epochs.

    python examples/super_resolution.py                          # makes some photos of its own
    python examples/super_resolution.py photos --cache-mib 8192  # a folder of yours, however large

A sample is a random crop of a photo, and the same crop reduced by bicubic interpolation; the photo is decoded once. The
cache keeps decoded photos in RAM, within the size given. Where they do not all fit, those that came first stay, and the
second epoch need not decode them. Crops are drawn after the cache, so the losses of both runs are equal.
"""

import argparse
import pathlib
import sys
import time

import torch
from PIL import Image

import penstock as ps
import tiny_data

MIB = 1 << 20

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("path", nargs="?", help="a folder of JPEG, PNG or WebP images of your own")
parser.add_argument("--cache-mib", type=int, help="RAM for decoded photos (half of what all of them would take)")
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--batch-size", type=int, default=8)
parser.add_argument("--size", type=int, default=96, help="pixels a side of a crop")
parser.add_argument("--scale", type=int, default=4, help="times smaller than that is what the network gets")
args = parser.parse_args()

folder = pathlib.Path(args.path or tiny_data.write_photos(tiny_data.scratch_folder("photos")))


def size_mib():
    """Returns the MiB of all photos, stored and decoded. It reads only their headers."""
    stored = decoded = 0
    for path in folder.rglob("*"):
        if path.suffix.lower() in (".jpg", ".jpeg", ".png", ".webp"):
            stored += path.stat().st_size
            with Image.open(path) as photo:
                decoded += photo.width * photo.height * 3
    return stored / MIB, decoded / MIB


def open_loader(cache_mib):
    cache = {"cache": f"{cache_mib}MiB", "cache_form": "decoded"} if cache_mib else {}
    return ps.Loader(folder, args.batch_size, shuffle=True, seed=0, output="torch", fields=["image", "small"],
                     memory=f"{512 + cache_mib}MiB",  # all that the loader holds, the cache included
                     transform={"image": [ps.RandomCrop(args.size), ps.RandomHorizontalFlip()],
                                "small": ps.Derive("image", [ps.Resize(args.size // args.scale, "bicubic")])}, **cache)


def new_model():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(16, 3 * args.scale ** 2, 3, padding=1),
        torch.nn.PixelShuffle(args.scale))


def train(loader):
    """Prints each epoch, and returns the seconds of each."""
    model = new_model()
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    seconds = []
    for epoch in range(args.epochs):
        began, losses, seen = time.perf_counter(), [], 0
        for sharp, small in loader:
            loss = torch.nn.functional.l1_loss(model(small.float() / 255), sharp.float() / 255)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            seen += len(sharp)
        seconds.append(time.perf_counter() - began)
        print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}, {seen / seconds[-1]:.0f} images/s")
    return seconds


def in_words(stats):
    cache = stats["cache"]
    ram = cache["tiers"]["ram"]
    ratios = ", ".join(f"{epoch['cache']['hit_ratio']:.0%}" for epoch in stats["epochs"])
    return (f"cache: {ram['entries']} {cache['form']} photos in {ram['used'] / MIB:.0f} of {ram['capacity'] / MIB:.0f} "
            f"MiB, {'open to other processes' if ram['shared'] else 'of this process alone'}; it answered "
            f"{cache['hits']} of {cache['hits'] + cache['misses']} look-ups (by epoch: {ratios}), which saved "
            f"{ram['seconds_saved']:.1f} s of decoding")


stored, decoded = size_mib()
if decoded == 0:
    sys.exit(f"{folder}: no JPEG, PNG or WebP images in it")
cache_mib = max(round(decoded / 2) if args.cache_mib is None else args.cache_mib, 1)
print(f"photos: {stored:.0f} MiB, decoded {decoded:.0f} MiB ({decoded / stored:.1f} times); the cache has {cache_mib} "
      f"MiB, for {min(cache_mib / decoded, 1):.0%} of them")

torch.set_num_threads(1)  # the network is small, so the cores are for decoding
new_model()(torch.zeros(args.batch_size, 3, args.size // args.scale, args.size // args.scale)).sum().backward()  # warm
rows = []
for name, mib in (("no cache", 0), (f"{cache_mib} MiB", cache_mib)):
    print(f"-- {name}")
    with open_loader(mib) as loader:
        rows.append((name, train(loader)))
        stats = loader.stats()

print("waited for:", stats["bottleneck"])
print(in_words(stats))
print("seconds    " + "".join(f"{f'epoch {epoch}':>10}" for epoch in range(args.epochs)))
for name, seconds in rows:
    print(f"{name:<11}" + "".join(f"{value:>10.2f}" for value in seconds))
