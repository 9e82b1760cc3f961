"""Times as values: nanoseconds since 1970, as xarray decodes them."""

import numpy as np
import pytest

import penstock as ps
from zarr_writers import epoch, write_zarr

xr = pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::Warning")

CODINGS = {
    "hours": (np.arange(30) * 6, {"units": "hours since 1900-01-01"}),
    "int16 days": (np.arange(30, dtype="i2"), {"units": "days since 2000-01-01"}),
    "big-endian seconds": (np.arange(30, dtype=">i4") * 1000, {"units": "seconds since 1970-01-01 06:00 +01:00"}),
    "double days": (np.arange(30) / 7, {"units": "days since 1990-1-1"}),
    "float hours": (np.arange(30, dtype="f4") / 8, {"units": "hours since 1990-01-01", "calendar": "gregorian"}),
    "far away reference": (17531200 + np.arange(30) * 6, {"units": "hours since 0001-01-01"}),
    "far away reference, fractions": (730000 + np.arange(30) / 24, {"units": "days since 0001-01-01"}),
    "proleptic": (np.arange(30), {"units": "days since 1700-01-01", "calendar": "proleptic_gregorian"}),
    "nanoseconds": (1_500_000_000_000_000_000 + np.arange(30), {"units": "nanoseconds since 1970-01-01"}),
    "packed": (np.arange(30, dtype="i2"), {"units": "days since 2000-01-01", "scale_factor": 0.25, "add_offset": 10.0}),
    "missing": (np.where(np.arange(30) == 4, -1, np.arange(30)), {"units": "days since 2000-01-01", "_FillValue": -1}),
    "missing fraction": (np.where(np.arange(30) == 4, np.nan, np.arange(30) / 3), {"units": "days since 2000-01-01"}),
    "datetime64[s]": (np.arange(30).astype("M8[s]"), {}),
    "datetime64[ns]": (np.arange(30).astype("M8[ns]"), {}),
}


def write(path, values, attributes, version=3, chunk=7):
    import zarr

    zarr.open_group(str(path), mode="w", zarr_format=version)
    # Version 2 keeps _FillValue in fill_value, where xarray writes null if there is none.
    fill = {"fill_value": attributes.get("_FillValue")} if version == 2 else {}
    write_zarr(path / "time", values, (chunk,), version=version, names=("time",), attributes=attributes, **fill)
    write_zarr(path / "v", np.arange(len(values), dtype="f4"), (chunk,), version=version, names=("time",))
    return path


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", CODINGS)
def test_times_as_xarray_decodes_them(tmp_path, name, version):
    path = write(tmp_path / "g", *CODINGS[name], version=version)
    want = xr.open_zarr(path, consolidated=False)["time"].values
    assert want.dtype.kind == "M"
    time, _ = epoch(ps.Zarr(path, ["time", "v"], "time"), batch_size=4)
    assert time.dtype == np.dtype("M8[ns]")
    np.testing.assert_array_equal(time, want.astype("M8[ns]"))


def test_windows_of_times(tmp_path):
    path = write(tmp_path / "g", *CODINGS["hours"])
    want = xr.open_zarr(path, consolidated=False)["time"].values
    history, horizon = epoch(ps.Zarr(path, "time", "time", window=(2, [1, 4])), batch_size=100)
    np.testing.assert_array_equal(history, np.stack([want[i - 1:i + 1] for i in range(1, 26)]))
    np.testing.assert_array_equal(horizon, np.stack([want[[i + 1, i + 4]] for i in range(1, 26)]))


def test_times_of_two_axes_in_chunks_of_any_order(tmp_path):
    import zarr

    zarr.open_group(str(tmp_path / "g"), mode="w", zarr_format=2)
    values = np.arange(7 * 5, dtype="i4").reshape(7, 5)
    write_zarr(tmp_path / "g" / "valid", values, (3, 2), version=2, order="F", names=("start", "step"),
               attributes={"units": "hours since 2000-01-01"})
    want = np.datetime64("2000-01-01", "ns") + values * np.timedelta64(1, "h")
    np.testing.assert_array_equal(epoch(ps.Zarr(tmp_path / "g", "valid", "start"), batch_size=4), want)


