"""Damaged, hostile and odd arrays: errors that name the place, never wrong numbers."""

import os
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import pytest

import penstock as ps
from zarr_writers import (assert_one_line, assert_same, epoch, in_order, keyed_epoch, make_loader, write_raw_v2, write_raw_v3,
                          write_zarr)

DATA = np.arange(12 * 8, dtype=np.int32).reshape(12, 8)


def assert_accounts(stats):
    assert stats["planned"] == stats["delivered"] + stats["skipped"] + stats["failed"]
    for one in stats["epochs"]:
        assert one["planned"] == one["delivered"] + one["skipped"] + one["failed"]


# -- damaged chunks: each as the chunk that holds samples 4 and 5 ----------------------------------


def store_of(path, damage, codecs):
    """Twelve samples in six chunks; the file of the third is what `damage` makes of it."""
    import zarr

    array = zarr.create_array(str(path), shape=DATA.shape, chunks=(2, 8), dtype="i4", compressors=codecs)
    array[...] = DATA
    chunk = path / "c" / "2" / "0"
    damage(chunk)
    return chunk


def cut(chunk):
    chunk.write_bytes(chunk.read_bytes()[:-5])


def empty(chunk):
    chunk.write_bytes(b"")


def flip(chunk):
    data = bytearray(chunk.read_bytes())
    data[len(data) // 2] ^= 0x08
    chunk.write_bytes(data)


def lengthen(chunk):
    chunk.write_bytes(chunk.read_bytes() + b"surplus")


def replace_by_folder(chunk):
    chunk.unlink()
    chunk.mkdir()


def larger_gzip(chunk):
    import gzip
    chunk.write_bytes(gzip.compress(bytes(2 * 8 * 4 + 4)))


def smaller_gzip(chunk):
    import gzip
    chunk.write_bytes(gzip.compress(bytes(2 * 8 * 4 - 4)))


def bomb_gzip(chunk):
    import gzip
    chunk.write_bytes(gzip.compress(bytes(50 << 20)))


def chains():
    from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec

    return {"none": None, "gzip": GzipCodec(), "zstd": ZstdCodec(checksum=True), "blosc": BloscCodec(),
            "crc32c": Crc32cCodec(), "zstd crc32c": [ZstdCodec(), Crc32cCodec()]}


DAMAGES = [(damage, chain) for chain in ("none", "gzip", "zstd", "blosc", "crc32c", "zstd crc32c")
           for damage in (cut, empty, lengthen, replace_by_folder)]
DAMAGES += [(flip, chain) for chain in ("gzip", "zstd", "crc32c", "zstd crc32c")]
DAMAGES += [(damage, "gzip") for damage in (larger_gzip, smaller_gzip, bomb_gzip)]


@pytest.mark.parametrize("damage, chain", DAMAGES, ids=lambda value: getattr(value, "__name__", value))
def test_a_damaged_chunk_is_an_error_that_names_file_and_sample(tmp_path, damage, chain):
    chunk = store_of(tmp_path / "a", damage, chains()[chain])
    with make_loader(ps.Zarr(tmp_path / "a"), batch_size=2) as loader:
        batches = iter(loader)
        assert_same(next(batches), DATA[:2])
        assert_same(next(batches), DATA[2:4])
        with pytest.raises(ps.Error) as caught:
            next(batches)
        stats = loader.stats()
    error = caught.value
    assert_one_line(error)
    assert error.uri == str(chunk) and str(chunk) in str(error)
    assert error.sample in (4, 5)
    assert error.code in ("truncated", "corrupt", "too_large", "io", "unsupported")
    assert (stats["delivered"], stats["failed"]) == (4, 2)
    assert_accounts(stats)
    assert stats["chunks"]["missing"] == 0
    assert stats["errors"] and all(listed["uri"] == str(chunk) for listed in stats["errors"])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("damage, chain", [(cut, "zstd"), (flip, "crc32c"), (replace_by_folder, "none")],
                         ids=lambda value: getattr(value, "__name__", value))
def test_skip_and_replace_keep_the_books(tmp_path, damage, chain, threads):
    store_of(tmp_path / "a", damage, chains()[chain])
    good = [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]
    for shuffle in (False, True):
        options = {"batch_size": 3, "threads": threads, "shuffle": shuffle, "max_skip": 0.5}
        with make_loader(ps.Zarr(tmp_path / "a"), on_error="skip", **options) as loader:
            got = np.concatenate(list(loader))
            stats = loader.stats()
        assert sorted((got[:, 0] // 8).tolist()) == good
        assert_same(got, DATA[got[:, 0] // 8])
        assert (stats["delivered"], stats["skipped"], stats["failed"]) == (10, 2, 0)
        assert_accounts(stats)
        assert {listed["sample"] for listed in stats["errors"]} == {4, 5}
        with make_loader(ps.Zarr(tmp_path / "a"), on_error="replace", **options) as loader:
            got = np.concatenate(list(loader))
            stats = loader.stats()
        assert len(got) == 12 and set((got[:, 0] // 8).tolist()) <= set(good)
        assert_same(got, DATA[got[:, 0] // 8])
        assert (stats["delivered"], stats["replaced"]) == (12, 2)
        assert_accounts(stats)


def test_too_many_bad_samples_end_the_epoch(tmp_path):
    write_zarr(tmp_path / "a", DATA, (2, 8))
    for i in range(6):
        cut(tmp_path / "a" / "c" / str(i) / "0")
    with make_loader(ps.Zarr(tmp_path / "a"), batch_size=2, on_error="skip") as loader:
        with pytest.raises(ps.Error) as caught:
            list(loader)
        assert_one_line(caught.value)
        assert_accounts(loader.stats())


def test_patches_that_touch_a_damaged_chunk_are_errors_and_others_are_not(tmp_path):
    volume = np.arange(16**3, dtype=np.uint16).reshape(16, 16, 16)
    write_zarr(tmp_path / "v", volume, (8, 8, 8))
    cut(tmp_path / "v" / "c" / "0" / "1" / "0")
    with make_loader(ps.Patches(tmp_path / "v", (4, 4, 4)), on_error="skip", max_skip=0.5, batch_size=5) as loader:
        places = np.concatenate([position for _, position in loader])
        stats = loader.stats()
    assert_accounts(stats)
    assert (stats["skipped"], stats["delivered"]) == (8, 56)
    assert not any(z < 8 <= y and x < 8 for z, y, x in places.tolist())


# -- chunks that are not there ----------------------------------------------------------------------


@pytest.mark.parametrize("version, name", [(2, "2.0"), (3, "c/2/0")])
def test_missing_chunks_are_filled_and_counted_or_errors(tmp_path, version, name):
    write_zarr(tmp_path / "a", DATA, (2, 8), version=version, fill_value=-5)
    (tmp_path / "a" / name).unlink()
    expected = DATA.copy()
    expected[4:6] = -5
    with make_loader(ps.Zarr(tmp_path / "a"), batch_size=12) as loader:
        assert_same(next(iter(loader)), expected)
        assert loader.stats()["chunks"]["missing"] == 1
    with make_loader(ps.Zarr(tmp_path / "a", missing="error"), batch_size=2) as loader:
        batches = iter(loader)
        next(batches), next(batches)
        with pytest.raises(ps.Error) as caught:
            next(batches)
    assert caught.value.uri == str(tmp_path / "a" / name) and caught.value.sample in (4, 5)
    with make_loader(ps.Zarr(tmp_path / "a", missing="error"), batch_size=2, on_error="skip", max_skip=0.5) as loader:
        assert sum(len(batch) for batch in loader) == 10
        assert_accounts(loader.stats())


def test_chunks_missing_in_a_shard_are_filled_and_counted_or_errors(tmp_path):
    holes = DATA.copy()
    holes[4:6] = -5
    write_zarr(tmp_path / "a", holes, (2, 8), shards=(6, 8), fill_value=-5, config={"write_empty_chunks": False})
    with make_loader(ps.Zarr(tmp_path / "a"), batch_size=12) as loader:
        assert_same(next(iter(loader)), holes)
        assert loader.stats()["chunks"]["missing"] == 1
    with make_loader(ps.Zarr(tmp_path / "a", missing="error"), batch_size=12) as loader:
        with pytest.raises(ps.Error) as caught:
            next(iter(loader))
    assert caught.value.sample in (4, 5) and caught.value.uri == str(tmp_path / "a" / "c" / "0" / "0")


READ_AS_NOBODY = """
import os, sys
import penstock as ps
def read(path):
    return len(list(ps.Loader(ps.Zarr(path), batch_size=2, output="numpy", threads=1)))
read(sys.argv[2])  # what Python imports late is there by now
if os.getuid() == 0:  # root reads what it may not
    os.setgroups([])
    os.setegid(65534)
    os.seteuid(65534)
try:
    print("read", read(sys.argv[1]))
except ps.Error as error:
    print("error", error.code, error.sample, error.uri)
"""


@pytest.mark.parametrize("what", ["chunk", "folder"])
def test_a_chunk_that_may_not_be_read_is_an_error_and_never_fill(what):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = write_zarr(pathlib.Path(folder) / "a", DATA, (2, 8))
        locked = path / "c" / "2" / "0" if what == "chunk" else path / "c" / "2"

        good = write_zarr(pathlib.Path(folder) / "good", DATA, (2, 8))
        locked.chmod(0)
        done = subprocess.run([sys.executable, "-c", READ_AS_NOBODY, str(path), str(good)], capture_output=True, text=True,
                              timeout=60)
        locked.chmod(0o755)
    assert done.stdout.split()[:1] == ["error"], done.stdout + done.stderr
    assert done.stdout.split()[2] in ("4", "5") and done.stdout.split()[3] == str(path / "c" / "2" / "0")


# -- shard indexes ----------------------------------------------------------------------------------


def sharded(path, entries, payload=b"", checksum=False):
    """A shard of four chunks of two samples each, whose index says what it is told."""
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    index_codecs = [little, {"name": "crc32c"}] if checksum else [little]
    codecs = [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2, 8], "codecs": [little], "index_codecs": index_codecs, "index_location": "end"}}]
    index = b"".join(struct.pack("<QQ", *entry) for entry in entries)
    if checksum:
        index += struct.pack("<I", 0xdeadbeef)
    return write_raw_v3(path, (8, 8), (8, 8), codecs=codecs, files={"c/0/0": payload + index})


PAYLOAD = DATA[:8].tobytes()
GOOD = [(0, 64), (64, 64), (128, 64), (192, 64)]
BAD_INDEXES = {
    "offset beyond the end": [*GOOD[:2], (10**9, 64), GOOD[3]],
    "length beyond the end": [*GOOD[:3], (192, 10**9)],
    "into the index": [*GOOD[:3], (200, 64)],
    "sum overflows": [*GOOD[:2], (2**64 - 8, 64), GOOD[3]],
    "half a mark of missing": [*GOOD[:2], (2**64 - 1, 64), GOOD[3]],
    "overlapping": [(0, 64), (32, 64), (128, 64), (192, 64)],
    "two the same": [(0, 64), (0, 64), (128, 64), (192, 64)],
    "no bytes": [*GOOD[:2], (128, 0), GOOD[3]],
    "too short a chunk": [*GOOD[:2], (128, 60), GOOD[3]],
}


def test_a_good_shard_by_hand_is_read(tmp_path):
    assert_same(epoch(ps.Zarr(sharded(tmp_path / "s", GOOD, PAYLOAD)), batch_size=3), DATA[:8])


@pytest.mark.parametrize("name", BAD_INDEXES)
def test_a_shard_index_that_lies_is_an_error(tmp_path, name):
    path = sharded(tmp_path / "s", BAD_INDEXES[name], PAYLOAD)
    with pytest.raises(ps.Error) as caught:
        epoch(ps.Zarr(path), batch_size=8)
    assert caught.value.uri == str(path / "c" / "0" / "0") and caught.value.sample is not None
    assert caught.value.code in ("corrupt", "truncated") and caught.value.offset is not None
    assert_one_line(caught.value)


def test_a_shard_index_with_a_wrong_checksum_or_cut_off_is_an_error(tmp_path):
    with pytest.raises(ps.Error, match="checksum") as caught:
        epoch(ps.Zarr(sharded(tmp_path / "s", GOOD, PAYLOAD, checksum=True)), batch_size=8)
    assert caught.value.sample is not None
    path = sharded(tmp_path / "t", GOOD, PAYLOAD)
    (path / "c" / "0" / "0").write_bytes(b"x" * 40)
    with pytest.raises(ps.Error) as caught:
        epoch(ps.Zarr(path), batch_size=8)
    assert caught.value.code == "truncated" and caught.value.sample is not None
    (path / "c" / "0" / "0").write_bytes(b"")
    with pytest.raises(ps.Error) as caught:
        epoch(ps.Zarr(path), batch_size=8)
    assert caught.value.uri == str(path / "c" / "0" / "0")


# -- sizes ----------------------------------------------------------------------------------------

HUGE = """
import sys, time, resource
import penstock as ps
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
began = time.monotonic()
with ps.Loader(ps.Zarr(sys.argv[1]), batch_size=4, output="numpy", threads=1, memory="64MiB",
               shuffle={"False": False, "True": True}.get(sys.argv[2], sys.argv[2])) as loader:
    batch = next(iter(loader))
    assert (batch == 7).all() and len(batch) == 4, batch
    assert loader.stats()["chunks"]["missing"] > 0
print(time.monotonic() - began)
"""


@pytest.mark.parametrize("shuffle", ["False", "True", "window"])
@pytest.mark.parametrize("shape, chunks", [
    ((10**12, 4), (1, 4)),
    ((2 * 10**12, 4), (2, 4)),
    ((8, 10**6, 10**6), (8, 1, 1))],
    ids=["one sample a chunk", "two samples a chunk", "one place a chunk"])
def test_a_million_million_chunks_open_at_once(tmp_path, shape, chunks, shuffle):
    source = write_raw_v2(tmp_path / "a", shape, chunks, dtype="|u1", fill_value=7)
    if len(shape) == 3:  # a sample would be a terabyte: that is said, at once
        with pytest.raises(ps.Error) as caught:
            epoch(ps.Zarr(source), batch_size=4)
        assert_one_line(caught.value)
        return
    done = subprocess.run([sys.executable, "-c", HUGE, str(source), shuffle], capture_output=True, text=True, timeout=8)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 2


def test_a_bomb_takes_no_memory(tmp_path):
    import gzip
    write_raw_v2(tmp_path / "a", (4, 8), (2, 8), compressor={"id": "gzip", "level": 1},
                 files={"0.0": gzip.compress(bytes(100 << 20)), "1.0": zlib.compress(b"x")})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with make_loader(ps.Zarr(tmp_path / "a"), batch_size=4, on_error="skip", max_skip=1.0) as loader:
        assert sum(len(batch) for batch in loader) == 0
        assert_accounts(loader.stats())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


def test_a_chunk_that_does_not_fit_the_memory_says_what_would(tmp_path):
    path = write_raw_v2(tmp_path / "a", (64, 1024, 1024), (64, 1024, 1024), dtype="<f4")
    with pytest.raises(ps.MemoryBudgetError) as caught:
        epoch(ps.Zarr(path), batch_size=1, memory="64MiB")
    assert_one_line(caught.value)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_memory_that_an_error_asks_for_is_enough(tmp_path, threads):
    import re
    write_zarr(tmp_path / "a", DATA, (2, 8))
    source = ps.Zarr(tmp_path / "a")
    with pytest.raises(ps.MemoryBudgetError) as caught:
        epoch(source, batch_size=2, threads=threads, memory="256KiB")
    asked = re.search(r"at least (\d+ [KMG]iB)", str(caught.value)).group(1)
    assert_same(epoch(source, batch_size=2, threads=threads, memory=asked.replace(" ", "")), DATA)


def test_an_array_rewritten_while_it_is_open_gives_old_or_new_samples_or_an_error(tmp_path):
    path = write_zarr(tmp_path / "a", np.zeros((40, 64), np.int32), (2, 64), shards=(10, 64), compressors="auto")
    source = ps.Zarr(path)
    write_zarr(path, np.random.default_rng(0).integers(1, 9, (40, 64)).astype(np.int32), (2, 64), shards=(10, 64),
               compressors="auto")
    import zarr
    now = zarr.open_array(str(path))[...]
    for i, sample in enumerate(in_order(keyed_epoch(source, batch_size=4))):
        assert (sample == 0).all() or (sample == now[i]).all()
