"""What all tests share: own folders for caches, no ranks from outside, small data sets."""

import os
import pathlib
import shutil
import signal
import sys
import tempfile

import numpy as np
import pytest

from pictures import noise, save_jpeg, save_png, smooth

RANK_VARIABLES = (
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_PROCID",
    "SLURM_STEP_NUM_TASKS", "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS")

# A program that is started where Ctrl-C is ignored (nohup, a background job of a script) ignores it as well, and then no
# test of Ctrl-C could pass. A handler, other than "ignored", is not passed on to programs that the tests start. It does
# nothing, so that the tests themselves go on, as their caller wants.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, lambda *_: None)

# Each run of the tests has shared memory of its own. Otherwise runs would meet in /dev/shm: tests of the cache look for
# files that nobody uses, which another run has just left, and every cache that is opened removes such files, also those
# that another run is about to look at.
os.environ["PENSTOCK_SHARED_MEMORY_DIR"] = tempfile.mkdtemp(prefix="penstock-tests-", dir="/dev/shm")


def pytest_unconfigure():
    shutil.rmtree(os.environ["PENSTOCK_SHARED_MEMORY_DIR"], ignore_errors=True)


@pytest.fixture(autouse=True)
def own_surroundings(tmp_path_factory, monkeypatch):
    """Each test keeps its indexes to itself, runs as one process of one and finds the command of its interpreter."""
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"])  # has `penstock`
    monkeypatch.delenv("PENSTOCK_THREADS", raising=False)
    for name in RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def flat(tmp_path) -> pathlib.Path:
    """Twelve PNG images of 20x24; the pixels of each are its number."""
    folder = tmp_path / "flat"
    for i in range(12):
        save_png(folder / f"{i:03}.png", np.full((20, 24, 3), i, np.uint8))
    return folder


@pytest.fixture
def classes(tmp_path) -> pathlib.Path:
    """Three classes, made in another order than their names', of 4, 3 and 5 JPEG images of 60x80."""
    folder = tmp_path / "classes"
    for name, count in (("zebra", 5), ("ant", 4), ("horse", 3)):
        for i in range(count):
            save_jpeg(folder / name / f"{i}.jpg", smooth(60, 80, seed=len(name) * 10 + i))
    return folder


@pytest.fixture
def photos(tmp_path) -> pathlib.Path:
    """Eight JPEG images of different sizes, with detail."""
    folder = tmp_path / "photos"
    for i in range(8):
        save_jpeg(folder / f"{i}.jpg", smooth(150 + 37 * i, 320 - 19 * i, seed=i), quality=90)
    return folder


@pytest.fixture
def numbers(tmp_path) -> pathlib.Path:
    """One big .npy: sample i is filled with i."""
    path = tmp_path / "numbers.npy"
    np.save(path, np.arange(23, dtype=np.int64)[:, None].repeat(3, 1))
    return path


@pytest.fixture
def arrays(tmp_path) -> pathlib.Path:
    """A folder of ten .npy files, one a sample, of shape (4, 6) float32."""
    folder = tmp_path / "arrays"
    folder.mkdir()
    for i in range(10):
        np.save(folder / f"{i:02}.npy", noise((4, 6), seed=i).astype(np.float32))
    return folder
