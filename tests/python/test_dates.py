"""Dates in `select`, in every calendar of the CF conventions, against cftime and xarray."""

import datetime

import numpy as np
import pytest

import penstock as ps
from zarr_writers import assert_same, epoch, write_zarr

cftime = pytest.importorskip("cftime")
xr = pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::Warning")

CALENDARS = ["standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day", "all_leap", "366_day",
             "360_day", None]
UNITS = ["microseconds", "microsec", "milliseconds", "msecs", "ms", "seconds", "sec", "S", "minutes", "mins", "Hours",
         "hr", "h", "days", "day", "d"]
MICROSECONDS = {"mic": 1, "mil": 1000, "mse": 1000, "ms": 1000, "sec": 10**6, "s": 10**6, "min": 6 * 10**7,
                "hou": 36 * 10**8, "hr": 36 * 10**8, "h": 36 * 10**8, "day": 864 * 10**8, "d": 864 * 10**8,
                "mon": 30 * 864 * 10**8, "com": 365 * 864 * 10**8}


def write(path, values, units, calendar=None, version=3):
    """A group with i(time), which counts the entries, and the time coordinate."""
    import zarr

    zarr.open_group(str(path), mode="w", zarr_format=version)
    write_zarr(path / "i", np.arange(len(values), dtype="i4"), (len(values),), version=version, names=("time",))
    attributes = {"units": units} if calendar is None else {"units": units, "calendar": calendar}
    write_zarr(path / "time", np.asarray(values), (len(values),), version=version, names=("time",),
               attributes=attributes)
    return path


def chosen(path, question):
    return epoch(ps.Zarr(path, "i", "time", select={"time": question}), batch_size=1000)


def parts(date, count):
    return (date.year, date.month, date.day, date.hour, date.minute, date.second)[:count]


def text_of(date, count):
    year, month, day, hour, minute, second = parts(date, 6)
    whole = [f"{year:05}" if year < 0 else f"{year:04}", f"-{month:02}", f"-{day:02}", f"T{hour:02}", f":{minute:02}",
             f":{second:02}"]
    return "".join(whole[:count])


def reference(rng, calendar):
    year = int(rng.choice([1, 4, 850, 1500, 1581, 1582, 1583, 1600, 1800, 1850, 1900, 1970, 2000, 2001]))
    month, day = int(rng.integers(1, 13)), int(rng.integers(1, 29))
    if (year, month) == (1582, 10):
        month = 9
    date = rng.choice([f"{year:04}-{month:02}-{day:02}", f"{year}-{month}-{day}"])
    time = rng.choice(["", " 00:00:00", " 0:0:0", " 12:30:00", "T06:00:00", " 00:00:0.0", "T00:00:00Z", " 00:00:00.25",
                       " 06:00:00 +01:00", " 18:45:00-0530", " 00:00"])
    return f"{date}{time}"


@pytest.mark.parametrize("seed", range(4))
def test_dates_mean_what_cftime_reads(tmp_path, seed):
    rng = np.random.default_rng(seed)
    for case in range(40):
        calendar = CALENDARS[(case + 40 * seed) % len(CALENDARS)]
        unit = str(rng.choice(UNITS))
        if calendar == "360_day" and rng.random() < 0.3:
            unit = "months"
        if calendar in ("noleap", "365_day") and rng.random() < 0.3:
            unit = "common_years"
        units = f"{unit} since {reference(rng, calendar)}"
        factor = MICROSECONDS[unit[:3].lower()] if unit[:3].lower() in MICROSECONDS else MICROSECONDS[unit.lower()]
        # Up to some hundred years on either side, in steps of hours to months.
        step = int(rng.choice([3600, 21600, 86400, 2_000_000, 40_000_000])) * 10**6 / factor
        values = (rng.integers(-2000, 2000) + np.arange(40)) * step
        kind = rng.choice(["i8", "f8", "f4"])
        values = values.astype("i8") if kind == "i8" and step >= 1 else values.astype("f8" if kind == "i8" else kind)
        values = np.sort(values)
        dates = cftime.num2date(values, units, calendar or "standard")
        path = write(tmp_path / f"{case}", values, units, calendar, int(rng.choice([2, 3])))
        for _ in range(4):
            count = int(rng.integers(1, 7))
            date = dates[int(rng.integers(len(dates)))]
            other = dates[int(rng.integers(len(dates)))]
            first, last = sorted((date, other))
            want = [i for i, one in enumerate(dates) if parts(one, count) == parts(date, count)]
            said = f"{units!r} {calendar} {values.dtype} {text_of(date, count)}"
            assert chosen(path, text_of(date, count)).tolist() == want, said
            want = [i for i, one in enumerate(dates) if parts(first, count) <= parts(one, count) <= parts(last, count)]
            assert chosen(path, (text_of(first, count), text_of(last, count))).tolist() == want, said


@pytest.mark.parametrize("calendar", CALENDARS)
@pytest.mark.parametrize("units", ["hours since 0001-01-01", "hours since 1800-1-1 00:00:0.0",
                                   "days since 1582-10-01", "days since 1582-10-01T00:00:00Z"])
def test_the_same_entries_as_xarray(tmp_path, units, calendar):
    start = {"hours since 0001-01-01": 17691552, "hours since 1800-1-1 00:00:0.0": 1920000}.get(units, 0)
    values = start + np.arange(120) * (6 if units.startswith("hours") else 1)
    path = write(tmp_path / "g", values, units, calendar)
    expected = xr.open_zarr(path, consolidated=False)["i"]
    first, last = (expected.time.values[[5, 80]] if expected.time.dtype == object
                   else expected.time.values[[5, 80]].astype("M8[s]"))
    if expected.time.dtype == object:
        assert_same(chosen(path, (first, last)), expected.sel(time=slice(first, last)).values)
        first, last = first.strftime("%Y-%m-%d"), last.strftime("%Y-%m-%d")
    for question in [(str(first), str(last)), (str(first)[:7], str(last)[:10]), (None, str(first)), (str(last), None)]:
        assert_same(chosen(path, question), expected.sel(time=slice(*question)).values)
    assert_same(chosen(path, str(first)[:7]), expected.sel(time=str(first)[:7]).values)


