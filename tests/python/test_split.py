"""Dividing sources: fractions, counts, classes in proportion; and weights that balance classes."""

import collections

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.sources.splitting import share_out
from records import write_number_shards

torch = pytest.importorskip("torch")


def numbers_in(source):
    with ps.Loader(source, batch_size=len(source), output="numpy") as loader:
        (batch,) = loader
    return batch[:, 0].tolist()


@pytest.fixture
def many(tmp_path):
    np.save(tmp_path / "many.npy", np.arange(103)[:, None])
    return ps.Npy(tmp_path / "many.npy")


@pytest.mark.parametrize("parts", [[0.8, 0.1, 0.1], [0.5, 0.5], [0.29, 0.71], [1 / 3, 1 / 3, 1 / 3], (50, 50, 3), [103], [1.0],
                                   np.array([0.6, 0.4]), np.array([100, 3])])
def test_parts_have_the_sizes_of_torch_and_share_no_sample(many, parts):
    sources = many.split(parts, seed=5)
    expected = torch.utils.data.random_split(range(103), [part.item() if hasattr(part, "item") else part for part in parts])
    assert [len(source) for source in sources] == [len(part) for part in expected]
    values = [numbers_in(source) for source in sources]
    assert sorted(sum(values, [])) == list(range(103))
    assert all(part == sorted(part) for part in values)


def test_a_fraction_makes_two_parts_and_agrees_with_a_list(many):
    first, second = many.split(0.9, seed=2)
    assert (len(first), len(second)) == (93, 10)
    assert [numbers_in(part) for part in many.split([93, 10], seed=2)] == [numbers_in(first), numbers_in(second)]


def test_the_seed_decides(many):
    def drawn(seed):
        return [numbers_in(part) for part in many.split([0.8, 0.1, 0.1], seed=seed)]

    assert drawn(1) == drawn(1) != drawn(2)
    # What split(0.9, seed=1)[1] was in version 0.1.0: a seed must not come to mean another division.
    assert drawn(1)[2] == [1, 17, 56, 58, 64, 69, 73, 90, 91, 99]


@pytest.mark.parametrize("parts, error, words", [
    ([0.8, 0.1], ValueError, ["add up to 0.9", "must add up to 1"]),
    ([0.8, 0.3], ValueError, ["add up to 1.1"]),
    ([50, 50], ValueError, ["add up to 100", "103 samples"]),
    ([-3, 106], ValueError, ["-3"]),
    ([0.5, 1], TypeError, ["fractions", "counts"]),
    ([0.999, 0.001], ps.UsageError, ["empty"]),
    ([103, 0], ps.UsageError, ["part 1 empty"]),
    ([], ValueError, ["add up to 0"]),
    (1.5, ValueError, ["above 0 and below 1"]),
    (90, ValueError, ["write [90, 13]"]),
    (float("nan"), ValueError, ["finite"]),
    ("0.9", TypeError, ["fraction"]),
    (None, TypeError, ["fraction"]),
    ([0.5, None], TypeError, ["fractions"]),
])
def test_wrong_parts_are_named(many, parts, error, words):
    with pytest.raises(error) as caught:
        many.split(parts)
    for word in words:
        assert word in str(caught.value), str(caught.value)


# -- classes in proportion ------------------------------------------------------------------------------


def test_classes_of_a_folder_are_split_in_proportion(tmp_path):
    from pictures import save_png
    from records import plain

    for name, count in (("a", 40), ("b", 20), ("c", 10)):
        for i in range(count):
            save_png(tmp_path / name / f"{i}.png", plain(i, side=1))
    source = ps.ImageFolder(tmp_path)
    counts = [collections.Counter(part.targets) for part in source.split([0.8, 0.1, 0.1], stratify="label")]
    assert counts == [{0: 32, 1: 16, 2: 8}, {0: 4, 1: 2, 2: 1}, {0: 4, 1: 2, 2: 1}]
    train, test = source.split(0.5, seed=1, stratify="label")
    assert collections.Counter(train.targets) == collections.Counter(test.targets) == {0: 20, 1: 10, 2: 5}
    assert set(map(train.key, range(35))).isdisjoint(map(test.key, range(35)))
    again = source.split(0.5, seed=1, stratify="label")[0]
    other = source.split(0.5, seed=2, stratify="label")[0]
    keys = [[part.key(i) for i in range(35)] for part in (train, again, other)]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("classes", [[i % 7 for i in range(103)], np.arange(103) % 7, torch.arange(103) % 7,
                                     ["abcdefg"[i % 7] for i in range(103)], (i % 7 for i in range(103))])
def test_classes_may_be_given_one_for_each_sample(many, classes):
    known = [i % 7 for i in range(103)]
    parts = [numbers_in(part) for part in many.split([0.5, 0.3, 0.2], stratify=classes)]
    assert sorted(sum(parts, [])) == list(range(103))
    for part, fraction in zip(parts, (0.5, 0.3, 0.2)):
        counts = collections.Counter(known[i] for i in part)
        for label in range(7):
            assert abs(counts[label] - len(part) * known.count(label) / 103) < 1


def test_the_label_field_of_shards_is_read(tmp_path):
    write_number_shards(tmp_path, 2, 6)
    parts = ps.Tar(tmp_path).split([0.5, 0.5], stratify="cls")
    assert [len(part) for part in parts] == [6, 6]


@pytest.mark.parametrize("stratify, error, words", [
    ("lable", ps.UsageError, ["no field 'lable'", "did you mean 'label'"]),
    ("image", ps.UsageError, ["image", "integers or texts"]),
    ([0, 1], ValueError, ["2 classes for 12 samples"]),
    (3, TypeError, ["field", "class for each sample"]),
    ([[]] * 12, TypeError, ["no class"]),
])
def test_wrong_classes_are_named(classes, stratify, error, words):
    with pytest.raises(error) as caught:
        ps.ImageFolder(classes).split(0.5, stratify=stratify)
    for word in words:
        assert word in str(caught.value), str(caught.value)


@settings(max_examples=300, deadline=None)
@given(rows=st.lists(st.integers(1, 40), min_size=1, max_size=12), shares=st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_a_shared_out_table_keeps_all_sums_and_stays_within_one_of_each_proportion(rows, shares):
    total = sum(rows)
    columns = [total * share // sum(shares) for share in shares]
    columns[0] += total - sum(columns)
    table = np.array(share_out(rows, columns))
    np.testing.assert_array_equal(table.sum(1), rows)
    np.testing.assert_array_equal(table.sum(0), columns)
    assert (np.abs(table - np.outer(rows, columns) / total) < 1).all()


# -- balanced weights -----------------------------------------------------------------------------------


def test_balanced_weights_draw_every_class_equally_often(classes):
    labels = [0] * 4 + [1] * 3 + [2] * 5
    weights = [1 / labels.count(label) for label in labels]
    drawn = []
    for given in ("balanced", weights):
        with ps.Loader(classes, batch_size=50, fields=["label"], weights=given, epoch_size=3000, seed=1,
                       output="numpy") as loader:
            drawn.append(np.concatenate([batch for (batch,) in loader]))
    np.testing.assert_array_equal(*drawn)
    counts = np.bincount(drawn[0])
    assert np.abs(counts - 1000).max() < 130  # five standard deviations


def test_balanced_weights_need_labels(flat, numbers):
    with pytest.raises(ValueError, match="no field of labels"):
        ps.Loader(flat, weights="balanced")
    with pytest.raises(ValueError, match='"balanced"'):
        ps.Loader(flat, weights="equal")
    with pytest.raises(TypeError, match='"balanced"'):
        ps.Loader(flat, weights=3)
