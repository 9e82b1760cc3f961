"""`select` and `isel` against `sel` and `isel` of xarray."""

import datetime

import numpy as np
import pytest

import penstock as ps
from zarr_writers import assert_same, epoch, write_zarr

xr = pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::Warning")

STEPS = 20


def write(path, version=3, **coordinates):
    """t(time, level, lat, lon), whose numbers count its elements; coordinates as (values, attributes)."""
    import zarr

    zarr.open_group(str(path), mode="w", zarr_format=version)
    shape = []
    for name, (values, attributes) in coordinates.items():
        shape.append(len(values))
        write_zarr(path / name, np.asarray(values), (5,), version=version, names=(name,), attributes=attributes)
    data = np.arange(np.prod(shape), dtype="i4").reshape(shape)
    write_zarr(path / "t", data, tuple(min(extent, size) for extent, size in zip(shape, (3, 2, 4, 5))),
               version=version, names=tuple(coordinates))
    return path


@pytest.fixture(scope="module")
def group(tmp_path_factory):
    """Latitudes fall and are packed, longitudes go around the globe, levels are in no order."""
    return write(tmp_path_factory.mktemp("select") / "g",
                 time=(np.arange(STEPS) * 6, {"units": "hours since 2000-01-01"}),
                 level=(np.array([850, 500, 1000, 200], "i4"), {"units": "hPa"}),
                 lat=(np.arange(180, -181, -20).astype("i2"), {"scale_factor": 0.5}),
                 lon=(np.arange(0, 360, 15, dtype="f4"), {"units": "degrees_east"}))


@pytest.fixture(scope="module")
def expected(group):
    return xr.open_zarr(group, consolidated=False)["t"].load()


def got(group, **options):
    return epoch(ps.Zarr(group, "t", "time", **options), batch_size=100)


