"""Random arrays and random questions, against NumPy's slicing."""

import datetime
import os

import numpy as np
import pytest

import penstock as ps
from zarr_writers import assert_same, epoch, in_order, keyed_epoch, make_loader, write_zarr

pytestmark = pytest.mark.property
ROUNDS = int(os.environ.get("PENSTOCK_TEST_ROUNDS", "25"))
DTYPES = ("bool", "int8", "uint8", "int16", ">u2", "int32", "uint32", "int64", "float16", "float32", ">f4", "float64",
          "complex64")


def random_array(rng, path, rank=None, names=None):
    """An array of random shape, chunks, shards, type and version; (data, chunks)."""
    from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec

    rank = rank or int(rng.integers(1, 6))
    shape = tuple(int(n) for n in rng.integers(1, 14 if rank < 4 else 7, rank))
    chunks = tuple(int(rng.integers(1, extent + 2)) for extent in shape)
    dtype = np.dtype(rng.choice(DTYPES))
    data = rng.integers(0, 100, shape).astype(dtype)
    version = int(rng.choice([2, 3]))
    keywords = {"fill_value": False if dtype.kind == "b" else 3, "config": {"write_empty_chunks": False}}
    if version == 3:
        keywords["compressors"] = [None, ZstdCodec(), [GzipCodec(), Crc32cCodec()], BloscCodec()][rng.integers(4)]
        if rng.random() < 0.5:
            keywords["shards"] = tuple(int(chunk * rng.integers(1, 4)) for chunk in chunks)
        data = data.astype(dtype.newbyteorder("="))
    else:
        keywords["order"] = str(rng.choice(["C", "F"]))
    if rng.random() < 0.4:  # chunks that are not written
        data[rng.random(shape) < 2] = keywords["fill_value"]
        data[:1] = 7 % 2 if dtype.kind == "b" else 7
    write_zarr(path, data, chunks, version=version, names=names, **keywords)
    return data, chunks


def random_options(rng):
    threads = int(rng.integers(1, 5))
    return {"threads": threads, "memory": f"{int(rng.integers(16 if threads == 1 else 40, 65))}MiB",
            "batch_size": int(rng.integers(1, 9)), "shuffle": [False, True, "full", "window"][rng.integers(4)],
            "seed": int(rng.integers(100))}


