"""Checks of the arguments of a Loader, and their translation into the words of the engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from ..arguments import choice, shown, whole_number
from ..errors import UsageError
from ..sources import Source
from ..transforms import Derive, dtype_name

Shuffle: TypeAlias = bool | Literal["full", "window"]
OnError: TypeAlias = Literal["raise", "skip", "replace"]
CacheForm: TypeAlias = Literal["auto", "encoded", "decoded"]
Collate: TypeAlias = Literal["stack", "pad", "list"] | Callable[[list[Any]], Any]
Layout: TypeAlias = Literal["NCHW", "NHWC", "channels_last"]
Output: TypeAlias = Literal["torch", "numpy", "jax", "dlpack"]


def checked_collate(collate: Any) -> str:
    """Returns the engine's word. The function of a user gets the samples as a list."""
    if callable(collate):
        return "list"
    message = f'collate={shown(collate)}: wants "stack", "pad", "list" or a function'
    if not isinstance(collate, str):
        raise TypeError(message)
    if collate not in ("stack", "pad", "list"):
        raise ValueError(message)
    return collate


def checked_layout(layout: Any, output: str) -> str:
    """Returns the layout. "channels_last" exists for torch alone."""
    word = choice("layout", layout, ("NCHW", "NHWC", "channels_last"))
    if word == "channels_last" and output != "torch":
        raise ValueError('layout="channels_last" is torch\'s; use "NHWC"')
    return word


def checked_dtype(dtype: Any, output: str) -> str | None:
    """Returns the name of the type, or None where each field keeps its type."""
    if dtype is None:
        return None
    name = dtype_name("dtype", dtype)
    if name == "bfloat16" and output == "numpy":
        raise ValueError('NumPy has no bfloat16; use output="torch" or "jax", or dtype="float16"')
    return name


def checked_device(device: Any) -> None:
    """Raises an error for every device but the processor."""
    if str(device) != "cpu":
        raise ValueError(f"device={device!r}: this version delivers to \"cpu\"")


def count_or_default(keyword: str, value: Any) -> int:
    """Returns a number of at least 1, or 0 for None, by which the engine chooses."""
    return 0 if value is None else whole_number(keyword, value, 1)


def field_names(fields: Any) -> tuple[list[str], dict[str, str]]:
    """Returns the names that a batch has, in order, and the field of the source for each name that is new."""
    if fields is None:
        return [], {}
    if isinstance(fields, str):
        raise TypeError(f"fields={fields!r}: wants a list, [{fields!r}]")
    if not hasattr(fields, "__iter__"):
        raise TypeError(f'fields={shown(fields)}: wants a list of names, or a dict {{"new name": "field"}}')
    renamed = dict(fields) if isinstance(fields, Mapping) else {}
    names = list(fields)
    for name in (*names, *renamed.values()):
        if not isinstance(name, str):
            raise TypeError(f"fields: {shown(name)} is not a name")
    if not names:
        raise ValueError("fields is empty; leave it out for all of the source's fields")
    return names, renamed


def explain_missing_masks(names: Sequence[str], renamed: Mapping[str, str], transform: Any, source: Source) -> None:
    """Raises an error that says how a source gets masks, where masks are asked for and the source has none."""
    wanted = {renamed.get(name, name) for name in names}
    if isinstance(transform, Mapping):
        wanted |= {renamed.get(name, name) for name, steps in transform.items() if not isinstance(steps, Derive)}
    for name in ("mask", "masks"):
        if name in wanted and name not in source.fields:
            raise UsageError(f"there is no field {name!r} in {source.uri}, which has {', '.join(source.fields)}. "
                             "Images get masks by ImageFolder(path, masks=folder) or Manifest(table, mask=\"column\"), "
                             "shards by kinds={\"field\": \"mask\"}", code="invalid_argument", uri=source.uri)


def bucket_lengths(bucket_by: Any) -> list[int] | None:
    """Returns the length of each sample, or None where ``bucket_by=`` names a field or nothing."""
    if bucket_by is None or isinstance(bucket_by, str):
        return None
    if not hasattr(bucket_by, "__iter__"):
        raise TypeError(f"bucket_by={bucket_by!r}: wants the name of a field, or a number for each sample")
    return [whole_number("bucket_by", length, 0) for length in bucket_by]


def seed_value(seed: Any) -> int:
    """Returns the lower 64 bits of a seed, which is all that the engine takes."""
    return whole_number("seed", seed, 0, 2**256) & (2**64 - 1)


def thread_count(threads: int | None) -> int:
    """Returns ``threads=``, or else the environment variable PENSTOCK_THREADS, or else 0: the engine chooses."""
    if threads is not None:
        return whole_number("threads", threads, 1)
    environment = os.environ.get("PENSTOCK_THREADS", "")
    if not environment:
        return 0
    if not environment.isdigit() or int(environment) < 1:
        raise ValueError(f"PENSTOCK_THREADS={environment!r}: wants a whole number from 1")
    return int(environment)


def shuffle_word(shuffle: Any) -> str:
    """Returns the engine's word for ``shuffle=``."""
    if isinstance(shuffle, bool):
        return "auto" if shuffle else "off"
    if isinstance(shuffle, str) and shuffle in ("full", "window"):
        return shuffle
    raise ValueError(f'shuffle={shuffle!r}: wants True, False, "full" or "window"')


def checked_state(state: Any) -> dict[str, int]:
    """Returns a state as the engine takes it: whole numbers by name."""
    if not isinstance(state, Mapping) or not all(isinstance(name, str) for name in state):
        raise TypeError(f"state={shown(state)}: wants what state_dict() gave")
    return {name: whole_number(f"state: {name}", value, 0, 2**64 - 1) for name, value in state.items()}
