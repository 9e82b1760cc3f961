"""Data sets as xarray writes them, against what xarray reads."""

import numpy as np
import pytest

import penstock as ps
from zarr_writers import assert_same, epoch, write_zarr

xr = pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # xarray and zarr warn of each other

COUNT = 30


def dataset():
    rng = np.random.default_rng(0)
    time = np.datetime64("2019-12-20", "ns") + np.arange(COUNT) * np.timedelta64(6, "h")
    shape = (COUNT, 5, 6)

    def holes(data):
        data[rng.random(shape) < 0.1] = np.nan
        return data

    return xr.Dataset(
        {"packed": (("time", "lat", "lon"), holes(rng.uniform(250, 310, shape))),
         "packed_by_scale": (("time", "lat", "lon"), holes(rng.uniform(-90, 90, shape))),
         "marked": (("time", "lat", "lon"), holes(rng.uniform(0, 1, shape).astype("f4"))),
         "plain": (("time", "lat", "lon"), holes(rng.uniform(0, 1, shape).astype("f4"))),
         "double": (("time", "lat", "lon"), rng.uniform(0, 1, shape)),
         "counts": (("time", "lat", "lon"), rng.integers(0, 9, shape).astype("i4")),
         "orography": (("lat", "lon"), rng.uniform(0, 1000, (5, 6)).astype("f4"))},
        coords={"time": time, "lat": np.linspace(60, 20, 5), "lon": np.arange(6.0)})


ENCODING = {
    "packed": {"dtype": "int16", "scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -32768},
    "packed_by_scale": {"dtype": "int16", "scale_factor": 0.005, "_FillValue": 32767},
    "marked": {"_FillValue": np.float32(-9999.0)},
    "counts": {"_FillValue": None},
    "double": {"_FillValue": None},
}


@pytest.fixture(scope="module", params=[(2, True), (2, False), (3, True), (3, False)],
                ids=["v2 consolidated", "v2", "v3 consolidated", "v3"])
def store(request, tmp_path_factory):
    version, consolidated = request.param
    path = tmp_path_factory.mktemp("xarray") / "a.zarr"
    encoding = {name: dict(own) for name, own in ENCODING.items()}
    for name in ("packed", "plain", "marked"):
        encoding.setdefault(name, {})["chunks"] = (7, 3, 4)
    dataset().to_zarr(path, zarr_format=version, consolidated=consolidated, encoding=encoding)
    return path


def read(path):
    return xr.open_zarr(path).load()


@pytest.mark.parametrize("name", ["packed", "packed_by_scale", "plain", "double", "counts"])
def test_values_are_those_that_xarray_reads(store, name):
    expected = read(store)[name].values
    got = epoch(ps.Zarr(store, name, "time"), batch_size=7)
    if name in ("plain", "double", "counts"):
        assert_same(got, expected)
        return
    assert got.dtype == np.float32 and np.array_equal(np.isnan(got), np.isnan(expected))
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-5)


def test_marks_of_missing_values_without_packing(store):
    expected = read(store)["marked"].values
    assert np.isnan(expected).any()
    np.testing.assert_array_equal(epoch(ps.Zarr(store, "marked", "time"), batch_size=7), expected)


def test_what_is_not_decoded_is_as_it_is_stored(store):
    raw = xr.open_dataset(store, engine="zarr", mask_and_scale=False).load()
    for name in ("packed", "packed_by_scale", "plain", "double", "counts"):
        assert_same(epoch(ps.Zarr(store, name, "time", decode_cf=False), batch_size=4), raw[name].values)


def test_missing_values_become_a_number_or_an_error(store):
    expected = read(store)
    for name in ("packed", "plain"):
        got = epoch(ps.Zarr(store, name, "time", nan=-1.5), batch_size=7)
        np.testing.assert_allclose(got, expected[name].fillna(-1.5).values, rtol=1e-6, atol=1e-5)
        first = int(np.argwhere(np.isnan(expected[name].values).any((1, 2)))[0, 0])
        with pytest.raises(ps.Error) as caught:
            epoch(ps.Zarr(store, name, "time", nan="error"), batch_size=1)
        assert caught.value.sample == first and name in caught.value.uri and "\n" not in str(caught.value)
    assert_same(epoch(ps.Zarr(store, "counts", "time", nan="error"), batch_size=7), expected["counts"].values)


