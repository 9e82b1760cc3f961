"""What stats() and tiers() return has exactly the keys, and the types, that penstock.stats declares."""

import ast
import pathlib
import types
import typing

import numpy as np
import pytest

import penstock as ps
import penstock.stats
from pictures import save_png


def check(value, declared, where):
    """Compares a value with a declared type: all keys of dicts, all items of lists, plain types."""
    if typing.is_typeddict(declared):
        hints = typing.get_type_hints(declared)
        assert set(value) == set(hints), where
        for key, hint in hints.items():
            check(value[key], hint, f"{where}[{key!r}]")
        return
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if origin is list:
        for item in value:
            check(item, arguments[0], f"{where}[...]")
    elif origin is dict:
        for key, item in value.items():
            check(key, arguments[0], where)
            check(item, arguments[1], f"{where}[{key!r}]")
    elif origin in (types.UnionType, typing.Union):
        assert type(value) in arguments, where
    else:
        assert type(value) is declared, where


@pytest.fixture
def damaged(tmp_path):
    for i in range(12):
        save_png(tmp_path / "data" / f"{i:03}.png", np.full((8, 9, 3), i, np.uint8))
    (tmp_path / "data" / "005.png").write_bytes(b"no picture")
    return tmp_path / "data"


def test_stats_have_the_declared_keys(damaged, tmp_path):
    with ps.Cache(ram="8MiB", disk=f"{tmp_path}/cache:8MiB") as cache, \
            ps.Loader(damaged, batch_size=3, on_error="skip", max_skip=0.5, cache=cache, output="numpy") as loader:
        check(loader.stats(), ps.LoaderStats, "stats before the first epoch")
        for _ in range(2):
            list(loader)
        stats = loader.stats()
        check(stats, ps.LoaderStats, "stats")
        assert stats["errors"] and len(stats["epochs"]) == 2
        assert set(stats["cache"]["tiers"]) == set(stats["epochs"][0]["cache"]["tiers"]) == {"ram", "disk"}
        check(cache.tiers(), dict[str, penstock.stats.TierState], "tiers")


def test_stats_of_arrays_and_without_a_cache(tmp_path):
    np.save(tmp_path / "volume.npy", np.zeros((16, 16, 16), np.float32))
    with ps.Loader(ps.Patches(tmp_path / "volume.npy", (4, 4, 4), per_epoch=20), batch_size=5, output="numpy") as loader:
        list(loader)
        check(loader.stats(), ps.LoaderStats, "stats")


def test_every_key_is_documented():
    tree = ast.parse(pathlib.Path(penstock.stats.__file__).read_text())
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert sorted(node.name for node in classes) == penstock.stats.__all__
    for node in classes:
        assert ast.get_docstring(node), node.name
        keys = [i for i, part in enumerate(node.body) if isinstance(part, ast.AnnAssign)]
        for i in keys:
            text = node.body[i + 1].value if i + 1 < len(node.body) and isinstance(node.body[i + 1], ast.Expr) else None
            assert isinstance(getattr(text, "value", None), str), f"{node.name}.{node.body[i].target.id}"