def test_dates_as_objects(tmp_path):
    path = write(tmp_path / "g", np.arange(100) * 6, "hours since 2000-01-01")
    expected = xr.open_zarr(path, consolidated=False)["i"]
    for first, last in [(datetime.datetime(2000, 1, 2, 6), datetime.datetime(2000, 1, 9)),
                        (np.datetime64("2000-01-02"), np.datetime64("2000-01-09T12:00")),
                        (datetime.date(2000, 1, 3), datetime.date(2000, 1, 5))]:
        assert_same(chosen(path, (first, last)),
                    expected.sel(time=slice(np.datetime64(first), np.datetime64(last))).values)
    aware = datetime.datetime(2000, 1, 2, 7, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    assert chosen(path, aware).tolist() == [5]
    assert chosen(path, [np.datetime64("2000-01-03"), "2000-01-01T12:00"]).tolist() == [8, 2]
    noleap = write(tmp_path / "n", np.arange(100), "days since 2000-02-20", "noleap")
    assert chosen(noleap, cftime.DatetimeNoLeap(2000, 3, 1)).tolist() == [9]
    with pytest.raises(ps.UsageError, match='calendar "360_day".*"noleap"'):
        ps.Zarr(noleap, "i", "time", select={"time": cftime.Datetime360Day(2000, 3, 1)})


@pytest.mark.parametrize("calendar, date, words", [
    ("noleap", "2000-02-29", "that month has 28 days"),
    ("noleap", "2000-02-30", "that month has 28 days"),
    ("standard", "1582-10-10", "1582-10-15 follows 1582-10-04"),
    (None, "1582-10-10", "1582-10-15 follows 1582-10-04"),
    ("360_day", "2000-01-31", "that month has 30 days"),
    ("standard", "0000-01-01", "the year 1 follows the year -1"),
    ("standard", "2000-13", "months are 1 to 12"),
    ("standard", "yesterday", "is not a date"),
])
def test_dates_that_a_calendar_has_not(tmp_path, calendar, date, words):
    path = write(tmp_path / "g", np.arange(100), "days since 1582-01-01", calendar)
    with pytest.raises(ps.UsageError, match=words):
        ps.Zarr(path, "i", "time", select={"time": (date, None)})


@pytest.mark.parametrize("units, calendar, words", [
    ("months since 2000-01-01", None, "no fixed length"),
    ("years since 2000-01-01", "360_day", "no fixed length"),
    ("weeks since 2000-01-01", None, '"weeks" are not known'),
    ("hours since noon", None, "is not a date"),
    ("hours since 2000-01-01", "lunar", 'calendar "lunar" is not known'),
    ("days since 2001-02-29", None, "28 days"),
    ("metres", None, "are no times"),
])
def test_units_that_are_refused(tmp_path, units, calendar, words):
    path = write(tmp_path / "g", np.arange(100), units, calendar)
    with pytest.raises(ps.UsageError, match=words):
        ps.Zarr(path, "i", "time", select={"time": ("2000", "2001")})


@pytest.mark.parametrize("dtype", ["M8[ns]", "M8[us]", "M8[10ms]", "M8[s]", "M8[h]", "M8[D]"])
@pytest.mark.parametrize("version", [2, 3])
def test_datetime64_arrays(tmp_path, dtype, version):
    import zarr

    times = np.datetime64("1999-12-20") + np.arange(40) * np.timedelta64(1, "D")
    zarr.open_group(str(tmp_path / "g"), mode="w", zarr_format=version)
    write_zarr(tmp_path / "g" / "i", np.arange(40), (40,), version=version, names=("time",))
    write_zarr(tmp_path / "g" / "time", times.astype(dtype), (40,), version=version, names=("time",))
    assert chosen(tmp_path / "g", "2000").tolist() == list(range(12, 40))
    assert chosen(tmp_path / "g", ("1999-12-30", "2000-01-02")).tolist() == [10, 11, 12, 13]
    assert chosen(tmp_path / "g", [times[7], times[3]]).tolist() == [7, 3]


def test_nanoseconds_keep_their_digits(tmp_path):
    values = 1_500_000_000_000_000_000 + np.arange(10)
    path = write(tmp_path / "g", values, "nanoseconds since 1970-01-01")
    expected = xr.open_zarr(path, consolidated=False)["i"]
    for i in (0, 3, 9):
        moment = values[i].astype("M8[ns]")
        assert chosen(path, moment).tolist() == [i] == [int(expected.sel(time=moment))]


def test_missing_times_are_never_chosen(tmp_path):
    import zarr

    zarr.open_group(str(tmp_path / "g"), mode="w", zarr_format=3)
    write_zarr(tmp_path / "g" / "i", np.arange(10), (10,), names=("time",))
    values = np.arange(10)
    values[4] = -999
    write_zarr(tmp_path / "g" / "time", values, (10,), names=("time",),
               attributes={"units": "days since 2000-01-01", "_FillValue": -999})
    assert chosen(tmp_path / "g", "2000").tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    with pytest.raises(ps.UsageError, match="coordinate 4 has no value"):
        ps.Zarr(tmp_path / "g", "i", "time", select={"time": ("2000", "2001")})
