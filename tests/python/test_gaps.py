"""Windows over gaps in time are no samples."""

import json

import numpy as np
import pytest

import penstock as ps
from test_cli import cli, program  # noqa: F401  (fixtures)
from zarr_writers import assert_same, epoch, write_zarr

xr = pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::Warning")


def write(path, times, chunk=4):
    data = xr.Dataset({"t": (("time", "x"), np.arange(len(times) * 3).reshape(-1, 3))}, coords={"time": times})
    data.to_zarr(path, zarr_format=3, consolidated=False, encoding={"t": {"chunks": (chunk, 3)}})
    return data["t"].values


def hourly(count):
    return np.datetime64("2000-01-01", "ns") + np.arange(count) * np.timedelta64(1, "h")


def expected_windows(times, lowest, highest):
    """Own entries of the windows whose steps all go forward, none longer than 1.5 times the median."""
    steps = np.diff(times).astype("i8")
    good = (steps > 0) & (steps <= 1.5 * np.median(steps[steps > 0]))
    return [i for i in range(-lowest, len(times) - highest) if good[i + lowest:i + highest].all()]


def with_hole():
    times = hourly(40)
    times[23:] += np.timedelta64(30, "D")
    return times


def test_a_hole_in_the_time_axis(tmp_path):
    times = with_hole()
    data = write(tmp_path / "g", times)
    source = ps.Zarr(tmp_path / "g", "t", "time", window=(2, 3))
    own = expected_windows(times, -1, 3)
    assert len(source) == len(own) == 36 - 4
    history, horizon = epoch(source, batch_size=7)
    assert_same(history, np.stack([data[i - 1:i + 1] for i in own]))
    assert_same(horizon, np.stack([data[i + 1:i + 4] for i in own]))
    assert [source.key(i) for i in range(len(source))] == [str(i) for i in own]
    with ps.Loader(source, batch_size=4) as loader:
        assert loader.stats()["windows_left_out"] == 4
    allowed = ps.Zarr(tmp_path / "g", "t", "time", window=(2, 3), gaps="allow")
    assert len(allowed) == 36 and allowed._handle.windows_left_out() == 0
    assert allowed._handle.fingerprint() != source._handle.fingerprint()
    assert len(ps.Zarr(tmp_path / "g", "t", "time")) == 40


@pytest.mark.parametrize("seed", range(8))
def test_random_holes(tmp_path, seed):
    rng = np.random.default_rng(seed)
    times = hourly(60)
    for place in rng.integers(1, 60, rng.integers(1, 5)):
        times[place:] += np.timedelta64(int(rng.choice([20, 29, 31, 90, 2000, -45, -60])), "m")
    data = write(tmp_path / "g", times, int(rng.integers(1, 9)))
    history, horizon = sorted(rng.integers(-3, 1, 2).tolist()), sorted(rng.integers(1, 6, 2).tolist())
    history, horizon = sorted(set(history)), sorted(set(horizon))
    own = expected_windows(times, min(history), max(horizon))
    source = ps.Zarr(tmp_path / "g", "t", "time", window=(history, horizon))
    assert len(source) == len(own) > 0
    with ps.Loader(source, batch_size=100, shuffle=True, seed=seed, output="numpy") as loader:
        batches = list(loader)
    past, future = (np.concatenate([batch[k] for batch in batches]) for k in (0, 1))
    order = np.argsort(past[:, 0, 0])
    assert_same(past[order], np.stack([data[[i + step for step in history]] for i in own]))
    assert_same(future[order], np.stack([data[[i + step for step in horizon]] for i in own]))


@pytest.mark.parametrize("times", [
    np.arange("1999-01", "2003-01", dtype="M8[M]").astype("M8[ns]"),
    np.arange("1890", "1960", dtype="M8[Y]").astype("M8[ns]"),
], ids=["months", "years"])
def test_months_and_years_have_no_gaps(tmp_path, times):
    write(tmp_path / "g", times)
    source = ps.Zarr(tmp_path / "g", "t", "time", window=(2, 3))
    assert len(source) == len(times) - 4 and source._handle.windows_left_out() == 0


def test_steps_are_those_of_the_selected_entries(tmp_path):
    write(tmp_path / "g", with_hole())
    every_sixth = ps.Zarr(tmp_path / "g", "t", "time", window=(1, 1), isel={"time": slice(None, None, 6)})
    assert len(every_sixth) == 5 and every_sixth._handle.windows_left_out() == 1


def test_times_that_do_not_go_forward(tmp_path):
    write(tmp_path / "g", hourly(20)[::-1])
    with pytest.raises(ps.UsageError, match='no window of 2 steps is without a gap.*19 do not go forward; gaps="allow"'):
        ps.Zarr(tmp_path / "g", "t", "time", window=(1, 1))
    assert len(ps.Zarr(tmp_path / "g", "t", "time", window=(1, 1), gaps="allow")) == 19
    twice = hourly(20)
    twice[10] = twice[9]
    write(tmp_path / "h", twice)
    assert len(ps.Zarr(tmp_path / "h", "t", "time", window=(1, 1))) == 17


def test_a_missing_time_is_a_gap(tmp_path):
    times = hourly(20)
    times[7] = np.datetime64("NaT")
    write(tmp_path / "g", times)
    assert len(ps.Zarr(tmp_path / "g", "t", "time", window=(1, 1))) == 17


def test_numbers_and_names_have_no_gaps(tmp_path):
    import zarr

    zarr.open_group(str(tmp_path / "g"), mode="w", zarr_format=3)
    write_zarr(tmp_path / "g" / "t", np.arange(20), (4,), names=("time",))
    assert len(ps.Zarr(tmp_path / "g", "t", "time", window=(1, 1))) == 19
    write_zarr(tmp_path / "g" / "time", np.arange(20) ** 2, (4,), names=("time",))
    assert len(ps.Zarr(tmp_path / "g", "t", "time", window=(1, 1))) == 19


def test_wrong_words(tmp_path):
    write(tmp_path / "g", hourly(20))
    with pytest.raises(ValueError, match='gaps=\'ignore\': wants "skip" or "allow"'):
        ps.Zarr(tmp_path / "g", "t", "time", gaps="ignore")


def test_a_state_of_other_windows_is_refused(tmp_path):
    write(tmp_path / "g", with_hole())
    with ps.Loader(ps.Zarr(tmp_path / "g", "t", "time", window=(2, 3), gaps="allow"), batch_size=4) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with ps.Loader(ps.Zarr(tmp_path / "g", "t", "time", window=(2, 3)), batch_size=4) as loader:
        with pytest.raises(ps.Error):
            loader.load_state_dict(state)


def test_subsets_and_mixtures_count_too(tmp_path):
    write(tmp_path / "g", with_hole())
    source = ps.Zarr(tmp_path / "g", "t", "time", window=(2, 3))
    assert source.subset(0.5)._handle.windows_left_out() == 4
    assert ps.Mix([source, source])._handle.windows_left_out() == 8


def test_inspect_counts_them(cli, tmp_path):
    write(tmp_path / "g", with_hole())

    def inspect(*options):
        return cli("inspect", tmp_path / "g", "--sample-dim", "time", "--window", "2,3", *options).stdout

    report = json.loads(inspect("--json"))
    assert report["samples"] == 32 and report["windows_left_out"] == 4
    assert "4 windows over gaps in time (--gaps allow takes them)" in inspect()
    assert json.loads(inspect("--gaps", "allow", "--json"))["samples"] == 36
