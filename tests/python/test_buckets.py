"""Samples brought together by their length: less padding, every sample once, the same order anywhere."""

import json

import numpy as np
import pytest

import penstock as ps
from pictures import save_png
from records import make_loader, plain, read_numbers, write_arrays


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A thousand arrays of 1 to 200 numbers, and a class each."""
    random = np.random.default_rng(5)
    lengths = random.integers(1, 200, 1000)
    path = write_arrays(tmp_path_factory.mktemp("texts") / "a.tar", [np.full(n, i, np.int32) for i, n in enumerate(lengths)])
    return path, lengths


def waste(path, **options):
    with make_loader(path, 16, collate="pad", shuffle=True, **options) as loader:
        sizes = [(batch.size, int(lengths.sum())) for batch, lengths, _ in loader]
    return sum(size - used for size, used in sizes) / sum(size for size, _ in sizes)


def test_buckets_make_the_padding_much_less(texts):
    path, lengths = texts
    without, by_field, by_list = waste(path), waste(path, bucket_by="npy"), waste(path, bucket_by=lengths.tolist())
    assert without > 0.35 and by_field < 0.15 and by_list < 0.15


@pytest.mark.parametrize("by", ["field", "list", "array"])
def test_every_sample_comes_once_with_buckets(texts, by):
    path, lengths = texts
    bucket_by = {"field": "npy", "list": lengths.tolist(), "array": lengths}[by]
    numbers = read_numbers(path, shuffle=True, bucket_by=bucket_by, batch_size=16, epochs=2)
    assert sorted(numbers[:1000]) == sorted(numbers[1000:]) == list(range(1000)) and numbers[:1000] != numbers[1000:]


def test_buckets_do_not_sort_the_epoch(texts):
    path, lengths = texts
    with make_loader(path, 16, collate="pad", shuffle=True, bucket_by="npy") as loader:
        widths = [batch.shape[1] for batch, _, _ in loader]
    rising = sum(a <= b for a, b in zip(widths, widths[1:])) / len(widths)
    assert 0.25 < rising < 0.75


def test_the_order_with_buckets_is_the_same_for_any_number_of_threads(texts):
    path, _ = texts
    orders = [read_numbers(path, shuffle=True, bucket_by="npy", batch_size=16, threads=t, seed=3) for t in (1, 2, 5)]
    assert orders[0] == orders[1] == orders[2] != read_numbers(path, shuffle=True, bucket_by="npy", batch_size=16, seed=4)


def test_buckets_without_shuffle_and_with_a_batch_that_is_not_full(texts):
    path, _ = texts
    source = ps.Tar(path).subset(range(107))
    numbers = read_numbers(source, bucket_by="npy", batch_size=16)
    assert sorted(numbers) == list(range(107))
    numbers = read_numbers(source, bucket_by="npy", batch_size=16, drop_last=True)
    assert len(set(numbers)) == 96


@pytest.mark.parametrize("before, after", [((16, 1), (16, 1)), ((16, 1), (8, 3)), ((8, 2), (16, 1)), ((8, 2), (5, 3))])
def test_a_run_with_buckets_goes_on_on_other_ranks_and_batches(texts, before, after):
    path, _ = texts

    def loaders(batch, world):
        return [make_loader(path, batch, shuffle=True, bucket_by="npy", seed=6, fields=["cls"], rank=r, world_size=world,
                            memory="32MiB") for r in range(world)]

    seen, states = [], []
    for loader in loaders(*before):
        batches = iter(loader)
        for _ in range(20):
            seen += next(batches)[0].tolist()
        states.append(loader.state_dict())
        loader.close()
    assert all(state == states[0] for state in states)
    rest = []
    for loader in loaders(*after):
        loader.load_state_dict(json.loads(json.dumps(states[0])))
        rest += [int(v) for (labels,) in loader for v in labels]
        loader.close()
    assert set(seen) | set(rest) == set(range(1000)) and not set(seen) & set(rest)
    assert len(rest) < 1000 - len(seen) + after[1]


def test_ranks_of_one_step_have_samples_of_like_length(texts):
    path, lengths = texts
    ranks = []
    for r in range(2):
        with make_loader(path, 8, collate="pad", shuffle=True, bucket_by="npy", rank=r, world_size=2) as loader:
            ranks.append([batch.shape[1] for batch, _, _ in loader])
    assert np.mean(np.abs(np.subtract(*ranks))) < 10


@pytest.mark.parametrize("bucket_by, words", [("nyp", "nyp"), ([1, 2, 3], "3|bucket"), ([-1] * 1000, "bucket_by"),
                                              ([1.5] * 1000, "bucket_by"), (7, "bucket_by")])
def test_wrong_buckets_are_named(texts, bucket_by, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make_loader(texts[0], bucket_by=bucket_by)


def test_an_unknown_bucket_field_is_answered_with_those_there_are(texts):
    with pytest.raises(ps.UsageError, match="npy"):
        make_loader(texts[0], bucket_by="lengths")


def test_a_manifests_images_cannot_be_bucketed_without_a_word(tmp_path):
    """The table does not know how long its files are: silently leaving them in disorder helps nobody."""
    for i in range(4):
        save_png(tmp_path / f"{i}.png", plain(i, side=8 + 8 * i))
    (tmp_path / "t.csv").write_text("image,n\n" + "".join(f"{i}.png,{i}\n" for i in range(4)))
    with pytest.raises((ps.Error, ValueError), match="bucket_by"):
        make_loader(ps.Manifest(tmp_path / "t.csv"), 2, bucket_by="image", collate="pad")


def test_a_column_of_numbers_makes_buckets(tmp_path):
    lengths = np.random.default_rng(1).permutation(200)
    (tmp_path / "t.csv").write_text("y,n\n" + "".join(f"{i},{n}\n" for i, n in enumerate(lengths)))
    with make_loader(ps.Manifest(tmp_path / "t.csv"), 10, shuffle=True, bucket_by="n", fields=["y", "n"]) as loader:
        spans = [int(n.max() - n.min()) for _, n in loader]
    assert np.mean(spans) < 30
