"""The tier on disk: whatever happened to the files of the folder, no wrong sample shows."""

import contextlib
import os
import random
import shutil

import pytest

import penstock as ps
from cached import assert_counts_agree, assert_same_epochs, cached_loader, copied
from disk_runs import LARGE, SAMPLES, files_of, hits, read
from pictures import noise


def flip_bits(path, flips, seed):
    """At places of which something is written."""
    chance = random.Random(seed)
    with open(path, "r+b") as file:
        size = os.path.getsize(path)
        for _ in range(flips):
            place = chance.randrange(size)
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 1 << chance.randrange(8)]))


def test_flipped_bits_in_the_data_are_noticed_counted_and_mended(noisy, folder, truth):
    _, stats = read(noisy, folder)
    used = stats["cache"]["tiers"]["disk"]["used"] - (files_of(folder) / "index").stat().st_size
    with open(files_of(folder) / "data", "r+b") as file:
        for place in range(used // SAMPLES // 2, used, used // SAMPLES * 4):  # in every fourth entry
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 16]))
    batches, stats = read(noisy, folder)
    assert_same_epochs(batches, truth[:2])
    damaged = stats["cache"]["damaged"]
    assert damaged == stats["cache"]["tiers"]["disk"]["damaged"] and 9 <= damaged <= 11
    assert hits(stats) == [SAMPLES - damaged, SAMPLES]  # made again at once
    batches, stats = read(noisy, folder)
    assert_same_epochs(batches, truth[:2])
    assert hits(stats) == [SAMPLES, SAMPLES] and stats["cache"]["damaged"] == 0


@pytest.mark.parametrize("name", ["data", "index"])
@pytest.mark.parametrize("seed", range(6))
def test_flipped_bits_anywhere_never_show(noisy, folder, truth, name, seed):
    read(noisy, folder)
    for round in range(3):
        flip_bits(files_of(folder) / name, 3000 if seed % 2 else 30, seed * 10 + round)
        for _ in range(2):
            batches, stats = read(noisy, folder)
            assert_same_epochs(batches, truth[:2])
            assert_counts_agree(stats)


def test_flipped_bits_in_the_beginning_of_the_index_never_show(noisy, folder, truth):
    """Byte by byte: sizes, counts and the lock."""
    read(noisy, folder)
    kept = (files_of(folder) / "index").read_bytes()
    for place in range(0, 128, 3):
        changed = bytearray(kept)
        changed[place] ^= 0xFF
        (files_of(folder) / "index").write_bytes(changed)
        batches, _ = read(noisy, folder, epochs=1)
        assert_same_epochs(batches, truth[:1])


def test_bits_flipped_while_it_is_read(noisy, folder, truth):
    with contextlib.closing(ps.Cache(disk=f"{folder}:{LARGE}")) as cache, \
            cached_loader(noisy, cache=cache, cache_form="decoded", transform=[ps.RandomCrop(32)]) as loader:
        assert_same_epochs([[copied(b) for b in loader]], truth[:1])
        flip_bits(files_of(folder) / "data", 100_000, 1)
        assert_same_epochs([[copied(b) for b in loader]], truth[1:2])
        assert loader.stats()["cache"]["damaged"] > 0


@pytest.mark.parametrize("what", ["empty data", "short data", "no data", "no index", "empty index", "short index", "zero index",
                                  "garbage index", "garbage data", "no contents", "garbage contents", "swapped", "folder for a file"])
def test_garbage_in_the_folder_never_shows(noisy, folder, truth, what, caplog):
    read(noisy, folder)
    own = files_of(folder)
    size = (own / "index").stat().st_size
    act = {
        "empty data": lambda: (own / "data").write_bytes(b""),
        "short data": lambda: os.truncate(own / "data", 100_000),
        "no data": lambda: (own / "data").unlink(),
        "no index": lambda: (own / "index").unlink(),
        "empty index": lambda: (own / "index").write_bytes(b""),
        "short index": lambda: os.truncate(own / "index", size // 2),
        "zero index": lambda: (own / "index").write_bytes(bytes(size)),
        "garbage index": lambda: (own / "index").write_bytes(noise((size,), 3).tobytes()),
        "garbage data": lambda: (own / "data").write_bytes(noise((900_000,), 3).tobytes()),
        "no contents": lambda: (own / "contents").unlink(missing_ok=True),
        "garbage contents": lambda: (own / "contents").write_bytes(noise((5000,), 3).tobytes()),
        "swapped": lambda: ((own / "data").rename(own / "x"), (own / "index").rename(own / "data"), (own / "x").rename(own / "index")),
        "folder for a file": lambda: ((own / "data").unlink(), (own / "data").mkdir()),
    }[what]
    act()
    for run in range(2):
        batches, stats = read(noisy, folder)
        assert_same_epochs(batches, truth[:2])
        assert_counts_agree(stats)
    if what == "folder for a file":
        assert any("goes on without the cache on disk" in record.getMessage() for record in caplog.records)
    else:
        assert hits(stats) == [SAMPLES, SAMPLES]


def test_a_file_in_place_of_the_folder(noisy, folder, truth, caplog):
    folder.write_text("not a folder")
    batches, stats = read(noisy, folder)
    assert_same_epochs(batches, truth[:2])
    said, = (record.getMessage() for record in caplog.records)
    assert "goes on without the cache on disk" in said and str(folder) in said
    assert "disk" not in stats["cache"]["tiers"] and folder.read_text() == "not a folder"


def test_a_folder_of_another_version_is_left_alone(noisy, folder, truth):
    other = folder / "penstock-cache-2"
    other.mkdir(parents=True)
    for name in ("index", "data", "notes"):
        (other / name).write_bytes(b"of another version")
    (folder / "mine.txt").write_text("the user's")
    for run in range(2):
        batches, stats = read(noisy, folder)
        assert_same_epochs(batches, truth[:2])
        assert hits(stats)[0] == (SAMPLES if run else 0)
    assert {path.name: path.read_bytes() for path in other.iterdir()} == dict.fromkeys(
        ("index", "data", "notes"), b"of another version")
    assert (folder / "mine.txt").read_text() == "the user's"


def test_links_in_place_of_the_files_are_not_followed(tmp_path, noisy, folder, truth):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    for name in ("index", "data"):
        shutil.rmtree(folder, ignore_errors=True)
        files_of(folder).mkdir(parents=True, mode=0o700)
        (files_of(folder) / name).symlink_to(victim)
        batches, _ = read(noisy, folder)
        assert_same_epochs(batches, truth[:2])
        assert victim.read_bytes() == b"precious"
