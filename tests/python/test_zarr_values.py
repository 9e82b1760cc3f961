"""Values of Zarr arrays: marks of missing values, stacks of variables, types that do not mix."""

import json
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from zarr_writers import assert_same, epoch

zarr = pytest.importorskip("zarr")
VALUES = np.array([[0, 1e4, -9999.9, 0.1, 3], [5, 0.1, 2, 1e4, -1]])


def marked_store(folder, dtype, mark, **attributes):
    group = zarr.open_group(str(folder), mode="w", zarr_format=2)
    array = group.create_array("v", shape=VALUES.shape, dtype=dtype, chunks=VALUES.shape, fill_value=0)
    array[...] = VALUES.astype(dtype)
    array.attrs.update({"_ARRAY_DIMENSIONS": ["t", "x"], "missing_value": mark, **attributes})
    return array[...]


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f2", "<f8", ">f8"])
@pytest.mark.parametrize("mark", [1e4, -9999.9, 0.1, 3])
def test_marks_are_found_however_the_elements_are_copied(tmp_path, dtype, mark):
    stored = marked_store(tmp_path / "g", dtype, mark)
    wanted = np.where(stored == np.dtype(dtype).type(mark), np.nan, stored.astype(np.float64))
    wanted = wanted.astype(np.float64 if np.dtype(dtype).itemsize == 8 else np.float32)
    assert np.isnan(wanted).any()
    assert_same(epoch(ps.Zarr(tmp_path / "g", ["v"], "t")), wanted)
    assert_same(epoch(ps.Zarr(tmp_path / "g", ["v"], "t", isel={"x": slice(1, None, 2)})), wanted[:, 1::2])
    assert_same(epoch(ps.Zarr(tmp_path / "g", ["v"], "t", nan=7.0)),
                np.where(np.isnan(wanted), wanted.dtype.type(7), wanted))
    with pytest.raises(ps.Error, match="missing"):
        epoch(ps.Zarr(tmp_path / "g", ["v"], "t", nan="error"))


@pytest.mark.parametrize("mark", [65535, -32769, 1e20, 0.5, 2.0**63])
def test_marks_that_a_type_cannot_hold_mark_nothing(tmp_path, mark):
    group = zarr.open_group(str(tmp_path / "g"), mode="w", zarr_format=3)
    data = np.array([[0, 1, -1, 5], [2, 3, -1, 0]], np.int16)
    group.create_array("v", shape=data.shape, dtype="i2", chunks=data.shape, dimension_names=["t", "x"],
                       attributes={"missing_value": mark, "scale_factor": 2.0})[...] = data
    assert_same(epoch(ps.Zarr(tmp_path / "g", ["v"], "t")), (2.0 * data).astype(np.float32))


def test_unsigned_numbers_in_disguise_are_refused(tmp_path):
    marked_store(tmp_path / "g", "<i2", 7, _Unsigned="true")
    with pytest.raises(ps.Error, match="_Unsigned"):
        ps.Zarr(tmp_path / "g", ["v"], "t")
    assert epoch(ps.Zarr(tmp_path / "g", ["v"], "t", decode_cf=False)).dtype == np.int16


@pytest.mark.parametrize("chunks", [(5, 3, 4, 6, 7), (2, 2, 3, 6, 4), (1, 1, 1, 6, 7)])
@pytest.mark.parametrize("window", [None, (1, 2)])
def test_stacked_axes_before_the_last_two_are_channels(tmp_path, chunks, window):
    rng = np.random.default_rng(0)
    a, b = rng.random((5, 3, 4, 6, 7), np.float32), rng.random((5, 6, 7), np.float32)
    group = zarr.open_group(str(tmp_path / "g"), mode="w")
    for name, data, own, names in (("a", a, chunks, ["time", "ens", "level", "y", "x"]),
                                   ("b", b, (2, 6, 7), ["time", "y", "x"])):
        group.create_array(name, shape=data.shape, dtype="f4", chunks=own, dimension_names=names)[...] = data
    full = np.concatenate([b[:, None], a.reshape(5, 12, 6, 7)], 1)
    means = np.arange(13.0)
    source = ps.Zarr(tmp_path / "g", ["b", "a"], "time", stack="s", window=window)
    batches = list(ps.Loader(source, batch_size=2, output="numpy"))
    if window is None:
        assert_same(np.concatenate(batches), full)
        normal = list(ps.Loader(source, batch_size=2, output="numpy", transform=[ps.Normalize(means, means + 1)]))
        wanted = (full - means[:, None, None]) / (means + 1)[:, None, None]
        np.testing.assert_allclose(np.concatenate(normal), wanted, rtol=1e-5, atol=1e-6)
    else:
        assert_same(np.concatenate([batch[0] for batch in batches]), np.stack([full[i:i + 1] for i in range(3)]))
        assert_same(np.concatenate([batch[1] for batch in batches]), np.stack([full[i + 1:i + 3] for i in range(3)]))


