"""Processes that are killed while they read, fill or hold a cache: the others go on, and what is left is removed.

PENSTOCK_KILLS=100 in the environment kills that many in each test instead of a few.
"""

import fcntl
import random
import shutil
import time

import numpy as np
import pytest

from cached import KILLS, Reader, abandoned_files, cached_loader
from cached_reader import expected_digests
from disk_runs import CROP, ENTRY, LARGE, SAMPLES
from pictures import noise


def test_what_a_killed_process_left_is_removed_by_the_next_start(tmp_path, noisy):
    with Reader(noisy, steps=CROP, cache="4MiB") as reader:
        reader.epoch()
        left = reader.file()
        reader.kill()
    assert left in abandoned_files()
    np.save(tmp_path / "x.npy", np.arange(600_000.0).reshape(200, 3000))
    with cached_loader(tmp_path / "x.npy", cache="2MiB") as loader:  # something else altogether
        assert not left.exists()
        list(loader)


def test_the_same_start_after_a_kill_begins_anew_with_right_samples(noisy):
    own = {"source": noisy, "steps": CROP, "cache": "4MiB", "cache_form": "decoded"}
    expected = expected_digests(2, **own)
    with Reader(**own) as reader:
        reader.tell("forever")
        reader.answer()
        reader.kill()
    with Reader(**own) as reader:
        answer = reader.epoch()
        assert answer["hits"] == 0 and answer["digests"] == expected[0]
        assert reader.epoch()["digests"] == expected[1]


def test_a_file_of_that_name_that_is_no_cache_does_no_harm(noisy):
    """Left by another version, or cut short; and one in which nothing is right while somebody holds it."""
    own = {"source": noisy, "steps": CROP, "cache": "4MiB", "cache_form": "decoded"}
    expected = expected_digests(2, **own)
    with Reader(**own) as reader:
        reader.epoch()
        name = reader.file()
    for content in (b"", b"garbage" * 1000, noise((4 << 20,), seed=1).tobytes(), bytes(4 << 20)):
        for is_held in (False, True):
            name.write_bytes(content)
            with open(name, "rb") as file:
                if is_held:
                    fcntl.flock(file, fcntl.LOCK_SH)
                with Reader(**own) as reader:
                    answer = reader.epoch()
                    assert answer["digests"] == expected[0]
                    assert answer["tiers"]["ram"]["shared"] == (not is_held)
                    if is_held:
                        assert any("shared memory" in text for text in answer["warnings"])
                    assert reader.epoch()["digests"] == expected[1]
                    assert reader.end()[0] == 0
            name.unlink(missing_ok=True)


def kill_while_others_read(source, own, kills, readers, seed):
    """Processes that are left, and those that come later, have every batch right."""
    chance = random.Random(seed)
    options = [own | {"seed": i} for i in range(readers)]
    expected = [expected_digests(1, source=source, **mine)[0] for mine in options]
    alive = []
    try:
        for mine in options:
            alive.append(Reader(source, **mine))
        for reader in alive:
            reader.wait_open()
        for _ in range(kills):
            victim = chance.randrange(readers)
            for reader in alive:
                reader.tell("epoch")
            time.sleep(chance.random() * 0.03)
            alive[victim].process.kill()
            for i, reader in enumerate(alive):
                if i != victim:
                    answer = reader.answer()
                    assert answer["digests"] == expected[i] and answer["errors"] == []
            alive[victim].__exit__()
            alive[victim] = Reader(source, **options[victim]).wait_open()
        for i, reader in enumerate(alive):
            assert reader.epoch()["digests"] == expected[i]
            assert reader.end() == (0, "")
    finally:
        for reader in alive:
            reader.__exit__()


# Every epoch gives the same batches.
ALWAYS_ALIKE = {"shuffle": False, "steps": [["Resize", 100], ["CenterCrop", 90]], "cache_form": "decoded"}


def test_processes_are_killed_while_others_read(noisy):
    kill_while_others_read(noisy, ALWAYS_ALIKE | {"cache": "4MiB"}, kills=5, readers=3, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["1MiB", "1GiB"])  # a part in one file; all of it in four
def test_many_processes_are_killed_while_others_read(noisy, cache):
    kill_while_others_read(noisy, ALWAYS_ALIKE | {"cache": cache}, kills=KILLS, readers=4, seed=2)


@pytest.mark.slow
def test_processes_are_killed_while_they_fill_the_cache(noisy):
    """Each time from nothing: those who survive must get over what the dead had claimed."""
    own = ALWAYS_ALIKE | {"cache": "8MiB", "threads": 4}
    expected = expected_digests(1, source=noisy, **own)[0]
    chance = random.Random(3)
    for _ in range(KILLS):
        with Reader(noisy, **own) as one, Reader(noisy, **own) as two:
            one.tell("epoch"), two.tell("epoch")
            time.sleep(chance.random() * 0.02)
            one.kill()
            assert two.answer()["digests"] == expected
            for _ in range(2):
                answer = two.epoch()
                assert answer["digests"] == expected
            assert answer["hits"] == SAMPLES  # claims of the dead are taken over


# -- the folder on disk -------------------------------------------------------------------------------


def kill_while_filling(noisy, folder, kills, seed):
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded", "threads": 2,
           "cache_options": {"disk": f"{folder}:{LARGE}"}}
    expected = expected_digests(2, **own)
    chance = random.Random(seed)
    for _ in range(kills):
        if chance.random() < 0.3:
            shutil.rmtree(folder, ignore_errors=True)
        with Reader(**own) as reader:
            reader.tell("epoch")
            time.sleep(chance.random() * 0.02)
            reader.kill()
        with Reader(**own) as reader:
            answers = [reader.epoch(), reader.epoch()]
            assert [answer["digests"] for answer in answers] == expected
            assert answers[1]["hits"] == SAMPLES and answers[1]["damaged"] == 0
            assert answers[1]["tiers"]["disk"]["used"] < 2 * SAMPLES * ENTRY
            assert reader.end() == (0, "")


def test_a_run_killed_while_filling_leaves_a_folder_that_is_right(noisy, folder):
    kill_while_filling(noisy, folder, 4, seed=1)


@pytest.mark.slow
def test_many_runs_killed_while_filling_leave_a_folder_that_is_right(noisy, folder):
    kill_while_filling(noisy, folder, KILLS, seed=2)


@pytest.mark.slow
def test_processes_are_killed_while_others_use_the_folder(noisy, folder):
    own = {"source": noisy, "shuffle": False, "steps": [["Resize", 100]], "cache_form": "decoded",
           "cache_options": {"disk": f"{folder}:{LARGE}"}}
    expected = expected_digests(1, **own)[0]
    chance = random.Random(5)
    with Reader(**own) as stays:
        for _ in range(KILLS):
            with Reader(**own) as victim:
                stays.tell("epoch"), victim.tell("epoch")
                time.sleep(chance.random() * 0.02)
                victim.kill()
            assert stays.answer()["digests"] == expected
        assert stays.epoch()["hits"] == SAMPLES
