"""Normalize by level and by variable, with and without windows, against NumPy."""

import numpy as np
import pytest

import penstock as ps
from zarr_writers import epoch, write_zarr

LEVELS = 5


@pytest.fixture
def store(tmp_path):
    import zarr

    rng = np.random.default_rng(0)
    arrays = {"t": rng.normal(250, 20, (12, LEVELS, 6, 7)).astype("f4"),
              "z": rng.normal(5000, 900, (12, LEVELS, 6, 7)).astype("f4"),
              "msl": rng.normal(101000, 600, (12, 6, 7)).astype("f4")}
    zarr.create_group(tmp_path / "a.zarr")
    for name, data in arrays.items():
        names = ["time", "level", "lat", "lon"] if data.ndim == 4 else ["time", "lat", "lon"]
        write_zarr(tmp_path / "a.zarr" / name, data, (3, *data.shape[1:]), names=names)
    return tmp_path / "a.zarr", arrays


def moments(data, axes):
    return data.mean(axes, dtype="f8"), data.std(axes, dtype="f8")


def check(got, expected):
    assert got.dtype == np.float32 and got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_levels_of_a_window_have_means_of_their_own(store, threads):
    path, arrays = store
    mean, std = moments(arrays["t"], (0, 2, 3))
    source = ps.Zarr(path, ["t"], "time", window=(2, [3, 1]))
    normalize = [ps.Normalize(list(mean), list(std))]
    history, horizon = epoch(source, batch_size=4, threads=threads,
                             transform={"t_history": normalize, "t_horizon": normalize})
    whole = (arrays["t"] - mean[:, None, None]) / std[:, None, None]
    check(history, np.stack([whole[i - 1:i + 1] for i in range(1, 9)]))
    check(horizon, np.stack([whole[[i + 3, i + 1]] for i in range(1, 9)]))


def test_levels_go_with_flips_of_the_map(store):
    path, arrays = store
    mean, std = moments(arrays["t"], (0, 2, 3))
    history, _ = epoch(ps.Zarr(path, ["t"], "time", window=(2, 1)), batch_size=4, transform={
        "t_history": [ps.RandomFlip3D(1.0), ps.Normalize(list(mean), list(std))]})
    plain = np.stack([arrays["t"][i - 1:i + 1] for i in range(1, 11)])
    assert history.shape == plain.shape


@pytest.mark.parametrize("window", [None, (2, 1)])
def test_a_stack_takes_means_by_channel_or_by_variable(store, window):
    path, arrays = store
    source = ps.Zarr(path, ["t", "msl", "z"], "time", stack=True, window=window)
    stacked = np.concatenate([arrays["t"], arrays["msl"][:, None], arrays["z"]], 1)
    by_channel = moments(stacked, (0, 2, 3))
    by_variable = [np.array([arrays[name].astype("f8").mean() for name in ("t", "msl", "z")]),
                   np.array([arrays[name].astype("f8").std() for name in ("t", "msl", "z")])]
    counts = [LEVELS, 1, LEVELS]
    for given, (mean, std) in ((by_channel, by_channel), (by_variable, [np.repeat(v, counts) for v in by_variable])):
        field = "stack" if window is None else "history"
        got = epoch(source, batch_size=4, transform={field: [ps.Normalize(list(given[0]), list(given[1]))]})
        got = got if window is None else got[0]
        whole = (stacked - mean[:, None, None]) / std[:, None, None]
        check(got, whole if window is None else np.stack([whole[i - 1:i + 1] for i in range(1, 11)]))


def test_a_wrong_number_of_means_says_which_axis_counts_channels(store):
    path, _ = store
    for source, field in ((ps.Zarr(path, ["t"], "time", window=(2, 1)), "t_history"),
                          (ps.Zarr(path, ["t", "z"], "time", stack=True, window=(2, 1)), "history")):
        with pytest.raises(ps.Error, match=r"axis 1 counts (5|10) channels"):
            epoch(source, transform={field: [ps.Normalize([0.0] * 3, [1.0] * 3)]})
    with pytest.raises(ps.Error, match="no axis of that many channels"):
        epoch(ps.Zarr(path, ["msl"], "time", window=(2, 1)),
              transform={"msl_history": [ps.Normalize([0.0] * 6, [1.0] * 6)]})


def test_measured_levels_go_straight_into_normalize(store):
    path, arrays = store
    source = ps.Zarr(path, ["t"], "time", window=(1, 1))
    found = ps.statistics(source)["t_history"]
    assert found.per_channel and len(found.mean) == LEVELS
    np.testing.assert_allclose(found.mean, arrays["t"][:11].mean((0, 2, 3), dtype="f8"), rtol=1e-6)
    got, _ = epoch(source, transform={"t_history": [ps.Normalize(found.mean, found.std)]})
    np.testing.assert_allclose(got.mean((0, 1, 3, 4)), 0, atol=1e-4)
    np.testing.assert_allclose(got.std((0, 1, 3, 4)), 1, atol=1e-4)
