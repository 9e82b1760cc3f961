"""Where samples come from: folders of images, .npy files, and parts of them."""

from __future__ import annotations

import logging
import operator
import os
import sys
import time
from typing import Iterable, Union

from . import _core

log = logging.getLogger("penstock")

_QUIET_SECONDS = 1.0  # a scan that takes longer shows what it is doing


class Source:
    """Samples that a Loader can read. Immutable; may be shared by several loaders.

    ``len(source)``, ``source.fields``, ``source.classes`` and ``source.key(i)`` describe it;
    ``subset`` and ``split`` make smaller ones.
    """

    def __init__(self, handle: _core.SourceHandle):
        self._handle = handle

    def __len__(self) -> int:
        return len(self._handle)

    @property
    def uri(self) -> str:
        """As it was given."""
        return self._handle.uri()

    @property
    def kind(self) -> str:
        """For example "image class folders" or "npy array"."""
        return self._handle.kind()

    @property
    def fields(self) -> dict[str, str]:
        """Names of the fields, in order, and what each is: image, mask, array, integer."""
        return dict(self._handle.fields())

    @property
    def classes(self) -> list[str]:
        """Class names in label order; empty where there are none."""
        return self._handle.classes()

    @property
    def stored_bytes(self) -> int:
        """What the samples take where they lie."""
        return self._handle.stored_bytes()

    def key(self, sample: int) -> str:
        """The sample's name: its path below the folder, or its number."""
        return self._handle.key(sample)

    def subset(self, samples: Union[float, Iterable[int]]) -> "Source":
        """The first fraction of the samples (a float up to 1), or those with these indices."""
        if isinstance(samples, float):
            if not 0 < samples <= 1:
                raise ValueError(f"subset({samples}): a fraction is above 0 and at most 1")
            samples = range(max(1, round(samples * len(self))))
        size = len(self)
        indices = []
        for sample in samples:
            index = operator.index(sample)
            if not -size <= index < size:
                raise ValueError(f"subset index {index}, the source has {size} samples")
            indices.append(index % size)
        return Source(self._handle.subset(indices))

    def split(self, fraction: float, seed: int = 0) -> tuple["Source", "Source"]:
        """Two sources that share no sample: a seeded random `fraction` of them, and the rest."""
        first, second = self._handle.split(fraction, seed)
        return Source(first), Source(second)

    def __repr__(self) -> str:
        return f"<penstock source {self.uri!r}: {self.kind}, {len(self)} samples of {', '.join(self.fields)}>"


def ImageFolder(path: Union[str, os.PathLike], masks: Union[str, os.PathLike, None] = None, *,
                keep_index: bool = True) -> Source:
    """Images (jpg, png, webp) below a folder, or matching a pattern.

    Folders right below `path` are classes, sorted by name: fields ``image, label``. A folder
    without folders is flat: field ``image``. With `masks`, a folder that holds a mask for each
    image under the same name (its ending may differ), there is also ``mask``.
    """
    return _open(path, kind="images", masks=masks, keep_index=keep_index)


def Npy(path: Union[str, os.PathLike], *, keep_index: bool = True) -> Source:
    """One big .npy file (a sample an entry of the first axis), or .npy files, one a sample."""
    return _open(path, kind="npy", keep_index=keep_index)


def open_source(source: Union[str, os.PathLike, Source], kind: str | None = None) -> Source:
    """A path, glob or brace pattern to a Source; a Source is returned as it is."""
    return source if isinstance(source, Source) else _open(source, kind=kind or "")


def _open(path, kind="", masks=None, keep_index=True) -> Source:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"a source is a path or a penstock source, not {type(path).__name__}")
    name = os.path.expanduser(os.fspath(path))
    began, shown = time.monotonic(), False

    def progress(files: int) -> None:
        nonlocal shown
        if time.monotonic() - began > _QUIET_SECONDS and sys.stderr.isatty():
            shown = True
            print(f"\rpenstock: looking through {name}: {files:,} files", end="", file=sys.stderr, flush=True)

    handle = _core.open_source(os.fsencode(name), kind=kind, masks=os.fsencode(masks) if masks is not None else b"",
                               keep_index=keep_index, progress=progress, warn=log.warning)
    if shown:
        print(file=sys.stderr)
    log.info("opened %s: %s, %d samples in %.2f s", name, handle.kind(), len(handle), time.monotonic() - began)
    return Source(handle)