def test_stacks_that_make_no_sense_are_refused(tmp_path):
    group = zarr.open_group(str(tmp_path / "g"), mode="w")
    for name, dtype, names in (("f", "f4", "tyx"), ("turned", "f4", "txy"), ("c", "c8", "tyx")):
        group.create_array(name, shape=(2, 3, 3), dtype=dtype, chunks=(2, 3, 3), dimension_names=list(names))[...] = 1
    with pytest.raises(ps.UsageError, match="dimensions"):
        ps.Zarr(tmp_path / "g", ["f", "turned"], "t", stack=True)
    with pytest.raises(ps.UsageError, match="complex"):
        ps.Zarr(tmp_path / "g", ["f", "c"], "t", stack=True)
    with pytest.raises(ps.Error, match="complex"):
        epoch(ps.Zarr(tmp_path / "g", ["c"], "t"), transform=[ps.Normalize(0.0, 1.0)])


@pytest.mark.parametrize("damage", ["not well formed", "is not known"])
def test_an_array_that_cannot_be_opened_is_not_left_out_silently(tmp_path, damage):
    group = zarr.open_group(str(tmp_path / "g"), mode="w")
    for name in "ab":
        group.create_array(name, shape=(4, 3), dtype="f4", chunks=(2, 3), dimension_names=["t", "x"])[...] = 1
    file = tmp_path / "g" / "b" / "zarr.json"
    metadata = json.loads(file.read_text())
    metadata["codecs"].append({"name": "zfp"})
    file.write_text(json.dumps(metadata) if damage == "is not known" else "{ broken")
    with pytest.raises(ps.Error, match=damage):
        ps.Zarr(tmp_path / "g", sample_dim="t")
    assert epoch(ps.Zarr(tmp_path / "g", ["a"], "t")).shape == (4, 3)


def test_coordinates_of_a_nested_group(tmp_path):
    group = zarr.open_group(str(tmp_path / "g"), mode="w").create_group("model").create_group("sub")
    data = np.arange(12, dtype=np.float32).reshape(4, 3)
    group.create_array("u", shape=(4, 3), dtype="f4", chunks=(2, 3), dimension_names=["time", "x"])[...] = data
    group.create_array("time", shape=(4,), dtype="i8", dimension_names=["time"],
                       attributes={"units": "days since 2020-01-01"})[...] = np.arange(4)
    assert list(ps.Zarr(tmp_path / "g", sample_dim="time").fields) == ["model/sub/u"]
    chosen = ps.Zarr(tmp_path / "g", ["model/sub/u"], "time", select={"time": ("2020-01-02", "2020-01-03")})
    assert_same(epoch(chosen), data[1:3])


def test_ends_of_slices_are_cut_as_everywhere(tmp_path):
    data = np.arange(12, dtype=np.float32).reshape(4, 3)
    zarr.create_array(str(tmp_path / "a"), shape=(4, 3), dtype="f4", chunks=(2, 3))[...] = data
    assert_same(epoch(ps.Zarr(tmp_path / "a", isel={1: slice(-10**30, 10**30)})), data)
    with pytest.raises(ValueError, match="isel 1"):
        ps.Zarr(tmp_path / "a", isel={1: 10**30})
    with pytest.raises(TypeError, match="isel 1"):
        ps.Zarr(tmp_path / "a", isel={1: np.arange(3.0)})


# -- memory ----------------------------------------------------------------------------------------


def test_a_budget_that_is_asked_for_is_enough(tmp_path):
    data = np.random.default_rng(0).random((4, 1024, 1024), np.float32)
    zarr.create_array(str(tmp_path / "a"), shape=data.shape, chunks=data.shape, dtype="f4", zarr_format=2)[...] = data
    for isel in ({}, {1: slice(0, 8)}):
        with pytest.raises(ps.MemoryBudgetError) as caught:
            epoch(ps.Zarr(tmp_path / "a", isel=isel), memory="20MiB", threads=2)
        asked = int(str(caught.value).split("at least ")[1].split(" MiB")[0])
        assert asked < 150
        wanted = data[:, :8] if isel else data
        assert_same(epoch(ps.Zarr(tmp_path / "a", isel=isel), memory=f"{asked}MiB", threads=2), wanted)


PEAK = """
import penstock as ps
try:
    {code}
except ps.MemoryBudgetError as error:
    print("refused", error)
# Not getrusage(), which begins with what the parent had.
print(next(int(line.split()[1]) // 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def peak_mib(code):
    done = subprocess.run([sys.executable, "-c", PEAK.format(code=code)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    *said, peak = done.stdout.splitlines()
    return int(peak), "\n".join(said)


def test_a_sample_of_countless_chunks_is_refused(tmp_path):
    (tmp_path / ".zarray").write_text(json.dumps(
        {"zarr_format": 2, "shape": [4, 100_000, 100_000], "chunks": [1, 1, 1], "dtype": "|u1", "compressor": None,
         "fill_value": 1, "order": "C", "filters": None}))
    peak, said = peak_mib(f"ps.Loader(ps.Zarr({str(tmp_path)!r}), batch_size=1, memory='16GiB', output='numpy')")
    assert "10000000000 chunks" in said and peak < 300


def test_foreground_everywhere_takes_little_memory(tmp_path):
    for name in ("image", "label"):
        zarr.create_array(str(tmp_path / name), shape=(256,) * 3, chunks=(16,) * 3, dtype="u1", fill_value=1)
    image, label = str(tmp_path / "image"), str(tmp_path / "label")
    before, _ = peak_mib("pass")
    peak, said = peak_mib(f"ps.Patches({image!r}, (16, 16, 16), per_epoch=64, labels={label!r}, min_foreground=0.01)")
    assert said == "" and peak - before < 100
