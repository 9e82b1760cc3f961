"""`isel` with masks and negative steps, and `select` backwards: what xarray's isel and sel give."""

import numpy as np
import pytest

import penstock as ps
from zarr_writers import assert_same, epoch

xr = pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::Warning")

T, Z, LAT, LON = 10, 3, 7, 8


@pytest.fixture(scope="module", params=["plain", "packed"])
def store(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("isel") / "s.zarr"
    data = xr.Dataset(
        {"t": (("time", "level", "lat", "lon"), np.random.default_rng(1).integers(-999, 999, (T, Z, LAT, LON)).astype("f4")),
         "u": (("time", "level", "lat", "lon"), np.random.default_rng(2).normal(size=(T, Z, LAT, LON)))},
        coords={"time": np.datetime64("2019-01-01", "ns") + np.arange(T) * np.timedelta64(1, "D"),
                "level": [500.0, 700.0, 850.0], "lat": np.linspace(60, 30, LAT), "lon": np.arange(LON) * 45.0})
    packing = {"dtype": "int16", "scale_factor": 0.5, "_FillValue": -32768} if request.param == "packed" else {}
    data.to_zarr(path, zarr_format=3, encoding={"t": {"chunks": (3, 2, 4, 3), **packing}, "u": {"chunks": (2, 3, 7, 8)}})
    return path, xr.open_zarr(path).load()


def check(store, select=None, isel=None, names=("t", "u"), **options):
    path, whole = store
    got = epoch(ps.Zarr(path, list(names), "time", select=select, isel=isel, **options), batch_size=3)
    expected = whole.isel(isel or {}).sel(select or {})
    for name, values in zip(names, got if len(names) > 1 else [got]):
        assert_same(values, expected[name].values.astype(values.dtype))


MASKS = {"lat": np.arange(LAT) % 3 != 1, "lon": np.arange(LON) > 4, "time": np.arange(T) % 4 < 2,
         "level": np.array([True, False, True])}


@pytest.mark.parametrize("dimension", MASKS)
@pytest.mark.parametrize("form", ["array", "list", "DataArray"])
def test_a_mask_takes_the_entries_where_it_is_true(store, dimension, form):
    mask = MASKS[dimension]
    given = {"array": mask, "list": mask.tolist(), "DataArray": xr.DataArray(mask, dims=dimension)}[form]
    check(store, isel={dimension: given})
    check(store, select={dimension: given})


def test_a_mask_of_coordinates(store):
    check(store, isel={"lat": store[1].lat.values > 40, "lon": (store[1].lon < 100).values})


@pytest.mark.parametrize("mask, message", [([True] * 3, "the mask has 3 values, the dimension 7 entries"),
                                           ([False] * LAT, "the mask is false everywhere")])
def test_masks_that_do_not_fit_are_refused(store, mask, message):
    with pytest.raises(ps.UsageError, match=message):
        ps.Zarr(store[0], ["t"], "time", isel={"lat": mask})


@pytest.mark.parametrize("which", [slice(None, None, -1), slice(None, None, -2), slice(5, 1, -1), slice(-1, None, -3),
                                   slice(-2, -6, -2), slice(100, None, -1), slice(3, -100, -1), slice(None, 2, -10**30)],
                         ids=str)
@pytest.mark.parametrize("dimension", ["lat", "lon", "time"])
def test_negative_steps(store, dimension, which):
    check(store, isel={dimension: which})


def test_several_axes_backwards(store):
    backwards = slice(None, None, -1)
    check(store, isel={"lat": backwards, "lon": slice(6, None, -2), "level": backwards, "time": slice(8, 1, -3)})
    check(store, isel={"lat": backwards, "lon": MASKS["lon"], "level": [2, 0]})


def test_backwards_in_stacks_and_with_normalize(store):
    path, whole = store
    mean, std = [1.0, 2.0, 3.0], [1.0, 2.0, 4.0]
    source = ps.Zarr(path, ["t"], "time", isel={"level": slice(None, None, -1), "lat": slice(None, None, -1)}, window=(2, 1))
    history, _ = epoch(source, batch_size=4, transform={"t_history": [ps.Normalize(mean, std)], "t_horizon": []})
    data = whole.t.values[:, ::-1, ::-1]
    expected = (data - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    np.testing.assert_allclose(history, np.stack([expected[i - 1:i + 1] for i in range(1, T - 1)]), rtol=1e-5, atol=1e-5)
    stack = epoch(ps.Zarr(path, ["t", "u"], "time", stack=True, isel={"lon": slice(None, None, -1), "level": slice(2, 0, -1)}))
    np.testing.assert_allclose(stack, np.concatenate([whole.t.values[:, 2:0:-1, :, ::-1], whole.u.values[:, 2:0:-1, :, ::-1]], 1))


def test_time_backwards_has_windows_only_where_gaps_are_allowed(store):
    path, whole = store
    isel = {"time": slice(None, None, -1)}
    with pytest.raises(ps.UsageError, match="gaps=\"allow\""):
        ps.Zarr(path, ["u"], "time", isel=isel, window=(2, 1))
    history, horizon = epoch(ps.Zarr(path, ["u"], "time", isel=isel, window=(2, 1), gaps="allow"), batch_size=3)
    data = whole.u.values[::-1]
    assert_same(history, np.stack([data[i - 1:i + 1] for i in range(1, T - 1)]))
    assert_same(horizon, np.stack([data[i + 1:i + 2] for i in range(1, T - 1)]))


def test_joined_stores_backwards(store, tmp_path):
    path, whole = store
    for name, part in (("a", slice(0, 4)), ("b", slice(4, 10))):
        data = whole[["u"]].isel(time=part).drop_encoding()
        data.to_zarr(tmp_path / f"{name}.zarr", encoding={"u": {"chunks": (3, 3, 4, 8)}})
    paths = [tmp_path / "a.zarr", tmp_path / "b.zarr"]
    for step in (-1, -2, -3):
        source = ps.Zarr(paths, ["u"], "time", isel={"time": slice(None, None, step)})
        assert_same(epoch(source, batch_size=4), whole.u.values[::step])
    shuffled = ps.Zarr(paths, ["u"], "time", isel={"time": slice(8, 1, -2)}, window=(2, 1), gaps="allow")
    history = epoch(shuffled, batch_size=4)[0]
    data = whole.u.values[8:1:-2]
    assert_same(history, np.stack([data[i - 1:i + 1] for i in range(1, len(data) - 1)]))


@pytest.mark.parametrize("select", [{"lon": slice(270, 45, -1)}, {"lon": slice(None, None, -1)}, {"lon": slice(200, None, -2)},
                                    {"lon": slice(None, 100, -3)}, {"lat": slice(30, 50, -1)}, {"lat": slice(None, None, -1)},
                                    {"time": slice("2019-01-08", "2019-01-03", -1)}, {"time": slice(None, "2019-01-05", -2)}],
                         ids=str)
def test_select_backwards(store, select):
    check(store, select=select)


def test_a_range_that_ends_before_it_begins_is_refused(store):
    """xarray gives nothing for these; longitudes that wrap have a meaning of their own here."""
    assert store[1].sel(time=slice("2019-01-03", "2019-01-08", -1)).sizes["time"] == 0
    with pytest.raises(ps.UsageError, match="negative step goes backwards"):
        ps.Zarr(store[0], ["t"], "time", select={"time": slice("2019-01-03", "2019-01-08", -1)})
    with pytest.raises(ValueError, match="a step of 0 leads nowhere"):
        ps.Zarr(store[0], ["t"], "time", select={"lat": slice(0, 60, 0)})
    with pytest.raises(ValueError, match="a step of 0 leads nowhere"):
        ps.Zarr(store[0], ["t"], "time", isel={"lat": slice(0, 6, 0)})
