"""Batches without copies, and memory that is counted."""

import gc

import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from pictures import noise


@pytest.fixture
def big(tmp_path):
    np.save(tmp_path / "big.npy", np.arange(64, dtype=np.float32)[:, None].repeat(16384, 1))  # 64 KiB a sample
    return tmp_path / "big.npy"


def test_numpy_batches_are_writable_aligned_and_share_the_loaders_memory(numbers):
    with ps.Loader(numbers, batch_size=4, output="numpy") as loader:
        batch = next(iter(loader))
    assert batch.flags.writeable and batch.flags.c_contiguous and not batch.flags.owndata
    assert batch.ctypes.data % 64 == 0
    batch += 1
    assert batch[0, 0] == 1


def test_torch_tensors_are_writable_and_need_no_copy(numbers):
    torch = pytest.importorskip("torch")
    with ps.Loader(numbers, batch_size=4, output="torch") as loader:
        batch = next(iter(loader))
        assert isinstance(batch, torch.Tensor) and batch.dtype == torch.int64
        batch += 1
        assert batch.numpy()[0, 0] == 1
        batch.numpy()[0, 0] = 77
        assert batch[0, 0] == 77


def test_torch_is_the_default_where_it_is_installed(classes):
    torch = pytest.importorskip("torch")
    with ps.Loader(classes, batch_size=12) as loader:
        images, labels = next(iter(loader))
    assert isinstance(images, torch.Tensor) and isinstance(labels, torch.Tensor)
    assert images.dtype == torch.uint8 and labels.dtype == torch.int64


def test_jax_arrays(numbers):
    jax = pytest.importorskip("jax")
    with ps.Loader(numbers, batch_size=4, output="jax", transform=[ps.Cast("float32")]) as loader:
        batches = list(loader)
    assert all(isinstance(batch, jax.Array) for batch in batches)
    assert np.array_equal(np.concatenate(batches), np.load(numbers))


def test_jax_images_and_labels(classes):
    jax = pytest.importorskip("jax")
    with ps.Loader(classes, batch_size=12, output="jax", transform=[ps.Normalize(0.5, 0.5)], dtype="bfloat16") as loader:
        images, labels = next(iter(loader))
    assert images.dtype == jax.numpy.bfloat16 and np.asarray(labels).sum() == 13


def test_dlpack_objects_are_taken_by_any_library(numbers):
    with ps.Loader(numbers, batch_size=4, output="dlpack") as loader:
        batch = next(iter(loader))
    assert np.from_dlpack(batch).shape == (4, 3)


def test_a_batch_outlives_its_loader(big):
    loader = ps.Loader(big, batch_size=8, output="numpy", shuffle=True)
    batches = [batch for batch in loader]
    copies = [batch.copy() for batch in batches]
    loader.close()
    assert all(map(np.array_equal, batches, copies))
    del loader
    gc.collect()
    noise((1 << 22,))  # uses freed memory, if any was freed
    assert all(map(np.array_equal, batches, copies))


def test_all_batches_of_an_epoch_can_be_kept(big):
    with ps.Loader(big, batch_size=4, output="numpy", memory="8MiB", threads=2) as loader:
        kept = [batch for batch in loader]
    assert np.array_equal(np.concatenate(kept), np.load(big))
    assert len({batch.ctypes.data for batch in kept}) == 16


def test_views_keep_the_batch_alive(big):
    with ps.Loader(big, batch_size=4, output="numpy") as loader:
        rows = [batch[1, ::2] for batch in loader]
    gc.collect()
    assert [row[0] for row in rows] == list(range(1, 64, 4))


def test_memory_of_dropped_batches_is_used_again(big):
    with ps.Loader(big, batch_size=4, output="numpy", memory="16MiB", prefetch=2, threads=1) as loader:
        places = set()
        for _ in range(4):
            for batch in loader:
                places.add(batch.ctypes.data)
        assert len(places) <= 8


