"""The cost of verifying TFRecord's checksums: epochs with and without, alternately, in one process."""
import statistics
import time

import places
from workloads.image_epoch import BATCH, THREADS
from workloads.workload import Case, Column, Workload

PAIRS = 9


def rate(epoch):
    started = time.perf_counter()
    delivered = sum(len(labels) for _, labels in epoch())
    assert delivered == places.JPEG_COUNT, delivered
    return delivered / (time.perf_counter() - started)


def measure(peer, source, **options):
    epochs = {verify: getattr(peer, source)(BATCH, THREADS, verify=verify, **options) for verify in (True, False)}
    for epoch in epochs.values():
        rate(epoch)
    rates = {True: [], False: []}
    for number in range(PAIRS):
        for verify in (True, False) if number % 2 else (False, True):
            rates[verify].append(rate(epochs[verify]))
    costs = [100 * (1 - checked / unchecked) for checked, unchecked in zip(rates[True], rates[False])]
    return {"verified_per_second": statistics.median(rates[True]),
            "unverified_per_second": statistics.median(rates[False]), "cost_percent": statistics.median(costs)}


WORKLOAD = Workload(
    "crc", "Cost of TFRecord's checksums",
    f"The TFRecord shards, checksums verified (the default) and not (`verify=False`), {PAIRS} epochs each alternately in "
    "one process after one unmeasured epoch each; cost: the median over the pairs.",
    [Case("penstock, images", "penstock_tfrecord", {"source": "images", "antialias": False}),
     Case("penstock, bytes as stored", "penstock_tfrecord", {"source": "stored_bytes"})],
    [Column("verified_per_second", "samples/s, verified"), Column("unverified_per_second", "samples/s, not verified"),
     Column("cost_percent", "cost, %", higher_is_better=False, digits=1)],
    measure)
