"""Helpers of the tests of packing."""

import hashlib
import pathlib
import tarfile

import numpy as np

import penstock as ps


OPTIONAL = ("extra.txt",)  # fields of the tests that only some samples have


def sample(source, number):
    """One sample as a dict, however many fields the source has."""
    found = source[number]
    names = [name for name in source.fields if name not in OPTIONAL]
    values = found if isinstance(found, tuple) else (found,)
    return {name: np.asarray(value) if hasattr(value, "shape") else value for name, value in zip(names, values)}


def keys_of(source):
    opened = ps.open_source(source)
    return [batch[0] for batch in ps.Loader(opened, batch_size=1, fields=["key"], output="numpy")]


def same_value(one, other):
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        one, other = np.asarray(one), np.asarray(other)
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


def assert_same_samples(one, other):
    """The same fields, classes, keys and values in the same order."""
    one, other = ps.open_source(one), ps.open_source(other)
    assert dict(one.fields) == dict(other.fields)
    assert list(one.fields) == list(other.fields)
    assert list(one.classes or []) == list(other.classes or [])
    assert len(one) == len(other)
    for number in range(len(one)):
        a, b = sample(one, number), sample(other, number)
        assert a.keys() == b.keys(), number
        for name in a:
            assert same_value(a[name], b[name]), (number, name, a[name], b[name])
    assert keys_of(one) == keys_of(other)


def files_of(folder):
    """The digest of each file, without what killed runs leave."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(pathlib.Path(folder).iterdir()) if not path.name.endswith(".tmp")}


def members_of(folder):
    """The members of all tars, by Python's own module: (name, bytes) in order."""
    found = []
    for path in sorted(pathlib.Path(folder).glob("*.tar")):
        with tarfile.open(path) as archive:
            found += [(member.name, archive.extractfile(member).read()) for member in archive]
    return found
