"""Arguments that are wrong, and what the messages say."""

import re

import numpy as np
import pytest

import penstock as ps
from zarr_writers import assert_same, epoch, write_zarr


@pytest.fixture
def group(tmp_path):
    import zarr

    root = zarr.open_group(str(tmp_path / "g"), mode="w")
    rng = np.random.default_rng(0)
    for name, names in (("t2m", ("time", "lat", "lon")), ("wind", ("time", "lat", "lon")), ("mask", ("lat", "lon")),
                        ("station", ("time",))):
        shape = tuple({"time": 10, "lat": 4, "lon": 6}[n] for n in names)
        root.create_array(name, shape=shape, dtype="f4", dimension_names=names)[...] = rng.random(shape)
    root.create_array("time", shape=(10,), dtype="i8", dimension_names=("time",),
                      attributes={"units": "days since 2000-01-01"})[...] = np.arange(10)
    return tmp_path / "g"


@pytest.fixture
def volume(tmp_path):
    return write_zarr(tmp_path / "volume", np.ones((16, 16, 16), np.uint8), (8, 8, 8))


def message(call, kind):
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    assert text and "\n" not in text and "incompatible function arguments" not in text, text
    return text


@pytest.mark.parametrize("options, kind, words", [
    ({"variables": "tm2"}, ps.NotFoundError, ["tm2", "did you mean", "t2m"]),
    ({"variables": ["t2m", "winds"]}, ps.NotFoundError, ["winds", "wind"]),
    ({"variables": "t2m", "sample_dim": "tine"}, ps.UsageError, ["tine", "time", "lat"]),
    pytest.param({"sample_dim": "tine"}, ps.UsageError, ["tine", "did you mean", "time"]),
    ({"sample_dim": 7}, ps.UsageError, ["sample_dim", "7"]),
    ({"sample_dim": "time", "isel": {"lta": slice(2)}}, ps.UsageError, ["lta", "lat"]),
    ({"sample_dim": "time", "isel": {"lat": slice(4, 4)}}, ps.UsageError, ["lat", "4"]),
    ({"sample_dim": "time", "isel": {"lat": slice(0, 4, -1)}}, ValueError, ["lat", "nothing is left of 4 entries"]),
    ({"sample_dim": "time", "select": {"lat": (10.0, 20.0)}}, ps.UsageError, ["lat", "coordinates"]),
    ({"sample_dim": "time", "select": {"time": (100.0, 200.0)}}, ps.UsageError, ["100", "dates", "isel="]),
    ({"sample_dim": "time", "select": {"time": ("2000-13", None)}}, ps.UsageError, ["2000-13", "calendar", "months"]),
    pytest.param({"sample_dim": "time", "select": {"time": ("2005", "2006")}}, ps.UsageError, ["2005"]),
    ({"sample_dim": "time", "select": {"time": (1, 2, 3)}}, ValueError, ["time", "(from, to)", "list"]),
    ({"sample_dim": "time", "window": 3}, ValueError, ["window", "history"]),
    ({"sample_dim": "time", "window": (0, 0)}, ValueError, ["window"]),
    pytest.param({"sample_dim": "time", "window": (-1, 2)}, ValueError, ["window"]),
    ({"sample_dim": "time", "window": (6, 6)}, ps.UsageError, ["window", "10"]),
    ({"sample_dim": "time", "variables": ["t2m", "station"], "stack": True}, ps.UsageError, ["stack", "station"]),
    ({"sample_dim": "time", "variables": ["t2m", "t2m"]}, ps.UsageError, ["t2m", "twice"]),
    ({"nan": "zero"}, ValueError, ["nan", "zero", "keep"]),
    ({"missing": "zero"}, ValueError, ["missing", "fill"]),
    pytest.param({"variables": [1]}, TypeError, ["variables"]),
    pytest.param({"sample_dim": 2**40}, (ValueError, TypeError), ["sample_dim"]),
    pytest.param({"sample_dim": 1.5}, TypeError, ["sample_dim"]),
    pytest.param({"window": (1.5, 2)}, TypeError, ["window"]),
    pytest.param({"nan": None}, ValueError, ["nan"]),
    pytest.param({"select": [("time", 3)]}, TypeError, ["select"]),
], ids=str)
def test_wrong_options_of_zarr_are_one_line_that_says_what_is_wanted(group, options, kind, words):
    text = message(lambda: ps.Zarr(group, **options), kind)
    for word in words:
        assert word in text


@pytest.mark.parametrize("size, options, kind, words", [
    ((4, 4, 4, 4), {}, ps.UsageError, ["axes", "16"]),
    ((4, 4, 40), {}, ps.UsageError, ["16", "40"]),
    ((4, 4, 0), {}, ps.UsageError, ["size"]),
    ((), {}, ps.UsageError, ["size"]),
    ((4, 4, 4), {"overlap": 4}, ps.UsageError, ["overlap", "size"]),
    ((4, 4, 4), {"overlap": -1}, ps.UsageError, ["overlap"]),
    ((4, 4, 4), {"overlap": (1, 2)}, ValueError, ["overlap", "3"]),
    ((4, 4, 4), {"overlap": 2, "per_epoch": 5}, ps.UsageError, ["overlap", "grid"]),
    ((4, 4, 4), {"per_epoch": 0}, ValueError, ["per_epoch"]),
    ((4, 4, 4), {"per_epoch": 5, "min_foreground": 0.5}, ps.UsageError, ["min_foreground", "labels"]),
    ((4, 4, 4), {"missing": "zero"}, ValueError, ["missing"]),
    ((4, 4, 4), {"labels": "/nowhere/at/all"}, ps.NotFoundError, ["/nowhere/at/all"]),
    pytest.param(4, {}, TypeError, ["size"]),
    pytest.param((4.0, 4, 4), {}, TypeError, ["size"]),
    pytest.param((4, 4, 4), {"per_epoch": 1e3}, TypeError, ["per_epoch"]),
    pytest.param((4, 4, 4), {"overlap": 1.0}, (TypeError, ValueError), ["overlap"]),
    pytest.param((4, 4, 4), {"overlap": "4"}, TypeError, ["overlap"]),
], ids=str)
def test_wrong_options_of_patches_are_one_line_that_says_what_is_wanted(volume, size, options, kind, words):
    text = message(lambda: ps.Patches(volume, size, **options), kind)
    for word in words:
        assert word in text


