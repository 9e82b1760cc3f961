"""Small files that ask for much, for every parser: memory, time and messages (see bombs/__init__.py).

Every run has a few files per parser, and the kinds that once took too much. `PENSTOCK_BOMBS=all` runs all of them and
prints a table.
"""

import dataclasses
import json
import os
import pathlib
import random
import select
import subprocess
import sys

import pytest

from bombs import MAX_BYTES, arrays, images, shards, tables, tiffs

MEMORY = 64 << 20
SLACK = MEMORY // 10
SECONDS = 30  # a hang, on a machine that does other things as well
RUNS_ALL = os.environ.get("PENSTOCK_BOMBS") == "all"
FEW = 6

# The files that once took too much memory or time, by parser: they are in every run.
REPORTED = {
    "png": ("zTXt-7x100", "surplus-900"),
    "jpeg": ("scans-2600-499", "progressive-411-1x60000"),
    "npz": ("members-6000", "zeros-200"),
    "tar_gz": ("json-700", "image-700", "behind-700"),
    "tfrecord_gz": ("zeros-800", "empty-strings-30"),
}
PARSERS = {
    "png": images.png_bombs,
    "jpeg": images.jpeg_bombs,
    "webp": images.webp_bombs,
    "gif": images.gif_bombs,
    "bmp": images.bmp_bombs,
    "pnm": images.pnm_bombs,
    "qoi": images.qoi_bombs,
    "tiff": tiffs.tiff_image_bombs,
    "tiff_volume": tiffs.tiff_volume_bombs,
    "ome_xml": tiffs.ome_bombs,
    "npy": arrays.npy_bombs,
    "npz": arrays.npz_bombs,
    "zarr": arrays.zarr_bombs,
    "tar": lambda folder, draws: shards.tar_bombs(folder, draws, "tar", ".tar", shards.plain_bytes),
    "tar_gz": lambda folder, draws: shards.tar_bombs(folder, draws, "tar_gz", ".tar.gz", shards.gzipped),
    "tar_zst": lambda folder, draws: shards.tar_bombs(folder, draws, "tar_zst", ".tar.zst", shards.zstandard),
    "tfrecord": lambda folder, draws: shards.tfrecord_bombs(folder, draws, "tfrecord", ".tfrecord", shards.plain_bytes),
    "tfrecord_gz": lambda folder, draws: shards.tfrecord_bombs(folder, draws, "tfrecord_gz", ".tfrecord.gz", shards.gzipped),
    "csv": tables.csv_bombs,
    "json_lines": tables.json_lines_bombs,
    "index": shards.index_bombs,
}


class Child:
    """A process that opens bombs; started anew when one of them took it down."""

    def __init__(self):
        self.process = None

    def start(self):
        self.process = subprocess.Popen([sys.executable, "-m", "bombs.run", f"{MEMORY >> 20}MiB"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, cwd=pathlib.Path(__file__).parent)

    def open(self, bomb):
        """Returns the answer of the process, or a sentence if it has ended or does not answer."""
        if self.process is None:
            self.start()
        self.process.stdin.write(json.dumps(dataclasses.asdict(bomb) | {"path": str(bomb.path)}) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], 3 * SECONDS)[0]:
            self.close()
            return f"no end after {3 * SECONDS} seconds"
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        code = self.process.wait()
        self.close()
        return f"the process ended with {code}"

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def faults_of(bomb, answer):
    """Returns the faults of the answer."""
    if isinstance(answer, str):
        return [answer]
    faults = []
    for result in answer["results"]:
        taken = result["peak"] - answer["base"]
        if taken > MEMORY + SLACK:
            faults.append(f"{taken >> 20} MiB beyond the import")
        if result["seconds"] > SECONDS:
            faults.append(f"{result['seconds']:.0f} s")
        # A budget that is too small for any sample is not the file's error, and a table's rows name other files.
        text = result["message"] + result["uri"]
        if result["error"] and "memory budget of" not in text and str(bomb.path.parent) not in text:
            faults.append(f"{result['error']} does not name the file: {result['message']}")
    return faults


def check(bombs):
    """Returns the faults of each bomb. Each fault is confirmed in a new process, free of what other bombs left."""
    child, found = Child(), {}
    try:
        for bomb in bombs:
            if faults_of(bomb, child.open(bomb)):
                alone = Child()
                faults = faults_of(bomb, alone.open(bomb))
                alone.close()
                child.close()
                if faults:
                    found[bomb.path.name] = faults
    finally:
        child.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("parser", PARSERS)
def test_small_files_that_ask_for_much_stay_within_memory_and_time(parser, tmp_path):
    bombs = PARSERS[parser](tmp_path, random.Random(parser))
    assert len(bombs) >= 50
    for bomb in bombs:
        files = [bomb.path] if bomb.path.is_file() else [file for file in bomb.path.rglob("*") if file.is_file()]
        assert sum(file.stat().st_size for file in files) <= MAX_BYTES
    reported = [bomb for bomb in bombs if bomb.name in REPORTED.get(parser, ())]
    assert len(reported) == len(REPORTED.get(parser, ()))
    others = [bomb for bomb in bombs if bomb not in reported]
    chosen = bombs if RUNS_ALL else reported + random.Random(parser).sample(others, FEW)
    found = check(chosen)
    if RUNS_ALL:
        print(f"{parser}: {len(chosen)} files, {len(found)} with faults")
    assert not found
