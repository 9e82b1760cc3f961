"""Samples of 1 KB: reading costs next to nothing, so the loader's own work per sample shows."""
import time

import places
from workloads.workload import Case, Column, Workload

EPOCHS = 3


def measure(peer, batch):
    from workloads import delivery  # needs NumPy, which only the measured process has
    started = time.perf_counter()
    epoch = peer.small_samples(batch, threads=2)
    values = delivery.timed_epochs(epoch, places.SMALL_SAMPLES_COUNT - batch, EPOCHS, started)
    delivery.check(epoch, "d1k")
    return values


WORKLOAD = Workload(
    "scheduler", "Scheduler alone",
    "200,000 samples of 1 KB in one .npy file, shuffled sample by sample, two threads or workers, "
    f"{EPOCHS} epochs of one loader.",
    [Case(name, peer, {"batch": batch}) for batch in (256, 1024)
     for name, peer in (("penstock", "penstock_loader"), ("torch, 2 workers", "torch_files"))],
    [Column("later_epochs_per_second", "samples/s, later epochs"),
     Column("first_epoch_per_second", "samples/s, first epoch")],
    measure, group_by="batch")