def test_overlap_may_be_a_numpy_array(volume):
    assert len(ps.Patches(volume, (4, 4, 4), overlap=np.array([1, 2, 3]))) == len(
        ps.Patches(volume, (4, 4, 4), overlap=(1, 2, 3)))


@pytest.mark.parametrize("path", ["nowhere", "nowhere/deeper"])
def test_a_mistyped_path_is_said(tmp_path, path):
    for call in (lambda: ps.Zarr(tmp_path / path), lambda: ps.Patches(tmp_path / path, (4, 4))):
        assert str(tmp_path / path) in message(call, ps.NotFoundError)


def test_a_path_that_is_not_there_and_one_without_an_array_differ(tmp_path):
    (tmp_path / "empty").mkdir()
    said = [message(lambda: ps.Zarr(tmp_path / name), ps.NotFoundError).replace(name, "") for name in ("empty", "absent")]
    assert said[0] != said[1]


def test_paths_of_wrong_type(volume):
    for call in (lambda: ps.Zarr(3), lambda: ps.Zarr(None), lambda: ps.Patches([3], (4, 4, 4))):
        message(call, TypeError)
    message(lambda: ps.Patches([], (4, 4, 4)), ps.UsageError)


def test_a_group_is_no_volume(group):
    text = message(lambda: ps.Patches(group, (2, 2)), ps.UsageError)
    assert "t2m" in text


def test_an_array_has_no_variables(volume):
    assert "variables" in message(lambda: ps.Zarr(volume, "image"), ps.UsageError)


def test_a_shape_that_differs_between_volumes(tmp_path, volume):
    other = write_zarr(tmp_path / "other", np.ones((16, 16, 16), np.float32), (8, 8, 8))
    text = message(lambda: ps.Patches([volume, other], (4, 4, 4)), ps.UsageError)
    assert "float32" in text and "uint8" in text and str(other) in text
    small = write_zarr(tmp_path / "small", np.ones((16, 16, 15), np.uint8), (8, 8, 8))
    assert "15" in message(lambda: ps.Patches(volume, (4, 4, 4), labels=small), ps.UsageError)


# -- what a source says of itself -------------------------------------------------------------------


def test_sources_describe_themselves(group, volume):
    source = ps.Zarr(group, ["t2m", "mask"], "time", window=(2, 3))
    assert len(source) == 6 and source.uri == str(group)
    assert list(source.fields) == ["t2m_history", "mask_history", "t2m_horizon", "mask_horizon"]
    assert re.fullmatch(r"<penstock.Zarr\(.*, window=\(2, 3\)\): zarr v3, 6 samples of t2m_history, .*>", repr(source))
    assert source.key(0) == "1" and source.stored_bytes > 0
    assert "\n" not in repr(source)
    grid, random = ps.Patches(volume, (8, 8, 8)), ps.Patches(volume, (8, 8, 8), per_epoch=100)
    assert len(grid) == 8 and len(random) == 100
    assert "grid of patches, 8 samples" in repr(grid) and "random patches, 100 samples" in repr(random)
    with ps.Loader(random, batch_size=10, output="numpy") as loader:
        assert len(loader) == 10 and "image" in repr(loader)


def test_a_path_to_a_zarr_array_is_a_source(volume):
    assert epoch(ps.open_source(str(volume)), batch_size=4).shape == (16, 16, 16)


def test_paths_may_be_text_with_a_slash_or_odd_letters(tmp_path):
    data = np.arange(12, dtype=np.int32).reshape(6, 2)
    for name in ("plain", "with space", "ünïcode", "per%20cent", "question?mark", "hash#tag", "brackets[1]"):
        path = write_zarr(tmp_path / name, data, (2, 2))
        assert_same(epoch(ps.Zarr(str(path) + "/"), batch_size=4), data)
        assert_same(epoch(ps.Zarr(path), batch_size=4), data)


def test_a_position_takes_the_axis_away(group):
    source = ps.Zarr(group, "t2m", "time", isel={"lat": 2})
    import zarr
    assert_same(epoch(source, batch_size=3), zarr.open_group(str(group))["t2m"][...][:, 2])
    source = ps.Zarr(group, "t2m", "time", isel={"lat": -1})
    assert_same(epoch(source, batch_size=3), zarr.open_group(str(group))["t2m"][...][:, -1])


def test_an_empty_array_is_said(tmp_path):
    path = write_zarr(tmp_path / "a", np.zeros((0, 4), np.float32), (1, 4))
    message(lambda: epoch(ps.Zarr(path), batch_size=1), ps.Error)


def test_an_array_without_axes_is_said(tmp_path):
    import zarr
    zarr.create_array(str(tmp_path / "a"), shape=(), dtype="f4")[...] = 3
    message(lambda: ps.Zarr(tmp_path / "a"), ps.Error)
