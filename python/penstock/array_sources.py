"""Sources of large arrays: Zarr hierarchies, and patches of volumes."""

from __future__ import annotations

import numbers
import operator
import os
import sys
import time
from typing import Any, Mapping, Sequence, Union

from . import _core
from .arguments import number
from .http import header_lines
from .recipe import recorded
from .selections import FAR, is_mask, positions, selection
from .sizes import parse_bytes
from .sources import Memory, Source, log

Path = Union[str, os.PathLike]


@recorded
def Zarr(uri: Union[Path, Sequence[Path]], variables: Union[str, Sequence[str], None] = None,
         sample_dim: Union[str, int] = 0, *,
         window: Union[tuple, None] = None, select: Mapping[Union[str, int], Any] | None = None,
         isel: Mapping[Union[str, int], Any] | None = None, gaps: str = "skip",
         stack: Union[bool, str] = False, decode_cf: bool = True, nan: Union[str, float] = "keep",
         missing: str | None = None, headers: Mapping[str, str] | None = None, memory: Memory = None) -> Source:
    """Entries of one dimension of a Zarr array or group (version 2 or 3), a file path or http(s) URL.

    Without `variables`, an array is the field ``array``, and of a group every array that has `sample_dim` (a number: that
    axis of the array with the most axes) and is no coordinate is a field; variables named that do not have it are the
    same in every sample.

    Several stores are one source: a list of them, a glob (``"era5-*.zarr"``, sorted by name) or braces
    (``"era5-{2015..2019}.zarr"``; over HTTP lists and braces). Stores that hold the same variables follow one another
    along `sample_dim`, in the order given and with windows across the joints; stores that hold different variables of
    the same samples are merged. Each store's own scale_factor and units of time apply. `select`, `isel` and `gaps` mean
    the joined dimension.

    window: ``(history, horizon)`` makes forecast pairs: ``(2, 3)`` gives the fields ``<name>_history``, two steps up
        to now, and ``<name>_horizon``, the three after. Lists name steps: ``([-6, 0], [24, 48])``.
    select: part of a dimension by its coordinate, with the meaning of xarray's ``sel``. A pair or a slice is a range
        that includes both ends (a slice may have a step, also a negative one), a list is exactly those values in that
        order, a single value takes the axis away:
        ``{"lat": (30, 60), "level": [500, 850], "time": ("2015", "2019-06")}``. "2019" is all of that year. Longitudes
        that go around the globe wrap: ``{"lon": (350, 10)}``.
    isel: part of a dimension by position: a slice, a list, one position, or a mask with one boolean for each entry, as
        xarray's ``isel``. Dimensions without a name are numbers: ``{0: slice(100)}``.
    gaps: "skip" or "allow". Where the sample dimension has dates, a window is no sample if a step in it is
        longer than 1.5 times the median step, or does not go forward; "allow" takes such windows too.
        ``loader.stats()["windows_left_out"]`` counts them.
    stack: all variables become channels of one field, ``stack`` or the name given (with a window: ``history`` and
        ``horizon``); axes before the last two are channels too. The type is NumPy's result type of all of them.
    decode_cf: scale_factor, add_offset, _FillValue and missing_value are applied. Integers of up to 16 bits become
        float32 by that; wider integers become float64 as in xarray, and float64 stays what it is.
    nan: what becomes of missing values: "keep" (not-a-number), "error", or a number to stand for them.
    missing: what becomes of chunks that the store does not have. By default a server is asked for the chunk once more,
        then it has the array's fill value; ``loader.stats()["chunks"]["missing"]`` counts such chunks, and ``penstock
        verify`` reports them. "fill" says that the array is sparse: missing chunks are meant. "error" raises.
    headers: of a URL: ``{"Authorization": "Bearer ..."}`` goes with each request to its server, and to no other.
    memory: what reading coordinates may take, for example "1GiB" (default: a quarter of what is free).
    """
    if not isinstance(stack, (bool, str)):
        raise TypeError(f"stack={stack!r}: wants True, or the name of the field")
    for keyword, chosen, wants in (("select", select, "(from, to), [values] or value"),
                                   ("isel", isel, "slice, [positions] or position")):
        if chosen is not None and not isinstance(chosen, Mapping):
            raise TypeError(f"{keyword}={chosen!r}: wants a dict, {{dimension: {wants}}}")
    if gaps not in ("skip", "allow"):
        raise ValueError(f'gaps={gaps!r}: wants "skip" or "allow"')
    # A mask does not compare coordinates: xarray's sel takes it by position, too.
    masks = {dim: value for dim, value in (select or {}).items() if is_mask(value)}
    by_value = [(str(dim), selection(dim, value)) for dim, value in (select or {}).items() if dim not in masks]
    by_position = [(str(dim), positions(dim, value)) for dim, value in [*masks.items(), *(isel or {}).items()]]
    history, horizon = _window(window)
    if isinstance(variables, str):
        variables = [variables]
    elif variables is not None and not hasattr(variables, "__iter__"):
        raise TypeError(f"variables={variables!r}: wants a name or a list of names")
    for name in variables or ():
        if not isinstance(name, str):
            raise TypeError(f"variables: {name!r} is not a name")
    names = [_name(uri)] if uri is None else _names(uri)
    if not names:
        raise ValueError("Zarr: the list names no store")
    began = time.monotonic()
    handle = _core.open_zarr(
        [os.fsencode(name) for name in names], variables=list(variables or []),
        sample_dim=sample_dim if isinstance(sample_dim, str) else _integer("sample_dim", sample_dim, 1 << 31),
        history=history, horizon=horizon, select=by_value, isel=by_position, allow_gaps=gaps == "allow",
        stack=stack if isinstance(stack, str) else "stack" if stack else "", decode_cf=bool(decode_cf),
        nan=_nan(nan), missing=_missing(missing), headers=header_lines(headers),
        memory=0 if memory is None else parse_bytes(memory))
    log.info("opened %s: %s, %d samples in %.2f s", handle.uri(), handle.kind(), len(handle), time.monotonic() - began)
    return Source(handle)