def random_slice(rng, extent):
    while True:
        first, end = (None if rng.random() < 0.3 else int(rng.integers(-extent, extent + 1)) for _ in range(2))
        chosen = slice(first, end, None if rng.random() < 0.4 else int(rng.integers(1, 4)))
        if len(range(*chosen.indices(extent))):
            return chosen


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_any_array_any_dimension_any_part(tmp_path, seed):
    rng = np.random.default_rng(seed)
    data, _ = random_array(rng, tmp_path / "a")
    axis = int(rng.integers(data.ndim))
    select = {d: random_slice(rng, data.shape[d]) for d in range(data.ndim) if rng.random() < 0.5}
    expected = np.moveaxis(data[tuple(select.get(d, slice(None)) for d in range(data.ndim))], axis, 0)
    source = ps.Zarr(tmp_path / "a", sample_dim=axis if rng.random() < 0.5 else axis - data.ndim, isel=select)
    assert len(source) == len(expected)
    assert_same(in_order(keyed_epoch(source, **random_options(rng))), expected)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_any_window(tmp_path, seed):
    rng = np.random.default_rng(1000 + seed)
    while True:
        data, _ = random_array(rng, tmp_path / "a", rank=int(rng.integers(1, 5)))
        axis = int(rng.integers(data.ndim))
        part = random_slice(rng, data.shape[axis]) if rng.random() < 0.5 else slice(None)
        series = np.moveaxis(data, axis, 0)[part]
        if rng.random() < 0.5:
            window = tuple(int(n) for n in rng.integers(0, 4, 2))
            steps = list(range(1 - window[0], 1)), list(range(1, window[1] + 1))
        else:
            window = steps = tuple(rng.integers(-4, 5, rng.integers(0, 4)).tolist() for _ in range(2))
        flat = [0, *steps[0], *steps[1]]
        if any(steps) and max(flat) - min(flat) < len(series):
            break
    places = range(-min(flat), len(series) - max(flat))
    source = ps.Zarr(tmp_path / "a", sample_dim=axis, window=window, isel={axis: part})
    names = [name for name, own in zip(("array_history", "array_horizon"), steps) if own]
    assert list(source.fields) == names and len(source) == len(places)
    got = keyed_epoch(source, fields=names, **random_options(rng))
    assert sorted(map(int, got)) == [range(*part.indices(data.shape[axis]))[place] for place in places]
    for i, name in enumerate(names):
        own = steps[("array_history", "array_horizon").index(name)]
        expected = np.stack([np.stack([series[place + step] for step in own]) for place in places])
        values = np.stack([got[key] if len(names) == 1 else got[key][i] for key in sorted(got, key=int)])
        assert_same(values, expected)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_any_stack(tmp_path, seed):
    """Variables of other ranks, with levels or without, some without the sample dimension."""
    import zarr

    rng = np.random.default_rng(2000 + seed)
    zarr.open_group(str(tmp_path / "g"), mode="w", zarr_format=int(rng.choice([2, 3])))
    version = 2 if (tmp_path / "g" / ".zgroup").exists() else 3
    sizes = {"time": int(rng.integers(4, 9)), "lat": int(rng.integers(1, 6)), "lon": int(rng.integers(1, 6)),
             "level": int(rng.integers(1, 4))}
    kinds = [("time", "lat", "lon"), ("time", "level", "lat", "lon"), ("lat", "lon"), ("level", "time", "lat", "lon"),
             ("lat", "time", "lon")]
    mixed = rng.random() < 0.5
    variables, dtype = {}, rng.choice(["int16", "float32", "float64"])
    for i in range(int(rng.integers(1, 5))):
        names = kinds[0 if i == 0 else rng.integers(len(kinds))]
        shape = tuple(sizes[name] for name in names)
        data = rng.integers(-99, 99, shape).astype(rng.choice(["int16", "float32", "uint8"]) if mixed else dtype)
        chunks = tuple(int(rng.integers(1, extent + 1)) for extent in shape)
        write_zarr(tmp_path / "g" / f"v{i}", data, chunks, version=version, names=names)
        variables[f"v{i}"] = (names, data)
    part = random_slice(rng, sizes["lat"])
    window = (2, 1) if rng.random() < 0.5 else None
    channels = []
    for names, data in variables.values():
        data = data[tuple(part if name == "lat" else slice(None) for name in names)]
        data = np.moveaxis(data, names.index("time"), 0) if "time" in names else np.stack([data] * sizes["time"])
        channels.append(data.reshape(sizes["time"], -1, *data.shape[-2:]))
    expected = np.concatenate(channels, 1)  # of NumPy's result type
    source = ps.Zarr(tmp_path / "g", list(variables), "time", stack="all", isel={"lat": part}, window=window)
    if window is None:
        assert list(source.fields) == ["all"]
        assert_same(in_order(keyed_epoch(source, fields=["all"], **random_options(rng))), expected)
        return
    got = keyed_epoch(source, fields=["history", "horizon"], **random_options(rng))
    for key, (history, horizon) in got.items():
        assert_same(history, expected[int(key) - 1:int(key) + 1])
        assert_same(horizon, expected[int(key) + 1:int(key) + 2])


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_any_patches(tmp_path, seed):
    rng = np.random.default_rng(3000 + seed)
    axes = int(rng.integers(1, 5))
    lead = tuple(int(n) for n in rng.integers(1, 4, rng.integers(0, 2)))
    volumes, labels, paths, label_paths = [], [], [], []
    dtype = np.dtype(rng.choice(["uint8", "int16", "float32", "float64"]))
    for i in range(int(rng.integers(1, 4))):
        shape = lead + tuple(int(n) for n in rng.integers(6, 14 if axes < 4 else 9, axes))
        data = rng.integers(0, 255, shape).astype(dtype)
        label = rng.integers(0, 3, shape[len(lead):]).astype(np.int32)
        path = tmp_path / f"v{i}"
        if rng.random() < 0.3:
            path = path.with_suffix(".npy")
            np.save(path, data)
        else:
            write_zarr(path, data, tuple(int(rng.integers(1, extent + 1)) for extent in shape), version=int(rng.choice([2, 3])))
        volumes, paths, labels = [*volumes, data], [*paths, path], [*labels, label]
        label_paths.append(write_zarr(tmp_path / f"l{i}", label, tuple(int(rng.integers(1, n + 1)) for n in label.shape)))
    size = tuple(int(n) for n in rng.integers(1, 7, axes))
    random = rng.random() < 0.5
    keywords = {"per_epoch": int(rng.integers(1, 40))} if random else {
        "overlap": tuple(int(rng.integers(0, edge)) for edge in size)}
    source = ps.Patches(paths, size, labels=label_paths, **keywords)
    options = random_options(rng)
    if random and options["shuffle"] == "full":
        options["shuffle"] = True
    patches, cuts, places, numbers = epoch(source, fields=["image", "label", "position", "volume"], **options)
    assert len(patches) == len(source) == keywords.get("per_epoch", len(source))
    seen = [np.zeros(label.shape, bool) for label in labels]
    for patch, label, place, number in zip(patches, cuts, places, numbers):
        where = tuple(slice(p, p + s) for p, s in zip(place, size))
        assert_same(patch, volumes[number][(slice(None),) * len(lead) + where])
        assert_same(label, labels[number][where])
        seen[number][where] = True
    assert random or all(one.all() for one in seen)


