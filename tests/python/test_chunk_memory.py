"""Chunks that samples share: how often they are decoded with the memory there is."""

import gzip
import itertools
import math

import numpy as np
import pytest

import penstock as ps
from test_cli import cli, program  # noqa: F401  (fixtures)
from zarr_writers import make_loader, write_raw_v3

MIB = 1 << 20
GZIP = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip", "configuration": {"level": 1}}]


def write_gzip(path, data, chunks):
    """Chunks that can only be decoded as a whole, without other packages."""
    files = {}
    for place in itertools.product(*(range(math.ceil(n / c)) for n, c in zip(data.shape, chunks))):
        part = data[tuple(slice(p * c, (p + 1) * c) for p, c in zip(place, chunks))]
        assert part.shape == tuple(chunks)
        files["c/" + "/".join(map(str, place))] = gzip.compress(part.tobytes(), 1)
    return write_raw_v3(path, data.shape, chunks, data_type=data.dtype.name, codecs=GZIP, files=files)


def volume_of(shape):
    """Compresses well, and every place has its own surroundings."""
    z, y, x = (np.arange(n, dtype=np.uint32) for n in shape)
    return ((z[:, None, None] * 3 + y[:, None] * 5 + x) % 251).astype(np.uint8)


def run(source, **options):
    """Returns all batches of an epoch, and the statistics."""
    with make_loader(source, **options) as loader:
        batches = [batch if isinstance(batch, tuple) else (batch,) for batch in loader]
        stats = loader.stats()
    assert stats["planned"] == stats["delivered"] + stats["skipped"] + stats["failed"]
    return [np.concatenate([np.asarray(part) for part in parts]) for parts in zip(*batches)], stats


def optimal_decodes(samples, places):
    """Counts decodes if the chunk with the farthest next use is evicted. A sample is a list of its chunks."""
    uses = [chunk for chunks in samples for chunk in sorted(chunks)]
    held, decodes = [], 0
    for now, chunk in enumerate(uses):
        if chunk in held:
            continue
        decodes += 1
        if len(held) == places:
            held.remove(max(held, key=lambda old: uses.index(old, now) if old in uses[now:] else len(uses)))
        held.append(chunk)
    return decodes


