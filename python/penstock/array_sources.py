"""Sources of large arrays: Zarr hierarchies, and patches of volumes."""

from __future__ import annotations

import datetime
import numbers
import operator
import os
import sys
import time
from typing import Any, Mapping, Sequence, Union

from . import _core
from .http import header_lines
from .sources import Source, log

Path = Union[str, os.PathLike]


_FAR = 1 << 62  # no index or extent is larger


def Zarr(uri: Path, variables: Union[str, Sequence[str], None] = None, sample_dim: Union[str, int] = 0, *,
         window: Union[tuple, None] = None, select: Mapping[Union[str, int], Any] | None = None,
         stack: Union[bool, str] = False, decode_cf: bool = True, nan: Union[str, float] = "keep",
         missing: str = "fill", headers: Mapping[str, str] | None = None) -> Source:
    """Entries of one dimension of a Zarr array or group (version 2 or 3), a file path or http(s) URL.

    Without `variables`, an array is the field ``array``, and of a group every array that has `sample_dim` (a number: that
    axis of the array with the most axes) and is no coordinate is a field; variables named that do not have it are the
    same in every sample.

    window: ``(history, horizon)`` makes forecast pairs: ``(2, 3)`` gives the fields ``<name>_history``, two steps up
        to now, and ``<name>_horizon``, the three after. Lists name steps: ``([-6, 0], [24, 48])``.
    select: part of a dimension. A slice of integers counts entries; a pair, or a slice of other things, is a range of
        coordinates with both ends: ``{"lat": (30, 60), "time": ("2015", "2019-06"), "level": slice(0, 5)}``.
        Dimensions without a name are numbers.
    stack: all variables become channels of one field, ``stack`` or the name given (with a window: ``history`` and
        ``horizon``); axes before the last two are channels too.
    decode_cf: scale_factor, add_offset, _FillValue and missing_value are applied; such variables become float32.
    nan: what becomes of missing values: "keep" (not-a-number), "error", or a number to stand for them. Variables
        that are looked through for it become float32.
    missing: what becomes of chunks that the store does not have: "fill" (with the array's fill value; counted in
        ``loader.stats()["chunks"]``) or "error".
    headers: of a URL: ``{"Authorization": "Bearer ..."}`` goes with each request to its server, and to no other.
    """
    if not isinstance(stack, (bool, str)):
        raise TypeError(f"stack={stack!r}: wants True, or the name of the field")
    if select is not None and not isinstance(select, Mapping):
        raise TypeError(f"select={select!r}: wants a dict, {{dimension: slice or (from, to)}}")
    history, horizon = _window(window)
    if isinstance(variables, str):
        variables = [variables]
    for name in variables or ():
        if not isinstance(name, str):
            raise TypeError(f"variables: {name!r} is not a name")
    if nan not in ("keep", "error") and (isinstance(nan, (str, bool)) or not isinstance(nan, numbers.Real)):
        raise ValueError(f'nan={nan!r}: wants "keep", "error" or a number')
    began = time.monotonic()
    handle = _core.open_zarr(
        os.fsencode(_name(uri)), variables=list(variables or []),
        sample_dim=sample_dim if isinstance(sample_dim, str) else _integer("sample_dim", sample_dim, 1 << 31),
        history=history,
        horizon=horizon, select=[(str(dim), _selection(dim, value)) for dim, value in (select or {}).items()],
        stack=stack if isinstance(stack, str) else "stack" if stack else "", decode_cf=bool(decode_cf),
        nan=nan if isinstance(nan, str) else float(nan), missing_is_error=_missing_is_error(missing),
        headers=header_lines(headers))
    log.info("opened %s: %s, %d samples in %.2f s", handle.uri(), handle.kind(), len(handle), time.monotonic() - began)
    return Source(handle)


