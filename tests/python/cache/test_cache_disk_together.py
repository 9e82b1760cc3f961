"""Several pipelines and processes at one folder on disk."""

import contextlib

import numpy as np

import penstock as ps
from cached import Reader, assert_same_epochs, batches_of
from cached_reader import expected_digests
from disk_runs import CROP, LARGE, SAMPLES, hits, read
from pictures import noise, save_png
from records import write_tar


def test_two_pipelines_in_one_folder_do_not_mix_up_their_samples(tmp_path, noisy, folder):
    for i in range(SAMPLES):
        save_png(tmp_path / "other" / f"{i:02}.png", noise((70, 70, 3), seed=100 + i), compress_level=1)
    pipelines = [(noisy, [ps.RandomCrop(32)]), (noisy, [ps.Resize(50), ps.RandomCrop(32)]),
                 (noisy, [ps.Decode("L"), ps.RandomCrop(32)]), (tmp_path / "other", [ps.RandomCrop(32)])]
    truth = [batches_of(source, 2, transform=steps) for source, steps in pipelines]
    for run in range(2):
        for (source, steps), expected in zip(pipelines, truth):
            for form in ("encoded", "decoded"):
                batches, stats = read(source, folder, steps=steps, form=form)
                assert_same_epochs(batches, expected)
                assert hits(stats)[1] == SAMPLES and (not run or hits(stats)[0] == SAMPLES)


def test_runs_that_read_a_field_as_different_kinds_do_not_mix_it_up(tmp_path, folder):
    write_tar(tmp_path / "d.tar", [(f"{i}.bin", np.full(12, i, np.float32).tobytes()) for i in range(20)])
    for kind in ("bytes", "float32[12]", "int32[3,4]", "bytes"):
        source = ps.Tar(tmp_path / "d.tar", kinds={"bin": kind})
        assert_same_epochs(read(source, folder, steps=())[0], batches_of(source, 2))


@contextlib.contextmanager
def read_together(epochs, **own):
    """Two processes that go through the same epochs at the same time, and their answers to each."""
    expected = [expected_digests(epochs, **own, seed=seed) for seed in range(2)]
    with Reader(**own, seed=0) as one, Reader(**own, seed=1) as two:
        answers = []
        for epoch in range(epochs):
            one.tell("epoch"), two.tell("epoch")
            answers.append([one.answer(), two.answer()])
            assert [answer["digests"] for answer in answers[-1]] == [truth[epoch] for truth in expected]
        yield one, two, answers


def test_two_processes_fill_one_folder_together(noisy, folder):
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded", "cache_options": {"disk": f"{folder}:{LARGE}"}}
    with read_together(3, **own) as (one, two, answers):
        assert all(max(answer["tiers"]["disk"]["entries"] for answer in both) == SAMPLES for both in answers)
        assert [answer["hits"] for both in answers[1:] for answer in both] == [SAMPLES] * 4
        assert [reader.end() for reader in (one, two)] == [(0, "")] * 2
    _, stats = read(noisy, folder)
    assert hits(stats)[0] == SAMPLES


def test_two_processes_with_memory_and_disk(noisy, folder):
    own = {"source": noisy, "steps": [["Resize", 100], *CROP], "cache_form": "decoded",
           "cache_options": {"ram": "1MiB", "disk": f"{folder}:{LARGE}"}}
    with read_together(3, **own) as (_, two, _):
        tiers = two.epoch()["tiers"]
        in_memory = tiers["ram"]["entries"]
        # Each sample went to one of the tiers. Those in memory are copied to disk afterwards.
        assert in_memory > 5 and SAMPLES - in_memory <= tiers["disk"]["entries"] <= SAMPLES


def test_a_folder_that_is_in_use_by_another_size_still_gives_right_samples(noisy, folder):
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded"}
    expected = expected_digests(2, **own)
    with Reader(**own, cache_options={"disk": f"{folder}:16MiB"}) as one:
        assert one.epoch()["digests"] == expected[0]
        for size in ("300kB", "64MiB"):
            with Reader(**own, cache_options={"disk": f"{folder}:{size}"}) as two:
                assert [two.epoch()["digests"] for _ in range(2)] == expected
        assert one.epoch()["digests"] == expected[1]
