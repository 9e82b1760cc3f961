"""Which places random patches come from: every place exactly as often as it should."""

import itertools

import numpy as np
import pytest

import penstock as ps
from zarr_writers import make_loader, write_zarr


def places(source, **options):
    """(volume, z, y, x) of every patch of an epoch; nothing is read for it."""
    with make_loader(source, fields=["volume", "position"], batch_size=4096, **options) as loader:
        return np.concatenate([np.column_stack(batch) for batch in loader])


def valid_places(labels, size, least):
    """Origins whose patch has at least this share of labels that are not 0, by NumPy."""
    windows = np.lib.stride_tricks.sliding_window_view(labels != 0, size)
    share = windows.mean(tuple(range(-len(size), 0)))
    return np.argwhere(share >= least)


def assert_shares(found, expected, draws_per_place=40):
    """Chi-squared over all places; `expected` maps each place to its probability."""
    counts = dict.fromkeys(expected, 0)
    for place in map(tuple, found.tolist()):
        assert place in counts, f"{place} is no place for a patch"
        counts[place] += 1
    expected_counts = np.array(list(expected.values())) * len(found)
    assert expected_counts.min() > draws_per_place / 4, "too few draws to tell"
    difference = np.array(list(counts.values())) - expected_counts
    freedom = len(expected) - 1
    # Five standard deviations of the distribution above its mean.
    assert (difference ** 2 / expected_counts).sum() < freedom + 5 * np.sqrt(2 * freedom)
    assert np.abs(difference / np.sqrt(expected_counts)).max() < 6


def uniform(lists):
    everything = [(number, *place) for number, list_ in enumerate(lists) for place in list_]
    return dict.fromkeys(everything, 1 / len(everything))


def ball(shape, radius):
    axes = np.ogrid[tuple(slice(extent) for extent in shape)]
    return (sum((axis - extent / 2.7) ** 2 for axis, extent in zip(axes, shape)) < radius ** 2).astype(np.uint8)


# -- without labels ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape, size, chunks", [((13, 11, 17), (4, 5, 6), (5, 4, 7)), ((9, 23, 8), (3, 2, 8), (9, 9, 3)),
                                                 ((31, 29), (7, 4), (8, 16)), ((300,), (17,), (50,))])
def test_every_place_is_equally_likely_also_where_regions_do_not_fit(tmp_path, shape, size, chunks):
    path = write_zarr(tmp_path / "v", np.zeros(shape, np.uint8), chunks)
    every = list(itertools.product(*(range(extent - edge + 1) for extent, edge in zip(shape, size))))
    found = places(ps.Patches(path, size, per_epoch=60 * len(every)))
    assert_shares(found, uniform([every]))


def test_places_of_several_volumes_are_equally_likely_whatever_their_chunks(tmp_path):
    shapes, chunks = [(12, 9, 10), (6, 22, 7), (20, 6, 6)], [(4, 4, 4), (6, 22, 7), (3, 6, 2)]
    paths = [write_zarr(tmp_path / str(i), np.zeros(shape, np.uint8), chunk)
             for i, (shape, chunk) in enumerate(zip(shapes, chunks))]
    every = [list(itertools.product(*(range(extent - 4) for extent in shape))) for shape in shapes]
    found = places(ps.Patches(paths, (5, 5, 5), per_epoch=60 * sum(map(len, every)), ))
    assert_shares(found, uniform(every))


def test_a_full_shuffle_is_uniform_too(tmp_path):
    path = write_zarr(tmp_path / "v", np.zeros((11, 10, 9), np.uint8), (4, 4, 4))
    every = list(itertools.product(range(8), range(7), range(6)))
    assert_shares(places(ps.Patches(path, (4, 4, 4), per_epoch=60 * len(every)), shuffle="full"), uniform([every]))


def test_many_short_epochs_are_as_uniform_as_one_long_one(tmp_path):
    path = write_zarr(tmp_path / "v", np.zeros((9, 8, 9), np.uint8), (3, 3, 3))
    every = list(itertools.product(range(7), range(6), range(7)))
    with make_loader(ps.Patches(path, (3, 3, 3), per_epoch=256), fields=["volume", "position"], batch_size=256) as loader:
        found = np.concatenate([np.column_stack(batch) for _ in range(70) for batch in loader])
    assert_shares(found, uniform([every]))


