"""Sources of patches of volumes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .. import _core
from ..arguments import number
from ..http import header_lines
from ..staging import open_stage
from ..storage import Storage, storage_options
from .array_arguments import array_names, integer, missing_chunks, missing_values
from .opening import Headers, Memory, Path, Progress, memory_bytes, opened
from .recipe import recorded
from .selections import MAX_INDEX
from .source import Source


@recorded
def Patches(volumes: Path | Sequence[Path], size: Sequence[int], per_epoch: int | None = None, *,
            labels: Path | Sequence[Path] | None = None, min_foreground: float = 0,
            overlap: float | Sequence[float] = 0, region: Sequence[Any] | None = None,
            mask: Path | Sequence[Path] | None = None,
            weights: Literal["volume", "equal"] | Sequence[float] = "volume",
            class_weights: Mapping[int, float] | None = None, decode_cf: bool = True, nan: str | float = "keep",
            axes: str | Mapping[str, int | None] | None = None, missing: Literal["fill", "error"] | None = None,
            headers: Headers = None, storage: Storage = None, memory: Memory = None,
            stage: Path | None = None) -> Source:
    """Opens volumes whose patches are the samples.

    With `per_epoch`, an epoch has that many random patches, and every position where a patch fits is equally likely.
    Neighbouring patches come close together, so that the chunks that they share are read once. ``shuffle_window`` of
    Loader sets how many regions are mixed, and ``loader.stats()["shuffle"]`` tells what that means for batches. Without
    `per_epoch`, a grid of patches covers everything, in order. It has the field ``position`` (and ``volume``, if there
    are several), by which results can be put together.

    Patches that depend on labels or a mask need an index of them, which is made when the source is opened. It takes at
    most one bit for each voxel of each class, mostly far less, and never more than 4 GiB or half of `memory`.

    Args:
        volumes: Zarr arrays, .npy files or TIFF stacks (a file, or a pattern or folder of planes), or a list of these.
        size: The size of a patch, for the last axes of the volumes, channels included. Axes before them come whole.
            For (Z, C, Y, X), ``(16, 2, 64, 64)`` is for all four axes, and ``(2, 64, 64)`` for C, Y and X.
        per_epoch: The number of random patches per epoch. None makes a grid.
        labels: Volumes of the same shape. They become the field ``label``, cut at the same positions.
        min_foreground: The share of a random patch's labels that must not be 0.
        overlap: The elements that neighbours of a grid share, or a share of the size (below 1); one number for all
            axes, or one for each.
        region: The part of the volume that patches must lie in: a slice or (begin, end) for each axis of a patch, as in
            ``(slice(0, 80), slice(None), slice(None))``. Training and validation can share a volume in this way.
        mask: One volume for all, or one for each. Random patches have a centre voxel (origin + size // 2) that is not 0
            in the mask. A grid consists of the patches that contain such a voxel, so that it covers all of the mask.
        weights: How often volumes are drawn from: "volume" (by the number of positions in each), "equal", or numbers.
        class_weights: ``{0: 1, 1: 5}`` centres one of six random patches on a voxel of label 0, and five on label 1.
            Each voxel of a class is equally likely. Labels that are not named do not occur at centres.
        decode_cf: Whether scale_factor, add_offset and _FillValue of Zarr images are applied, as in ``Zarr``. For
            labels they are applied only if there is a scale_factor or add_offset.
        nan: How missing values and not-a-number in images are treated: "keep", "error", or the number that replaces
            them.
        axes: The axes of a TIFF, if its metadata is wrong or missing: ``"ZYX"`` reads all pages as one stack,
            ``{"Z": 30, "C": 2}`` as 30 slices of 2 channels. The size None is computed from the number of pages.
        missing: How chunks are treated that a Zarr store does not have: "fill" or "error", as in ``Zarr``.
        headers: Headers of the requests to the server that the URL of a volume names, as in ``Zarr``.
        storage: Options of buckets, as for ``Tar``.
        memory: The memory that reading labels and masks may take, half of it for their index, for example "1GiB". The
            default is a quarter of the free memory.
        stage: A local folder that receives a copy of the data while they are read, as for ``Loader``.

    Returns:
        The source, with the fields ``image``, ``label`` (if `labels` is given), ``position`` and ``volume``.

    Raises:
        NotFoundError: There is no such volume.
        UsageError: No patch fits, or labels or masks do not have the shape of their volume.

    Example:
        >>> ps.Patches("scan.zarr", (64, 64, 64), per_epoch=1000, labels="labels.zarr", class_weights={0: 1, 1: 5})
    """
    if isinstance(size, str) or not hasattr(size, "__iter__"):
        raise TypeError(f"size={size!r}: wants an extent for each axis of a patch, such as (64, 64, 64)")
    extents = [integer("size", extent) for extent in size]
    if per_epoch is not None and integer("per_epoch", per_epoch) < 1:
        raise ValueError(f"per_epoch={per_epoch}: at least 1, or None for a grid that covers everything")
    overlaps = _overlaps(overlap, extents)
    if per_epoch is not None and not any(overlaps):
        overlaps = []
    names, label_names, mask_names = array_names(volumes), array_names(labels), array_names(mask)
    through = open_stage(stage)
    with (storage_options(storage),
          Progress(lambda chunks: f"looking through labels: {chunks:,} chunks so far") as progress):
        handle = _core.open_patches([os.fsencode(name) for name in names], size=extents, per_epoch=per_epoch or 0,
                                    overlap=overlaps, labels=[os.fsencode(name) for name in label_names],
                                    region=_region(region), masks=[os.fsencode(name) for name in mask_names],
                                    min_foreground=number("min_foreground", min_foreground),
                                    weights=_volume_weights(weights, len(names)),
                                    class_weights=_class_weights(class_weights), decode_cf=bool(decode_cf),
                                    nan=missing_values(nan), axes=_page_axes(axes), missing=missing_chunks(missing),
                                    progress=progress, headers=header_lines(headers), memory=memory_bytes(memory),
                                    stage=None if through is None else through.handle)
    return opened(handle, progress.began, through)


def _overlaps(overlap: Any, size: list[int]) -> list[int]:
    """Returns the number of elements that neighbours share along each axis."""
    overlaps = list(overlap) if hasattr(overlap, "__iter__") and not isinstance(overlap, str) else [overlap] * len(size)
    if len(overlaps) != len(size):
        raise ValueError(f"overlap={overlap!r}: one number, or one for each of the {len(size)} axes of a patch")
    return [min(round(part * extent), extent - 1) if isinstance(part, float) and 0 <= part < 1
            else integer("overlap", part)
            for part, extent in zip(overlaps, size)]


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
        ranges.append((0 if ends[0] is None else integer("region", ends[0]),
                       MAX_INDEX if ends[1] is None else integer("region", ends[1])))
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
    return [(integer("class_weights: label", label), number(f"class_weights[{label!r}]", weight))
            for label, weight in class_weights.items()]


def _page_axes(axes: Any) -> list[tuple[str, int]]:
    """Returns the name and size (0: not given) of each axis that the pages of a TIFF make up."""
    if axes is None:
        return []
    form = 'wants letters that end in "YX", as in "ZCYX", or a dict of the axes before these, as in {"Z": 30, "C": 2}'
    if isinstance(axes, str):
        letters = axes.upper().removesuffix("S")
        if not letters.endswith("YX"):
            raise ValueError(f"axes={axes!r}: {form}")
        given: list[tuple[Any, Any]] = [(letter, None) for letter in letters[:-2]] or [("Z", None)]
    elif isinstance(axes, Mapping):
        given = [(letter, extent) for letter, extent in axes.items() if letter not in ("Y", "X", "S")]
    else:
        raise TypeError(f"axes={axes!r}: {form}")
    names = [letter for letter, _ in given]
    if not given or len(set(names)) != len(names) or any(
            not isinstance(letter, str) or len(letter) != 1 or not "A" <= letter <= "Z" or letter in "YXS"
            for letter in names):
        raise ValueError(f"axes={axes!r}: {form}")
    if any(extent is not None and integer("axes", extent) < 1 for _, extent in given):
        raise ValueError(f"axes={axes!r}: sizes are at least 1, or None for what the number of pages leaves")
    return [(letter, 0 if extent is None else integer("axes", extent)) for letter, extent in given]
