"""Trains a small network on images: from class folders, tar shards or TFRecord shards, with the same code.

    python examples/train_images.py                              # makes a tiny class folder and learns it
    python examples/train_images.py --from tar                   # the same pictures in tar shards
    python examples/train_images.py /data/imagenet/train --size 224 --batch-size 256

A run that was stopped continues in the middle of an epoch, with the same samples:

    python examples/train_images.py --checkpoint run.pt --stop-after 10
    python examples/train_images.py --checkpoint run.pt
"""

import argparse
import os
import time

import torch

import penstock as ps
import tiny_data

WRITERS = {"folder": tiny_data.write_folder, "tar": tiny_data.write_tar, "tfrecord": tiny_data.write_tfrecord}
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("path", nargs="?", help="data of your own: a folder, or shards such as 'train-{000..146}.tar'")
parser.add_argument("--from", dest="format", choices=WRITERS, default="folder", help="what to make tiny data as")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--size", type=int, default=48, help="pixels a side that the network sees")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--checkpoint", help="goes on from this file where it exists, and is written every epoch")
parser.add_argument("--stop-after", type=int, help="stops after so many batches, as if the machine had gone")
parser.add_argument("--show-samples", action="store_true", help="prints what every batch was made of")
args = parser.parse_args()

source = ps.open_source(args.path or WRITERS[args.format](tiny_data.scratch_folder(args.format)))
# "image" and "label" of a class folder, "jpg" and "cls" of a tar, "image/encoded" and "image/class/label" of TFRecords.
first = {kind: name for name, kind in reversed(source.fields.items())}
if not {"image", "integer"} <= first.keys():
    parser.error(f"this wants images with labels; {source.uri} has {source.fields}")
label = first["integer"]
fields = {"image": first["image"], "label": label, "key": "key"}
classes = len(source.classes) or 1 + max(int(labels.max()) for labels, in ps.Loader(source, 256, fields=[label]))
train, held_back = source.split(0.8, seed=1)
print(f"{source.kind}: {len(train)} samples to train on, {len(held_back)} to validate, {classes} classes")

loader = ps.Loader(train, args.batch_size, fields=fields, shuffle=True, seed=args.seed, output="torch",
                   transform=[ps.RandomResizedCrop(args.size, scale=(0.6, 1)), ps.RandomHorizontalFlip(),
                              ps.Normalize(MEAN, STD)])
validation = ps.Loader(held_back, args.batch_size, fields=fields, output="torch",
                       transform=[ps.Resize(args.size * 8 // 7), ps.CenterCrop(args.size), ps.Normalize(MEAN, STD)])

torch.manual_seed(args.seed)
torch.set_num_threads(1)  # the network is small, so the cores are for decoding
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 16, 5, stride=2), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, stride=2), torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(512, classes))
optimizer = torch.optim.Adam(model.parameters(), 2e-3)


def save_checkpoint():
    if args.checkpoint:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                    "loader": loader.state_dict()}, args.checkpoint)


if args.checkpoint and os.path.exists(args.checkpoint):
    checkpoint = torch.load(args.checkpoint)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    loader.load_state_dict(checkpoint["loader"])
    state = loader.state_dict()
    print(f"goes on in epoch {state['epoch']} after {state['position']} samples")

batches = 0
while (epoch := loader.state_dict()["epoch"]) < args.epochs:
    began, losses, seen = time.perf_counter(), [], 0
    for batch in loader:
        loss = torch.nn.functional.cross_entropy(model(batch["image"]), batch["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        seen += len(batch["label"])
        batches += 1
        if args.show_samples:
            print(f"epoch {epoch} samples: {' '.join(batch['key'])}")
        if batches == args.stop_after:
            save_checkpoint()
            print(f"stopped after {batches} batches")
            raise SystemExit(0)
    seconds = time.perf_counter() - began
    with torch.no_grad():
        right = sum(int((model(batch["image"]).argmax(1) == batch["label"]).sum()) for batch in validation)
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}, accuracy {right / len(held_back):.2f}, "
          f"{seen / seconds:.0f} images/s")
    save_checkpoint()

print("waited for:", loader.stats()["bottleneck"])
