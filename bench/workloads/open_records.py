"""Opening a million records: the first time, which indexes the shards, and again in a new process."""
import importlib
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import places
from workloads.peak_memory import MIB, resident_mib
from workloads.workload import Case, Column, Workload

BATCH = 250  # divides the number of records
THREADS = 2


def timed_open(peer, index_folder):
    """(seconds, megabytes that the process grew by)"""
    before_mib = resident_mib("VmRSS")
    started = time.perf_counter()
    opened, count = peer.open_records(index_folder, BATCH, THREADS)
    seconds = time.perf_counter() - started
    grown_mib = resident_mib("VmRSS") - before_mib
    assert opened is not None and count == places.MANY_RECORDS_COUNT, count
    return seconds, grown_mib * MIB / 1e6


def timed_open_elsewhere(peer_name, index_folder):
    return timed_open(importlib.import_module(peer_name), index_folder)


def measure(peer):
    with tempfile.TemporaryDirectory() as index_folder:
        first_seconds, _ = timed_open(peer, index_folder)
        with ProcessPoolExecutor(1, get_context("spawn")) as processes:
            seconds, grown_mb = processes.submit(timed_open_elsewhere, peer.__name__, index_folder).result()
    return {"first_open_per_second": places.MANY_RECORDS_COUNT / first_seconds,
            "second_open_ms": 1e3 * seconds, "second_open_mb": grown_mb}


WORKLOAD = Workload(
    "open", "Opening a million records",
    "1,000,000 records of about 200 bytes in 100 shards, in the page cache, two threads or processes. The first open "
    "has no index: Penstock reads the shards and keeps one, DALI needs its programs wds2idx and tfrecord2idx run "
    "over every shard. The second open is of a new process and finds the index; it ends when the number of records "
    "is known, imports apart. WebDataset and tf.data keep no index: they cannot tell how many records there are, and "
    "read shards only from the start.",
    [Case("penstock, tar", "penstock_tar"), Case("penstock, TFRecord", "penstock_tfrecord"),
     Case("DALI, tar", "dali_webdataset", against="penstock, tar"),
     Case("DALI, TFRecord", "dali_tfrecord", against="penstock, TFRecord")],
    [Column("first_open_per_second", "first open, records/s"),
     Column("second_open_ms", "second open, ms", higher_is_better=False),
     Column("second_open_mb", "second open, MB", higher_is_better=False)],
    measure)
