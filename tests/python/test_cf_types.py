"""The types and digits of scaled and masked variables, against what xarray reads."""

import itertools
import json

import numpy as np
import pytest

import penstock as ps
from zarr_writers import assert_same, epoch, write_zarr

xr = pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # xarray warns of marks that cannot occur

STORED = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", ">i4", ">f8")
PACKING = ({}, {"scale_factor": 0.25}, {"scale_factor": 1.0}, {"scale_factor": 3}, {"add_offset": 7.5},
           {"add_offset": 1000}, {"scale_factor": 0.1, "add_offset": 273.15}, {"scale_factor": 2, "add_offset": 5},
           {"scale_factor": 0.5, "add_offset": 3})
MARKS = ({}, {"_FillValue": "largest"}, {"missing_value": "largest"}, {"_FillValue": "lowest", "missing_value": 11})


def stored_values(dtype):
    kind = np.dtype(dtype)
    if kind.kind == "f":
        info, values = np.finfo(kind), np.random.default_rng(0).normal(0, 1000, 24)
        lowest, largest = float(info.min), float(info.max)
    else:
        info = np.iinfo(kind)
        lowest, largest = int(info.min), int(info.max)
        values = np.random.default_rng(0).integers(lowest, largest, 24, dtype=kind.newbyteorder("="), endpoint=True)
        values[8:16] = np.arange(7, 15)
    values = values.astype(kind)
    values[[2, 5]] = lowest
    values[[3, 21]] = largest
    return values.reshape(6, 4), {"lowest": lowest, "largest": largest}


def write_variable(path, dtype, attributes, version=3):
    import zarr

    values, ends = stored_values(dtype)
    attributes = {name: ends.get(value, value) for name, value in attributes.items()}
    zarr.create_group(path, zarr_format=version)
    write_zarr(path / "v", values, (4, 3), version=version, names=["t", "x"], fill_value=None if version == 2 else 0)
    # zarr-python refuses some of these numbers, and xarray reads what other programs wrote.
    metadata = path / "v" / (".zattrs" if version == 2 else "zarr.json")
    if version == 2:
        metadata.write_text(json.dumps({"_ARRAY_DIMENSIONS": ["t", "x"]} | attributes))
    else:
        fields = json.loads(metadata.read_text())
        metadata.write_text(json.dumps(fields | {"attributes": attributes}))
    return values


def xarrays(path):
    with xr.open_dataset(path, engine="zarr", consolidated=False) as data:
        return data["v"].values


@pytest.mark.parametrize("dtype", STORED)
def test_types_and_values_are_those_of_xarray(tmp_path, dtype):
    kind = np.dtype(dtype)
    compared = 0
    for number, (packing, marks) in enumerate(itertools.product(PACKING, MARKS)):
        path = tmp_path / f"{number}.zarr"
        # xarray takes numbers in version 3 for base64 where the variable is of floats.
        version = 2
        write_variable(path, dtype, packing | marks, version)
        got = epoch(ps.Zarr(path, ["v"], "t"), batch_size=4)
        try:
            expected = xarrays(path)
        except (ValueError, OverflowError):  # integers scaled by an integer cannot hold not-a-number
            continue
        compared += 1
        if kind.kind in "iu" and kind.itemsize > 2:
            assert_same(got, expected)
        elif kind.itemsize == 8:
            assert got.dtype == np.float64
            if np.asarray(packing.get("scale_factor", 0.5)).dtype.kind == "f" or "add_offset" in packing:
                np.testing.assert_array_equal(got, expected)  # else xarray cuts the fractions off
        else:  # float32 holds whatever 16 bits held
            trivial = not marks and packing in ({}, {"scale_factor": 1.0})
            assert got.dtype == (kind.newbyteorder("=") if trivial else np.float32)
            if kind.kind in "iu":
                np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-4)
            elif not packing:
                np.testing.assert_array_equal(got, expected)
    assert compared > len(PACKING) * len(MARKS) // 2


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_hourly_time_stamps_keep_their_digits(tmp_path, version, dtype):
    hours = np.arange(1_060_000, 1_060_024, dtype=dtype) * (1 if dtype == "int32" else 3_600_000)
    data = xr.Dataset({"stamp": ("t", hours), "field": (("t", "x"), np.zeros((24, 2), "f4"))})
    data.to_zarr(tmp_path / "a.zarr", zarr_format=version, encoding={"stamp": {"_FillValue": -1}})
    with xr.open_dataset(tmp_path / "a.zarr", engine="zarr") as read:
        expected = read["stamp"].values
    got = epoch(ps.Zarr(tmp_path / "a.zarr", ["stamp"], "t"))
    assert_same(got, expected)
    assert got.dtype == np.float64 and (np.diff(got) == np.diff(hours)).all()


@pytest.mark.parametrize("mark", [-2**63, 2**63 - 1, 2**53 + 1])
def test_marks_beyond_the_integers_that_a_double_holds(tmp_path, mark):
    values = np.array([[mark, 0, 5, 2**53 + 1], [2**63 - 1, -2**63, 2**53, 7]], dtype="int64")
    data = xr.Dataset({"v": (("t", "x"), values)})
    data.to_zarr(tmp_path / "a.zarr", zarr_format=2, encoding={"v": {"_FillValue": mark}})
    with xr.open_dataset(tmp_path / "a.zarr", engine="zarr") as read:
        assert_same(epoch(ps.Zarr(tmp_path / "a.zarr", ["v"], "t")), read["v"].values)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int16"])
@pytest.mark.parametrize("nan", [0.1, "error"])
def test_values_that_are_looked_through_for_nan_keep_their_type(tmp_path, dtype, nan):
    values = np.random.default_rng(0).integers(0, 1 << 14, (6, 4)).astype(dtype)
    values = values / np.dtype(dtype).type(3) if dtype.startswith("float") else values
    if nan != "error":
        values[2, 1] = -9
    write_zarr(tmp_path / "a", values, (2, 4), attributes={"_FillValue": -9})
    got = epoch(ps.Zarr(tmp_path / "a", nan=nan))
    to = {"int32": "float64", "int16": "float32"}.get(dtype, dtype)
    assert_same(got, np.where(values == -9, np.dtype(to).type(0 if nan == "error" else nan), values.astype(to)))


@pytest.mark.parametrize("types", list(itertools.combinations(STORED[:10] + ("bool", "float16"), 2)))
def test_a_stack_has_the_type_that_numpy_chooses(tmp_path, types):
    import zarr

    path = tmp_path / "g.zarr"
    zarr.create_group(path)
    parts = []
    for name, dtype in zip("ab", types):
        ends = (0, 1) if dtype == "bool" else (0, 100)
        parts.append(np.random.default_rng(1).integers(*ends, (3, 2, 2), endpoint=True).astype(dtype))
        write_zarr(path / name, parts[-1], (3, 2, 2), names=["t", "y", "x"])
    assert_same(epoch(ps.Zarr(path, ["a", "b"], "t", stack=True)), np.stack(parts, 1))
