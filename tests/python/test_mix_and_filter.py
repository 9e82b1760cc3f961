"""Several sources as one, by weight or one after another; and the samples that satisfy something."""

import collections
import json

import numpy as np
import pytest

import penstock as ps
from pictures import save_png
from records import (collect, example, make_loader, npy_bytes, number_samples, npz_bytes, plain, png_bytes, read_all, read_numbers,
                     write_json_lines, write_tar, write_tfrecord)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Three archives: classes 0..99, 1000..1299, 5000..5009."""
    folder = tmp_path_factory.mktemp("parts")
    return [ps.Tar(write_tar(folder / f"{first}.tar", number_samples(first, count)), keep_index=False)
            for first, count in ((0, 100), (1000, 300), (5000, 10))]


def part_of(number):
    return 0 if number < 1000 else 1 if number < 5000 else 2


# -- weights ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(0.5, 0.3, 0.2), (1, 1, 1), (98, 1, 1), (0.001, 0.001, 0.998), (3, 0.1, 7)])
@pytest.mark.parametrize("shuffle", [True, False])
def test_shares_are_those_that_were_asked_for(parts, weights, shuffle):
    numbers = read_numbers(ps.Mix(parts, weights=weights), epoch_size=10_000, shuffle=shuffle, batch_size=100)
    counts = collections.Counter(map(part_of, numbers))
    for i, weight in enumerate(weights):
        assert abs(counts[i] / 10_000 - weight / sum(weights)) < 0.01 * max(weight / sum(weights), 0.1)


def test_shares_hold_in_every_stretch_of_the_epoch(parts):
    numbers = read_numbers(ps.Mix(parts, weights=[0.5, 0.3, 0.2]), epoch_size=10_000, shuffle=True, batch_size=100)
    for start in range(0, 10_000, 2000):
        share = sum(part_of(n) == 0 for n in numbers[start:start + 2000]) / 2000
        assert abs(share - 0.5) < 0.03


def test_samples_of_a_part_come_equally_often(parts):
    numbers = read_numbers(ps.Mix(parts, weights=[0.4, 0.4, 0.2]), epoch_size=10_000, shuffle=True, batch_size=100)
    counts = collections.Counter(numbers)
    for first, count in ((0, 100), (1000, 300), (5000, 10)):
        times = [counts[first + i] for i in range(count)]
        # Drawn with replacement they would be some 30 apart.
        assert max(times) - min(times) <= 10, first


def test_an_epoch_is_as_many_samples_as_there_are_and_the_next_goes_on(parts):
    with make_loader(ps.Mix(parts, weights=[1, 1, 1]), 50, fields=["cls"], shuffle=True) as loader:
        first, second = ([int(v) for (labels,) in loader for v in labels] for _ in range(2))
    assert len(first) == len(second) == 410 and first != second


def test_parts_are_mixed_and_not_one_after_the_other(parts):
    for shuffle in (True, False):
        numbers = read_numbers(ps.Mix(parts, weights=[1, 1, 1]), shuffle=shuffle)
        assert {part_of(n) for n in numbers[:30]} == {0, 1, 2}


def test_the_order_is_a_function_of_the_seed_alone(parts):
    mixed = ps.Mix(parts, weights=[2, 1, 1])
    orders = [read_numbers(mixed, shuffle=True, seed=5, threads=t, batch_size=b) for t, b in ((1, 4), (2, 9), (4, 64))]
    assert orders[0] == orders[1] == orders[2] != read_numbers(mixed, shuffle=True, seed=6)


@pytest.mark.parametrize("weights", [None, (0.6, 0.3, 0.1)])
@pytest.mark.parametrize("stop", [1, 7, 20])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_a_run_goes_on_at_any_point_on_other_ranks(parts, weights, stop, world):
    mixed = ps.Mix(parts, weights=weights)
    whole = read_numbers(mixed, shuffle=True, seed=2, epochs=2, batch_size=10)
    with make_loader(mixed, 10, fields=["cls"], shuffle=True, seed=2) as loader:
        batches = iter(loader)
        for _ in range(stop):
            next(batches)
        state = json.loads(json.dumps(loader.state_dict()))
    left = []
    for rank in range(world):
        with make_loader(mixed, 5, fields=["cls"], shuffle=True, seed=2, rank=rank, world_size=world, threads=1) as loader:
            loader.load_state_dict(state)
            left.append([labels.tolist() for (labels,) in loader])
    # Batches of the ranks, step by step, are the order that one rank has.
    rest = [n for step in zip(*left) for batch in step for n in batch]
    want = whole[stop * 10:410]
    assert collections.Counter(rest[:len(want)]) == collections.Counter(want) if world > 1 else rest == want


def test_a_state_of_other_weights_is_refused(parts):
    with make_loader(ps.Mix(parts, weights=[1, 2, 3]), fields=["cls"]) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with make_loader(ps.Mix(parts, weights=[1, 2, 4]), fields=["cls"]) as loader, pytest.raises(ps.UsageError):
        loader.load_state_dict(state)


def test_ranks_get_equal_shares_of_a_mixture(parts):
    mixed = ps.Mix(parts, weights=[0.5, 0.3, 0.2])
    for rank in range(2):
        numbers = read_numbers(mixed, shuffle=True, epoch_size=10_000, rank=rank, world_size=2, batch_size=100)
        assert len(numbers) == 5000 and abs(sum(part_of(n) == 0 for n in numbers) / 5000 - 0.5) < 0.02


# -- without weights ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shuffle", [False, True, "window", "full"])
def test_without_weights_every_sample_comes_once(parts, shuffle):
    mixed = ps.Mix(parts)
    want = [*range(100), *range(1000, 1300), *range(5000, 5010)]
    numbers = read_numbers(mixed, shuffle=shuffle)
    assert len(mixed) == 410 and sorted(numbers) == want and (numbers == want) == (shuffle is False)


def test_a_mixture_without_weights_can_be_divided_and_mixed_again(parts):
    mixed = ps.Mix(parts[:2])
    again = ps.Mix([mixed, ps.Mix(parts[2:])], weights=[1, 3])
    shares = collections.Counter(map(part_of, read_numbers(again, epoch_size=1024, batch_size=64)))
    assert shares[2] == 768 and shares[0] + shares[1] == 256
    first, second = mixed.split(0.5, seed=1)
    assert sorted(read_numbers(first) + read_numbers(second)) == [*range(100), *range(1000, 1300)]
    assert mixed.key(100) == "001000"


def test_paths_are_sources_too(tmp_path):
    one = write_tar(tmp_path / "a.tar", number_samples(0, 3))
    two = write_tar(tmp_path / "b.tar", number_samples(3, 2))
    assert read_numbers(ps.Mix([one, str(two)])) == [0, 1, 2, 3, 4]


def test_parts_of_records_are_read_by_their_own_rules(tmp_path):
    """npz arrays in another order; a field that only one part has everywhere."""
    one = write_tar(tmp_path / "a.tar", [("0.npz", npz_bytes(x=np.float32([1, 2]), y=np.float32([3, 4])))])
    two = write_tar(tmp_path / "b.tar", [("0.npz", npz_bytes(y=np.float32([7, 8]), x=np.float32([5, 6])))])
    try:
        mixed = ps.Mix([one, two])
    except ps.UsageError:
        return  # a clear refusal would do
    got = read_all(mixed, ["npz/x", "npz/y"])
    assert [(x.tolist(), y.tolist()) for x, y in got] == [([1, 2], [3, 4]), ([5, 6], [7, 8])]


def test_raw_tensors_of_another_type_are_not_read_by_the_first_ones_rule(tmp_path):
    one = write_tfrecord(tmp_path / "a.tfrecord", [example(x=np.float32([1, 2, 3, 4]).tobytes())])
    two = write_tfrecord(tmp_path / "b.tfrecord", [example(x=np.int32([1, 2, 3, 4]).tobytes())])
    with pytest.raises(ps.Error, match="int32"):
        mixed = ps.Mix([ps.TFRecord(one, kinds={"x": "float32[4]"}), ps.TFRecord(two, kinds={"x": "int32[4]"})])
        for batch in make_loader(mixed, 1):
            assert batch.tolist() == [[1, 2, 3, 4]]


def test_raw_tensors_of_another_shape_are_not_read_by_the_first_ones_rule(tmp_path):
    path = write_tfrecord(tmp_path / "a.tfrecord", [example(x=np.arange(6, dtype=np.float32).tobytes())])
    with pytest.raises((ps.UsageError, ps.Error), match="x|shape"):
        mixed = ps.Mix([ps.TFRecord(path, kinds={"x": "float32[2,3]"}), ps.TFRecord(path, kinds={"x": "float32[3,2]"})])
        shapes = [v.shape for (v,) in read_all(mixed, ["x"])]
        assert shapes == [(2, 3), (3, 2)]
        raise ps.UsageError("x is read by each part's own rule, which is as good")


def test_classes_of_other_names_are_not_given_the_same_numbers(tmp_path):
    for folder, names in (("a", ("cat", "dog")), ("b", ("dog", "emu"))):
        for name in names:
            save_png(tmp_path / folder / name / "0.png", plain(1))
    try:
        mixed = ps.Mix([tmp_path / "a", tmp_path / "b"])
    except ps.UsageError as error:
        assert "class" in str(error)
        return
    labels = [int(label) for _, label in read_all(mixed, ["image", "label"])]
    assert [mixed.classes[label] for label in labels] == ["cat", "dog", "dog", "emu"]


def test_classes_of_the_same_names_are_kept(tmp_path):
    for folder in "ab":
        for name in ("cat", "dog"):
            save_png(tmp_path / folder / name / "0.png", plain(1))
    mixed = ps.Mix([tmp_path / "a", tmp_path / "b"], weights=[1, 3])
    assert mixed.classes == ["cat", "dog"]


# -- refusals -----------------------------------------------------------------------------------------


def test_parts_of_other_kinds_and_fields_are_refused_by_name(parts, tmp_path):
    folder = tmp_path / "images"
    save_png(folder / "0.png", plain(0))
    other = write_tar(tmp_path / "o.tar", [("0.txt", b"x")])
    with pytest.raises(ps.UsageError, match="other fields") as caught:
        ps.Mix([parts[0], folder])
    assert "cls" in str(caught.value) and "image" in str(caught.value)
    with pytest.raises(ps.UsageError, match="cls.*txt|txt.*cls"):
        ps.Mix([parts[0], other])
    two = write_tar(tmp_path / "two.tar", [("0.cls", b"1"), ("0.txt", b"x")])
    with pytest.raises(ps.UsageError, match="fields"):
        ps.Mix([parts[0], two])


@pytest.mark.parametrize("weights", [[1], [1, 2, 3, 4], [1, 0, 1], [1, -1, 1], [float("nan"), 1, 1], [float("inf"), 1, 1]])
def test_wrong_weights_are_refused(parts, weights):
    with pytest.raises(ps.UsageError, match="weights"):
        ps.Mix(parts, weights=weights)


def test_a_mixture_of_nothing_or_of_one_path_is_refused(tmp_path):
    with pytest.raises(ps.UsageError, match="nothing"):
        ps.Mix([])
    with pytest.raises(TypeError, match="list"):
        ps.Mix(str(tmp_path))


def test_weighted_mixtures_have_no_parts_and_say_so(parts):
    mixed = ps.Mix(parts, weights=[1, 1, 1])
    for attempt in (lambda: mixed.subset(0.5), lambda: mixed.split(0.5), lambda: ps.Mix([mixed, parts[0]]),
                    lambda: mixed.filter("cls", lambda label: label < 5)):
        with pytest.raises(ps.UsageError, match="mixture"):
            attempt()


def test_weights_of_a_loader_and_samplers_on_a_weighted_mixture_are_refused_or_obeyed(parts):
    mixed = ps.Mix(parts, weights=[1, 1, 1])
    try:
        numbers = read_numbers(mixed, sampler=[5, 3, 105])
    except ps.UsageError as error:
        assert "mixture" in str(error) or "sampler" in str(error)
    else:
        assert numbers == [5, 3, 1005]


# -- filter -------------------------------------------------------------------------------------------


@pytest.fixture
def mixed_bag(tmp_path):
    """Twenty samples with an image, a class, a caption, JSON."""
    files = []
    for i in range(20):
        files += [(f"k{i:02}.png", png_bytes(plain(i * 10, side=8 + i % 3))), (f"k{i:02}.cls", str(i % 4).encode()),
                  (f"k{i:02}.txt", f"{'red' if i % 2 else 'blue'} {i}".encode()), (f"k{i:02}.json", json.dumps({"n": i, "w": 8 + i % 3}).encode())]
    return ps.Tar(write_tar(tmp_path / "a.tar", files))


@pytest.mark.parametrize("field, predicate, want", [
    ("cls", lambda label: label == 2, range(2, 20, 4)),
    ("json", lambda data: data["n"] > 15, range(16, 20)),
    ("txt", lambda text: text.startswith("red"), range(1, 20, 2)),
    ("key", lambda key: key.endswith("7"), (7, 17)),
    ("png", lambda image: image.mean() > 150 and image.shape[-1] == 8, (18,)),
])
def test_a_filter_keeps_what_satisfies_it_in_order(mixed_bag, field, predicate, want):
    chosen = mixed_bag.filter(field, predicate)
    assert [chosen.key(i) for i in range(len(chosen))] == [f"k{i:02}" for i in want]
    assert [k for (k,) in read_all(chosen, ["key"])] == [f"k{i:02}" for i in want]


def test_a_filter_gets_what_a_batch_has(mixed_bag):
    seen = {}
    for field in ("cls", "json", "txt", "key", "png"):
        mixed_bag.filter(field, lambda value: seen.setdefault(field, value) is not None)
    assert int(seen["cls"]) == 0 and seen["json"] == {"n": 0, "w": 8} and seen["txt"] == "blue 0" and seen["key"] == "k00"
    assert isinstance(seen["png"], np.ndarray) and seen["png"].shape == (3, 8, 8)


def test_filters_of_filters_subsets_and_mixtures(mixed_bag):
    chosen = mixed_bag.filter("cls", lambda label: label < 2).filter("txt", lambda text: text.startswith("red"))
    assert [chosen.key(i) for i in range(len(chosen))] == [f"k{i:02}" for i in range(1, 20, 4)]
    chosen = mixed_bag.subset([19, 3, 7]).filter("json", lambda data: data["n"] != 3)
    assert [chosen.key(i) for i in range(len(chosen))] == ["k19", "k07"]
    chosen = ps.Mix([mixed_bag, mixed_bag.subset([4, 5])]).filter("cls", lambda label: label == 0)
    assert [chosen.key(i) for i in range(len(chosen))] == ["k00", "k04", "k08", "k12", "k16", "k04"]


def test_a_filter_over_more_samples_than_a_batch(parts):
    chosen = parts[1].filter("cls", lambda label: label % 7 == 0)
    assert read_numbers(chosen) == [n for n in range(1000, 1300) if n % 7 == 0]


def test_a_filter_that_nothing_satisfies_says_so(mixed_bag):
    with pytest.raises(ps.UsageError, match="no sample"):
        mixed_bag.filter("cls", lambda label: label > 100)


def test_a_filters_exception_and_wrong_field_come_through(mixed_bag):
    with pytest.raises(ZeroDivisionError):
        mixed_bag.filter("cls", lambda label: 1 / 0)
    with pytest.raises(ps.UsageError, match="did you mean"):
        mixed_bag.filter("clz", bool)


def test_a_filter_under_ranks_looks_at_every_sample(mixed_bag, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert len(mixed_bag.filter("cls", lambda label: label == 2)) == 5


def test_a_filtered_source_trains_shuffled_and_once(mixed_bag):
    chosen = mixed_bag.filter("cls", lambda label: label != 0)
    for shuffle in (True, "window"):
        keys = [k for (k,) in read_all(chosen, ["key"], shuffle=shuffle)]
        assert sorted(keys) == [f"k{i:02}" for i in range(20) if i % 4]


def test_filters_of_tables_and_records(tmp_path):
    write_json_lines(tmp_path / "t.jsonl", [{"label": name, "n": i} for i, name in enumerate("abcab")])
    source = ps.Manifest(tmp_path / "t.jsonl")
    assert read_numbers(source.filter("label", lambda label: source.classes[label] == "b"), "n") == [1, 4]
    write_tfrecord(tmp_path / "t.tfrecord", [example(y=i, s=i / 2, t=str(i)) for i in range(6)])
    source = ps.TFRecord(tmp_path / "t.tfrecord")
    assert read_numbers(source.filter("s", lambda s: s >= 2), "y") == [4, 5]
    assert read_numbers(source.filter("t", "3".__eq__), "y") == [3]
