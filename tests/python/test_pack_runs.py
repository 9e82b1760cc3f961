"""Packing that is interrupted, done in parts, damaged or repeated."""

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
from packed import assert_same_samples, files_of, sample
from pictures import noise, save_jpeg, save_png, smooth
from records import write_tar

KILLS = int(os.environ.get("PENSTOCK_KILLS", "10"))
LIMIT = 120


@pytest.fixture
def images(tmp_path):
    for i in range(40):
        save_jpeg(tmp_path / "images" / f"class{i % 3}" / f"{i:03}.jpg", smooth(30, 40, seed=i))
    return tmp_path / "images"


def pack_by_command(*arguments, **options):
    return subprocess.run(["penstock", "pack", *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT,
                          **options)


@pytest.mark.parametrize("format", ["tar", "tfrecord"])
def test_threads_and_parts_do_not_change_a_byte(images, tmp_path, format):
    options = {"format": format, "shard_size": "10KiB", "shuffle_seed": 3}
    ps.pack(images, tmp_path / "one", threads=1, **options)
    expected = files_of(tmp_path / "one")
    assert len(expected) > 6
    for threads in (2, 4):
        ps.pack(images, tmp_path / f"threads{threads}", threads=threads, **options)
        assert files_of(tmp_path / f"threads{threads}") == expected
    for part in (2, 0, 1):
        assert ps.pack(images, tmp_path / "parts", part=(part, 3), **options).manifest is None
    done = ps.finish_pack(tmp_path / "parts")
    assert done.samples == 40 and done.manifest.endswith("penstock-pack.json")
    assert files_of(tmp_path / "parts") == expected


def test_more_parts_than_shards_and_the_command_line(images, tmp_path):
    for part in range(5):
        done = pack_by_command(images, tmp_path / "out", "--part", f"{part}/5", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["manifest"] is None
    done = pack_by_command(tmp_path / "out", "--finish", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["samples"] == 40
    assert_same_samples(images, tmp_path / "out")


def test_inspect_does_not_invent_numbers_of_classes(images, tmp_path):
    ps.pack(images, tmp_path / "out")
    found = subprocess.run(["penstock", "inspect", tmp_path / "out", "--json"], capture_output=True, text=True, check=True)
    classes = json.loads(found.stdout)["classes"]
    assert classes["count"] == 3 and set(classes["samples"].values()) == {None} and classes["smallest"] is None
    assert "smallest" not in subprocess.run(["penstock", "inspect", tmp_path / "out"], capture_output=True, text=True).stdout


def test_encode_means_all_images_on_the_command_line_too(tmp_path):
    save_png(tmp_path / "in" / "a" / "1.png", smooth(20, 30, seed=1))
    for encode in ("jpeg", "png"):
        assert pack_by_command(tmp_path / "in", tmp_path / encode, "--encode", encode).returncode == 0
        ps.pack(tmp_path / "in", tmp_path / f"{encode}-by-python", encode=encode)
        assert files_of(tmp_path / encode) == files_of(tmp_path / f"{encode}-by-python")
    assert b"a/1.jpg" in (tmp_path / "jpeg/shard-000000.tar").read_bytes()


@pytest.mark.parametrize("format", ["tar", "npy", "zarr"])
def test_other_data_of_the_same_names_and_sizes_are_not_taken_for_what_was_packed(format, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((100, 8), np.float32))
    ps.pack(tmp_path / "x.npy", tmp_path / "out", format)
    np.save(tmp_path / "x.npy", np.ones((100, 8), np.float32))
    with pytest.raises(ps.Error, match="another source|other data"):
        ps.pack(tmp_path / "x.npy", tmp_path / "out", format)


def test_missing_parts_are_named(images, tmp_path):
    ps.pack(images, tmp_path / "out", shard_size="10KiB", part=(0, 2))
    with pytest.raises(ps.NotFoundError, match=r"these are missing: \d"):
        ps.finish_pack(tmp_path / "out")
    assert not (tmp_path / "out/penstock-pack.json").exists()
    done = pack_by_command(tmp_path / "out", "--finish")
    assert done.returncode == 1 and "these are missing" in done.stderr


def test_shuffling_is_a_permutation_of_all_samples(images, tmp_path):
    ps.pack(images, tmp_path / "out", shard_size="10KiB", shuffle_seed=1)
    packed, source = ps.open_source(tmp_path / "out"), ps.open_source(images)
    order = [int(sample(packed, i)["image"].astype(int).sum()) for i in range(40)]
    straight = [int(sample(source, i)["image"].astype(int).sum()) for i in range(40)]
    assert sorted(order) == sorted(straight) and order != straight


# -- killed, stopped, started twice -------------------------------------------------------------------


def big_set(folder):
    """Files of 40 KB that take a while to be packed as JPEGs."""
    for i in range(120):
        save_png(folder / f"c{i % 2}" / f"{i:03}.png", smooth(120, 160, seed=i))
    return folder


def test_a_killed_run_continues_and_makes_the_same_bytes(tmp_path):
    source = big_set(tmp_path / "in")
    options = ["--shard-size", "300KiB", "--quality", "90", "--threads", "2"]
    began = time.monotonic()
    assert pack_by_command(source, tmp_path / "expected", *options).returncode == 0
    seconds = time.monotonic() - began
    expected = files_of(tmp_path / "expected")
    rng = random.Random(5)
    skipped = killed = 0
    for round_ in range(KILLS):
        out = tmp_path / f"out{round_}"
        process = subprocess.Popen(["penstock", "pack", str(source), str(out), *options], stdout=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, seconds))
        process.send_signal(signal.SIGKILL)
        killed += process.wait(LIMIT) == -signal.SIGKILL
        for name, digest in (files_of(out) if out.exists() else {}).items():
            assert expected[name] == digest, f"{name} was visible before it was complete"
        done = pack_by_command(source, out, *options, "--json")
        assert done.returncode == 0, done.stderr
        skipped += json.loads(done.stdout)["shards_skipped"]
        assert files_of(out) == expected
        shutil.rmtree(out)
    assert killed > 0 and skipped > 0


def test_temporary_files_of_dead_processes_are_removed_later(images, tmp_path):
    out = tmp_path / "out"
    ps.pack(images, out)
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = [out / f"shard-000000.tar.{dead.pid}-0.tmp", out / f"shard-000000.tar.{os.getpid()}-7.tmp",
            out / f"shard-000000.tar.{dead.pid}-1.tmp"]
    for path in left:
        path.write_bytes(b"half")
    os.utime(left[0], (time.time() - 3600,) * 2)
    os.utime(left[1], (time.time() - 3600,) * 2)  # its process lives
    ps.pack(images, out)
    assert [path.exists() for path in left] == [False, True, True]  # the last one is too young


def test_the_same_part_started_twice_at_once_is_safe(tmp_path):
    source = big_set(tmp_path / "in")
    arguments = ["penstock", "pack", str(source), str(tmp_path / "out"), "--shard-size", "200KiB", "--quality", "80"]
    runs = [subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(3)]
    for run in runs:
        assert run.wait(LIMIT) == 0, run.stderr.read()
    ps.pack(source, tmp_path / "alone", shard_size="200KiB", quality=80)
    assert files_of(tmp_path / "out") == files_of(tmp_path / "alone")
    assert not list((tmp_path / "out").glob("*.tmp"))


def test_the_next_call_continues_after_ctrl_c(tmp_path):
    program = """
import sys, signal, threading, os
import penstock as ps
source, out = sys.argv[1:]
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        ps.pack(source, out, quality=95, shard_size=1, transform=[ps.Resize(900)])
        import shutil; shutil.rmtree(out)
except KeyboardInterrupt:
    print("stopped")
"""
    source = big_set(tmp_path / "in")
    process = subprocess.Popen([sys.executable, "-c", program, str(source), str(tmp_path / "out")],
                               stdout=subprocess.PIPE, text=True)
    out, _ = process.communicate(timeout=LIMIT)
    assert out.startswith("stopped")
    ps.pack(source, tmp_path / "out", quality=95, shard_size=1, transform=[ps.Resize(900)])
    assert len(ps.open_source(tmp_path / "out")) == 120


# -- faults of the destination and of the source -------------------------------------------------------


def test_a_full_disk_is_a_clean_error_and_a_later_run_continues(images, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", small], capture_output=True).returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    try:
        with pytest.raises(ps.Error, match="No space left on device"):
            ps.pack(images, small / "out", shard_size="10KiB")
        assert not list((small / "out").glob("*.tmp"))
        subprocess.run(["mount", "-o", "remount,size=10m", small], check=True)
        done = ps.pack(images, small / "out", shard_size="10KiB")
        assert done.shards_skipped > 0
        assert_same_samples(images, small / "out")
    finally:
        subprocess.run(["umount", small], check=False)


def test_a_destination_that_cannot_be_written_is_named(images, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ps.Error, match="file/out"):
        ps.pack(images, tmp_path / "file" / "out")
    with pytest.raises(ps.Error, match="cannot be written"):
        ps.pack(images, "http://127.0.0.1:9/out")


def test_a_source_that_changed_meanwhile_is_an_error(images, tmp_path, monkeypatch):
    source = ps.open_source(images)
    victim = images / "class1" / "001.jpg"
    save_jpeg(victim, smooth(30, 41, seed=99))
    with pytest.raises(ps.Error, match="changed") as caught:
        ps.pack(source, tmp_path / "out")
    assert "001.jpg" in str(caught.value)
    assert not list((tmp_path / "out").glob("*.tar"))
    ps.pack(images, tmp_path / "out")
    assert_same_samples(images, tmp_path / "out")
    # Another data set than the folder holds. The kept index of a folder does not notice files that were written in place.
    save_jpeg(images / "class1" / "004.jpg", smooth(60, 41, seed=98))
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(ps.UsageError, match="packed from another source or with other options"):
        ps.pack(images, tmp_path / "out")


def test_a_damaged_sample_is_copied_unless_it_must_be_decoded(images, tmp_path):
    victim = images / "class1" / "001.jpg"
    victim.write_bytes(victim.read_bytes()[:200])
    ps.pack(images, tmp_path / "copied")
    with pytest.raises(ps.Error, match="001.jpg"):
        ps.pack(images, tmp_path / "made", transform=[ps.Resize(10)])


def test_random_transforms_are_refused(images, tmp_path):
    with pytest.raises(ps.UsageError, match="RandomCrop draws at random"):
        ps.pack(images, tmp_path / "out", transform=[ps.RandomCrop(10)])
    with pytest.raises(ps.UsageError, match="generator=True draws at random"):
        ps.pack(images, tmp_path / "out", transform=[ps.Map(lambda image, rng: image, generator=True)])
    assert not (tmp_path / "out").exists()


def test_compressed_shards_are_packed_in_order(tmp_path):
    files = [(f"{i:03}.bin", np.random.default_rng(i).bytes(3000)) for i in range(50)]
    source = write_tar(tmp_path / "in.tar.gz", files)
    ps.pack(source, tmp_path / "out", shard_size="30KiB")
    assert_same_samples(source, tmp_path / "out")
    with pytest.raises(ps.UsageError, match="cannot be shuffled"):
        ps.pack(source, tmp_path / "other", shuffle_seed=1)


# -- damage of what was packed -------------------------------------------------------------------------


@pytest.fixture
def packed(images, tmp_path):
    ps.pack(images, tmp_path / "packed", shard_size="10KiB")
    return tmp_path / "packed"


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def read_all(folder):
    source = ps.open_source(folder)
    return [source[i] for i in range(len(source))]


def test_a_flipped_bit_in_a_member_is_noticed_with_file_and_offset(packed):
    flip(packed / "shard-000001.tar", 512 + 700)
    with pytest.raises(ps.Error, match=r"CRC32C.*shard-000001\.tar @ 512") as caught:
        read_all(packed)
    assert caught.value.offset == 512
    verified = subprocess.run(["penstock", "verify", packed], capture_output=True, text=True)
    assert verified.returncode == 1 and "shard-000001.tar" in verified.stdout


def test_a_flipped_bit_in_a_header_is_noticed_by_verify(packed):
    assert subprocess.run(["penstock", "verify", packed], capture_output=True).returncode == 0
    flip(packed / "shard-000001.tar", 20)
    read_all(packed)  # the index knows where the members are
    verified = subprocess.run(["penstock", "verify", packed, "--json"], capture_output=True, text=True)
    assert verified.returncode == 1
    assert any("shard-000001.tar" in error["file"] for error in json.loads(verified.stdout)["errors"])


def test_a_truncated_shard_is_noticed(packed):
    os.truncate(packed / "shard-000001.tar", 5000)
    with pytest.raises(ps.Error, match="does not fit its shard.*shard-000001.tar.index"):
        ps.open_source(packed)


@pytest.mark.parametrize("damage", ["flipped", "truncated", "empty", "missing"])
def test_a_damaged_index_is_an_error_that_names_it(packed, damage):
    index = packed / "shard-000001.tar.index"
    if damage == "flipped":
        flip(index, 300)
    elif damage == "truncated":
        os.truncate(index, index.stat().st_size - 9)
    elif damage == "empty":
        os.truncate(index, 0)
    else:
        index.unlink()
    with pytest.raises(ps.Error, match="shard-000001.tar.index"):
        ps.open_source(packed)
    assert subprocess.run(["penstock", "verify", packed], capture_output=True).returncode == 1


def test_swapped_shards_and_indexes_are_noticed(packed):
    def swap(one, other):
        one, other = packed / one, packed / other
        kept = one.read_bytes()
        one.write_bytes(other.read_bytes())
        other.write_bytes(kept)

    swap("shard-000000.tar.index", "shard-000001.tar.index")
    with pytest.raises(ps.Error, match=r"index of shard-000001\.tar"):
        ps.open_source(packed)
    swap("shard-000000.tar", "shard-000001.tar")
    with pytest.raises(ps.Error, match="shard-00000[01].tar.index"):
        ps.open_source(packed)


@pytest.mark.parametrize("format", ["tar", "tfrecord"])
def test_a_shard_of_another_pack_is_noticed_also_with_its_index(images, tmp_path, format):
    for name, seed in (("one", 1), ("other", 2)):
        ps.pack(images, tmp_path / name, format, shard_size="10KiB", shuffle_seed=seed)
    for ending in ("", ".index"):
        shutil.copy(tmp_path / "other" / f"shard-000001.{format}{ending}", tmp_path / "one")
    with pytest.raises(ps.Error, match=rf"of another data set.*shard-000001\.{format}\.index"):
        ps.open_source(tmp_path / "one")


def test_a_damaged_manifest_is_an_error_that_names_it(packed):
    manifest = packed / "penstock-pack.json"
    manifest.write_text(manifest.read_text().replace('"samples": 40', '"samples": 41'))
    with pytest.raises(ps.Error, match=r"checksum of the manifest is wrong.*penstock-pack\.json"):
        ps.open_source(packed)


def test_a_missing_shard_is_an_error(packed):
    (packed / "shard-000001.tar").unlink()
    with pytest.raises(ps.NotFoundError, match="shard-000001.tar"):
        ps.open_source(packed)


def test_verify_of_numbers_leaves_no_checksum_out(tmp_path):
    np.save(tmp_path / "rows.npy", noise((30, 100)))
    ps.pack(tmp_path / "rows.npy", tmp_path / "out", "npy")
    flip(tmp_path / "out/array-shard-000000.npy", 500)
    with pytest.raises(ps.Error, match="CRC32C"):
        read_all(tmp_path / "out")
    with pytest.raises(ps.Error, match="CRC32C"):
        read_all(tmp_path / "out/array-shard-000000.npy")


def test_packing_keeps_within_its_memory(tmp_path):
    files = [(f"{i:03}.bin", np.random.default_rng(i).bytes(400_000)) for i in range(60)]
    source = write_tar(tmp_path / "in.tar", files)
    ps.pack(source, tmp_path / "out", memory="6MiB", threads=4)
    ps.pack(source, tmp_path / "other", threads=1)
    assert files_of(tmp_path / "out") == files_of(tmp_path / "other")
    with pytest.raises(ps.MemoryBudgetError):
        ps.pack(source, tmp_path / "third", memory="1MiB")