# -- with a minimum of foreground -------------------------------------------------------------------


@pytest.mark.parametrize("least", [0.02, 0.35, 0.9])
@pytest.mark.parametrize("chunks", [(5, 6, 4), (32, 32, 32)])
def test_places_with_enough_foreground_are_equally_likely(tmp_path, least, chunks):
    labels = ball((19, 18, 21), 6.5)
    path = write_zarr(tmp_path / "l", labels, chunks)
    valid = [tuple(place) for place in valid_places(labels, (4, 5, 6), least).tolist()]
    found = places(ps.Patches(path, (4, 5, 6), per_epoch=60 * len(valid), labels=path, min_foreground=least))
    assert_shares(found, uniform([valid]))


def test_foreground_of_several_volumes_is_drawn_by_the_number_of_places(tmp_path):
    volumes = [ball((18, 12, 14), 4.5), ball((9, 26, 11), 3.2), np.zeros((8, 8, 8), np.uint8), ball((16, 16, 16), 7)]
    paths = [write_zarr(tmp_path / str(i), v, (6, 5 + i, 7)) for i, v in enumerate(volumes)]
    valid = [[tuple(p) for p in valid_places(v, (5, 4, 5), 0.4).tolist()] for v in volumes]
    assert not valid[2]
    source = ps.Patches(paths, (5, 4, 5), per_epoch=50 * sum(map(len, valid)), labels=paths, min_foreground=0.4)
    assert_shares(places(source), uniform(valid))


def test_specks_of_foreground_are_equally_likely(tmp_path):
    """Rare single voxels: places that earlier versions drew up to 2.6 times as often as their share."""
    labels = (np.random.default_rng(3).random((30, 31, 29)) < 0.0008).astype(np.uint8)
    path = write_zarr(tmp_path / "l", labels, (16, 16, 16))
    valid = [tuple(place) for place in valid_places(labels, (3, 3, 3), 1e-9).tolist()]
    found = places(ps.Patches(path, (3, 3, 3), per_epoch=100 * len(valid), labels=path, min_foreground=0.001))
    assert_shares(found, uniform([valid]))


def test_foreground_of_planes(tmp_path):
    labels = ball((60, 75), 20)
    path = write_zarr(tmp_path / "l", labels, (16, 20))
    valid = [tuple(place) for place in valid_places(labels, (9, 12), 0.5).tolist()]
    found = places(ps.Patches(path, (9, 12), per_epoch=50 * len(valid), labels=path, min_foreground=0.5))
    assert_shares(found, uniform([valid]))


# -- weights ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights, shares", [("volume", None), ("equal", [1 / 3] * 3), ([5, 0, 1], [5 / 6, 0, 1 / 6])])
@pytest.mark.parametrize("with_labels", [False, True])
def test_volumes_have_exactly_their_weight(tmp_path, weights, shares, with_labels):
    volumes = [ball((16, 9, 8), 4), ball((7, 8, 7), 3), ball((9, 20, 9), 4)]
    paths = [write_zarr(tmp_path / str(i), v, (5, 5, 5)) for i, v in enumerate(volumes)]
    valid = [[tuple(p) for p in valid_places(v, (4, 4, 4), 0.3 if with_labels else 0).tolist()] for v in volumes]
    expected = uniform(valid)
    if shares:
        expected = {(number, *place): share / len(list_)
                    for number, (list_, share) in enumerate(zip(valid, shares)) for place in list_ if share}
    least = min(expected.values())
    labels = {"labels": paths, "min_foreground": 0.3} if with_labels else {}
    found = places(ps.Patches(paths, (4, 4, 4), per_epoch=int(50 / least), weights=weights, **labels))
    assert_shares(found, expected)


