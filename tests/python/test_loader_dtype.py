"""dtype= of a Loader is for data: coordinates, labels, keys and places keep their types."""

import numpy as np
import pytest

import penstock as ps
from zarr_writers import make_loader, write_zarr

xr = pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::Warning")

COUNT = 12


@pytest.fixture
def store(tmp_path):
    rng = np.random.default_rng(0)
    time = np.datetime64("2019-12-20", "ns") + np.arange(COUNT) * np.timedelta64(6, "h")
    data = xr.Dataset(
        {"t2m": (("time", "lat", "lon"), rng.uniform(250, 310, (COUNT, 4, 5)).astype("f4")),
         "mean_t2m": ("time", rng.uniform(250, 310, COUNT)),
         "label": ("time", np.arange(70_000, 70_000 + COUNT)),
         "launched": ("time", np.arange(1_060_000, 1_060_000 + COUNT), {"units": "hours after 1900", "long_name": "x"}),
         "valid": ("time", np.arange(1_060_000, 1_060_000 + COUNT) / 1.0, {"units": "hours since 1900-01-01"}),
         "counts": (("time", "lat", "lon"), rng.integers(0, 99, (COUNT, 4, 5)).astype("i4"))},
        coords={"time": time, "lat": np.linspace(60, 20, 4), "lon": 0.1 * np.arange(5),
                "altitude": (("lat", "lon"), rng.uniform(0, 4000, (4, 5)))})
    data["valid"].attrs["units"] = "hours since 1900-01-01"
    xr.Dataset.to_zarr(data, tmp_path / "a.zarr", zarr_format=3)
    return tmp_path / "a.zarr"


def types(source, **options):
    with make_loader(source, **options) as loader:
        batch = next(iter(loader))
        return {name: np.asarray(value) for name, value in batch.items()}


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_coordinates_and_labels_of_a_group_keep_their_types(store, dtype):
    names = ["t2m", "mean_t2m", "label", "launched", "valid", "counts", "time", "lat", "lon", "altitude"]
    got = types(ps.Zarr(store, names, "time"), batch_size=COUNT, dtype=dtype, fields={name: name for name in names})
    assert {name for name in names if got[name].dtype == np.dtype(dtype)} == {"t2m", "mean_t2m", "counts"}
    plain = types(ps.Zarr(store, names, "time"), batch_size=COUNT, fields={name: name for name in names})
    for name in ("label", "launched", "valid", "time", "lat", "lon", "altitude"):
        assert got[name].dtype == plain[name].dtype
        np.testing.assert_array_equal(got[name], plain[name])
    with xr.open_zarr(store) as data:
        np.testing.assert_array_equal(got["label"], data["label"].values)
        np.testing.assert_array_equal(got["lat"][0], data["lat"].values)
        for name in ("valid", "time"):
            np.testing.assert_array_equal(got[name].astype("M8[ns]"), data[name].values.astype("M8[ns]"))


def test_windows_of_a_time_keep_its_type(store):
    source = ps.Zarr(store, ["t2m", "valid"], "time", window=(2, 1))
    got = types(source, batch_size=4, dtype="float16", fields={name: name for name in source.fields})
    assert got["t2m_history"].dtype == np.float16 and got["valid_history"].dtype.itemsize == 8
    with xr.open_zarr(store) as data:
        np.testing.assert_array_equal(got["valid_horizon"][:, 0].astype("M8[ns]"), data["valid"].values[2:6])


def test_an_integer_array_alone_is_data(tmp_path):
    write_zarr(tmp_path / "a", np.arange(12), (4,))
    with make_loader(ps.Zarr(tmp_path / "a"), batch_size=4, dtype="float32") as loader:
        assert next(iter(loader)).dtype == np.float32


def test_a_stack_is_data_and_a_cast_is_obeyed_everywhere(store):
    with make_loader(ps.Zarr(store, ["t2m", "counts"], "time", stack=True), batch_size=4, dtype="float16") as loader:
        assert next(iter(loader)).dtype == np.float16
    source = ps.Zarr(store, ["t2m", "label"], "time")
    got = types(source, batch_size=4, fields={name: name for name in source.fields}, dtype="float16",
                transform={"label": [ps.Cast("int32")]})
    assert got["label"].dtype == np.int32 and got["t2m"].dtype == np.float16


def test_places_and_labels_of_patches_keep_their_types(tmp_path):
    volume = np.random.default_rng(0).random((8, 8, 8), np.float32)
    write_zarr(tmp_path / "v", volume, (4, 4, 4))
    write_zarr(tmp_path / "l", (volume > 0.5).astype("int32") * 70_000, (4, 4, 4))
    source = ps.Patches([tmp_path / "v"], (4, 4, 4), labels=[tmp_path / "l"])
    names = ["image", "label", "position", "volume", "key"]
    with make_loader(source, batch_size=8, dtype="float16", fields={name: name for name in names}) as loader:
        got = next(iter(loader))
    assert got["image"].dtype == np.float16 and got["label"].dtype == np.int32 and got["label"].max() == 70_000
    assert got["position"].dtype == np.int64 and got["volume"].dtype == np.int64 and isinstance(got["key"][0], str)
