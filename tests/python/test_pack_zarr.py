"""Zarr hierarchies that penstock packs, read by other programs and by penstock itself."""

import hashlib
import json
import os
import pathlib
import random
import subprocess
import sys
import time

import numpy as np
import pytest

import penstock as ps
from zarr_writers import assert_same, epoch, in_order, keyed_epoch

zarr = pytest.importorskip("zarr")

TYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32",
         "float64", "complex64", "complex128"]


def pack(source, destination, **options):
    return ps.pack(source, destination, "zarr", **options)


def values_of(dtype, shape, seed=0):
    draw = np.random.default_rng(seed)
    if dtype == "bool":
        return draw.integers(0, 2, shape).astype(bool)
    kind = np.dtype(dtype).kind
    if kind in "ui":
        limits = np.iinfo(dtype)
        return draw.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    values = draw.normal(size=shape)
    if kind == "c":
        values = values + 1j * draw.normal(size=shape)
    values = values.astype(dtype)
    values.flat[:: max(values.size // 5, 1)] = np.nan
    return values


def write_store(folder, arrays, chunks, dimensions=None, attributes=None):
    """A group of version 3 with one array per name."""
    group = zarr.create_group(str(folder))
    for name, values in arrays.items():
        array = group.create_array(name, shape=values.shape, dtype=values.dtype, chunks=chunks[name],
                                   dimension_names=(dimensions or {}).get(name),
                                   attributes=(attributes or {}).get(name))
        array[...] = values
    return folder


def digest(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()}


def read_by(reader, folder, name):
    if reader == "zarr":
        return zarr.open_group(str(folder), mode="r")[name][...]
    if reader == "zarrs":
        pytest.importorskip("zarrs")
        with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
            return zarr.open_group(str(folder), mode="r")[name][...]
    tensorstore = pytest.importorskip("tensorstore")
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{folder}/{name}/"}}
    return tensorstore.open(spec, read=True).result().read().result()


@pytest.mark.parametrize("reader", ["zarr", "zarrs", "tensorstore"])
def test_every_type_and_odd_shapes_come_back(tmp_path, reader):
    shapes = [(7,), (13, 5), (9, 6, 7), (5, 3, 4, 2), (1, 1), (3, 1, 17)]
    for number, dtype in enumerate(TYPES):
        shape = shapes[number % len(shapes)]
        values = values_of(dtype, shape, seed=number)
        source = tmp_path / f"{dtype}.zarr"
        write_store(source, {"x": values}, {"x": tuple(max(1, n // 2 + 1) for n in shape)})
        packed = tmp_path / f"{dtype}-packed.zarr"
        chunks = {str(axis): max(1, extent // 2 + (axis % 2)) for axis, extent in enumerate(shape)}
        pack(ps.Zarr(source, variables=["x"]), packed, chunks=chunks, shard_size=values.nbytes // 2 + 1, threads=2)
        assert_same(read_by(reader, packed, "x"), values)


def test_the_loader_reads_the_same_batches(tmp_path):
    values = values_of("float32", (23, 12, 10))
    write_store(tmp_path / "a.zarr", {"t2m": values, "flag": values_of("int16", (23, 3))},
                {"t2m": (8, 5, 4), "flag": (23, 3)}, {"t2m": ["time", "lat", "lon"], "flag": ["time", "k"]})
    source = ps.Zarr(tmp_path / "a.zarr", sample_dim="time")
    pack(source, tmp_path / "b.zarr")
    packed = ps.Zarr(tmp_path / "b.zarr", sample_dim="time")
    assert [field for field in packed.fields] == [field for field in source.fields]
    for got, expected in zip(epoch(packed, batch_size=4, shuffle="full", seed=3, fields=["t2m", "flag"]),
                             epoch(source, batch_size=4, shuffle="full", seed=3, fields=["t2m", "flag"])):
        assert_same(got, expected)
    ours = keyed_epoch(packed, fields=["t2m"], batch_size=5)
    assert_same(in_order(ours), values)


def test_attributes_and_coordinates_are_kept(tmp_path):
    xarray = pytest.importorskip("xarray")
    times = np.arange("2020-01-01", "2020-02-01", dtype="datetime64[D]").astype("datetime64[ns]")
    values = values_of("float32", (31, 4, 6))
    data = xarray.Dataset({"t2m": (("time", "lat", "lon"), values, {"units": "K"})},
                          {"time": times, "lat": [10.0, 20.0, 30.0, 40.0], "lon": np.arange(6, dtype="float32")})
    data.to_zarr(tmp_path / "a.zarr", encoding={"t2m": {"chunks": (31, 2, 2)}})
    pack(ps.Zarr(tmp_path / "a.zarr", variables=["t2m"], sample_dim="time", isel={"lat": slice(1, 3)}), tmp_path / "b.zarr")
    got = xarray.open_zarr(tmp_path / "b.zarr")  # with the coordinates of what was packed
    xarray.testing.assert_identical(got["t2m"].load(), data["t2m"].isel(lat=slice(1, 3)).load())
    np.testing.assert_array_equal(got["time"], data["time"])


@pytest.mark.parametrize("decodes", [True, False])
def test_packed_numbers_are_kept_as_stored_or_decoded(tmp_path, decodes):
    xarray = pytest.importorskip("xarray")
    values = np.round(values_of("float64", (20, 8)), 2)
    data = xarray.Dataset({"x": (("time", "k"), values)}, {"time": np.arange(20)})
    data.to_zarr(tmp_path / "a.zarr", encoding={"x": {"dtype": "int16", "scale_factor": 0.01, "_FillValue": -9999}})
    pack(ps.Zarr(tmp_path / "a.zarr", sample_dim="time", decode_cf=decodes), tmp_path / "b.zarr")
    stored = zarr.open_group(str(tmp_path / "b.zarr"), mode="r")["x"]
    assert stored.dtype == ("float32" if decodes else "int16")
    got = xarray.open_zarr(tmp_path / "b.zarr")["x"].load()
    np.testing.assert_allclose(got, data["x"], atol=1e-6 if decodes else 1e-12)


def test_joined_stores_with_other_units_have_one_coordinate(tmp_path):
    xarray = pytest.importorskip("xarray")
    parts = []
    for year in (2019, 2020):
        times = np.arange(f"{year}-01-01", f"{year}-01-11", dtype="datetime64[D]").astype("datetime64[ns]")
        data = xarray.Dataset({"x": (("time", "k"), values_of("float32", (10, 3), seed=year))}, {"time": times})
        data.to_zarr(tmp_path / f"{year}.zarr", encoding={"time": {"units": f"days since {year}-01-01"}})
        parts.append(data)
    pack(ps.Zarr(str(tmp_path / "{2019,2020}.zarr"), sample_dim="time"), tmp_path / "b.zarr")
    got, whole = xarray.open_zarr(tmp_path / "b.zarr").load(), xarray.concat(parts, "time")
    np.testing.assert_array_equal(got["time"], whole["time"])
    np.testing.assert_array_equal(got["x"], whole["x"])


def test_windows_that_overlap_are_packed(tmp_path):
    values = values_of("float32", (12, 4))
    write_store(tmp_path / "a.zarr", {"x": values}, {"x": (5, 4)}, {"x": ["time", "k"]})
    source = ps.Zarr(tmp_path / "a.zarr", sample_dim="time", window=([-1, 0], [2]))
    pack(source, tmp_path / "b.zarr", threads=2)
    group = zarr.open_group(str(tmp_path / "b.zarr"), mode="r")
    assert_same(group["x_history"][...], np.stack([values[i - 1:i + 1] for i in range(1, 10)]))
    assert_same(group["x_horizon"][...], np.stack([values[i + 2:i + 3] for i in range(1, 10)]))


def test_backwards_and_listed_entries_are_packed(tmp_path):
    values = values_of("int32", (20, 6, 5))
    write_store(tmp_path / "a.zarr", {"x": values}, {"x": (7, 4, 5)}, {"x": ["time", "lat", "lon"]})
    for number, isel in enumerate([{"time": slice(None, None, -1)}, {"time": [3, 3, 0, 19, 18]}, {"time": slice(1, None, 3)},
                                   {"lat": slice(None, None, -2)}, {"lat": [5, 0, 1]}, {"lon": 2}]):
        pack(ps.Zarr(tmp_path / "a.zarr", sample_dim="time", isel=isel), tmp_path / f"{number}.zarr")
        key = {"time": slice(None), "lat": slice(None), "lon": slice(None), **isel}
        expected = values[key["time"]][:, key["lat"]][..., key["lon"]]
        assert_same(zarr.open_group(str(tmp_path / f"{number}.zarr"), mode="r")["x"][...], expected)


def test_samples_along_a_later_axis_are_packed(tmp_path):
    values = values_of("uint16", (6, 11, 5))
    write_store(tmp_path / "a.zarr", {"x": values}, {"x": (4, 3, 5)}, {"x": ["lat", "time", "lon"]})
    pack(ps.Zarr(tmp_path / "a.zarr", sample_dim="time"), tmp_path / "b.zarr")
    array = zarr.open_group(str(tmp_path / "b.zarr"), mode="r")["x"]
    assert array.metadata.dimension_names == ("time", "lat", "lon")
    assert_same(array[...], values.transpose(1, 0, 2))


def test_npy_samples_subsets_and_labels_are_packed(tmp_path):
    values = values_of("float32", (50, 3, 7))
    np.save(tmp_path / "a.npy", values)
    pack(ps.open_source(tmp_path / "a.npy").subset(range(5, 45, 3)), tmp_path / "b.zarr")
    (name,) = [one for one in zarr.open_group(str(tmp_path / "b.zarr"), mode="r").array_keys()]
    assert_same(zarr.open_group(str(tmp_path / "b.zarr"), mode="r")[name][...], values[5:45:3])


def test_images_and_their_classes_are_packed(tmp_path, classes):
    source = ps.open_source(classes)
    pack(source, tmp_path / "b.zarr", threads=2)
    group = zarr.open_group(str(tmp_path / "b.zarr"), mode="r")
    images, labels = epoch(source, batch_size=5, layout="NHWC")
    assert_same(group["image"][...], images)
    assert_same(group["label"][...], labels)
    assert group["label"].attrs["classes"] == ["ant", "horse", "zebra"]


def test_images_of_different_size_name_the_sample(tmp_path, classes):
    from pictures import save_jpeg, smooth
    save_jpeg(classes / "horse" / "9.jpg", smooth(30, 40, seed=1))
    with pytest.raises(ps.Error, match="one type and shape") as caught:
        pack(ps.open_source(classes), tmp_path / "b.zarr")
    assert caught.value.sample >= 0
    assert not (tmp_path / "b.zarr" / "zarr.json").exists()


def test_a_grid_of_patches_is_packed(tmp_path):
    volume = values_of("uint16", (20, 18, 16))
    np.save(tmp_path / "v.npy", volume)
    source = ps.Patches([tmp_path / "v.npy"], size=(8, 6, 8))
    pack(source, tmp_path / "b.zarr")
    group = zarr.open_group(str(tmp_path / "b.zarr"), mode="r")
    assert group["image"].metadata.dimension_names == ("patch", "z", "y", "x")
    assert group["image"].shape[0] == len(source)
    for patch, (z, y, x) in zip(group["image"][...], group["position"][...]):
        assert_same(patch, volume[z:z + 8, y:y + 6, x:x + 8])
    with pytest.raises(ps.Error, match="grid of patches"):
        pack(ps.Patches([tmp_path / "v.npy"], size=(8, 6, 8), per_epoch=10), tmp_path / "c.zarr")


def test_chunks_of_the_fill_value_are_not_stored(tmp_path):
    values = np.zeros((40, 64, 64), "float32")
    values[7] = 1
    values[20, 0, 0] = -0.0  # not the fill value, byte by byte
    write_store(tmp_path / "a.zarr", {"x": values}, {"x": (10, 64, 64)})
    report = pack(ps.Zarr(tmp_path / "a.zarr"), tmp_path / "b.zarr")
    got = zarr.open_group(str(tmp_path / "b.zarr"), mode="r")["x"][...]
    assert got.tobytes() == values.tobytes()
    assert report.bytes < 4000


def test_bytes_are_equal_for_any_threads_parts_and_memory(tmp_path):
    values = values_of("float32", (61, 30, 40))
    write_store(tmp_path / "a.zarr", {"x": values, "y": values_of("int64", (61,))}, {"x": (61, 7, 9), "y": (61,)},
                {"x": ["time", "lat", "lon"], "y": ["time"]})
    source = ps.Zarr(tmp_path / "a.zarr", variables=["x", "y"], sample_dim="time")
    options = {"shard_size": 7 * 4800, "chunks": {"lat": 16}}
    pack(source, tmp_path / "one", threads=1, memory=256 << 20, **options)
    expected = digest(tmp_path / "one")
    pack(source, tmp_path / "two", threads=4, memory=8 << 20, **options)
    assert digest(tmp_path / "two") == expected
    for part in (2, 0, 1):
        assert not (tmp_path / "three" / "zarr.json").exists()
        pack(source, tmp_path / "three", threads=2, part=(part, 3), **options)
    ps.finish_pack(tmp_path / "three")
    assert digest(tmp_path / "three") == expected


def test_missing_parts_are_named(tmp_path):
    write_store(tmp_path / "a.zarr", {"x": values_of("float32", (30, 50))}, {"x": (5, 50)})
    options = {"shard_size": 2000, "chunks": {"0": 2}}
    for part in (0, 2):
        pack(ps.Zarr(tmp_path / "a.zarr"), tmp_path / "b.zarr", part=(part, 3), **options)
    with pytest.raises(ps.Error, match="shard .* of x is missing"):
        ps.finish_pack(tmp_path / "b.zarr")
    with pytest.raises(ps.Error, match="no packed shards|no such|not found|cannot"):
        ps.finish_pack(tmp_path / "c.zarr")
    assert not (tmp_path / "b.zarr" / "zarr.json").exists()


@pytest.mark.parametrize("damage", ["flip", "truncate", "swap", "remove", "empty"])
def test_a_damaged_shard_is_noticed_and_written_anew(tmp_path, damage):
    write_store(tmp_path / "a.zarr", {"x": values_of("float32", (40, 100))}, {"x": (5, 100)})
    source, target = ps.Zarr(tmp_path / "a.zarr"), tmp_path / "b.zarr"
    options = {"shard_size": 4000, "chunks": {"0": 2}}
    pack(source, target, **options)
    expected = digest(target)
    shard = target / "x" / "c" / "1" / "0"
    content = bytearray(shard.read_bytes())
    if damage == "flip":
        content[len(content) // 3] ^= 4
    elif damage == "swap":
        content = bytearray((tmp_path / "a.zarr" / "x" / "c" / "1" / "0").read_bytes())
    content = b"" if damage == "empty" else content[:-50] if damage == "truncate" else content
    shard.unlink() if damage == "remove" else shard.write_bytes(content)
    report = pack(source, target, **options)
    assert digest(target) == expected
    assert report.shards == 1 and report.shards_skipped == 3


def test_another_pack_in_the_destination_is_refused(tmp_path):
    write_store(tmp_path / "a.zarr", {"x": values_of("float32", (40, 100))}, {"x": (5, 100)})
    source = ps.Zarr(tmp_path / "a.zarr")
    pack(source, tmp_path / "b.zarr")
    for options in ({"level": 5}, {"chunks": {"0": 2}}, {"chunks": {"0": 4}, "shard_size": 4000}):
        with pytest.raises(ps.Error, match="other options"):
            pack(source, tmp_path / "b.zarr", **options)
    with pytest.raises(ps.Error, match="other data"):
        pack(source, tmp_path / "a.zarr")


def test_wrong_options_name_the_right_ones(tmp_path):
    write_store(tmp_path / "a.zarr", {"x": values_of("float32", (40, 100))}, {"x": (5, 100)}, {"x": ["time", "lat"]})
    source = ps.Zarr(tmp_path / "a.zarr", sample_dim="time")
    for options, message in [({"chunks": {"lta": 5}}, 'did you mean "lat"'), ({"level": 23}, "level"),
                             ({"part": (3, 3)}, "too large"), ({"shard_size": 0}, "size"),
                             ({"fields": ["y"]}, "no field"), ({"memory": 1 << 20}, "at least .* MiB")]:
        with pytest.raises((ps.Error, ValueError), match=message):
            pack(source, tmp_path / "b.zarr", **options)


def test_each_chunk_is_decoded_once_when_memory_allows_and_never_more_than_the_passes(tmp_path):
    values = values_of("float32", (200, 40, 40))  # chunks contiguous in time, 1.28 MB in all
    write_store(tmp_path / "a.zarr", {"x": values}, {"x": (200, 10, 10)}, {"x": ["time", "lat", "lon"]})
    source = ps.Zarr(tmp_path / "a.zarr", sample_dim="time")
    report = pack(source, tmp_path / "b.zarr", memory=64 << 20, threads=2)
    assert report.chunks_decoded == 16
    # Shards of 50 samples, 320 KB each, in passes that the budget divides.
    tight = pack(source, tmp_path / "c.zarr", memory=11 << 19, shard_size=50 * 6400, threads=1)
    passes = tight.chunks_decoded / 16
    assert 1 <= passes <= 4 and passes == int(passes)
    assert tight.peak_memory <= 11 << 19
    assert_same(zarr.open_group(str(tmp_path / "c.zarr"), mode="r")["x"][...], values)


def test_a_shard_larger_than_memory_is_written_slab_by_slab(tmp_path):
    values = values_of("float32", (400, 64, 64))  # 6.5 MB in one shard
    write_store(tmp_path / "a.zarr", {"x": values}, {"x": (25, 64, 64)}, {"x": ["time", "lat", "lon"]})
    source = ps.Zarr(tmp_path / "a.zarr", sample_dim="time")
    report = pack(source, tmp_path / "b.zarr", memory=7 << 20, threads=1, chunks={"time": 10})
    assert report.shards == 1 and report.peak_memory <= 7 << 20
    pack(source, tmp_path / "c.zarr", threads=2, chunks={"time": 10})
    assert digest(tmp_path / "b.zarr") == digest(tmp_path / "c.zarr")


PACK_AND_DIE = """
import sys
import penstock as ps
ps.pack(ps.Zarr(sys.argv[1], sample_dim="time"), sys.argv[2], "zarr", shard_size=120000, threads=2)
"""


def test_killed_packs_resume_to_the_same_bytes(tmp_path):
    rounds = int(os.environ.get("PENSTOCK_KILLS", 12))
    values = values_of("float32", (300, 40, 50))
    write_store(tmp_path / "a.zarr", {"x": values}, {"x": (60, 20, 50)}, {"x": ["time", "lat", "lon"]})
    source = ps.Zarr(tmp_path / "a.zarr", sample_dim="time")
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", PACK_AND_DIE, str(tmp_path / "a.zarr"), str(tmp_path / "whole")], check=True)
    taken = time.monotonic() - began
    expected = digest(tmp_path / "whole")
    draw = random.Random(5)
    target = tmp_path / "killed"
    killed = 0
    for _ in range(rounds):
        process = subprocess.Popen([sys.executable, "-c", PACK_AND_DIE, str(tmp_path / "a.zarr"), str(target)])
        try:
            process.wait(draw.uniform(0.2, 1.1) * taken)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            killed += 1
        if (target / "zarr.json").exists():  # done: everybody may open it, and it is whole
            assert_same(zarr.open_group(str(target), mode="r")["x"][...], values)
            for path in target.rglob("*.tmp"):
                path.unlink()
            assert digest(target) == expected
            subprocess.run(["rm", "-r", str(target)], check=True)
    pack(source, target, shard_size=120000, threads=2)
    for path in target.rglob("*.tmp"):
        path.unlink()
    assert digest(target) == expected and killed > 0


def test_a_full_disk_is_an_error_and_packing_goes_on_with_more_space(tmp_path):
    values = values_of("float32", (64, 100, 100))  # 2.5 MB that hardly compress
    write_store(tmp_path / "a.zarr", {"x": values}, {"x": (16, 100, 100)})
    source, disk = ps.Zarr(tmp_path / "a.zarr"), tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(disk)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        with pytest.raises(ps.Error, match="[Nn]o space left") as caught:
            pack(source, disk / "b.zarr", shard_size=8 * 40000)
        assert "b.zarr" in caught.value.uri
        assert not (disk / "b.zarr" / "zarr.json").exists() and not list(disk.rglob("*.tmp"))
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        assert pack(source, disk / "b.zarr", shard_size=8 * 40000).shards_skipped > 0
        assert_same(zarr.open_group(str(disk / "b.zarr"), mode="r")["x"][...], values)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_distant_source_is_packed(tmp_path):
    from http_faults import serve
    values = values_of("float32", (40, 20, 30))
    write_store(tmp_path / "a.zarr", {"x": values}, {"x": (10, 10, 30)}, {"x": ["time", "lat", "lon"]})
    zarr.consolidate_metadata(str(tmp_path / "a.zarr"))
    with serve(tmp_path) as server:
        pack(ps.Zarr(f"{server.url}/a.zarr", sample_dim="time"), tmp_path / "b.zarr", memory="256MiB")
    assert_same(zarr.open_group(str(tmp_path / "b.zarr"), mode="r")["x"][...], values)


def test_verify_finds_a_damaged_chunk(tmp_path):
    write_store(tmp_path / "a.zarr", {"x": values_of("float32", (40, 100))}, {"x": (5, 100)})
    pack(ps.Zarr(tmp_path / "a.zarr"), tmp_path / "b.zarr", chunks=[4, 100])
    shard = tmp_path / "b.zarr" / "x" / "c" / "0" / "0"
    content = bytearray(shard.read_bytes())
    content[1000] ^= 1
    shard.write_bytes(content)
    with pytest.raises(ps.Error, match="crc32c"):
        epoch(ps.Zarr(tmp_path / "b.zarr"), fields=["x"])


def test_a_shuffled_pack_keeps_times_with_their_samples(tmp_path):
    xarray = pytest.importorskip("xarray")
    values = values_of("float32", (50, 4))
    data = xarray.Dataset({"x": (("time", "k"), values)}, {"time": np.arange(50)})
    data.to_zarr(tmp_path / "a.zarr", encoding={"x": {"chunks": (10, 4)}})
    pack(ps.Zarr(tmp_path / "a.zarr", sample_dim="time"), tmp_path / "b.zarr", shuffle_seed=3)
    got = xarray.open_zarr(tmp_path / "b.zarr").load()
    assert list(got["time"].values) != list(range(50)) and sorted(got["time"].values) == list(range(50))
    np.testing.assert_array_equal(got["x"], values[got["time"].values])


def test_transforms_run_before_and_random_ones_are_refused(tmp_path, classes):
    pack(classes, tmp_path / "b.zarr", transform=[ps.Resize((30, 40))])
    (images, _) = epoch(ps.open_source(classes), batch_size=4, layout="NHWC", transform=[ps.Resize((30, 40))])
    assert_same(zarr.open_group(str(tmp_path / "b.zarr"), mode="r")["image"][...], images)
    with pytest.raises(ps.Error, match="other options"):
        pack(classes, tmp_path / "b.zarr", transform=[ps.Resize((30, 40), "bicubic")])
    with pytest.raises((ps.Error, ValueError), match="random"):
        pack(classes, tmp_path / "c.zarr", transform=[ps.RandomCrop(20)])


def test_peak_memory_stays_under_the_budget(tmp_path):
    values = values_of("float32", (240, 256, 256))  # 63 MB
    write_store(tmp_path / "a.zarr", {"x": values}, {"x": (240, 32, 64)}, {"x": ["time", "lat", "lon"]})
    code = """
import sys
import penstock as ps
def peak():  # not ru_maxrss, which a process inherits from the one that started it
    return [int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")][0] * 1024
source = ps.Zarr(sys.argv[1], sample_dim="time")
before = peak()
report = ps.pack(source, sys.argv[2], "zarr", memory="32MiB", threads=2)
print(peak() - before, report.chunks_decoded / 32)
"""
    out = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.zarr"), str(tmp_path / "b.zarr")], check=True,
                         capture_output=True, text=True).stdout.split()
    assert int(out[0]) <= 1.1 * (32 << 20)
    assert float(out[1]) <= 240 / 20  # a pass has at least 20 samples
    assert_same(zarr.open_group(str(tmp_path / "b.zarr"), mode="r")["x"][...], values)


def test_the_metadata_is_plain_zarr_3(tmp_path):
    write_store(tmp_path / "a.zarr", {"x": values_of("float32", (40, 100))}, {"x": (5, 100)})
    pack(ps.Zarr(tmp_path / "a.zarr"), tmp_path / "b.zarr")
    node = json.loads((tmp_path / "b.zarr" / "x" / "zarr.json").read_text())
    sharding = node["codecs"][0]["configuration"]
    assert [codec["name"] for codec in sharding["codecs"]] == ["bytes", "zstd", "crc32c"]
    assert sharding["index_location"] == "end" and sharding["chunk_shape"] == [128, 100]
    root = json.loads((tmp_path / "b.zarr" / "zarr.json").read_text())
    assert root["consolidated_metadata"]["metadata"]["x"] == node
