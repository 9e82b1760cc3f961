"""Trains a small classifier on images, with one process per task of `srun`: the ranks come from Slurm.

usage: srun ... train.py SHARDS [--epochs 2] [--batch 32]     (train_staged.sh starts it)

The loader finds rank and number of ranks by itself, and gives every rank another share of the samples.
"""
import argparse
import gc
import os
import time

import torch
import torch.distributed as dist

import penstock as ps

SIZE = 32
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def join_group():
    """Makes one group of all tasks of the step; (rank, ranks)."""
    rank, ranks = int(os.environ.get("SLURM_PROCID", 0)), int(os.environ.get("SLURM_STEP_NUM_TASKS", 1))
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29500")
    dist.init_process_group("nccl" if DEVICE == "cuda" else "gloo", rank=rank, world_size=ranks)
    return rank, ranks


def average(value):
    total = torch.tensor([float(value)], device=DEVICE)
    dist.all_reduce(total)
    return total.item() / dist.get_world_size()


def train(given, rank, ranks):
    loader = ps.Loader(given.shards, batch_size=given.batch, shuffle=True, seed=0, memory="256MiB",
                       fields=["image", "label"],
                       transform=[ps.RandomResizedCrop(SIZE, scale=(0.5, 1)), ps.RandomHorizontalFlip(),
                                  ps.Normalize(mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))])
    classes = max(len(loader.dataset.classes), 2)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.AvgPool2d(4), torch.nn.Flatten(),
                                torch.nn.Linear(3 * (SIZE // 4) ** 2, classes))
    model = torch.nn.parallel.DistributedDataParallel(model.to(DEVICE))
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for epoch in range(given.epochs):
        began, seen, losses = time.monotonic(), 0, []
        for images, labels in loader:
            images, labels = images.to(DEVICE), labels.to(DEVICE)
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += len(labels)
            losses.append(loss.item())
        seen = round(average(seen) * ranks)
        loss = average(sum(losses) / len(losses))
        if rank == 0:
            print(f"epoch {epoch}: loss {loss:.4f}, {seen} images on {ranks} nodes, "
                  f"{seen / (time.monotonic() - began):.0f} images/s", flush=True)
    loader.close()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("shards")
    arguments.add_argument("--epochs", type=int, default=2)
    arguments.add_argument("--batch", type=int, default=32)
    given = arguments.parse_args()
    train(given, *join_group())
    gc.collect()  # the model holds the group: if it lived on, torch would abort some runs when the program ends
    dist.barrier()  # a rank that goes first would take the connections of the others with it
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
