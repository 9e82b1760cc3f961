"""Processes that are stopped or killed while they hold a lock of the cache: the others go on.

PENSTOCK_STOPS=200 PENSTOCK_KILLS=100 for the full numbers.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import penstock as ps
from cached import KILLS, LIMIT, shared_files
from pictures import noise, save_png

HERE = pathlib.Path(__file__).parent
STOPS = int(os.environ.get("PENSTOCK_STOPS", 10))
SAMPLES = 16
# Loads round after round, each with a cache of its own size, which others join by giving the same.
VICTIM = """
import ctypes, json, sys
sys.path.insert(0, sys.argv[1])
import test_cache_stopped as test
shim = ctypes.CDLL(None)
print("{}", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    shim.stop_after(order["locks"], order["signal"])
    test.read_all(**order["where"])
    shim.stop_after(-1, 0)
    print("{}", flush=True)
"""


def read_all(source, folder, turn, epochs=2):
    """Reads with a cache that all who give the same have together. What comes, and how often a lock was kept."""
    with contextlib.closing(ps.Cache(ram=(2 << 20) + 4096 * turn, disk=f"{folder}/{turn}:2MiB")) as cache, \
            ps.Loader(source, 4, output="numpy", threads=2, cache=cache, cache_form="decoded") as loader:
        epochs = [np.concatenate([batch for batch in loader]) for _ in range(epochs)]
        return epochs, sum(tier["lock_timeouts"] for tier in cache.tiers().values())


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    out = tmp_path_factory.mktemp("shim") / "stop_inside_locks.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", out, HERE / "stop_inside_locks.c", "-ldl"], check=True)
    return out


class Victim:
    def __init__(self, shim):
        self.process = subprocess.Popen([sys.executable, "-c", VICTIM, str(HERE)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True,
                                        env=os.environ | {"LD_PRELOAD": str(shim), "PYTHONPATH": os.pathsep.join(sys.path)})
        assert self.process.stdout.readline()

    def start(self, **order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def wait_until_it_stands(self):
        """Stopped, dead, or through with it."""
        end = time.monotonic() + LIMIT
        os.set_blocking(self.process.stdout.fileno(), False)
        while time.monotonic() < end:
            state = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
            if state in "TZ":
                return state
            with contextlib.suppress(BlockingIOError, TypeError):
                if self.process.stdout.readline():
                    return "done"
            time.sleep(0.002)
        raise AssertionError("the victim neither stops nor ends")

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)
        os.set_blocking(self.process.stdout.fileno(), True)
        assert self.process.stdout.readline()

    def end(self):
        self.process.kill()
        self.process.send_signal(signal.SIGCONT)
        self.process.communicate(timeout=LIMIT)


@pytest.mark.slow
@pytest.mark.parametrize("by", ["stop", "kill"])
def test_others_go_on_when_one_stops_inside_a_lock(tmp_path, shim, by):
    for i in range(SAMPLES):
        save_png(tmp_path / "d" / f"{i:02}.png", noise((20, 20, 3), seed=i))
    where = {"source": str(tmp_path / "d"), "folder": str(tmp_path / "kept")}
    truth, _ = read_all(**where, turn=0)
    draw = random.Random(by)
    victim, stood, timeouts = Victim(shim), 0, 0
    try:
        for turn in range(1, 20 * (STOPS + KILLS)):
            victim.start(where=where | {"turn": turn}, locks=draw.randrange(24),
                         signal=int(signal.SIGSTOP if by == "stop" else signal.SIGKILL))
            state = victim.wait_until_it_stands()
            got, kept = read_all(**where, turn=turn)
            assert all(np.array_equal(*pair) for pair in zip(got, truth, strict=True))
            timeouts += kept
            if state == "T":
                stood += 1
                if draw.random() < 0.5:
                    victim.go_on()
                else:
                    victim.end()
                    victim = Victim(shim)
            elif state == "Z":
                stood += 1
                victim.end()
                victim = Victim(shim)
            shutil.rmtree(tmp_path / "kept" / str(turn), ignore_errors=True)
            if stood >= (STOPS if by == "stop" else KILLS):
                break
    finally:
        victim.end()
        read_all(**where, turn=0)  # removes what the last victim left
    assert stood >= (STOPS if by == "stop" else KILLS)
    print(f"{stood} times, by {by}, inside a lock, {timeouts} times another did without it")


def test_a_lock_that_another_keeps_is_told_and_counted(tmp_path, shim, caplog):
    for i in range(SAMPLES):
        save_png(tmp_path / "d" / f"{i:02}.png", noise((20, 20, 3), seed=i))
    where = {"source": str(tmp_path / "d"), "folder": str(tmp_path / "kept")}
    truth, _ = read_all(**where, turn=0)
    for locks in range(24):
        victim = Victim(shim)
        try:
            victim.start(where=where | {"turn": 1 + locks}, locks=locks, signal=int(signal.SIGSTOP))
            if victim.wait_until_it_stands() != "T":
                break
            got, timeouts = read_all(**where, turn=1 + locks)
            assert all(np.array_equal(*pair) for pair in zip(got, truth, strict=True))
            if timeouts:
                assert "another process has the cache's table locked" in caplog.text
                return
        finally:
            victim.end()
            read_all(**where, turn=0)  # removes what the victim left
    raise AssertionError("no lock of a table was kept")


# -- files of others --------------------------------------------------------------------------------


FOREIGN = """
import fcntl, os, sys, time
os.umask(0)
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o666)
os.fchown(file, 12345, 12345)
fcntl.flock(file, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="wants a file of another user")
def test_a_lock_of_another_user_is_not_waited_for(tmp_path, noisy, caplog):
    """The name can be guessed: it is that of the first run."""
    own = {"batch_size": 5, "output": "numpy", "cache": "4MiB"}
    with ps.Loader(noisy, **own) as loader:
        truth = np.concatenate(list(loader))
        name, = shared_files()
    assert not name.exists()
    with subprocess.Popen([sys.executable, "-c", FOREIGN, str(name)], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "locked\n"
            began = time.monotonic()
            with ps.Loader(noisy, **own) as loader:
                assert time.monotonic() - began < 3
                assert np.array_equal(np.concatenate(list(loader)), truth)
                assert not loader.stats()["cache"]["tiers"]["ram"]["shared"]
            assert "not a plain file of this user's" in caplog.text
        finally:
            other.kill()
    name.unlink()


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "open to others"])
def test_what_stands_under_the_name_of_the_memory_is_left_alone(tmp_path, noisy, caplog, kind):
    own = {"batch_size": 5, "output": "numpy", "cache": "4MiB"}
    with ps.Loader(noisy, **own):
        name, = shared_files()
    target = tmp_path / "target"
    target.write_bytes(b"mine")
    if kind == "link":
        name.symlink_to(target)
    elif kind == "fifo":
        os.mkfifo(name)
    elif kind == "folder":
        name.mkdir()
    else:
        name.touch()
        name.chmod(0o666)
        holder = open(name)
        fcntl.flock(holder, fcntl.LOCK_SH)
    try:
        with ps.Loader(noisy, **own) as loader:
            assert len(list(loader)) == 8
            # A FIFO of this user's that nobody has open is removed like any other file that was left.
            assert loader.stats()["cache"]["tiers"]["ram"]["shared"] == (kind == "fifo")
        assert target.read_bytes() == b"mine" and ("for this process alone" in caplog.text or kind == "fifo")
    finally:
        if kind == "folder":
            name.rmdir()
        else:
            name.unlink(missing_ok=True)