def test_torch_and_jax_get_integers(tmp_path):
    path = write(tmp_path / "g", *CODINGS["hours"])
    want = xr.open_zarr(path, consolidated=False)["time"].values.astype("i8")
    torch = pytest.importorskip("torch")
    with ps.Loader(ps.Zarr(path, "time", "time"), batch_size=30, output="torch") as loader:
        batch = next(iter(loader))
    assert batch.dtype == torch.int64
    np.testing.assert_array_equal(batch.numpy(), want)


def test_a_field_can_be_renamed(tmp_path):
    path = write(tmp_path / "g", *CODINGS["hours"])
    source = ps.Zarr(path, ["time", "v"], "time")
    with ps.Loader(source, batch_size=30, fields={"when": "time"}, output="numpy") as loader:
        assert next(iter(loader))["when"].dtype == np.dtype("M8[ns]")


def test_as_stored_with_decode_cf_off(tmp_path):
    for name in ("hours", "datetime64[s]"):
        values, attributes = CODINGS[name]
        path = write(tmp_path / name, values, attributes)
        time = epoch(ps.Zarr(path, "time", "time", decode_cf=False), batch_size=30)
        assert time.dtype == np.int64
        np.testing.assert_array_equal(time, values.astype("i8"))
    # Dates select all the same.
    source = ps.Zarr(tmp_path / "hours", "time", "time", decode_cf=False, select={"time": "1900-01-02"})
    assert epoch(source, batch_size=30).tolist() == [24, 30, 36, 42]


@pytest.mark.parametrize("attributes, words", [
    ({"units": "days since 2000-01-01", "calendar": "noleap"}, 'calendar "noleap".*decode_cf=False'),
    ({"units": "months since 2000-01-01"}, "no fixed length.*decode_cf=False"),
    ({"units": "days since 2000-01-01", "calendar": "lunar"}, 'calendar "lunar" is not known.*decode_cf=False'),
])
def test_times_that_are_no_nanoseconds_since_1970(tmp_path, attributes, words):
    path = write(tmp_path / "g", np.arange(30), attributes)
    with pytest.raises(ps.Error, match=words):
        ps.Zarr(path, "time", "time")
    assert len(ps.Zarr(path, "v", "time")) == 30
    assert epoch(ps.Zarr(path, "time", "time", decode_cf=False), batch_size=30).tolist() == list(range(30))


def test_times_beyond_nanoseconds(tmp_path):
    path = write(tmp_path / "g", np.arange(30) * 100, {"units": "days since 2260-01-01"})
    with pytest.raises(ps.Error, match="stored time 900 is none that 64 bits.*decode_cf=False"):
        epoch(ps.Zarr(path, "time", "time"), batch_size=30)
    # What stands beyond the end of the array means nothing.
    import zarr

    zarr.open_group(str(tmp_path / "h"), mode="w", zarr_format=2)
    array = zarr.create_array(str(tmp_path / "h" / "time"), shape=(5,), chunks=(4,), dtype="i8", zarr_format=2,
                              fill_value=2**62, attributes={"units": "days since 2000-01-01"})
    array.attrs["_ARRAY_DIMENSIONS"] = ["time"]
    array[:] = np.arange(5)
    time = epoch(ps.Zarr(tmp_path / "h" / "time"), batch_size=5)
    assert time.tolist() == (np.datetime64("2000-01-01", "ns") + np.arange(5) * np.timedelta64(1, "D")).tolist()


def test_times_are_no_channels(tmp_path):
    path = write(tmp_path / "g", *CODINGS["hours"])
    with pytest.raises(ps.UsageError, match="time holds times"):
        ps.Zarr(path, ["v", "time"], "time", stack=True)
