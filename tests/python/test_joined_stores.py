"""Several Zarr stores as one source, against xarray's concat, merge and combine_by_coords."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from http_faults import serve
from zarr_writers import assert_same, epoch, keyed_epoch

xr = pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::Warning")

YEARS = range(2015, 2019)
STEPS = 13


def dataset(year, steps=STEPS, seed=0, start=None, lat=(60, 40, 20)):
    rng = np.random.default_rng([year, seed])
    time = np.datetime64(start or f"{year}-12-28", "ns") + np.arange(steps) * np.timedelta64(1, "D")
    shape = (steps, len(lat), 4)
    return xr.Dataset({"t2m": (("time", "lat", "lon"), rng.uniform(250, 310, shape)),
                       "msl": (("time", "lat", "lon"), rng.normal(0, 1, shape).astype("f4")),
                       "count": ("time", rng.integers(0, 1 << 40, steps))},
                      coords={"time": time, "lat": list(map(float, lat)), "lon": np.arange(4.0)})


def write(path, data, number=0, **encoding):
    """Each store has a scale, chunks and time units of its own."""
    data.to_zarr(path, zarr_format=2 + number % 2, encoding={
        "t2m": {"dtype": "int16", "scale_factor": 0.01 * (1 + number), "add_offset": 273.15 + number,
                "_FillValue": -32768, "chunks": (3 + number, 2, 4)},
        "msl": {"chunks": (2 + number, 3, 3)}, "time": {"units": f"hours since {2000 + number}-01-01"}} | encoding)
    return path


@pytest.fixture(scope="module")
def years(tmp_path_factory):
    """Four stores that follow one another without a gap, and what xarray makes of them."""
    folder = tmp_path_factory.mktemp("joined")
    start = np.datetime64("2015-12-01")
    for number, year in enumerate(YEARS):
        write(folder / f"era5-{year}.zarr",
              dataset(year, start=start + np.timedelta64(number * STEPS, "D")), number)
    paths = [folder / f"era5-{year}.zarr" for year in YEARS]
    whole = xr.concat([xr.open_zarr(path) for path in paths], "time", data_vars="minimal").load()
    return folder, paths, whole


def forms(folder, paths):
    return {"list": paths, "tuple": tuple(map(str, paths)), "glob": folder / "era5-*.zarr",
            "braces": str(folder / "era5-{2015..2018}.zarr")}


def check(got, expected):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-6)


@pytest.mark.parametrize("form", ["list", "tuple", "glob", "braces"])
def test_samples_of_all_stores_in_order(years, form):
    folder, paths, whole = years
    source = ps.Zarr(forms(folder, paths)[form], ["t2m", "msl", "count"], "time")
    assert len(source) == len(whole["time"]) == 4 * STEPS
    t2m, msl, count = epoch(source, batch_size=5)
    check(t2m, whole["t2m"])
    assert t2m.dtype == np.float32
    assert_same(msl, whole["msl"].values)
    assert_same(count, whole["count"].values)


def test_a_path_given_to_the_loader_may_be_a_pattern_too(years):
    folder, paths, whole = years
    with ps.Loader(str(folder / "era5-*.zarr"), batch_size=52, output="numpy", fields={"msl": "msl"}) as loader:
        assert_same(next(iter(loader))["msl"], whole["msl"].values)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("stack", [False, True])
def test_windows_run_across_the_joints(years, threads, stack):
    folder, paths, whole = years
    history, horizon = [-4, -1, 0], [1, 2, 3, 6]
    source = ps.Zarr(paths, ["t2m", "msl"], "time", window=(history, horizon), stack=stack)
    own = np.arange(4, 4 * STEPS - 6)
    assert len(source) == len(own)
    names = ["history", "horizon"] if stack else ["t2m_history", "msl_history", "t2m_horizon", "msl_horizon"]
    got = keyed_epoch(source, names, batch_size=6, shuffle=True, shuffle_window=3, threads=threads)
    got = [np.stack([got[key][i] for key in sorted(got, key=int)]) for i in range(len(names))]
    t2m, msl = whole["t2m"].values, whole["msl"].values
    for values, name in zip(got, names):
        steps = own[:, None] + (history if "history" in name else horizon)
        expected = np.stack([t2m[steps], msl[steps]], 2) if stack else (t2m if "t2m" in name else msl)[steps]
        check(values, expected)


@pytest.mark.parametrize("cache", [None, "8MiB"])
def test_shuffled_epochs_have_every_sample_once(years, cache):
    folder, paths, whole = years
    source = ps.Zarr(paths, ["msl"], "time")
    with ps.Loader(source, batch_size=7, shuffle=True, output="numpy", threads=2, fields=["msl", "key"], cache=cache,
                   memory="64MiB") as loader:
        for _ in range(2):
            seen = {key: value for values, keys in loader for key, value in zip(keys, values)}
            assert sorted(map(int, seen)) == list(range(4 * STEPS))
            for key, value in seen.items():
                np.testing.assert_array_equal(value, whole["msl"].values[int(key)])


def test_selection_is_of_the_joined_dimension(years):
    folder, paths, whole = years
    dates = (str(whole["time"].values[10])[:10], str(whole["time"].values[30])[:10])
    expected = whole.sel(time=slice(*dates), lat=slice(60, 40))
    source = ps.Zarr(paths, ["msl"], "time", select={"time": dates, "lat": (60, 40)})
    assert_same(epoch(source), expected["msl"].values)
    source = ps.Zarr(paths, ["msl"], "time", isel={"time": slice(5, 45, 3)}, window=(2, 1))
    part = whole["msl"].values[5:45:3]
    history, _ = epoch(source)
    assert_same(history, np.stack([part[i - 1:i + 1] for i in range(1, len(part) - 1)]))
    with pytest.raises(ps.UsageError):
        ps.Zarr(paths, ["msl"], "time", select={"time": ("2050", "2051")})


def test_stores_that_select_leaves_out_are_not_read(years, tmp_path):
    folder, paths, whole = years
    one_year = {"time": (str(whole["time"].values[0])[:10], str(whole["time"].values[STEPS - 1])[:10])}
    assert_same(epoch(ps.Zarr(paths, ["msl"], "time", select=one_year)), whole["msl"].values[:STEPS])


def test_windows_do_not_run_over_a_gap_between_stores(tmp_path):
    first = write(tmp_path / "a.zarr", dataset(2015, start="2015-01-01"))
    second = write(tmp_path / "b.zarr", dataset(2016, start="2015-03-01"), 1)
    whole = xr.concat([xr.open_zarr(first), xr.open_zarr(second)], "time", data_vars="minimal").load()
    source = ps.Zarr([first, second], ["msl"], "time", window=(2, 1))
    assert len(source) == 2 * (STEPS - 2)
    history, _ = epoch(source)
    own = [*range(1, STEPS - 1), *range(STEPS + 1, 2 * STEPS - 1)]
    assert_same(history, np.stack([whole["msl"].values[i - 1:i + 1] for i in own]))
    assert len(ps.Zarr([first, second], ["msl"], "time", window=(2, 1), gaps="allow")) == 2 * STEPS - 2


def test_stores_of_different_variables_are_merged(tmp_path):
    data = dataset(2015)
    first = write_plain(tmp_path / "a.zarr", data[["t2m", "count"]])
    second = write_plain(tmp_path / "b.zarr", data[["msl"]])
    merged = xr.merge([xr.open_zarr(first), xr.open_zarr(second)]).load()
    source = ps.Zarr([first, second], sample_dim="time")
    assert set(source.fields) == {"t2m", "count", "msl"} and len(source) == STEPS
    t2m, count, msl = epoch(ps.Zarr([first, second], ["t2m", "count", "msl"], "time"))
    for got, name in ((t2m, "t2m"), (count, "count"), (msl, "msl")):
        assert_same(got, merged[name].values)
    assert_same(epoch(ps.Zarr([first, second], ["t2m", "msl"], "time", stack=True)),
                np.stack([merged["t2m"].values, merged["msl"].values], 1))


def write_plain(path, data):
    data.to_zarr(path, zarr_format=3)
    return path


def test_years_of_different_variables_are_joined_both_ways(tmp_path):
    parts = [dataset(2015, start="2015-01-01"), dataset(2015, seed=1, start="2015-01-14")]
    paths = [write_plain(tmp_path / f"{name}-{i}.zarr", part[[name]])
             for i, part in enumerate(parts) for name in ("t2m", "msl")]
    whole = xr.combine_by_coords([xr.open_zarr(path) for path in paths]).load()
    t2m, msl = epoch(ps.Zarr(paths, ["t2m", "msl"], "time"))
    assert_same(t2m, whole["t2m"].values)
    assert_same(msl, whole["msl"].values)


def test_a_variable_without_the_dimension_is_taken_once(tmp_path):
    surface = ("lat", "lon"), np.random.default_rng(0).random((3, 4))
    paths = [write_plain(tmp_path / f"{i}.zarr", dataset(2015 + i, start=f"2015-0{i + 1}-01").assign(surface=surface))
             for i in range(2)]
    got, msl = epoch(ps.Zarr(paths, ["surface", "msl"], "time"))
    assert len(got) == len(msl) == 2 * STEPS and (got == surface[1]).all()
    other = write_plain(tmp_path / "c.zarr", dataset(2019).assign(surface=(surface[0], surface[1] + 1)))
    with pytest.raises(ps.UsageError, match="surface") as raised:
        ps.Zarr([paths[0], other], ["surface", "msl"], "time")
    assert str(paths[0]) in str(raised.value) and str(other) in str(raised.value)


def test_arrays_without_a_group_are_joined_by_their_axis(tmp_path):
    import zarr

    parts = [np.random.default_rng(i).random((5 + i, 4)) for i in range(3)]
    for i, part in enumerate(parts):
        zarr.save_array(str(tmp_path / f"{i}.zarr"), part)
    assert_same(epoch(ps.Zarr(str(tmp_path / "{0..2}.zarr"))), np.concatenate(parts))
    history, _ = epoch(ps.Zarr(str(tmp_path / "*.zarr"), window=(3, 1)))
    whole = np.concatenate(parts)
    assert_same(history, np.stack([whole[i - 2:i + 1] for i in range(2, len(whole) - 1)]))


def joined_error(paths, *mentioned, **options):
    with pytest.raises(ps.UsageError) as raised:
        ps.Zarr(paths, sample_dim="time", **options)
    for text in [*mentioned, *(str(path) for path in paths)]:
        assert str(text) in str(raised.value), raised.value
    return str(raised.value)


def test_stores_that_do_not_go_together_are_named(tmp_path):
    good = write_plain(tmp_path / "good.zarr", dataset(2015))
    later = {"start": "2017-01-01"}
    wider = dataset(2016, **later)
    wider["msl"] = wider["msl"].astype("f8")
    joined_error([good, write_plain(tmp_path / "lat.zarr", dataset(2016, lat=(60, 40, 21), **later))], "lat")
    joined_error([good, write_plain(tmp_path / "shape.zarr", dataset(2016, lat=(60, 40), **later))], "lat")
    joined_error([good, write_plain(tmp_path / "missing.zarr", dataset(2016, **later)[["t2m", "msl"]])], "count")
    joined_error([good, write_plain(tmp_path / "type.zarr", wider)], "msl",
                 "float64")
    joined_error([good, write_plain(tmp_path / "before.zarr", dataset(2014))], "time", "2014-12-28")
    joined_error([good, write_plain(tmp_path / "same.zarr", dataset(2016, start="2015-12-30"))], "2015-12-30")
    short = write_plain(tmp_path / "short.zarr", dataset(2015, steps=5)[["msl"]].rename(msl="other"))
    joined_error([good, short], "13", "5")
    moved = write_plain(tmp_path / "moved.zarr", dataset(2015, start="2015-12-29")[["msl"]].rename(msl="other"))
    joined_error([good, moved], "time")


def test_what_is_not_there_is_named(tmp_path):
    good = write_plain(tmp_path / "good.zarr", dataset(2015))
    with pytest.raises(ps.NotFoundError, match="nowhere"):
        ps.Zarr([good, tmp_path / "nowhere.zarr"], sample_dim="time")
    with pytest.raises(ps.NotFoundError, match="no file matches"):
        ps.Zarr(tmp_path / "none-*.zarr", sample_dim="time")
    with pytest.raises(ValueError, match="no store"):
        ps.Zarr([], sample_dim="time")
    with pytest.raises(TypeError, match="path or URL"):
        ps.Zarr([good, 3], sample_dim="time")


def test_over_http_lists_and_braces_work(years):
    folder, paths, whole = years
    with serve(folder) as server:
        url = server.url
        for uri in ([f"{url}/era5-{year}.zarr" for year in YEARS], f"{url}/era5-{{2015..2018}}.zarr"):
            assert_same(epoch(ps.Zarr(uri, ["msl"], "time"), memory="128MiB"), whole["msl"].values)


def test_state_goes_on_with_the_same_samples(years):
    folder, paths, whole = years
    source = ps.Zarr(paths, ["msl"], "time")
    options = dict(batch_size=5, shuffle=True, output="numpy", fields=["msl", "key"])
    with ps.Loader(source, **options) as loader:
        batches = iter(loader)
        next(batches), next(batches)
        state = loader.state_dict()
        rest = [keys for _, keys in batches]
    with ps.Loader(ps.Zarr(list(map(str, paths)), ["msl"], "time"), **options) as loader:
        loader.load_state_dict(state)
        assert [keys for _, keys in loader] == rest


def test_the_command_line_takes_several_stores(years):
    folder, paths, whole = years
    program = os.path.join(os.path.dirname(sys.executable), "penstock")
    for uris in ([str(folder / "era5-*.zarr")], list(map(str, paths))):
        found = json.loads(subprocess.run(
            [program, "statistics", *uris, "--variables", "msl", "--sample-dim", "time", "--json"], check=True,
            capture_output=True).stdout)
        assert found["samples"] == 4 * STEPS
        assert found["fields"][0]["channels"][0]["mean"] == pytest.approx(float(whole["msl"].astype("f8").mean()))


def test_times_of_stores_with_different_units_are_the_same_dates(years):
    folder, paths, whole = years
    got, _ = epoch(ps.Zarr(paths, ["time", "msl"], "time"))
    np.testing.assert_array_equal(got.astype("M8[ns]"), whole["time"].values.astype("M8[ns]"))


ENCODINGS = [{"units": "days since 2000-01-01", "dtype": "int32"}, {"units": "hours since 1990-01-01", "dtype": "float64"},
             {"units": "seconds since 1970-01-01", "dtype": "int64"}, {"units": "minutes since 2015-12-28 06:00", "dtype": "float32"}]


def test_times_of_other_types_and_units_are_the_same_dates(tmp_path):
    """Each store has a stored type and units of time of its own; xarray decodes each before it joins them."""
    paths = []
    for number, encoding in enumerate(ENCODINGS):
        data = dataset(2015, start=np.datetime64("2015-12-28") + np.timedelta64(number * STEPS, "D"))
        data["issued"] = ("time", data["time"].values - np.timedelta64(6, "h"))
        data["since"] = ((), np.datetime64("2015-01-01T06:00", "ns"))
        paths.append(tmp_path / f"{number}.zarr")
        data[["msl", "issued", "since"]].to_zarr(paths[-1], zarr_format=2 + number % 2, encoding={
            "time": encoding, "issued": ENCODINGS[-number], "since": encoding})
    whole = xr.concat([xr.open_zarr(path) for path in paths], "time", data_vars="minimal").load()
    time, issued, since = epoch(ps.Zarr(paths, ["time", "issued", "since"], "time"), batch_size=6)
    for got, expected in ((time, whole["time"]), (issued, whole["issued"]), (since, whole["since"])):
        assert got.dtype in (np.int64, np.dtype("M8[ns]"))
        np.testing.assert_array_equal(got.astype("M8[ns]"), np.broadcast_to(expected.values.astype("M8[ns]"), got.shape))
    history, horizon = epoch(ps.Zarr(paths, ["time"], "time", window=(2, 1)))
    np.testing.assert_array_equal(history[:, 1].astype("M8[ns]"), whole["time"].values[1:-1].astype("M8[ns]"))


def test_a_time_that_is_a_number_in_another_store_is_refused(tmp_path):
    first = write_plain(tmp_path / "a.zarr", dataset(2015).assign(issued=("time", dataset(2015)["time"].values)))
    second = write_plain(tmp_path / "b.zarr", dataset(2016).assign(issued=("time", np.arange(STEPS))))
    joined_error([first, second], "issued is a time in the first alone", variables=["issued"])


def test_inspect_compares_all_stores_with_what_they_decode_to(years, tmp_path):
    folder, paths, whole = years
    program = os.path.join(os.path.dirname(sys.executable), "penstock")

    def inspect(*arguments):
        return json.loads(subprocess.run([program, "inspect", *map(str, arguments), "--sample-dim", "time", "--json"],
                                         check=True, capture_output=True).stdout)

    found = inspect(*paths, "--variables", "t2m")
    stored = sum(file.stat().st_size for path in paths for file in (path / "t2m").rglob("*")
                 if file.is_file() and not file.name.startswith((".", "zarr.json")))
    assert found["decoded_bytes"] == whole["t2m"].size * 4
    assert found["stored_bytes"] == pytest.approx(stored, rel=0.2)
    assert found["k"] == pytest.approx(whole["t2m"].size * 4 / found["stored_bytes"])
    assert found["arrays"]["t2m"]["arrays"] == 4 and found["uri"] == f"{paths[0]} and 3 more"
    both = inspect(*paths, "--variables", "t2m,msl")
    alone = inspect(*paths, "--variables", "msl")
    assert both["stored_bytes"] == pytest.approx(found["stored_bytes"] + alone["stored_bytes"], abs=2)
    # A window reads what is stored several times; stored is counted once.
    window = inspect(*paths, "--variables", "t2m", "--window", "2,1")
    assert window["stored_bytes"] == found["stored_bytes"] and window["k"] == pytest.approx(3 * found["k"], rel=0.1)