# -- order, ranks, resuming -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Sample i of 47 is filled with i; five to a chunk, three chunks to a shard."""
    path = tmp_path_factory.mktemp("rows") / "a"
    return ps.Zarr(write_zarr(path, np.arange(47, dtype=np.int32)[:, None].repeat(6, 1), (5, 4), shards=(15, 8)))


@pytest.mark.parametrize("shuffle", [False, True, "full", "window"])
def test_the_same_order_for_any_threads_and_batch_sizes(rows, shuffle):
    orders = {tuple(epoch(rows, shuffle=shuffle, threads=threads, batch_size=size, seed=4)[:, 0].tolist())
              for threads in (1, 2, 4) for size in (1, 6, 47)}
    order, = orders
    assert sorted(order) == list(range(47)) and (not shuffle or order != tuple(range(47)))


@pytest.mark.parametrize("shuffle", [False, True, "full", "window"])
@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_the_union_over_ranks_is_the_data_set(rows, shuffle, world):
    parts = []
    for rank in range(world):
        with make_loader(rows, shuffle=shuffle, rank=rank, world_size=world, batch_size=4) as loader:
            parts.append([batch[:, 0].tolist() for batch in loader])
    assert sorted(i for part in parts for batch in part for i in batch) == list(range(47))
    assert len({len(part) for part in parts}) == 1


@pytest.mark.parametrize("shuffle", [False, True, "window"])
@pytest.mark.parametrize("world", [1, 3])
@pytest.mark.parametrize("stop", [1, 2, 3])
def test_a_run_goes_on_in_the_middle_of_an_epoch(rows, shuffle, world, stop):
    options = {"shuffle": shuffle, "batch_size": 4, "seed": 9, "world_size": world}
    for rank in range(world):
        with make_loader(rows, rank=rank, **options) as loader:
            whole = [batch[:, 0].tolist() for batch in loader]
        with make_loader(rows, rank=rank, **options) as loader:
            batches = iter(loader)
            for _ in range(stop):
                next(batches)
            state = loader.state_dict()
        with make_loader(rows, rank=rank, **(options | {"threads": 4})) as loader:
            loader.load_state_dict(state)
            assert [batch[:, 0].tolist() for batch in loader] == whole[stop:]


