"""Sources of Zarr arrays and groups."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .. import _core
from ..http import header_lines
from ..staging import open_stage
from ..storage import Storage, storage_options
from .array_arguments import array_name, array_names, integer, missing_chunks, missing_values
from .opening import Headers, Memory, Path, memory_bytes, opened
from .recipe import recorded
from .selections import is_mask, positions, selection
from .source import Source


@recorded
def Zarr(uri: Path | Sequence[Path], variables: str | Sequence[str] | None = None, sample_dim: str | int = 0, *,
         window: tuple[int | Sequence[int], int | Sequence[int]] | None = None,
         select: Mapping[str, Any] | Mapping[int, Any] | None = None,
         isel: Mapping[str, Any] | Mapping[int, Any] | None = None,
         gaps: Literal["skip", "allow"] = "skip", stack: bool | str = False, decode_cf: bool = True,
         nan: str | float = "keep", missing: Literal["fill", "error"] | None = None, headers: Headers = None,
         storage: Storage = None, memory: Memory = None, stage: Path | None = None) -> Source:
    """Opens a Zarr array or group (version 2 or 3). Each entry of one dimension is a sample.

    Several stores can be one source. Stores that hold the same variables follow one another along `sample_dim`, in
    the order given, and windows may cross from one to the next. Stores that hold different variables of the same
    samples are merged. The scale_factor and the units of time of each store apply to that store. `select`, `isel` and
    `gaps` refer to the joined dimension.

    Args:
        uri: A file path or http(s) URL. A list of them, a glob (``"era5-*.zarr"``, sorted by name) or braces
            (``"era5-{2015..2019}.zarr"``) name several stores; over HTTP, lists and braces do.
        variables: The arrays of a group that become fields. By default these are all arrays that have `sample_dim`
            and are not coordinates. A variable that does not have `sample_dim` is the same in every sample. A single
            array is the field ``array``.
        sample_dim: The dimension whose entries are the samples. A number means that axis of the array that has the most
            axes.
        window: ``(history, horizon)`` makes forecast pairs: ``(2, 3)`` gives the fields ``<name>_history``, two steps
            up to now, and ``<name>_horizon``, the three steps after. Lists name the steps: ``([-6, 0], [24, 48])``.
        select: A part of each dimension by its coordinate, with the meaning of xarray's ``sel``. A pair or a slice is a
            range that includes both ends (a slice may have a step, also a negative one). A list takes exactly those
            values, in that order. A single value removes the axis:
            ``{"lat": (30, 60), "level": [500, 850], "time": ("2015", "2019-06")}``. The text "2019" means all of that
            year. Longitudes wrap around the globe: ``{"lon": (350, 10)}``.
        isel: A part of each dimension by position, as xarray's ``isel``: a slice, a list, one position, or a mask with
            one boolean for each entry. Dimensions without a name are numbers: ``{0: slice(100)}``.
        gaps: "skip" leaves out windows in which a step is longer than 1.5 times the median step, or does not go
            forward, if the sample dimension has dates. "allow" takes such windows too.
            ``loader.stats()["windows_left_out"]`` counts the windows that are left out.
        stack: True makes all variables channels of one field, ``stack``; a text is the name of that field. With a
            window, the fields are ``history`` and ``horizon``. Axes before the last two are channels too. The type is
            NumPy's result type of all variables.
        decode_cf: Whether scale_factor, add_offset, _FillValue and missing_value are applied. Integers of up to 16 bits
            then become float32, wider integers become float64 as in xarray, and float64 stays float64.
        nan: How missing values are treated: "keep" (as not-a-number), "error", or the number that replaces them.
        missing: How chunks are treated that the store does not have. By default a server is asked once more, and then
            the chunk has the fill value of the array; ``loader.stats()["chunks"]["missing"]`` counts such chunks, and
            ``penstock verify`` reports them. "fill" says that the array is sparse, so that missing chunks are expected.
            "error" raises an exception.
        headers: ``{"Authorization": "Bearer ..."}`` goes with each request to the server of a URL, and to no other.
        storage: Options of buckets, as for ``Tar``.
        memory: The memory that reading coordinates may take, for example "1GiB". The default is a quarter of the free
            memory.
        stage: A local folder that receives a copy of the data while they are read, as for ``Loader``.

    Returns:
        The source. Its fields are the variables, or their histories and horizons.

    Raises:
        NotFoundError: There is no such store or variable.
        UsageError: There is no such dimension, a selection is empty, or the stores do not fit together.

    Example:
        >>> ps.Zarr("era5.zarr", ["t2m", "u10"], "time", window=(2, 1), select={"time": ("2015", "2019")})
    """
    if not isinstance(stack, (bool, str)):
        raise TypeError(f"stack={stack!r}: wants True, or the name of the field")
    for keyword, chosen, wants in (("select", select, "(from, to), [values] or value"),
                                   ("isel", isel, "slice, [positions] or position")):
        if chosen is not None and not isinstance(chosen, Mapping):
            raise TypeError(f"{keyword}={chosen!r}: wants a dict, {{dimension: {wants}}}")
    if gaps not in ("skip", "allow"):
        raise ValueError(f'gaps={gaps!r}: wants "skip" or "allow"')
    # A mask does not compare coordinates. xarray's sel takes it by position, too.
    masks = {dim: value for dim, value in (select or {}).items() if is_mask(value)}
    by_value = [(str(dim), selection(dim, value)) for dim, value in (select or {}).items() if dim not in masks]
    by_position = [(str(dim), positions(dim, value)) for dim, value in [*masks.items(), *(isel or {}).items()]]
    history, horizon = _window_steps(window)
    if isinstance(variables, str):
        variables = [variables]
    elif variables is not None and not hasattr(variables, "__iter__"):
        raise TypeError(f"variables={variables!r}: wants a name or a list of names")
    for name in variables or ():
        if not isinstance(name, str):
            raise TypeError(f"variables: {name!r} is not a name")
    names = [array_name(uri)] if uri is None else array_names(uri)
    if not names:
        raise ValueError("Zarr: the list names no store")
    began = time.monotonic()
    through = open_stage(stage)
    with storage_options(storage):
        handle = _core.open_zarr(
            [os.fsencode(name) for name in names], variables=list(variables or []),
            sample_dim=sample_dim if isinstance(sample_dim, str) else integer("sample_dim", sample_dim, 1 << 31),
            history=history, horizon=horizon, select=by_value, isel=by_position, allow_gaps=gaps == "allow",
            stack=stack if isinstance(stack, str) else "stack" if stack else "", decode_cf=bool(decode_cf),
            nan=missing_values(nan), missing=missing_chunks(missing), headers=header_lines(headers),
            memory=memory_bytes(memory), stage=None if through is None else through.handle)
    return opened(handle, began, through)


def _window_steps(window: Any) -> tuple[list[int], list[int]]:
    """Returns the steps of the history and of the horizon, relative to now."""
    if window is None:
        return [], []
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise ValueError(f"window={window!r}: wants (history, horizon)")
    history, horizon = window
    counts = [integer("window", part) for part in window if not isinstance(part, (tuple, list))]
    if any(not 0 <= count <= 100_000 for count in counts):
        raise ValueError(f"window={window!r}: history and horizon are from 0 to 100,000 steps")
    past = history if isinstance(history, (tuple, list)) else range(1 - history, 1)
    future = horizon if isinstance(horizon, (tuple, list)) else range(1, horizon + 1)
    steps = [integer("window", step) for step in past], [integer("window", step) for step in future]
    if not steps[0] and not steps[1]:
        raise ValueError(f"window={window!r} has no steps")
    return steps