def Patches(volumes: Union[Path, Sequence[Path]], size: Sequence[int], per_epoch: int | None = None, *,
            labels: Union[Path, Sequence[Path], None] = None, min_foreground: float = 0,
            overlap: Union[int, float, Sequence[Union[int, float]]] = 0, missing: str = "fill",
            headers: Mapping[str, str] | None = None) -> Source:
    """Patches of volumes: Zarr arrays, .npy files or TIFF stacks (a file, or a pattern or folder of planes).

    With `per_epoch`, that many random patches an epoch, from places all over the volumes; neighbours come close
    together, so that the chunks they share are read once (``shuffle_window`` says how many places are mixed, and
    ``loader.stats()["shuffle"]`` what that does to batches). Without, a grid that covers everything, in order, with
    the field ``position`` (and ``volume``, where there are several) for putting results together.

    size: of a patch, for the last axes of the volumes; axes before them come whole.
    labels: volumes of the same shape: the field ``label``, cut at the same places.
    min_foreground: the share of a random patch whose label is not 0, at least.
    overlap: of a grid: elements that neighbours share, or a share of the size (below 1); one for all axes or one each.
    headers: of URLs: goes with each request to the server that a volume's URL names (see Zarr).
    """
    if isinstance(size, str) or not hasattr(size, "__iter__"):
        raise TypeError(f"size={size!r}: wants an extent for each axis of a patch")
    size = [_integer("size", extent) for extent in size]
    if per_epoch is not None and _integer("per_epoch", per_epoch) < 1:
        raise ValueError(f"per_epoch={per_epoch}: at least 1, or None for a grid that covers everything")
    overlaps = list(overlap) if hasattr(overlap, "__iter__") and not isinstance(overlap, str) else [overlap] * len(size)
    if len(overlaps) != len(size):
        raise ValueError(f"overlap={overlap!r}: one number, or one for each of the {len(size)} axes of a patch")
    overlaps = [min(round(part * extent), extent - 1) if isinstance(part, float) and 0 <= part < 1
                else _integer("overlap", part)
                for part, extent in zip(overlaps, size)]
    if per_epoch is not None and not any(overlaps):
        overlaps = []
    names, label_names = _names(volumes), _names(labels)
    began, shown = time.monotonic(), False

    def progress(chunks: int) -> None:
        nonlocal shown
        if time.monotonic() - began > 1 and sys.stderr.isatty():
            shown = True
            print(f"\rpenstock: counting foreground: {chunks:,} chunks so far", end="", file=sys.stderr, flush=True)

    handle = _core.open_patches([os.fsencode(name) for name in names], size=size, per_epoch=per_epoch or 0,
                                overlap=overlaps, labels=[os.fsencode(name) for name in label_names],
                                min_foreground=float(min_foreground), missing_is_error=_missing_is_error(missing),
                                progress=progress, headers=header_lines(headers))
    if shown:
        print(file=sys.stderr)
    log.info("opened %s: %s, %d samples in %.2f s", handle.uri(), handle.kind(), len(handle), time.monotonic() - began)
    return Source(handle)


def _name(path: Any) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"a volume or array is named by its path or URL, not by {type(path).__name__}")
    return os.path.expanduser(os.fspath(path))


def _names(paths: Any) -> list[str]:
    if paths is None:
        return []
    if isinstance(paths, (str, os.PathLike)) or not hasattr(paths, "__iter__"):
        return [_name(paths)]
    return [_name(path) for path in paths]


def _integer(keyword: str, value: Any, below: int = _FAR) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{keyword}={value!r}: wants a whole number")
    number = operator.index(value)
    if not -below < number < below:
        raise ValueError(f"{keyword}={value!r} is too large")
    return number


def _missing_is_error(missing: str) -> bool:
    if missing not in ("fill", "error"):
        raise ValueError(f'missing={missing!r}: wants "fill" or "error"')
    return missing == "error"


def _window(window: Any) -> tuple[list[int], list[int]]:
    if window is None:
        return [], []
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise ValueError(f"window={window!r}: wants (history, horizon)")
    history, horizon = window
    counts = [_integer("window", part) for part in window if not isinstance(part, (tuple, list))]
    if any(not 0 <= count <= 100_000 for count in counts):
        raise ValueError(f"window={window!r}: history and horizon are from 0 to 100,000 steps")
    past = history if isinstance(history, (tuple, list)) else range(1 - history, 1)
    future = horizon if isinstance(horizon, (tuple, list)) else range(1, horizon + 1)
    steps = [_integer("window", step) for step in past], [_integer("window", step) for step in future]
    if not steps[0] and not steps[1]:
        raise ValueError(f"window={window!r} has no steps")
    return steps


def _selection(dim: Any, value: Any) -> tuple:
    """What the engine is told: ("index", ...), ("values", ...) or ("dates", ...)."""
    if isinstance(value, slice):
        ends = [value.start, value.stop]
        if all(end is None or _is_index(end) for end in ends):
            # Ends beyond the dimension are cut, as everywhere in Python.
            first, stop = (None if end is None else max(-_FAR, min(_FAR, operator.index(end))) for end in ends)
            return ("index", first, stop, 1 if value.step is None else _integer(f"select {dim!r}: step", value.step))
        if value.step is not None:
            raise ValueError(f"select {dim!r}: a range of coordinates has no step")
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        ends = list(value)
    elif _is_index(value):
        index = _integer(f"select {dim!r}: index", value)
        return ("index", index, index + 1 if index != -1 else None, 1)
    else:
        raise ValueError(f"select {dim!r}: {value!r} is not a slice, an index or a pair (from, to)")
    if any(isinstance(end, (str, datetime.date)) or type(end).__name__ == "datetime64" for end in ends):
        return ("dates", *("" if end is None else end.isoformat() if isinstance(end, datetime.date) else str(end)
                           for end in ends))
    infinite = (float("-inf"), float("inf"))
    return ("values", *(far if end is None else float(end) for end, far in zip(ends, infinite)))


def _is_index(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    try:
        operator.index(value)
    except TypeError:  # arrays have __index__ too, and refuse
        return False
    return True