@pytest.mark.parametrize("dtype", ["uint8", "int32", ">i2", "float32"])
def test_classes_have_exactly_their_weight_at_the_centre(tmp_path, dtype):
    rng = np.random.default_rng(5)
    labels = [rng.choice([0, 1, 2, 7], shape, p=[0.7, 0.2, 0.08, 0.02]).astype(dtype) for shape in ((12, 11, 13), (8, 15, 9))]
    paths = [write_zarr(tmp_path / str(i), v, (5, 6, 4), version=2) for i, v in enumerate(labels)]
    size, weights = (4, 5, 3), {0: 1.0, 2: 3.0, 7: 4.0}
    centred = {value: [] for value in weights}
    for number, volume in enumerate(labels):
        for place in itertools.product(*(range(extent - edge + 1) for extent, edge in zip(volume.shape, size))):
            value = int(volume[tuple(p + edge // 2 for p, edge in zip(place, size))])
            if value in centred:
                centred[value].append((number, *place))
    expected = {place: weights[value] / 8 / len(list_) for value, list_ in centred.items() for place in list_}
    source = ps.Patches(paths, size, per_epoch=int(50 / min(expected.values())), labels=paths, class_weights=weights)
    found = places(source)
    assert_shares(found, expected)
    values = np.array([int(labels[n][z + 2, y + 2, x + 1]) for n, z, y, x in found.tolist()])
    for value, weight in weights.items():
        assert abs((values == value).mean() - weight / 8) < 0.005


def test_class_shares_stay_exact_beside_volume_weights_and_foreground(tmp_path):
    first, second = ball((14, 14, 14), 5), ball((14, 14, 14), 4) * 2
    first[0, 0, 0] = 1
    paths = [write_zarr(tmp_path / str(i), v, (6, 6, 6)) for i, v in enumerate((first, second))]
    enough = [{tuple(p) for p in valid_places(v, (4, 4, 4), 0.3).tolist()} for v in (first, second)]

    def centred(volume, value):
        return [place for place in enough[volume] if (first, second)[volume][tuple(p + 2 for p in place)] == value]

    # Class 0 is divided among the volumes as 1 to 3; classes 1 and 2 are in one volume each.
    shares = {(0, 0): 0.25 * 0.25, (1, 0): 0.25 * 0.75, (0, 1): 0.25, (1, 2): 0.5}
    expected = {(volume, *place): share / len(centred(volume, value))
                for (volume, value), share in shares.items() for place in centred(volume, value)}
    source = ps.Patches(paths, (4, 4, 4), per_epoch=int(50 / min(expected.values())), labels=paths, min_foreground=0.3,
                        weights=[1, 3], class_weights={0: 1, 1: 1, 2: 2})
    assert_shares(places(source), expected)


def test_what_weights_cannot_mean_is_said(tmp_path):
    path = write_zarr(tmp_path / "v", ball((9, 9, 9), 3), (4, 4, 4))

    def refused(match, error=ps.Error, **options):
        with pytest.raises(error, match=match) as caught:
            ps.Patches([path, path], (4, 4, 4), **({"per_epoch": 8} | options))
        assert "\n" not in str(caught.value)

    refused("3 weights for 2 volumes", weights=[1, 2, 3])
    refused("weight 0", weights=[0, 0])
    refused("-1", weights=[1, -1])
    refused("wants", ValueError, weights="by size")
    refused("wants a dict", TypeError, class_weights=[1, 2])
    refused("needs labels", class_weights={0: 1})
    refused("label 5", labels=[path, path], class_weights={0: 1, 5: 2})
    refused("label 300", labels=[path, path], class_weights={300: 2})
    refused("sum to nothing", labels=[path, path], class_weights={0: 0})
    refused("for random patches", per_epoch=None, weights=[1, 2])
    scaled = write_zarr(tmp_path / "scaled", ball((9, 9, 9), 3), (4, 4, 4), attributes={"scale_factor": 0.5})
    refused("decode_cf=False", labels=[scaled, scaled], class_weights={0: 1})
    ps.Patches([path, path], (4, 4, 4), per_epoch=8, labels=[scaled, scaled], class_weights={0: 1}, decode_cf=False)