@recorded
def Patches(volumes: Union[Path, Sequence[Path]], size: Sequence[int], per_epoch: int | None = None, *,
            labels: Union[Path, Sequence[Path], None] = None, min_foreground: float = 0,
            overlap: Union[int, float, Sequence[Union[int, float]]] = 0, region: Sequence[Any] | None = None,
            mask: Union[Path, Sequence[Path], None] = None, weights: Union[str, Sequence[float]] = "volume",
            class_weights: Mapping[int, float] | None = None, decode_cf: bool = True,
            nan: Union[str, float] = "keep", axes: Union[str, Mapping[str, int | None], None] = None,
            missing: str | None = None, headers: Mapping[str, str] | None = None, memory: Memory = None) -> Source:
    """Patches of volumes: Zarr arrays, .npy files or TIFF stacks (a file, or a pattern or folder of planes).

    With `per_epoch`, an epoch has that many random patches. Every place where a patch fits is equally likely.
    Neighbours come close together, so that the chunks they share are read once (``shuffle_window`` says how many
    regions are mixed, and ``loader.stats()["shuffle"]`` what that does to batches). Without `per_epoch`, a grid
    covers everything, in order, with the field ``position`` (and ``volume``, where there are several) for putting
    results together.

    size: of a patch, for the last axes of the volumes, channels included; axes before them come whole. Of (Z, C, Y, X),
        ``(16, 2, 64, 64)`` is for all four axes, ``(2, 64, 64)`` for C, Y and X.
    labels: volumes of the same shape: the field ``label``, cut at the same places.
    min_foreground: only random patches of whose labels at least this share is not 0.
    overlap: of a grid: elements that neighbours share, or a share of the size (below 1); one for all axes or one each.
    region: only patches that lie within this part of the volume as a whole: a slice or (begin, end) for each axis of a
        patch, as in ``(slice(0, 80), slice(None), slice(None))``. Training and validation can share a volume so.
    mask: a volume for all, or one each. Random patches have a centre voxel (origin + size // 2) that is not 0 in the
        mask; a grid keeps the patches that have any such voxel, so that all of the mask is covered.
    weights: how often volumes are drawn from: "volume" (by the number of places in each), "equal", or numbers.
    class_weights: ``{0: 1, 1: 5}``: one of six random patches is centred on a voxel of label 0, five on label 1; each
        voxel of a class is equally likely. Labels that are not named do not occur at centres.
    decode_cf: scale_factor, add_offset and _FillValue of Zarr images are applied, as in ``Zarr``; of labels only where
        they have a scale_factor or add_offset.
    nan: what becomes of missing values and not-a-number in images: "keep", "error", or a number to stand for them.
    axes: of a TIFF, where its metadata is wrong or says nothing: ``"ZYX"`` reads all pages as one stack,
        ``{"Z": 30, "C": 2}`` as 30 slices of 2 channels (None: what the number of pages leaves).
    missing: what becomes of chunks that a Zarr store does not have: "fill" or "error" (see Zarr).
    headers: of URLs: goes with each request to the server that a volume's URL names (see Zarr).
    memory: what looking through labels and masks may take, half of it for the index of them, for example "1GiB"
        (default: a quarter of what is free).

    Patches that depend on labels or a mask need an index of them, made when the source is opened: at most one bit
    for each voxel of each class, mostly far less, and never more than 4 GiB or half of `memory`.
    """
    if isinstance(size, str) or not hasattr(size, "__iter__"):
        raise TypeError(f"size={size!r}: wants an extent for each axis of a patch, such as (64, 64, 64)")
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
    names, label_names, mask_names = _names(volumes), _names(labels), _names(mask)
    began, shown = time.monotonic(), False

    def progress(chunks: int) -> None:
        nonlocal shown
        if time.monotonic() - began > 1 and sys.stderr.isatty():
            shown = True
            print(f"\rpenstock: looking through labels: {chunks:,} chunks so far", end="", file=sys.stderr, flush=True)

    handle = _core.open_patches([os.fsencode(name) for name in names], size=size, per_epoch=per_epoch or 0,
                                overlap=overlaps, labels=[os.fsencode(name) for name in label_names],
                                region=_region(region), masks=[os.fsencode(name) for name in mask_names],
                                min_foreground=number("min_foreground", min_foreground),
                                weights=_volume_weights(weights, len(names)),
                                class_weights=_class_weights(class_weights), decode_cf=bool(decode_cf),
                                nan=_nan(nan), axes=_page_axes(axes), missing=_missing(missing),
                                progress=progress, headers=header_lines(headers),
                                memory=0 if memory is None else parse_bytes(memory))
    if shown:
        print(file=sys.stderr)
    log.info("opened %s: %s, %d samples in %.2f s", handle.uri(), handle.kind(), len(handle), time.monotonic() - began)
    return Source(handle)


