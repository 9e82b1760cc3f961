"""The tier on disk where its folder cannot be used: removed, read-only, full."""

import contextlib
import shutil
import subprocess
import textwrap

import numpy as np
import pytest

import penstock as ps
from cached import Reader, assert_same_epochs, cached_loader, copied, small_disk
from cached_reader import expected_digests
from disk_runs import CROP, LARGE, SAMPLES, hits, read
from pictures import noise, save_png


def test_a_folder_removed_while_it_is_used(noisy, folder, truth):
    with contextlib.closing(ps.Cache(disk=f"{folder}:{LARGE}")) as cache, \
            cached_loader(noisy, cache=cache, cache_form="decoded", transform=[ps.RandomCrop(32)]) as loader:
        assert_same_epochs([[copied(b) for b in loader]], truth[:1])
        shutil.rmtree(folder)
        assert_same_epochs([[copied(b) for b in loader] for _ in range(2)], truth[1:])
    batches, stats = read(noisy, folder)
    assert_same_epochs(batches, truth[:2])
    assert hits(stats)[1] == SAMPLES


def test_a_folder_removed_in_the_middle_of_filling(noisy, folder, truth):
    with contextlib.closing(ps.Cache(disk=f"{folder}:{LARGE}")) as cache, \
            cached_loader(noisy, cache=cache, cache_form="decoded", transform=[ps.RandomCrop(32)], prefetch=1) as loader:
        began = iter(loader)
        got = [copied(next(began))]
        shutil.rmtree(folder)
        got += [copied(b) for b in began]
        assert_same_epochs([got, [copied(b) for b in loader]], truth[:2])


def test_a_folder_removed_between_runs_is_made_again(noisy, folder, truth):
    read(noisy, folder)
    shutil.rmtree(folder)
    for run in range(2):
        batches, stats = read(noisy, folder / "deeper" / "still")
        assert_same_epochs(batches, truth[:2])
        assert hits(stats) == [SAMPLES if run else 0, SAMPLES]


def read_only(folder):
    """A command before the program: the folder is mounted so that nothing can be written, not even by root."""
    wrapper = ["unshare", "--mount", "sh", "-c", f'mount --bind -o ro "{folder}" "{folder}" && '
               f'mount -o remount,bind,ro "{folder}" && exec "$@"', "sh"]
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
        pytest.skip("may not mount a folder read-only")
    return wrapper


@pytest.mark.parametrize("is_filled", [False, True])
def test_a_read_only_folder_is_said_once_and_samples_are_right(noisy, folder, is_filled):
    folder.mkdir()
    if is_filled:
        read(noisy, folder)
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded", "cache_options": {"disk": f"{folder}:{LARGE}"}}
    expected = expected_digests(2, **own)
    with Reader(**own, wrapper=read_only(folder)) as reader:
        answers = [reader.epoch(), reader.epoch()]
        assert [answer["digests"] for answer in answers] == expected
        said, = answers[-1]["warnings"]
        assert "goes on without the cache on disk" in said and str(folder) in said and "ead-only" in said
        assert reader.end() == (0, "")
    if is_filled:
        _, stats = read(noisy, folder)
        assert hits(stats)[0] == SAMPLES


def test_a_disk_too_small_for_the_index_is_left_as_it_was(noisy, folder):
    """And what is asked of it afterwards is had."""
    prelude = textwrap.dedent(f"""
        import os, penstock as ps
        for size in ("200GiB", "8388600TiB"):
            with ps.Cache(disk="{folder}:" + size) as cache, ps.Loader("{noisy}", 5, cache=cache) as loader:
                assert len(list(loader)) == 8 and "disk" not in cache.tiers()
            status = os.statvfs("{folder}")
            assert (status.f_blocks - status.f_bfree) * status.f_frsize < 50_000
        """)
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded", "cache_options": {"disk": f"{folder}:2MiB"}}
    with Reader(**own, wrapper=small_disk(folder, "4m"), prelude=prelude) as reader:
        assert reader.epoch()["digests"] == expected_digests(1, **own)[0]
        assert reader.epoch()["hits"] == SAMPLES


def test_a_table_that_is_full_is_made_larger_with_the_cache(noisy, folder):
    read(noisy, folder, size="600kB")
    np.save(folder / "many.npy", np.arange(20_000 * 60).reshape(20_000, 60))
    for _ in range(2):  # the first fills the table of the small cache
        _, stats = read(ps.Npy(folder / "many.npy"), folder, size="64MiB", steps=(), batch_size=500)
    assert stats["epochs"][1]["cache"]["hit_ratio"] == 1


def test_a_disk_that_is_full_is_said_once_and_what_is_there_is_used(noisy, folder):
    """A disk of 4 MiB that is to hold 6 MiB."""
    for i in range(SAMPLES):
        save_png(noisy / f"{i:02}.png", noise((230, 230, 3), seed=i), compress_level=1)
    wrapper = small_disk(folder, "4m")
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded", "cache_options": {"disk": f"{folder}:{LARGE}"}}
    expected = expected_digests(3, **own)
    with Reader(**own, wrapper=wrapper) as reader:
        answers = [reader.epoch() for _ in range(3)]
        assert [answer["digests"] for answer in answers] == expected
        said, = answers[-1]["warnings"]
        assert "full" in said and str(folder) in said
        assert answers[-1]["hits"] == answers[-1]["tiers"]["disk"]["entries"]
        assert reader.end() == (0, "")


@pytest.mark.slow
def test_a_disk_that_fills_up_on_the_way_keeps_what_it_has(tmp_path, folder):
    """A disk of 80 MiB that is to hold 100 MB."""
    np.save(tmp_path / "d.npy", np.random.default_rng(0).random((100, 500, 500), np.float32))
    wrapper = small_disk(folder, "80m")
    own = {"source": tmp_path / "d.npy", "kind": "Npy", "cache_options": {"disk": f"{folder}:1GiB"}}
    expected = expected_digests(3, **own)
    with Reader(**own, wrapper=wrapper) as reader:
        answers = [reader.epoch() for _ in range(3)]
        assert [answer["digests"] for answer in answers] == expected
        said, = answers[-1]["warnings"]
        assert "full" in said and str(folder) in said and 50 < answers[-1]["hits"] < 100
        assert reader.end() == (0, "")


@pytest.mark.parametrize("limit", [1000, 100_000, 300_000])
def test_files_that_may_not_grow_are_said_once(noisy, folder, limit):
    prelude = (f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); "
               "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)")
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded", "cache_options": {"disk": f"{folder}:{LARGE}"}}
    expected = expected_digests(2, **own)
    with Reader(**own, prelude=prelude) as reader:
        answers = [reader.epoch(), reader.epoch()]
        assert [answer["digests"] for answer in answers] == expected
        assert len(answers[-1]["warnings"]) == 1 and str(folder) in answers[-1]["warnings"][0]
        assert reader.end() == (0, "")
    # The next run, which may, has all of it.
    with Reader(**own) as reader:
        assert [reader.epoch()["digests"] for _ in range(2)] == expected
        assert reader.epoch()["hits"] == SAMPLES
