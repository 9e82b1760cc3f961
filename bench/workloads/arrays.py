"""W2: preprocessed float32 samples, where reading and batching is all the work."""
import time

import places
from workloads.workload import Case, Column, Workload

BATCHES = (32, 128, 256, 512)
EPOCHS = 4


def measure(peer, batch, threads=2, source="arrays"):
    from workloads import delivery  # needs NumPy, which only the measured process has
    started = time.perf_counter()
    epoch = getattr(peer, source)(batch, threads)
    values = delivery.timed_epochs(epoch, places.NPY_COUNT - batch, EPOCHS, started)
    delivery.check(epoch, "d2")
    return values


def cases():
    for batch in BATCHES:
        yield Case("penstock", "penstock_loader", {"batch": batch})
        yield Case("reused buffers, threads", "array_threads", {"batch": batch}, hand_written=True)
        yield Case("DALI", "dali", {"batch": batch})
        yield Case("torch, 2 workers", "torch_files", {"batch": batch})
        if batch == 512:
            yield Case("torch, 4 workers", "torch_files", {"batch": batch, "threads": 4})
        one_file = {"batch": batch, "source": "arrays_of_one_file"}
        yield Case("penstock, one file", "penstock_loader", one_file)
        yield Case("torch, one file, 2 workers", "torch_files", one_file, against="penstock, one file")


WORKLOAD = Workload(
    "w2", "Preprocessed arrays",
    "2000 float32 samples of 3x224x224, one .npy file each (\"one file\": all in one), shuffled, no training step, "
    f"two threads or workers. {EPOCHS} epochs of one loader in a process: the first contains construction and "
    "the first touch of memory; of the later ones the median counts.",
    list(cases()),
    [Column("later_epochs_per_second", "samples/s, later epochs"),
     Column("first_epoch_per_second", "samples/s, first epoch"),
     Column("first_batch_ms", "first batch, ms", higher_is_better=False)],
    measure, group_by="batch")