def test_subsets_splits_and_mixtures_of_arrays(rows, tmp_path):
    assert epoch(rows.subset([3, 40, 7]), batch_size=2)[:, 0].tolist() == [3, 40, 7]
    first, second = rows.split(0.3, seed=1)
    both = epoch(first, batch_size=5)[:, 0].tolist() + epoch(second, batch_size=5)[:, 0].tolist()
    assert sorted(both) == list(range(47))
    other = ps.Zarr(write_zarr(tmp_path / "b", np.arange(100, 109, dtype=np.int32)[:, None].repeat(6, 1), (2, 6)))
    mixed = epoch(ps.Mix([rows, other]), batch_size=5, shuffle=True)[:, 0].tolist()
    assert sorted(mixed) == [*range(47), *range(100, 109)]
    assert epoch(rows.filter("array", lambda row: row[0] % 10 == 3), batch_size=2)[:, 0].tolist() == [3, 13, 23, 33, 43]


# -- transforms -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32", "float64", ">f4"])
def test_normalize_by_channel(tmp_path, dtype):
    data = np.random.default_rng(0).integers(0, 200, (9, 3, 5, 4)).astype(dtype)
    path = write_zarr(tmp_path / "a", data, (2, 2, 3, 4), version=2)
    mean, std = [10.0, 20.0, 30.0], [2.0, 3.0, 4.0]
    got = epoch(ps.Zarr(path), transform=[ps.Normalize(mean, std, max_value=1)], batch_size=4)
    expected = (data.astype(float) - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
    got = epoch(ps.Zarr(path), transform=[ps.Normalize(10.0, 2.0, max_value=1)], batch_size=4, dtype="float16")
    np.testing.assert_allclose(got, (data.astype(float) - 10) / 2, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float64"])
@pytest.mark.parametrize("to", ["float32", "float16"])
def test_dtype_casts(tmp_path, dtype, to):
    data = np.random.default_rng(0).integers(0, 200, (9, 5, 4)).astype(dtype)
    assert_same(epoch(ps.Zarr(write_zarr(tmp_path / "a", data, (2, 3, 4))), dtype=to, batch_size=4), data.astype(to))


def test_outputs_of_torch_and_jax(tmp_path):
    data = np.random.default_rng(0).integers(0, 200, (9, 5, 4)).astype("int16")
    source = ps.Zarr(write_zarr(tmp_path / "a", data, (2, 3, 4)))
    torch = pytest.importorskip("torch")
    with ps.Loader(source, batch_size=9, output="torch", threads=1) as loader:
        batch = next(iter(loader))
        assert batch.dtype == torch.int16 and np.array_equal(batch.numpy(), data)
    with ps.Loader(source, batch_size=9, output="torch", dtype="bfloat16", threads=1) as loader:
        assert torch.equal(next(iter(loader)), torch.from_numpy(data).to(torch.bfloat16))


# -- selection by coordinates and dates -------------------------------------------------------------


def write_group(path, count=60, version=3, **time):
    """t(time, lat, lon); lat falls, lon rises; `time`: values, units or dtype of the time coordinate."""
    import zarr

    zarr.open_group(str(path), mode="w", zarr_format=version)
    data = np.arange(count * 9 * 12, dtype=np.int32).reshape(count, 9, 12)
    lat, lon = np.linspace(80, -80, 9), np.linspace(0, 330, 12)
    write_zarr(path / "t", data, (7, 4, 5), version=version, names=("time", "lat", "lon"))
    write_zarr(path / "lat", lat, (4,), version=version, names=("lat",))
    write_zarr(path / "lon", lon.astype("f4"), (5,), version=version, names=("lon",))
    write_zarr(path / "time", time["values"], (11,), version=version, names=("time",), attributes=time.get("attributes"))
    return data, lat, lon


def as_cf(days, unit, seconds, since, dtype="i8"):
    values = (days - np.datetime64(since)).astype("m8[s]").astype("i8") / seconds
    return {"values": values.astype(dtype), "attributes": {"units": f"{unit} since {since}"}}


DAYS = np.datetime64("2015-11-20T06:00") + np.arange(60) * np.timedelta64(36, "h")
TIMES = {
    "datetime64[ns]": {"values": DAYS.astype("M8[ns]")},
    "datetime64[s]": {"values": DAYS.astype("M8[s]")},
    "datetime64[h]": {"values": DAYS.astype("M8[h]")},
    "hours": as_cf(DAYS, "hours", 3600, "1900-01-01"),
    "float days": as_cf(DAYS, "days", 86400, "1970-01-01", "f8"),
    "seconds, int32": as_cf(DAYS, "seconds", 1, "2000-01-01", "i4"),
    "minutes since noon": as_cf(DAYS, "minutes", 60, "2015-11-20 12:00:00"),
}


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("version", [2, 3])
def test_dates_select_what_they_say(tmp_path, name, version):
    data, _, _ = write_group(tmp_path / "g", version=version, **TIMES[name])
    day = DAYS.astype("M8[D]")
    questions = [
        (("2016", "2016"), DAYS.astype("M8[Y]") == np.datetime64("2016")),
        (("2015-12", "2016-01"), (day >= np.datetime64("2015-12-01")) & (day < np.datetime64("2016-02-01"))),
        (slice("2015-12-10", "2015-12-20"), (day >= np.datetime64("2015-12-10")) & (day <= np.datetime64("2015-12-20"))),
        ((datetime.date(2016, 1, 1), None), day >= np.datetime64("2016-01-01")),
        ((None, np.datetime64("2015-12-01T06:00")), DAYS <= np.datetime64("2015-12-01T06:00")),
        ((str(DAYS[3]), str(DAYS[8])), (DAYS >= DAYS[3]) & (DAYS <= DAYS[8])),
        ((DAYS[3].astype(datetime.datetime), DAYS[8].astype("M8[s]")), (DAYS >= DAYS[3]) & (DAYS <= DAYS[8])),
    ]
    for question, chosen in questions:
        source = ps.Zarr(tmp_path / "g", "t", "time", select={"time": question})
        assert_same(epoch(source, batch_size=8), data[chosen])


@pytest.mark.parametrize("seed", range(10))
def test_coordinates_that_rise_and_fall(tmp_path, seed):
    rng = np.random.default_rng(seed)
    data, lat, lon = write_group(tmp_path / "g", version=int(rng.choice([2, 3])), **TIMES["hours"])
    while True:
        ends, sides = rng.uniform(-90, 90, 2), rng.uniform(0, 340, 2)
        if seed % 3 == 0:
            ends = rng.choice(lat, 2)  # both ends are in
        rows = (lat >= min(ends)) & (lat <= max(ends))
        columns = (lon >= min(sides)) & (lon <= max(sides))
        if rows.any() and columns.any():
            break
    source = ps.Zarr(tmp_path / "g", "t", "time", window=(2, [1, 4]), select={
        "lat": tuple(ends.tolist()), "lon": slice(float(min(sides)), float(max(sides)))}, isel={"time": slice(5, 50, 3)})
    part = data[5:50:3][:, rows][:, :, columns]
    history, horizon = epoch(source, batch_size=4)
    for i in range(len(history)):
        assert_same(history[i], part[i:i + 2])
        assert_same(horizon[i], part[[i + 2, i + 5]])
    assert len(history) == len(part) - 5


def test_fractions_of_a_second_count(tmp_path):
    times = np.datetime64("2020-01-01", "ms") + np.arange(60) * np.timedelta64(250, "ms")
    data, _, _ = write_group(tmp_path / "g", values=times)
    source = ps.Zarr(tmp_path / "g", "t", "time", select={"time": (times[3], times[9])})
    assert_same(epoch(source, batch_size=8), data[3:10])