def test_a_sample_with_missing_values_can_be_skipped(store):
    expected = read(store)["plain"].values
    whole = ~np.isnan(expected).any((1, 2))
    source = ps.Zarr(store, "plain", "time", nan="error")
    with ps.Loader(source, batch_size=4, on_error="skip", max_skip=1.0, output="numpy") as loader:
        got = list(loader)
        stats = loader.stats()
    assert stats["skipped"] == (~whole).sum() and stats["delivered"] == whole.sum()
    assert stats["planned"] == stats["delivered"] + stats["skipped"] + stats["failed"]
    if got:
        assert_same(np.concatenate(got), expected[whole])


def test_normalize_is_done_to_decoded_values(store):
    expected = read(store)
    for name in ("packed", "plain", "counts"):
        got = epoch(ps.Zarr(store, name, "time", nan=280.0), transform=[ps.Normalize(280.0, 20.0)], batch_size=7)
        wanted = (expected[name].fillna(280.0).values.astype(float) - 280.0) / 20.0
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    got = epoch(ps.Zarr(store, "packed", "time"), transform=[ps.Normalize(280.0, 20.0)], batch_size=7)
    np.testing.assert_allclose(got, (expected["packed"].values - 280.0) / 20.0, rtol=1e-4, atol=1e-5)


def test_stacks_and_windows_of_decoded_variables(store):
    expected = read(store)
    names = ["packed", "plain", "orography"]
    source = ps.Zarr(store, names, "time", window=(2, [1, 4]), stack=True, nan=0.0,
                     select={"lat": (25, 55), "time": ("2019-12-21", "2019-12-25")})
    part = expected.sel(lat=slice(55, 25), time=slice("2019-12-21", "2019-12-25")).fillna(0.0)
    steps = part.sizes["time"]
    whole = np.stack([part["packed"].values, part["plain"].values,
                      np.broadcast_to(part["orography"].values, (steps, part.sizes["lat"], 6))], 1)
    history, horizon = epoch(source, batch_size=5)
    assert len(history) == len(source) == steps - 5 and history.dtype == np.float32
    for i in range(len(history)):
        np.testing.assert_allclose(history[i], whole[i:i + 2], rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(horizon[i], whole[[i + 2, i + 5]], rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("dates", [("2019", "2019"), ("2019-12-24", "2019-12-24"), ("2019-12-31T12:00", None)])
def test_dates_select_as_xarray_does(tmp_path, store, dates):
    expected = read(store)
    want = expected["double"].sel(time=slice(*dates)).values
    if len(want) == 0:
        with pytest.raises(ps.UsageError):
            ps.Zarr(store, "double", "time", select={"time": dates})
        return
    assert_same(epoch(ps.Zarr(store, "double", "time", select={"time": dates}), batch_size=4), want)


def test_every_variable_that_has_the_dimension_is_a_field(store):
    source = ps.Zarr(store, sample_dim="time")
    assert set(source.fields) == set(ENCODING) | {"plain"} and len(source) == COUNT


def test_the_first_axis_is_that_of_the_data_not_of_a_map(tmp_path):
    data = dataset()[["packed", "orography"]].rename(orography="a_map")
    data.to_zarr(tmp_path / "a.zarr", zarr_format=3)
    assert len(ps.Zarr(tmp_path / "a.zarr")) == COUNT


def test_a_label_for_every_step_is_a_field_too(tmp_path):
    data = dataset()[["plain"]].assign(label=("time", np.arange(COUNT)))
    data.to_zarr(tmp_path / "a.zarr", zarr_format=3)
    assert set(ps.Zarr(tmp_path / "a.zarr", sample_dim="time").fields) == {"plain", "label"}


@pytest.mark.parametrize("mark", [1e20, -9999.0, 9.969209968386869e36])
def test_a_mark_written_in_decimals_is_that_of_floats(tmp_path, mark):
    data = np.random.default_rng(0).random((6, 4)).astype("f4")
    data[2, 1] = mark
    write_zarr(tmp_path / "a", data, (2, 4), attributes={"_FillValue": mark})
    got = epoch(ps.Zarr(tmp_path / "a"), batch_size=3)
    assert np.isnan(got[2, 1]) and np.isnan(got).sum() == 1


def test_a_number_for_nan_keeps_the_type(tmp_path):
    data = np.random.default_rng(0).random((6, 4))
    data[2, 1] = np.nan
    write_zarr(tmp_path / "a", data, (2, 4))
    assert_same(epoch(ps.Zarr(tmp_path / "a", nan=0.0), batch_size=3), np.nan_to_num(data))
