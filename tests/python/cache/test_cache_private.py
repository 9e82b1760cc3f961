"""A process that gets no shared memory uses a cache of its own and says so."""

import mmap
import os
import re
import struct
import subprocess

import pytest

import penstock as ps
from cached import SHARED, Reader, assert_same_epochs, batches_of, cached_loader, copied, mapped_files
from cached_reader import expected_digests
from pictures import noise, save_png

SAMPLES = 40
CROP = [["RandomCrop", 32]]


def small_shared_memory(size):
    """A command before the program: its shared memory has this size."""
    wrapper = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o size={size} tmpfs {SHARED} && exec "$@"', "sh"]
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
        pytest.skip("may not mount a small folder of shared memory")
    return wrapper


def test_more_than_there_is_free_is_said_and_a_private_cache_used(noisy, caplog):
    """With 64 processes on the node, each uses only its part of the memory."""
    status = os.statvfs(SHARED)
    ask = status.f_bavail * status.f_frsize + (64 << 20)
    options = {"transform": [ps.RandomCrop(32)], "rank": 1, "world_size": 64, "epoch_size": 64 * 20}
    expected = batches_of(noisy, 2, **options)
    with pytest.MonkeyPatch.context() as patch, caplog.at_level("WARNING", "penstock"):
        for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"):
            patch.setenv(name, "64")
        for name in ("RANK", "LOCAL_RANK"):
            patch.setenv(name, "1")
        with cached_loader(noisy, cache=ask, cache_form="decoded", **options) as loader:
            got = [[copied(b) for b in loader] for _ in range(2)]
            stats = loader.stats()
            assert mapped_files() == []
    assert_same_epochs(got, expected)
    tier = stats["cache"]["tiers"]["ram"]
    assert not tier["shared"] and 0 <= tier["capacity"] - ask // 64 < 4096 and stats["cache"]["hits"] > 0
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1 and str(SHARED) in said[0] and "MiB" in said[0] and "this process alone" in said[0]


def test_shared_memory_that_is_too_small_is_said_and_a_private_cache_used(noisy):
    own = {"steps": CROP, "cache": "8MiB", "cache_form": "decoded"}
    expected = expected_digests(2, source=noisy, **own)
    with Reader(noisy, wrapper=small_shared_memory("3m"), **own) as reader:
        said = reader.opened["warnings"]
        assert len(said) == 1 and str(SHARED) in said[0] and "3 MiB" in said[0] and "this process alone" in said[0]
        answers = [reader.epoch(), reader.epoch()]
        assert [answer["digests"] for answer in answers] == expected and answers[1]["hits"] == SAMPLES
        assert not answers[1]["tiers"]["ram"]["shared"] and answers[1]["warnings"] == said
        assert reader.end() == (0, "")


def test_another_container_does_not_share(noisy):
    """Its processes have the same numbers: whether one of them is alive cannot be told from here."""
    wrapper = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
        pytest.skip("may not make another space of processes")
    own = {"source": noisy, "steps": CROP, "cache": "4MiB", "cache_form": "decoded"}
    expected = expected_digests(2, **own)
    with Reader(**own) as here, Reader(**own, wrapper=wrapper) as there:
        for reader, is_shared in ((here, True), (there, False)):
            answers = [reader.epoch(), reader.epoch()]
            assert [answer["digests"] for answer in answers] == expected and answers[1]["hits"] == SAMPLES
            assert answers[1]["tiers"]["ram"]["shared"] == is_shared
        assert here.opened["warnings"] == [] and "another container" in there.opened["warnings"][0]
        assert there.end() == (0, "")
        assert here.epoch()["hits"] == SAMPLES


@pytest.mark.parametrize("lie", [(70, 70, 4), (70000, 70000, 3), (-70, 70, 3), (2**62, 2**62, 3), (1, 1, 14700),
                                 (35, 140, 3), (70, 210, 1)])
def test_entries_that_lie_about_their_shape_are_made_anew(noisy, lie):
    own = {"source": noisy, "steps": CROP, "cache": "4MiB", "cache_form": "decoded"}
    expected, shape = expected_digests(3, **own), struct.pack("<3q", 70, 70, 3)
    with Reader(**own) as reader:
        assert reader.epoch()["digests"] == expected[0]
        with open(reader.file(), "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            places = [match.start() for match in re.finditer(re.escape(shape), memory)]
            assert len(places) == SAMPLES
            for place in places:
                memory[place:place + 24] = struct.pack("<3q", *lie)
            assert reader.epoch()["digests"] == expected[1]
            assert len(re.findall(re.escape(shape), memory)) == SAMPLES
        answer = reader.epoch()
        assert answer["digests"] == expected[2] and answer["hits"] == SAMPLES
        assert reader.end() == (0, "")


def test_shared_memory_that_others_fill_on_the_way_is_said_once(tmp_path):
    """Entries stay, and samples that do not fit any more are read as without a cache."""
    for i in range(60):
        save_png(tmp_path / f"{i:02}.png", noise((300, 300, 3), seed=i), compress_level=1)
    own = {"cache": "15MiB", "cache_form": "decoded"}
    expected = expected_digests(3, source=tmp_path, **own)
    with Reader(tmp_path, wrapper=small_shared_memory("16m"),
                prelude="import threading, penstock as ps\nheld = []\n"
                        "whole = ps.Loader.__init__\n"
                        "def opened(*arguments, **options):\n"
                        "    whole(*arguments, **options)\n"
                        f"    held.append(open('{SHARED}/other', 'wb').write(bytes(6 << 20)))\n"
                        "ps.Loader.__init__ = opened", **own) as reader:
        answers = [reader.epoch() for _ in range(3)]
        assert [answer["digests"] for answer in answers] == expected
        assert len(answers[-1]["warnings"]) == 1 and "the cache stays at" in answers[-1]["warnings"][0]
        assert answers[-1]["tiers"]["ram"]["shared"] and 0 < answers[-1]["hits"] == answers[-1]["tiers"]["ram"]["entries"] < 60
        assert reader.end() == (0, "")


def test_files_that_may_not_grow_make_it_private(noisy):
    prelude = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)); " \
              "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
    own = {"steps": CROP, "cache": "4MiB", "cache_form": "decoded"}
    expected = expected_digests(2, source=noisy, **own)
    with Reader(noisy, prelude=prelude, **own) as reader:
        answers = [reader.epoch(), reader.epoch()]
        assert [answer["digests"] for answer in answers] == expected
        assert len(answers[1]["warnings"]) == 1 and "shared memory" in answers[1]["warnings"][0]
        assert not answers[1]["tiers"]["ram"]["shared"] and answers[1]["hits"] == SAMPLES
        assert reader.end() == (0, "")