def test_the_ledger_stays_under_the_budget_and_lends_what_was_delivered(big):
    with ps.Loader(big, batch_size=4, output="numpy", memory="8MiB", threads=2) as loader:
        kept = []
        for batch in loader:
            kept.append(batch)
            memory = loader.stats()["memory"]
            assert memory["peak"] <= memory["budget"] == 8 * 2**20
        assert loader.stats()["memory"]["lent"] >= 16 * 4 * 65536
        kept.clear()
        del batch
        assert loader.stats()["memory"]["lent"] == 0


def test_the_ledger_stays_under_the_budget_with_images(photos):
    steps = [ps.RandomResizedCrop(64), ps.ColorJitter(0.4), ps.Normalize(0.5, 0.5)]
    for threads in (1, 4):
        with ps.Loader(photos, batch_size=4, transform=steps, output="numpy", memory="12MiB", threads=threads,
                       epoch_size=64) as loader:
            assert sum(len(batch) for batch in loader) == 64
            memory = loader.stats()["memory"]
        assert 0 < memory["peak"] <= memory["budget"]


def test_sizes_are_read_as_people_write_them(numbers):
    for text, size in (("64MiB", 64 * 2**20), ("1 GB", 10**9), ("0.5GiB", 2**29), (10**8, 10**8), ("100000000", 10**8),
                       ("64mib", 64 * 2**20)):
        with ps.Loader(numbers, memory=text, output="numpy") as loader:
            assert loader.stats()["memory"]["budget"] == size


def test_stats_have_the_promised_keys(classes):
    with ps.Loader(classes, batch_size=4, transform=[ps.Resize((20, 20))], output="numpy") as loader:
        for _ in range(2):
            for _ in loader:
                pass
        stats = loader.stats()
    assert stats["planned"] == stats["delivered"] == 24 and stats["skipped"] == stats["failed"] == stats["padded"] == 0
    assert set(stats) >= {"planned", "delivered", "skipped", "failed", "padded", "errors", "stages", "queue",
                          "first_batch_seconds", "memory", "cache", "tuning", "bottleneck", "rank", "epochs"}
    assert [epoch["delivered"] for epoch in stats["epochs"]] == [12, 12]
    for name in ("read", "decode"):
        assert stats["stages"][name]["items"] == 24 and stats["stages"][name]["seconds"] > 0
    assert stats["stages"]["read"]["bytes"] == 2 * sum(path.stat().st_size for path in classes.rglob("*.jpg"))
    for stage in stats["stages"].values():
        assert set(stage) == {"seconds", "items", "bytes", "wait_seconds"}
    assert stats["first_batch_seconds"] > 0 and isinstance(stats["bottleneck"], str)
    assert set(stats["cache"]) == {"hits", "misses", "hit_ratio", "tiers", "form", "damaged"}


def test_peak_rss_stays_within_the_budget_also_where_types_are_converted(tmp_path):
    """In a process of its own: what the system says, not what the ledger says of itself."""
    for i in range(24):
        np.save(tmp_path / f"{i:02}.npy", np.arange(2_000_000, dtype=np.float64) + i)
    program = """
import re, sys
import numpy
import penstock as ps
def status(name):
    return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read()).group(1)) * 1024
before = status("VmRSS")
memory = 160 * 2**20
with ps.Loader(sys.argv[1], batch_size=4, dtype="float32", memory=memory, threads=2, output="numpy") as loader:
    for _ in range(3):
        for batch in loader:
            pass
    assert loader.stats()["memory"]["peak"] <= memory
grown = status("VmHWM") - before
assert grown <= 1.1 * memory, (grown, memory)
""".replace("\\\\", "\\")
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)


def test_a_budget_of_one_batch_serves_epoch_after_epoch(tmp_path):
    path = tmp_path / "numbers.npy"
    np.save(path, np.arange(64 * 2**18, dtype=np.float32).reshape(64, 2**18))  # 1 MiB a sample
    with ps.Loader(path, batch_size=4, memory="6.2MiB", threads=2, output="numpy") as loader:
        for epoch in range(30):
            assert [int(batch[0, 0]) for batch in loader] == [4 * i * 2**18 for i in range(16)]
