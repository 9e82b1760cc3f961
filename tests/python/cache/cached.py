"""Helpers of the tests of the cache: the same batches with and without it, and what it says it did."""

import contextlib
import fcntl
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps

LIMIT = 120  # generous: a hang is a failure, a slow machine is not
SHARED = pathlib.Path(os.environ["PENSTOCK_SHARED_MEMORY_DIR"])  # of this run of the tests alone: see conftest.py
KILLS = int(os.environ.get("PENSTOCK_KILLS", 10))  # processes, in each test that kills some


def same(one, other):
    """Bit for bit, with types and shapes."""
    if isinstance(one, np.ndarray):
        return (isinstance(other, np.ndarray) and one.dtype == other.dtype and one.shape == other.shape and
                one.tobytes() == other.tobytes())
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and one == other


def copied(value):
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, (list, tuple)):
        return type(value)(map(copied, value))
    return {key: copied(part) for key, part in value.items()} if isinstance(value, dict) else value


def cached_loader(source, batch_size=5, **options):
    return ps.Loader(source, batch_size, **({"output": "numpy", "threads": 2, "shuffle": True, "seed": 3} | options))


def batches_of(source, epochs=3, **options):
    with cached_loader(source, **options) as loader:
        return [[copied(batch) for batch in loader] for _ in range(epochs)]


def assert_same_epochs(got, expected):
    assert [len(epoch) for epoch in got] == [len(epoch) for epoch in expected]
    for number, (mine, its) in enumerate(zip(got, expected)):
        for place, (one, other) in enumerate(zip(mine, its)):
            assert same(one, other), f"epoch {number}, batch {place} differs"


def assert_counts_agree(stats):
    """Sums over epochs and tiers are the totals; every look is a hit or a miss."""
    cache, epochs = stats["cache"], [epoch["cache"] for epoch in stats["epochs"]]
    for key in ("hits", "misses"):
        assert sum(epoch[key] for epoch in epochs) == cache[key], key
    for part in (cache, *epochs):
        assert part["hits"] == sum(tier["hits"] for tier in part["tiers"].values())
        looks = part["hits"] + part["misses"]
        assert part["hit_ratio"] == (part["hits"] / looks if looks else 0)
        for tier in part["tiers"].values():
            assert (tier["bytes"] > 0) == (tier["hits"] > 0) and (tier["hits"] > 0 or tier["seconds_saved"] == 0)
            assert tier["seconds_saved"] >= 0
    for name, tier in cache["tiers"].items():
        assert sum(epoch["tiers"][name]["bytes"] for epoch in epochs) == tier["bytes"]
        assert 0 <= tier["used"] <= tier["capacity"]
    assert stats["memory"]["peak"] <= stats["memory"]["budget"]


def shared_files():
    return sorted(SHARED.glob(f"penstock-1-{os.geteuid()}-*"))


def abandoned_files():
    """Those that nobody uses."""
    out = []
    for path in shared_files():
        with contextlib.suppress(OSError), open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            out.append(path)
    return out


def mapped_files(process="self"):
    """The caches in shared memory that a process has, by name."""
    with open(f"/proc/{process}/maps") as file:
        parts = [line.split(maxsplit=5) for line in file]
    return sorted({pathlib.Path(part[5].strip()) for part in parts
                   if len(part) == 6 and part[5].startswith(f"{SHARED}/penstock-1-{os.geteuid()}-")})


def small_disk(folder, size):
    """A command before the program: the folder is a disk of this size."""
    folder.mkdir(exist_ok=True)
    wrapper = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o size={size} tmpfs "{folder}" && exec "$@"', "sh"]
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
        pytest.skip("may not mount a small disk")
    return wrapper


class Reader:
    """cached_reader.py in a process of its own: opens a loader, then goes through an epoch when told to."""

    def __init__(self, source, prelude="", wrapper=(), **options):
        here = str(pathlib.Path(__file__).parent)
        self.process = subprocess.Popen(
            [*wrapper, sys.executable, "-c", f"import sys; sys.path.insert(0, {here!r})\n{prelude}\n"
             "import cached_reader; cached_reader.main()", json.dumps({"source": str(source), **options})],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.opened = None

    def answer(self):
        line = self.process.stdout.readline()
        assert line, self.process.communicate(timeout=LIMIT)[1]
        return json.loads(line)

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def wait_open(self):
        self.opened = self.answer()
        return self

    def epoch(self):
        self.tell("epoch")
        return self.answer()

    def end(self, command="exit"):
        """The exit status and what it wrote to stderr."""
        self.tell(command)
        _, err = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, err

    def kill(self):
        self.process.kill()
        self.process.communicate(timeout=LIMIT)

    def __enter__(self):
        return self.wait_open()

    def file(self):
        """The one that it shares with others."""
        path, = mapped_files(self.process.pid)
        return path

    def __exit__(self, *_):
        """Ends it as if its program had come to its end."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()
