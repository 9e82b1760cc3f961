"""Staging over a slow link: the rate of a copy, and a fully shuffled first epoch while the copy is made.

The server waits before each answer and sends at a limited rate over all connections (slow_server.py). Every round
measures, one after the other:

    copy     penstock stage, from nothing
    alone    an epoch in full shuffle from the server, without staging
    staged   the same epoch with stage=, from an empty folder, and the time until the copy is whole

and the medians of the rounds are compared:

    link     rate of the copy / rate of the link
    epoch    seconds of the staged epoch / the longer of copy and alone
    first    seconds to the first batch, staged / alone
    bytes    bytes that the server sent for the staged epoch and the whole copy / size of the data

usage: stage.py [--rounds 3] [--mb 400] [--sample-kb 100] [--rate 100] [--latency-ms 20] [--folder /dev/shm] [--json]
"""
import argparse
import io
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request

import penstock as ps
import slow_server

PENSTOCK = str(pathlib.Path(sys.executable).parent / "penstock")  # the command of this interpreter

SHARDS = 4


def make_shards(folder, megabytes, sample_kb):
    draws, count = random.Random(1), megabytes * 1000 // SHARDS // sample_kb
    block = draws.randbytes(4_000_000)
    for shard in range(SHARDS):
        with tarfile.open(folder / f"t-{shard}.tar", "w") as tar:
            for sample in range(count):
                size = draws.randrange(sample_kb * 500, sample_kb * 1500)
                info = tarfile.TarInfo(f"{shard}{sample:06}.bin")
                info.size = size
                begin = draws.randrange(len(block) - size)
                tar.addfile(info, io.BytesIO(block[begin:begin + size]))


def bytes_sent(url):
    with urllib.request.urlopen(f"{url}/{slow_server.BYTES_SENT}") as answer:
        return int(answer.read())


def copy(pattern, target):
    began = time.monotonic()
    done = subprocess.run([PENSTOCK, "stage", pattern, target, "--json"], check=True, capture_output=True, text=True)
    return {"copy_s": time.monotonic() - began, "copied": json.loads(done.stdout)["bytes_copied"]}


def epoch(pattern, stage, seed):
    """A process of its own for each epoch would measure Python's imports, too; the index is saved before."""
    began = time.monotonic()
    loader = ps.Loader(pattern, batch_size=64, shuffle="full", seed=seed, output="numpy", stage=stage)
    first = 0.0
    for _ in loader:
        first = first or time.monotonic() - began
    return loader, {"first_s": first, "epoch_s": time.monotonic() - began}


def measure(options, url, pattern, number):
    target = pathlib.Path(tempfile.mkdtemp(prefix="stage-", dir=options.folder))
    try:
        row = copy(pattern, target / "copy")
        loader, alone = epoch(pattern, None, number)
        loader.close()
        sent, began = bytes_sent(url), time.monotonic()
        loader, staged = epoch(pattern, target / "staged", number)
        while loader.stats()["staging"]["objects_whole"] < SHARDS:
            time.sleep(0.01)
        row |= {"alone_" + key: value for key, value in alone.items()}
        row |= {"staged_" + key: value for key, value in staged.items()}
        row |= {"whole_s": time.monotonic() - began, "sent": bytes_sent(url) - sent}
        loader.close()
        return row
    finally:
        shutil.rmtree(target)


def summary(rows, size, rate):
    middle = {key: statistics.median(row[key] for row in rows) for key in rows[0]}
    return middle | {
        "link": size / middle["copy_s"] / rate,
        "epoch": statistics.median(row["staged_epoch_s"] / max(row["copy_s"], row["alone_epoch_s"]) for row in rows),
        "first": statistics.median(row["staged_first_s"] / row["alone_first_s"] for row in rows),
        "bytes": middle["sent"] / size}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mb", type=int, default=400)
    parser.add_argument("--sample-kb", type=int, default=100)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--latency-ms", type=float, default=20)
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        os.environ["PENSTOCK_CACHE_DIR"] = str(pathlib.Path(folder) / "indexes")
        source = pathlib.Path(folder) / "source"
        source.mkdir()
        make_shards(source, options.mb, options.sample_kb)
        size = sum(file.stat().st_size for file in source.iterdir())
        with slow_server.started(source, options.latency_ms / 1000, options.rate * 1e6) as url:
            pattern = f"{url}/t-{{0..{SHARDS - 1}}}.tar"
            ps.Tar(pattern)  # both epochs use the saved index
            rows = [measure(options, url, pattern, number) for number in range(options.rounds)]
    found = summary(rows, size, options.rate * 1e6)
    if options.json:
        json.dump({"options": vars(options), "rows": rows, "summary": found}, sys.stdout)
        return
    for row in rows:
        print("  ".join(f"{key} {value:,.2f}" if isinstance(value, float) else f"{key} {value:,}"
                        for key, value in row.items()))
    print("  ".join(f"{key} {found[key]:.3f}" for key in ("link", "epoch", "first", "bytes")))


if __name__ == "__main__":
    main()