def _nan(nan: Any) -> Union[str, float]:
    if nan not in ("keep", "error") and (isinstance(nan, (str, bool)) or not isinstance(nan, numbers.Real)):
        raise ValueError(f'nan={nan!r}: wants "keep", "error" or a number')
    return nan if isinstance(nan, str) else float(nan)


def _region(region: Any) -> list[tuple[int, int]]:
    if region is None:
        return []
    form = "wants a slice or (begin, end) for each axis of a patch, as in ((0, 80), (0, 512), (0, 512))"
    if isinstance(region, (str, slice)) or not hasattr(region, "__iter__"):
        raise TypeError(f"region={region!r}: {form}")
    ranges = []
    for part in region:
        if isinstance(part, slice):
            if part.step not in (None, 1):
                raise ValueError(f"region={region!r}: a region has no steps")
            ends = [part.start, part.stop]
        elif isinstance(part, (tuple, list)) and len(part) == 2:
            ends = list(part)
        else:
            raise TypeError(f"region={region!r}: {form}")
        ranges.append((0 if ends[0] is None else _integer("region", ends[0]),
                       FAR if ends[1] is None else _integer("region", ends[1])))
    return ranges


def _volume_weights(weights: Any, count: int) -> list[float]:
    if isinstance(weights, str):
        if weights not in ("volume", "equal"):
            raise ValueError(f'weights={weights!r}: wants "volume", "equal" or a number for each volume')
        return [] if weights == "volume" else [1.0] * count
    if not hasattr(weights, "__iter__"):
        raise TypeError(f'weights={weights!r}: wants "volume", "equal" or a number for each volume')
    return [number("weights", weight) for weight in weights]


def _class_weights(class_weights: Any) -> list[tuple[int, float]]:
    if class_weights is None:
        return []
    if not isinstance(class_weights, Mapping) or not class_weights:
        raise TypeError(f"class_weights={class_weights!r}: wants a dict, {{label: weight}}, as in {{0: 1, 1: 5}}")
    return [(_integer("class_weights: label", label), number(f"class_weights[{label!r}]", weight))
            for label, weight in class_weights.items()]


def _page_axes(axes: Any) -> list[tuple[str, int]]:
    """Name and size (0: not given) of each axis that the pages of a TIFF make up."""
    if axes is None:
        return []
    form = 'wants letters that end in "YX", as in "ZCYX", or a dict of the axes before these, as in {"Z": 30, "C": 2}'
    if isinstance(axes, str):
        letters = axes.upper().removesuffix("S")
        if not letters.endswith("YX"):
            raise ValueError(f"axes={axes!r}: {form}")
        given = [(letter, None) for letter in letters[:-2]] or [("Z", None)]
    elif isinstance(axes, Mapping):
        given = [(letter, extent) for letter, extent in axes.items() if letter not in ("Y", "X", "S")]
    else:
        raise TypeError(f"axes={axes!r}: {form}")
    names = [letter for letter, _ in given]
    if not given or len(set(names)) != len(names) or any(
            not isinstance(letter, str) or len(letter) != 1 or not "A" <= letter <= "Z" or letter in "YXS"
            for letter in names):
        raise ValueError(f"axes={axes!r}: {form}")
    if any(extent is not None and _integer("axes", extent) < 1 for _, extent in given):
        raise ValueError(f"axes={axes!r}: sizes are at least 1, or None for what the number of pages leaves")
    return [(letter, 0 if extent is None else _integer("axes", extent)) for letter, extent in given]


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


def _integer(keyword: str, value: Any, below: int = FAR) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{keyword}={value!r}: wants a whole number")
    number = operator.index(value)
    if not -below < number < below:
        raise ValueError(f"{keyword}={value!r} is too large")
    return number


def _missing(missing: str | None) -> str:
    if missing not in ("fill", "error", None):
        raise ValueError(f'missing={missing!r}: wants "fill" or "error"')
    return missing or ""


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