def chunks_of_patches(positions, size, chunk):
    return [set(itertools.product(*(range(int(p) // c, (int(p) + s - 1) // c + 1)
                                    for p, s, c in zip(position, size, chunk)))) for position in positions]


@pytest.mark.parametrize("threads", [1, 2])
def test_memory_beyond_the_minimum_keeps_chunks(tmp_path, threads):
    """Two chunks of a quarter of the memory each: both fit beside what decoding takes."""
    volume = volume_of((512, 256, 256))
    path = write_gzip(tmp_path / "v", volume, (256, 256, 256))  # 16 MiB
    source = ps.Patches(path, (32, 32, 32), per_epoch=128)
    (patches, places), stats = run(source, fields=["image", "position"], batch_size=4, memory="64MiB", threads=threads)
    for patch, (z, y, x) in zip(patches, places):
        assert np.array_equal(patch, volume[z:z + 32, y:y + 32, x:x + 32])
    chunks = stats["chunks"]
    assert chunks["decoded"] == chunks["distinct"] == 2
    assert chunks["decodes_per_chunk"] == 1 and chunks["memory_for_one_decode"] is None
    assert stats["memory"]["peak"] <= 64 * MIB


@pytest.mark.parametrize("memory, places", [(64, 2), (75, 3)])
def test_decodes_are_those_of_the_best_replacement(tmp_path, memory, places):
    """Five chunks, of which two or three fit."""
    volume = volume_of((1250, 128, 500))
    path = write_gzip(tmp_path / "v", volume, (250, 128, 500))  # 15.3 MiB
    options = {"fields": ["image", "position"], "batch_size": 4, "threads": 1}
    source = ps.Patches(path, (32, 32, 32), per_epoch=128)
    (patches, at), stats = run(source, memory=f"{memory}MiB", **options)
    samples = chunks_of_patches(at, (32, 32, 32), (250, 128, 500))
    assert stats["chunks"]["decoded"] <= optimal_decodes(samples, places), stats["chunks"]
    if stats["chunks"]["memory_for_one_decode"] is None:
        return
    enough = stats["chunks"]["memory_for_one_decode"]
    (again, _), once = run(source, memory=enough, **options)
    assert np.array_equal(again, patches)
    assert once["chunks"]["decoded"] == once["chunks"]["distinct"] and once["chunks"]["memory_for_one_decode"] is None


def test_what_would_end_the_repetition_is_said(tmp_path):
    """Every patch reaches over all chunks, of which a quarter fits."""
    volume = volume_of((64, 512, 512))
    path = write_gzip(tmp_path / "v", volume, (64, 128, 128))  # 16 of 1 MiB
    options = {"fields": ["image"], "batch_size": 1, "prefetch": 1, "threads": 1, "shuffle": True}
    source = ps.Patches(path, (8, 512, 512))
    (short,), stats = run(source, memory="12MiB", **options)
    chunks = stats["chunks"]
    assert chunks["distinct"] == 16 and chunks["decodes_per_chunk"] == chunks["decoded"] / 16 > 2
    assert stats["bottleneck"] == "memory"
    (ample,), stats = run(source, memory=chunks["memory_for_one_decode"], **options)
    assert np.array_equal(short, ample)
    assert stats["chunks"]["decoded"] == stats["chunks"]["distinct"] == 16
    assert stats["bottleneck"] != "memory"


def test_workers_that_wait_for_each_others_chunks_come_to_an_end(tmp_path):
    """Chunks that cannot be compressed, of which one worker at a time can be decoding; each sample needs two."""
    volume = np.random.default_rng(0).integers(0, 255, (96, 256, 1024)).astype(np.uint8)
    path = write_gzip(tmp_path / "v", volume, (48, 256, 1024))  # 12 MiB
    source = ps.Patches(path, (60, 64, 64), per_epoch=16)
    for threads in (2, 4):
        (patches, places), _ = run(source, fields=["image", "position"], batch_size=2, memory="80MiB", threads=threads)
        for patch, (z, y, x) in zip(patches, places):
            assert np.array_equal(patch, volume[z:z + 60, y:y + 64, x:x + 64])


# -- chunks that are long in time: every sample needs all of them ------------------------------------


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    """64 steps and more of 100 x 100 numbers, in 100 chunks of 160 kB that hold all steps."""
    values = np.arange(400 * 100 * 100, dtype=np.float32).reshape(400, 100, 100)
    return write_gzip(tmp_path_factory.mktemp("series") / "t", values, (400, 10, 10)), values


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_batch_decodes_each_chunk_once(series, threads, shuffle):
    path, values = series
    (steps, keys), stats = run(ps.Zarr(path), fields=["array", "key"], batch_size=16, epoch_size=64, shuffle=shuffle,
                               memory="10MiB", threads=threads)
    assert all(np.array_equal(step, values[int(key)]) for step, key in zip(steps, keys))
    chunks = stats["chunks"]
    assert chunks["distinct"] == 100 and chunks["decoded"] <= 4 * 100, chunks
    assert stats["memory"]["peak"] <= 10 * MIB
    # One worker also keeps some of them from batch to batch.
    if threads == 1:
        assert chunks["decoded"] < 4 * 100, chunks


@pytest.mark.parametrize("threads", [1, 3])
def test_a_batch_decodes_each_chunk_once_for_other_steps_too(series, threads):
    path, values = series
    (steps, keys), stats = run(ps.Zarr(path), fields=["array", "key"], batch_size=16, epoch_size=64, shuffle=True,
                               memory="14MiB", threads=threads, transform=[ps.Map(lambda step: step[::2] * 2)])
    assert all(np.array_equal(step, values[int(key)][::2] * 2) for step, key in zip(steps, keys))
    assert stats["chunks"]["decoded"] <= 4 * 100, stats["chunks"]


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_a_damaged_chunk_costs_the_samples_that_need_it(tmp_path, on_error):
    volume = volume_of((64, 256, 256))
    path = write_gzip(tmp_path / "v", volume, (64, 64, 64))  # 16 of 256 kB
    (path / "c/0/1/2").write_bytes(b"no gzip")
    source = ps.Patches(path, (8, 40, 40), overlap=0.5)
    bad = {str(i) for i, chunks in enumerate(chunks_of_patches(places_of(source), (8, 40, 40), (64, 64, 64)))
           if (0, 1, 2) in chunks}
    assert 0 < len(bad) < len(source)
    for threads in (1, 3):
        with make_loader(source, fields=["image", "position", "key"], batch_size=8, shuffle=True, memory="6MiB",
                         threads=threads, on_error=on_error, max_skip=1.0) as loader:
            delivered = []
            for patches, places, keys in loader:
                delivered += list(keys)
                for patch, (z, y, x) in zip(patches, places):
                    assert np.array_equal(patch, volume[z:z + 8, y:y + 40, x:x + 40])
            stats = loader.stats()
        assert stats["planned"] == stats["delivered"] + stats["skipped"] + stats["failed"] == len(source)
        assert not bad & set(delivered)
        assert stats["replaced" if on_error == "replace" else "skipped"] == len(bad)


def places_of(source):
    with make_loader(source, fields=["position"], batch_size=64) as loader:
        return np.concatenate([np.asarray(batch[0] if isinstance(batch, tuple) else batch) for batch in loader])


def test_bench_says_what_memory_is_enough(series, cli):
    path, _ = series
    options = ("--batch", 1, "--threads", 1, "--epochs", 1, "--limit-batches", 8)
    short = cli("bench", path, "--memory", "8MiB", *options)
    assert "times (memory=" in short.stdout, short.stdout
    assert "bottleneck   memory (chunks are decoded again and again: memory=" in short.stdout, short.stdout
    enough = short.stdout.split("times (memory=")[1].split(" ")[0]
    ample = cli("bench", path, "--memory", enough, *options)
    assert "times (memory=" not in ample.stdout and "100 decoded" in ample.stdout, ample.stdout