QUESTIONS = {
    "a range of packed values": {"lat": slice(60, 30)},
    "both ends are in": {"lat": slice(40, -50)},
    "from the first": {"lat": slice(None, 30)},
    "to the last": {"lat": slice(-30, None)},
    "everything": {"lat": slice(None)},
    "every second of a range": {"lat": slice(70, -70, 2), "lon": slice(15, 300, 5)},
    "a list": {"level": [500, 850]},
    "a list in another order, and twice": {"level": [200, 1000, 500, 200], "lon": [45.0, 0, 330]},
    "a list of one": {"level": [500], "lat": [-90.0]},
    "a number takes the axis away": {"level": 500},
    "numbers take axes away": {"level": 1000, "lat": 90.0, "lon": np.float32(15)},
    "an array": {"lon": np.array([30, 60, 90, 105])},
    "dates": {"time": slice("2000-01-02", "2000-01-03T06")},
    "a day": {"time": "2000-01-02"},
    "a list of dates": {"time": [np.datetime64("2000-01-03"), np.datetime64("2000-01-01T06")]},
    "every third date": {"time": slice("2000-01-01", "2000-01-04", 3)},
    "all at once": {"time": slice("2000-01-02", None), "level": [1000, 500], "lat": slice(80, -80, 3), "lon": 345},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_same_as_sel(group, expected, name):
    assert_same(got(group, select=QUESTIONS[name]), expected.sel(**QUESTIONS[name]).values)


@pytest.mark.parametrize("question", [
    {"lat": slice(2, 9)}, {"lat": slice(-5, None)}, {"lat": slice(None, None, 4)}, {"level": 2}, {"level": -1},
    {"level": [3, 0, 0, -1]}, {"time": slice(3, 15, 4), "lon": [1, 2, 3, 9]}, {"time": [7, 2, 3]},
    {"lat": np.array([5, 1]), "lon": range(3)}], ids=str)
def test_the_same_as_isel(group, expected, question):
    assert_same(got(group, isel=question), expected.isel(**question).values)


def test_both_together(group, expected):
    question = {"lat": slice(60, 30)}, {"lon": slice(3, 9), "level": 1}
    assert_same(got(group, select=question[0], isel=question[1]), expected.sel(**question[0]).isel(**question[1]).values)
    with pytest.raises(ps.UsageError, match="lat: the dimension is selected from twice"):
        ps.Zarr(group, "t", "time", select={"lat": 0}, isel={"lat": 0})


def test_on_falling_coordinates_a_range_works_in_either_order(group, expected):
    want = expected.sel(lat=slice(60, 30)).values
    assert_same(got(group, select={"lat": (60, 30)}), want)
    assert_same(got(group, select={"lat": (30, 60)}), want)
    assert_same(got(group, select={"lat": slice(30, 60)}), want)


@pytest.mark.parametrize("seed", range(6))
def test_random_selections(group, expected, seed):
    rng = np.random.default_rng(seed)
    for _ in range(8):
        select, isel = {}, {}
        for name in ("time", "level", "lat", "lon"):
            values = expected[name].values
            kind = rng.choice(["range", "list", "one", "slice", "positions", "none"])
            if kind == "range" and name != "level":
                low, high = np.sort(rng.integers(0, len(values), 2))
                select[name] = slice(values[low], values[high], int(rng.integers(1, 4)))
            elif kind == "list":
                select[name] = list(rng.choice(values, rng.integers(1, 6)))
            elif kind == "one" and name != "time":
                select[name] = rng.choice(values)
            elif kind == "slice":
                isel[name] = slice(int(rng.integers(0, 3)), None, int(rng.integers(1, 4)))
            elif kind == "positions":
                isel[name] = rng.integers(-len(values), len(values), rng.integers(1, 6)).tolist()
        assert_same(got(group, select=select, isel=isel), expected.sel(**select).isel(**isel).values)


def test_windows_run_over_the_selected_entries(group, expected):
    dates = expected.time.values[[1, 2, 3, 4, 9, 10, 11, 12, 13]]
    source = ps.Zarr(group, "t", "time", window=(2, 1), select={"time": list(dates), "lat": slice(70, 30, 2), "level": 850})
    part = expected.sel(time=dates, level=850).sel(lat=slice(70, 30, 2)).values
    history, horizon = epoch(source, batch_size=100)
    own = [1, 2, 5, 6, 7]  # a window over the step from 4 to 9 is no sample
    assert_same(history, np.stack([part[i - 1:i + 1] for i in own]))
    assert_same(horizon, np.stack([part[i + 1:i + 2] for i in own]))
    assert [source.key(i) for i in range(len(source))] == ["2", "3", "10", "11", "12"]


def test_a_stack_of_selected_variables(tmp_path):
    rng = np.random.default_rng(0)
    names = ("time", "a", "b", "lat", "lon")
    data = xr.Dataset({name: (names, rng.integers(0, 99, (6, 3, 4, 5, 6)).astype("f4")) for name in ("u", "v")},
                      coords={"a": [1, 2, 3], "b": [10, 20, 30, 40], "lat": np.arange(5), "lon": np.arange(6)})
    data.to_zarr(tmp_path / "g", zarr_format=3, consolidated=False)
    question = {"a": [3, 1], "b": [40, 10, 20], "lat": [4, 0, 1], "lon": slice(1, 5, 2)}
    part = data.sel(**question)
    want = np.concatenate([part[name].values.reshape(6, 6, 3, 3) for name in ("u", "v")], 1)
    assert_same(epoch(ps.Zarr(tmp_path / "g", sample_dim="time", stack=True, select=question), batch_size=6), want)
    part = data.sel(a=2, lat=[1, 3])
    want = np.concatenate([part[name].values for name in ("u", "v")], 1)
    assert_same(epoch(ps.Zarr(tmp_path / "g", sample_dim="time", stack=True, select={"a": 2, "lat": [1, 3]}),
                      batch_size=6), want)


# -- around the globe -------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", [(345, 30), (350, 10), (180, 165), (300, 0), (359, 1)])
def test_longitudes_wrap(group, expected, ends):
    want = np.concatenate([expected.sel(lon=slice(ends[0], None)).values, expected.sel(lon=slice(None, ends[1])).values], 3)
    assert_same(got(group, select={"lon": ends}), want)
    assert_same(got(group, select={"lon": slice(*ends, 2)}), want[..., ::2])


@pytest.mark.parametrize("start, ends, want", [
    (-180, (350, 10), [0]), (-180, (345, 45), [0, 30]), (-180, (150, 210), [150]), (-180, (330, -90), [-30, *range(0, 180, 30),
                                                                                                     -180, -150, -120, -90]),
    (0, (150, -150), [150, 180, 210]), (0, (10, -10), list(range(30, 360, 30))), (0, (330, -300), [330, 0, 30, 60]),
    (0.1, (330.1, -299.9), [330.1, 0.1, 30.1, 60.1])])
def test_longitudes_of_the_other_convention_mean_the_same_places(tmp_path, start, ends, want):
    longitudes = start + np.arange(0, 360, 30.0)
    path = write(tmp_path / "g", time=([0, 1], {}), lon=(longitudes, {"units": "degrees_east"}))
    places = [int(np.argmin(abs(longitudes - value))) for value in want]
    data = np.arange(24).reshape(2, 12)
    assert_same(got(path, select={"lon": ends}).astype("i8"), data[:, places])


def test_a_meridian_at_both_ends_comes_once(tmp_path):
    path = write(tmp_path / "g", time=([0, 1], {}), lon=(np.arange(-180.0, 181, 30), {"units": "degrees_east"}))
    data = np.arange(26).reshape(2, 13)
    assert_same(got(path, select={"lon": (150, -150)}).astype("i8"), data[:, [11, 12, 1]])


@pytest.mark.parametrize("values, attributes", [
    (np.arange(0, 180, 15.0), {"units": "degrees_east"}), (np.arange(0, 360, 15.0), {"units": "m"}),
    (np.array([0, 10, 100, 200, 350.0]), {"units": "degrees_east"})], ids=["half", "metres", "irregular"])
def test_what_is_no_circle_does_not_wrap(tmp_path, values, attributes):
    path = write(tmp_path / "g", time=([0, 1], {}), lon=(values, attributes))
    with pytest.raises(ps.UsageError, match=r"from 150 to 10 ends before it begins.*write \(10, 150\)"):
        ps.Zarr(path, "t", "time", select={"lon": (150, 10)})


# -- what cannot be selected ------------------------------------------------------------------------


@pytest.mark.parametrize("question, words", [
    ({"lat": 31}, "there is no coordinate 31; the nearest is 30 at position 6"),
    ({"level": [500, 700]}, "there is no coordinate 700; the nearest is 850 at position 0"),
    ({"time": np.datetime64("2000-01-02T01:00")}, "the nearest is 2000-01-02T00:00:00"),
    ({"time": ("2005", "2006")}, "no coordinate is from 2005 to 2006; they go from 2000-01-01T00:00:00 to 2000-01-05"),
    ({"time": "2005"}, "no time is in 2005; they go from"),
    ({"time": ("2000-01-03", "2000-01-02")}, "ends before it begins"),
    ({"time": (3, 4)}, "3 is a number, but its coordinates are dates.*isel="),
    ({"time": 3}, "3 is a number, but its coordinates are dates"),
    ({"lat": "north"}, '"north" is no number, and its coordinates are no dates'),
    ({"level": (500, 850)}, "neither rise nor fall"),
    ({"level": []}, "the list is empty"),
    ({"lat": (200, 300)}, "no coordinate is from 200 to 300; they go from 90 to -90"),
    ({"lta": 3}, 'there is no dimension "lta".*did you mean "lat"'),
])
def test_what_select_refuses(group, question, words):
    with pytest.raises(ps.UsageError, match=words):
        ps.Zarr(group, "t", "time", select=question)


@pytest.mark.parametrize("question, words", [
    ({"lat": 19}, "there is no position 19: the dimension has 19 entries"),
    ({"lat": [0, -20]}, "there is no position -20"),
    ({"lat": slice(5, 5)}, "nothing is left of 19 entries"),
    ({"lat": []}, "the list is empty"),
    ({"lon ": 0}, 'did you mean "lon"'),
])
def test_what_isel_refuses(group, question, words):
    with pytest.raises(ps.UsageError, match=words):
        ps.Zarr(group, "t", "time", isel=question)


@pytest.mark.parametrize("keyword, question, error, words", [
    ("select", {"lat": (1, 2, 3)}, ValueError, "no range .from, to.; a list selects"),
    ("select", {"lat": None}, TypeError, "neither a number nor a date"),
    ("select", {"lat": True}, TypeError, "neither a number nor a date"),
    ("select", {"lat": [True, False]}, ValueError, "the mask has 2 values, the dimension 19 entries"),
    ("select", {"time": np.timedelta64(3, "h")}, TypeError, "neither a number nor a date"),
    ("select", {"time": np.datetime64("NaT")}, ValueError, "NaT is no date"),
    ("select", {"lat": slice(0, 9, 0)}, ValueError, "a step of 0 leads nowhere"),
    ("select", {"lat": slice(0, 9, 0.5)}, TypeError, "step: 0.5 is no whole number"),
    ("select", {"lat": np.zeros((2, 2))}, ValueError, "2 axes"),
    ("select", [("lat", 3)], TypeError, "wants a dict"),
    ("isel", {"lat": 0.5}, TypeError, "0.5 is no whole number"),
    ("isel", {"lat": (0, 5)}, TypeError, r"slice\(0, 5\)"),
    ("isel", {"lat": [True]}, ValueError, "the mask has 1 values, the dimension 19 entries"),
    ("isel", {"lat": True}, TypeError, "True is no whole number"),
    ("isel", {"lat": 10**30}, ValueError, "too large"),
    ("isel", 3, TypeError, "wants a dict"),
])
def test_arguments_that_mean_nothing(group, keyword, question, error, words):
    with pytest.raises(error, match=words):
        ps.Zarr(group, "t", "time", **{keyword: question})


def test_coordinates_that_are_no_numbers(tmp_path):
    data = xr.Dataset({"t": (("time", "name", "land", "free"), np.zeros((3, 2, 2, 4)))},
                      coords={"name": ["oslo", "rome"], "land": [True, False]})
    data.to_zarr(tmp_path / "g", zarr_format=2, consolidated=False)
    for dimension, words in [("name", "isel= selects by position"), ("land", "bool.*isel= selects by position"),
                             ("free", "no array of its coordinates; isel= selects by position")]:
        with pytest.raises(ps.UsageError, match=words):
            ps.Zarr(tmp_path / "g", "t", "time", select={dimension: 1})
    write_zarr(tmp_path / "a", np.zeros((3, 4)), (3, 4))
    with pytest.raises(ps.UsageError, match="an array alone has no coordinates; isel="):
        ps.Zarr(tmp_path / "a", select={1: 3})


def test_missing_values_of_a_coordinate(tmp_path):
    path = write(tmp_path / "g", time=([0, 1], {}), x=(np.array([1, np.nan, 3]), {}),
                 y=(np.array([1, -9, 3], "i4"), {"_FillValue": -9}))
    expected = xr.open_zarr(path, consolidated=False)["t"]
    for name in ("x", "y"):
        for value in (3, float("nan"), [3, 1]):
            assert_same(got(path, select={name: value}), expected.sel({name: value}).values)
        with pytest.raises(ps.UsageError, match="coordinate 1 has no value"):
            ps.Zarr(path, "t", "time", select={name: (1, 3)})


def test_values_that_stand_more_than_once(tmp_path):
    path = write(tmp_path / "g", time=([0, 1], {}), x=(np.array([1, 2, 2, 3]), {}))
    expected = xr.open_zarr(path, consolidated=False)["t"]
    assert_same(got(path, select={"x": 2}), expected.sel(x=2).values)
    with pytest.raises(ps.UsageError, match="2 occurs at 2 positions"):
        ps.Zarr(path, "t", "time", select={"x": [1, 2]})


def test_values_have_the_type_of_the_coordinate(tmp_path):
    values = np.arange(0, 1, 0.1)
    path = write(tmp_path / "g", time=([0, 1], {}), x=(values.astype("f4"), {}), y=(values, {}),
                 z=(np.arange(10, dtype="i2"), {"scale_factor": 0.1}))
    expected = xr.open_zarr(path, consolidated=False)["t"]
    for question in ({"x": 0.1}, {"x": [0.7, 0.3]}, {"y": 0.5}, {"z": float(expected.z[3])}, {"x": slice(0.1, 0.7)},
                     {"x": slice(np.float32(0.2), np.float32(0.6))}, {"z": slice(0.3, 0.6)}):
        assert_same(got(path, select=question), expected.sel(**question).values)


def test_a_single_sample(group, expected):
    assert_same(got(group, select={"time": datetime.datetime(2000, 1, 2)}), expected.isel(time=[4]).values)
    assert_same(got(group, isel={"time": -1, "level": 0}), expected.isel(time=[-1], level=0).values)


def test_daily_data_know_a_day_as_one_time(tmp_path):
    path = write(tmp_path / "g", x=([0, 1, 2], {}), time=(np.arange(30), {"units": "days since 2000-01-01"}))
    expected = xr.open_zarr(path, consolidated=False)["t"]
    for question in ("2000-01-05", "2000-01", "2000-01-05T00:00"):
        want = expected.sel(time=question).values
        assert_same(epoch(ps.Zarr(path, "t", "x", select={"time": question}), batch_size=3), want)
    with pytest.raises(ps.UsageError, match="there is no coordinate 2000-01-05T06; the nearest is 2000-01-05"):
        ps.Zarr(path, "t", "x", select={"time": "2000-01-05T06"})


def test_other_samples_have_another_fingerprint(group):
    def fingerprint(**options):
        return ps.Zarr(group, "t", "time", **options)._handle.fingerprint()

    whole = fingerprint()
    assert whole == fingerprint(isel={"time": slice(None)}) == fingerprint(select={"lat": (-90, 90)})
    others = [fingerprint(isel={"time": [0, 1, 5, 6]}), fingerprint(isel={"time": [0, 1, 6, 5]}),
              fingerprint(isel={"lon": [0, 1, 5]}), fingerprint(select={"lon": (350, 10)}),
              fingerprint(isel={"time": slice(0, 9)})]
    assert len({whole, *others}) == 6


def test_a_list_of_scattered_samples_is_shuffled_as_a_whole(tmp_path):
    data = np.arange(4000)
    write_zarr(tmp_path / "a", data, (10,))
    chosen = list(range(0, 4000, 10))
    chosen[7] += 3
    source = ps.Zarr(tmp_path / "a", isel={0: chosen})
    with ps.Loader(source, batch_size=400, shuffle=True, output="numpy") as loader:
        order = np.concatenate(list(loader))
    assert sorted(order.tolist()) == chosen and np.abs(np.diff(order)).mean() > 1000
