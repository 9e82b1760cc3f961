"""A disk tier below a tier in memory: once all samples are in, those in memory are copied there for the next run."""

import contextlib
import time

import numpy as np
import pytest

import penstock as ps
from cached import LIMIT, Reader, assert_same_epochs, batches_of, cached_loader, copied, same, small_disk
from cached_reader import expected_digests
from pictures import noise, save_png
from zarr_writers import write_zarr

SAMPLES = 40
CROP = [["RandomCrop", 32]]
ENTRY = 70 * 70 * 3 + 128  # of a decoded picture, about


def options_of(source, folder, disk="16MiB", **more):
    return {"source": source, "steps": CROP, "cache_form": "decoded",
            "cache_options": {"ram": "16MiB", "disk": f"{folder}:{disk}"}} | more


def wait_until(condition):
    """Waits for something that happens in the background."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def disk_entries(reader):
    return reader.epoch()["tiers"]["disk"]["entries"]


def test_the_next_run_starts_warm_although_all_fitted_into_memory(noisy, folder):
    own = options_of(noisy, folder)
    expected = expected_digests(1, **own)
    with Reader(**own) as reader:
        assert reader.epoch()["tiers"]["ram"]["entries"] == SAMPLES
        wait_until(lambda: disk_entries(reader) == SAMPLES)
        last = reader.epoch()
        assert last["tiers"]["disk"]["copied"] == SAMPLES and last["tiers"]["disk"]["hits"] == 0 and last["warnings"] == []
        assert reader.end() == (0, "")
    with Reader(**own) as reader:
        answer = reader.epoch()
        assert (answer["hits"], answer["misses"], answer["digests"]) == (SAMPLES, 0, expected[0])
        assert answer["tiers"]["disk"]["hits"] == SAMPLES and answer["tiers"]["ram"]["entries"] == 0
        assert answer["damaged"] == 0


def test_one_epoch_is_enough_and_copying_goes_on_when_the_loader_is_closed(noisy, folder):
    with contextlib.closing(ps.Cache(ram="16MiB", disk=f"{folder}:16MiB")) as cache:
        with cached_loader(noisy, cache=cache, cache_form="decoded") as loader:
            list(loader)
        wait_until(lambda: cache.tiers()["disk"]["entries"] == SAMPLES)
        assert cache.tiers()["disk"]["copied"] == SAMPLES


def test_closing_copies_nothing_and_leaves_a_valid_folder(noisy, folder):
    truth = batches_of(noisy, 1)
    for _ in range(3):
        with contextlib.closing(ps.Cache(ram="16MiB", disk=f"{folder}:16MiB")) as cache:
            with cached_loader(noisy, cache=cache, cache_form="decoded") as loader:
                assert_same_epochs([[copied(batch) for batch in loader]], truth)
                stats = loader.stats()["cache"]
                assert stats["damaged"] == 0 and stats["hits"] + stats["misses"] == SAMPLES


def test_no_entry_is_in_two_tiers_before_all_samples_are_in_one(noisy, folder):
    with contextlib.closing(ps.Cache(ram="16MiB", disk=f"{folder}:16MiB")) as cache:
        with cached_loader(noisy, cache=cache, cache_form="decoded", prefetch=1) as loader:
            batches = iter(loader)
            next(batches)
            time.sleep(0.5)  # more than two looks of the thread that copies
            tiers = cache.tiers()
            assert 0 < tiers["ram"]["entries"] < SAMPLES and tiers["disk"]["entries"] == 0
            list(batches)
            wait_until(lambda: cache.tiers()["disk"]["entries"] == SAMPLES)


def test_what_went_to_disk_at_first_is_not_copied(noisy, folder):
    """Memory for some, disk for all: the disk ends up with every sample, each once."""
    with contextlib.closing(ps.Cache(ram=1 << 20, disk=f"{folder}:16MiB")) as cache:
        for i in range(80):
            save_png(noisy / f"more{i:02}.png", noise((70, 70, 3), seed=100 + i), compress_level=1)
        with cached_loader(noisy, cache=cache, cache_form="decoded") as loader:
            list(loader)
            first = cache.tiers()
            in_memory = first["ram"]["entries"]
            assert 0 < in_memory < SAMPLES + 80
            wait_until(lambda: cache.tiers()["disk"]["entries"] == SAMPLES + 80)
            assert cache.tiers()["disk"]["copied"] == in_memory


def test_copies_keep_to_the_size_of_the_disk(noisy, folder, caplog):
    truth = batches_of(noisy, 3)
    with contextlib.closing(ps.Cache(ram="16MiB", disk=f"{folder}:{ENTRY * 20}")) as cache:
        with cached_loader(noisy, cache=cache, cache_form="decoded") as loader:
            assert_same_epochs([[copied(batch) for batch in loader] for _ in range(3)], truth)
            wait_until(lambda: cache.tiers()["disk"]["entries"] >= 10)
            time.sleep(0.3)
            tier = cache.tiers()["disk"]
            assert tier["used"] <= tier["capacity"] <= ENTRY * 20 and tier["entries"] < 20
            assert cache.tiers()["ram"]["entries"] == SAMPLES
    assert caplog.records == []


def test_samples_that_never_come_are_not_waited_for_longer_than_an_epoch(noisy, folder):
    (noisy / "07.png").write_bytes(b"no picture")
    with contextlib.closing(ps.Cache(ram="16MiB", disk=f"{folder}:16MiB")) as cache:
        with cached_loader(noisy, cache=cache, cache_form="decoded", on_error="skip") as loader:
            for _ in range(3):
                list(loader)
            wait_until(lambda: cache.tiers()["disk"]["entries"] == SAMPLES - 1)
    with contextlib.closing(ps.Cache(ram="16MiB", disk=f"{folder}:16MiB")) as cache:
        with cached_loader(noisy, cache=cache, cache_form="decoded", on_error="skip") as loader:
            list(loader)
            assert loader.stats()["cache"]["tiers"]["disk"]["hits"] == SAMPLES - 1


def test_a_second_loader_of_the_cache_is_waited_for(noisy, folder, tmp_path):
    for i in range(6):
        save_png(tmp_path / "other" / f"{i}.png", noise((70, 70, 3), seed=500 + i), compress_level=1)
    with contextlib.closing(ps.Cache(ram="16MiB", disk=f"{folder}:16MiB")) as cache:
        with cached_loader(tmp_path / "other", cache=cache, cache_form="decoded") as validation, \
                cached_loader(noisy, cache=cache, cache_form="decoded") as training:
            list(training)
            time.sleep(0.5)
            assert cache.tiers()["disk"]["entries"] == 0
            list(validation)
            wait_until(lambda: cache.tiers()["disk"]["entries"] == SAMPLES + 6)


def test_chunks_are_copied_too(tmp_path, folder):
    data = np.random.default_rng(0).integers(0, 999, (24, 40, 50), dtype=np.int32)
    path = write_zarr(tmp_path / "d", data, (2, 20, 50))
    expected = batches_of(ps.Zarr(path), 1)
    with contextlib.closing(ps.Cache(ram="16MiB", disk=f"{folder}:16MiB")) as cache:
        with cached_loader(ps.Zarr(path), cache=cache, cache_form="decoded") as loader:
            list(loader)
        wait_until(lambda: cache.tiers()["disk"]["entries"] == 24)
    with contextlib.closing(ps.Cache(ram="16MiB", disk=f"{folder}:16MiB")) as cache:
        with cached_loader(ps.Zarr(path), cache=cache, cache_form="decoded") as loader:
            assert all(map(same, [copied(batch) for batch in loader], expected[0]))
            assert loader.stats()["cache"]["misses"] == 0


def test_processes_that_share_the_tiers_copy_each_entry_once(noisy, folder):
    own = options_of(noisy, folder)
    with Reader(**own) as one, Reader(**own) as other:
        for reader in (one, other):
            reader.epoch()
        wait_until(lambda: disk_entries(one) == SAMPLES)
        copies = [reader.epoch()["tiers"]["disk"]["copied"] for reader in (one, other)]
        assert sum(copies) == SAMPLES and disk_entries(other) == SAMPLES


def test_a_process_that_is_killed_while_copying_leaves_a_valid_folder(tmp_path, folder):
    count = 160
    for i in range(count):
        save_png(tmp_path / "p" / f"{i:03}.png", noise((120, 120, 3), seed=i), compress_level=0)
    own = {"source": tmp_path / "p", "steps": CROP, "cache_form": "decoded",
           "cache_options": {"ram": "32MiB", "disk": f"{folder}:32MiB"}}
    expected = expected_digests(1, **own)
    kept = 0
    for attempt in range(4):  # each goes on where the last one was killed
        with Reader(**own) as reader:
            answer = reader.epoch()
            assert answer["digests"] == expected[0] and answer["damaged"] == 0
            assert answer["tiers"]["disk"]["hits"] >= kept
            time.sleep(0.01 * attempt)
            reader.kill()
        kept = answer["tiers"]["disk"]["hits"]
    with Reader(**own) as reader:
        wait_until(lambda: disk_entries(reader) == count)
        assert reader.epoch()["damaged"] == 0
    with Reader(**own) as reader:
        answer = reader.epoch()
        assert (answer["hits"], answer["misses"], answer["digests"]) == (count, 0, expected[0])


def test_a_disk_that_is_full_ends_the_copying_with_one_warning(noisy, folder):
    """A disk of 4 MiB that is to hold 6 MiB."""
    for i in range(SAMPLES):
        save_png(noisy / f"{i:02}.png", noise((230, 230, 3), seed=i), compress_level=1)
    own = options_of(noisy, folder)
    expected = expected_digests(1, **own)
    with Reader(**own, wrapper=small_disk(folder, "4m")) as reader:
        assert reader.epoch()["digests"] == expected[0]
        wait_until(lambda: reader.epoch()["warnings"])
        for _ in range(2):
            answer = reader.epoch()
        said, = answer["warnings"]
        assert "full" in said and str(folder) in said
        assert answer["tiers"]["ram"]["hits"] > 0 and answer["misses"] == 0
        assert reader.end() == (0, "")


def test_a_fork_ends_while_its_parent_copies(noisy, folder):
    with Reader(**options_of(noisy, folder)) as reader:
        reader.epoch()
        reader.tell("fork")
        assert reader.answer() == {"status": 0}
        wait_until(lambda: disk_entries(reader) == SAMPLES)
        assert reader.end() == (0, "")
