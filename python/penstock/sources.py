"""Where samples come from: folders, shards, tables, arrays; and parts and mixtures of them."""

from __future__ import annotations

import logging
import operator
import os
import sys
import time
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

from . import _core
from .errors import UsageError
from .http import header_lines, without_secrets

log = logging.getLogger("penstock")

_QUIET_SECONDS = 1.0  # a scan that takes longer shows what it is doing


class Source:
    """Samples that a Loader can read. Immutable; may be shared by several loaders.

    ``len(source)``, ``source.fields``, ``source.classes`` and ``source.key(i)`` describe it;
    ``subset``, ``split`` and ``filter`` make smaller ones.
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
        """Names of the fields, in order, and what each is: image, mask, array, integer, text, json, bytes."""
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

    def filter(self, field: str, predicate: Callable[[Any], bool], *, threads: int | None = None) -> "Source":
        """The samples whose `field` satisfies `predicate`, in order.

        The predicate gets the value as a batch would have it: a number for a label, a str for text or ``"key"``,
        what the JSON holds, a NumPy array for an image. Every sample's field is read once, now.
        """
        from .loader import Loader

        chosen = []
        with Loader(self, batch_size=256, fields=[field], collate="list", output="numpy", threads=threads, rank=0,
                    world_size=1) as loader:
            for start, (values,) in zip(range(0, len(self), 256), loader):
                chosen += [start + i for i, value in enumerate(values) if predicate(value)]
        if not chosen:
            raise UsageError(f"filter({field!r}): no sample of {self.uri} satisfies it", code="invalid_argument",
                             uri=self.uri)
        return Source(self._handle.subset(chosen))

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


def Npy(path: Union[str, os.PathLike], *, keep_index: bool = True, headers: Mapping[str, str] | None = None) -> Source:
    """One big .npy file (a sample an entry of the first axis), or .npy files, one a sample."""
    return _open(path, kind="npy", keep_index=keep_index, headers=headers)


def Tar(path: Union[str, os.PathLike], *, kinds: Mapping[str, str] | None = None, keep_index: bool = True,
        headers: Mapping[str, str] | None = None) -> Source:
    """Tar shards by the WebDataset convention: a file, a glob or brace pattern, or a folder of shards.

    Files whose names agree up to the first dot are one sample; the rest of the name is the field: ``jpg``, ``cls``,
    ``seg.png``, ``json``. Images, .npy, .npz (a field an array: ``npz/weights``), .cls, .txt and .json are decoded,
    anything else is handed over as bytes; nothing is ever unpickled. `kinds` says what a field is where its name does
    not: ``{"labels.png": "mask", "bin": "float32[16]"}``.

    .tar.gz and .tar.zst can only be read forward: `shuffle=True` then shuffles in windows.

    headers: of a URL: ``{"Authorization": "Bearer ..."}`` goes with each request to its server, and to no other.
    """
    return _open(path, kind="tar", kinds=kinds, keep_index=keep_index, headers=headers)


def TFRecord(path: Union[str, os.PathLike], *, kinds: Mapping[str, str] | None = None, verify: bool = True,
             keep_index: bool = True, headers: Mapping[str, str] | None = None) -> Source:
    """TFRecord shards of tf.train.Example or SequenceExample: a field a feature.

    `verify` checks the checksums of every record that is read. `kinds` says what a feature is where its first values
    do not tell: ``{"mask": "mask", "embedding": "float32[512]"}``. `headers` go to the server of a URL (see Tar).
    """
    return _open(path, kind="tfrecord", kinds=kinds, verify=verify, keep_index=keep_index, headers=headers)


def Manifest(path: Union[str, os.PathLike], *, root: Union[str, os.PathLike, None] = None,
             kinds: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None,
             **fields: str) -> Source:
    """A table of samples, CSV, TSV or JSON lines: paths and values, a row each.

    ``Manifest("train.csv", image="path", label="class")`` makes the fields image and label of those columns; without
    such keywords every column is a field. Columns of paths to images or .npy files are read, relative to the table's
    folder or to `root` (which they may not leave); names of classes under "label" or "class" become numbers.
    `headers` go to the server of a URL (see Tar).
    """
    return _open(path, kind="manifest", root=root, kinds=kinds, columns=list(fields.items()), headers=headers)


def Mix(sources: Sequence[Union[str, os.PathLike, Source]], weights: Sequence[float] | None = None) -> Source:
    """Several sources with the same fields as one.

    Without `weights` every sample of each comes once an epoch. With them each source makes up that share of the
    samples, small ones coming round more often; an epoch is as many samples as there are in all (see `epoch_size`).
    """
    if isinstance(sources, (str, os.PathLike, Source)):
        raise TypeError("Mix wants a list of sources")
    parts = [open_source(source) for source in sources]
    return Source(_core.mix_sources([part._handle for part in parts],
                                    [float(weight) for weight in weights] if weights is not None else []))


def open_source(source: Union[str, os.PathLike, Source], kind: str | None = None, *,
                headers: Mapping[str, str] | None = None) -> Source:
    """A path, glob or brace pattern or URL to a Source; a Source is returned as it is. `headers`: see Tar."""
    return source if isinstance(source, Source) else _open(source, kind=kind or "", headers=headers)


def _open(path, kind="", masks=None, root=None, columns=(), kinds=None, verify=True, keep_index=True,
          headers=None) -> Source:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"a source is a path or a penstock source, not {type(path).__name__}")
    name = os.path.expanduser(os.fspath(path))
    began, shown = time.monotonic(), False

    def progress(files: int) -> None:
        nonlocal shown
        if time.monotonic() - began > _QUIET_SECONDS and sys.stderr.isatty():
            shown = True
            print(f"\rpenstock: looking through {without_secrets(name)}: {files:,} so far", end="", file=sys.stderr, flush=True)

    def encoded(other) -> bytes:
        return os.fsencode(os.path.expanduser(other)) if other is not None else b""

    handle = _core.open_source(os.fsencode(name), kind=kind, masks=encoded(masks), root=encoded(root),
                               columns=list(columns), field_kinds=dict(kinds or {}), verify=verify,
                               keep_index=keep_index, progress=progress, warn=log.warning,
                               headers=header_lines(headers))
    if shown:
        print(file=sys.stderr)
    log.info("opened %s: %s, %d samples in %.2f s", handle.uri(), handle.kind(), len(handle), time.monotonic() - began)
    return Source(handle)
