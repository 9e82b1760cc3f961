"""Helpers of the tests of arrays: writers, raw stores, epochs as arrays."""

import json
import pathlib

import numpy as np

import penstock as ps


def make_loader(source, **options):
    return ps.Loader(source, **({"output": "numpy", "threads": 2, "memory": "64MiB"} | options))


def epoch(source, **options):
    """One epoch; fields put together again, in the order they came."""
    with make_loader(source, **options) as loader:
        batches = [batch if isinstance(batch, tuple) else (batch,) for batch in loader]
    fields = [np.concatenate([np.asarray(part) for part in parts]) for parts in zip(*batches)]
    return fields[0] if len(fields) == 1 else tuple(fields)


def keyed_epoch(source, fields=("array",), **options):
    """{key: value} or {key: (values)} of one epoch; fails where a key comes twice."""
    out = {}
    with make_loader(source, fields=[*fields, "key"], **options) as loader:
        for *values, keys in loader:
            for key, *sample in zip(keys, *values):
                assert key not in out, f"sample {key} came twice"
                out[key] = sample[0] if len(sample) == 1 else tuple(sample)
    return out


def in_order(samples):
    return np.stack([samples[key] for key in sorted(samples, key=int)])


def same(got, expected):
    """Element by element, with the type; not-a-number equals itself."""
    got, expected = np.asarray(got), np.asarray(expected)
    native = expected.astype(expected.dtype.newbyteorder("="))
    return got.dtype == native.dtype and got.shape == native.shape and np.array_equal(
        got, native, equal_nan=native.dtype.kind in "fc")


def assert_same(got, expected):
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype.newbyteorder("=") and got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)


def write_zarr(path, data, chunks, version=3, names=None, attributes=None, **keywords):
    """Writes the array with zarr-python; returns the path."""
    import zarr

    if names and version == 3:
        keywords["dimension_names"] = names
    if names and version == 2:
        attributes = {"_ARRAY_DIMENSIONS": list(names)} | (attributes or {})
    array = zarr.create_array(str(path), shape=data.shape, chunks=chunks, dtype=data.dtype, zarr_format=version,
                              **({"compressors": None} | keywords), overwrite=True)
    array[...] = data
    if attributes:
        array.attrs.update(attributes)
    return path


def write_raw_v2(path, shape, chunks, dtype="<i4", files=None, **metadata):
    """Metadata by hand, and chunks as the bytes given: {"0.0": b"..."}."""
    path = pathlib.Path(path)
    path.mkdir(parents=True, exist_ok=True)
    (path / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": list(shape), "chunks": list(chunks), "dtype": dtype, "compressor": None,
        "filters": None, "fill_value": 0, "order": "C"} | metadata))
    for name, content in (files or {}).items():
        (path / name).write_bytes(content)
    return path


def write_raw_v3(path, shape, chunks, data_type="int32", codecs=None, files=None, **metadata):
    path = pathlib.Path(path)
    path.mkdir(parents=True, exist_ok=True)
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    (path / "zarr.json").write_text(json.dumps({
        "zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": data_type, "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs or [little], "attributes": {}} | metadata))
    for name, content in (files or {}).items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)
    return path


def assert_one_line(error):
    assert "\n" not in str(error) and str(error)
