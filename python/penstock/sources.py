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
from .indices import chosen_indices

log = logging.getLogger("penstock")

# One path, glob or brace pattern, or several in the order in which their samples come.
Paths = Union[str, os.PathLike, Sequence[Union[str, os.PathLike]]]

_QUIET_SECONDS = 1.0  # a scan that takes longer shows what it is doing


class Source:
    """Samples that a Loader can read. Immutable; may be shared by several loaders.

    ``len(source)``, ``source.fields``, ``source.classes`` and ``source.key(i)`` describe it;
    ``subset``, ``split`` and ``filter`` make smaller ones; ``rename`` gives fields other names.
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

    def subset(self, samples: Union[float, Iterable[int], Iterable[bool]]) -> "Source":
        """Some of the samples: the first fraction (a float up to 1), those with these indices, or those where a mask
        is true (one boolean for each sample)."""
        if isinstance(samples, bool) or not (isinstance(samples, float) or hasattr(samples, "__iter__")):
            raise TypeError(f"subset({samples!r}): wants a fraction such as 0.5, indices, or a mask")
        if isinstance(samples, float):
            if not 0 < samples <= 1:
                raise ValueError(f"subset({samples}): a fraction is above 0 and at most 1")
            samples = range(max(1, round(samples * len(self))))
        size = len(self)
        indices = []
        for index in chosen_indices(samples, size, "subset"):
            if not -size <= index < size:
                raise ValueError(f"subset index {index}, the source has {size} samples")
            indices.append(index % size)
        return Source(self._handle.subset(indices))

    def rename(self, names: Mapping[str, str]) -> "Source":
        """The same samples with other names for some fields: ``source.rename({"jpg": "image", "cls": "label"})``."""
        if not isinstance(names, Mapping) or not all(isinstance(name, str) for pair in names.items() for name in pair):
            raise TypeError(f'rename({names!r}): wants {{"old name": "new name"}}')
        return Source(self._handle.rename(dict(names)))

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


def ImageFolder(path: Paths, masks: Union[str, os.PathLike, None] = None, *, keep_index: bool = True) -> Source:
    """Images (jpg, png, webp, tif, bmp, gif, ppm, pgm, pbm, pnm) below a folder, or matching a pattern.

    Folders right below `path` are classes, sorted by name: fields ``image, label``. A folder
    without folders is flat: field ``image``. With `masks`, a folder that holds a mask for each
    image under the same name (its ending may differ), there is also ``mask``.

    Hidden files, hidden folders and ``__MACOSX`` are passed over; files with other endings are left out with
    one warning. A class without images keeps its number, with a warning. A list of folders (with the same
    classes), patterns or files is read in the order given.
    """
    return _open(path, kind="images", masks=masks, keep_index=keep_index)


def Files(files: Sequence[Any]) -> Source:
    """Images or .npy files that you list: ``Files([("a.jpg", 0), ("b.jpg", 1)])`` or ``Files(["a.jpg", "b.jpg"])``.

    Labels are whole numbers, or names of classes, which are sorted and counted from 0 (``source.classes``). Relative
    paths start from the working folder. The key of a sample is its path as given. For more columns than a label, or
    labels with fractions, write a table and open it by ``Manifest``.
    """
    if isinstance(files, (str, os.PathLike)) or not hasattr(files, "__iter__"):
        raise TypeError(f"Files({files!r}): wants a list of paths, or of (path, label) pairs")
    files = list(files)
    return _open_pairs(files) if _are_pairs(files) else _open(files)


def Npy(path: Paths, *, keep_index: bool = True) -> Source:
    """One big .npy file (each entry of its first axis is a sample), or several .npy files, each of them a sample:
    a folder, a pattern, or a list."""
    return _open(path, kind="npy", keep_index=keep_index)


def Tar(path: Paths, *, kinds: Mapping[str, str] | None = None, keep_index: bool = True) -> Source:
    """Tar shards by the WebDataset convention: a file, a glob or brace pattern, a folder of shards, or a list of these.

    Files whose names agree up to the first dot are one sample; the rest of the name is the field: ``jpg``, ``cls``,
    ``seg.png``, ``json``. Images, .npy, .npz (a field an array: ``npz/weights``), .cls, .txt and .json are decoded,
    anything else is handed over as bytes; nothing is ever unpickled. `kinds` says what a field is where its name does
    not: ``{"labels.png": "mask", "bin": "float32[16]"}``.

    .tar.gz and .tar.zst can only be read forward: `shuffle=True` then shuffles in windows.
    """
    return _open(path, kind="tar", kinds=kinds, keep_index=keep_index)


def TFRecord(path: Paths, *, kinds: Mapping[str, str] | None = None, verify: bool = True,
             keep_index: bool = True) -> Source:
    """TFRecord shards of tf.train.Example or SequenceExample: each feature is a field.

    `path` is a file, a glob or brace pattern, a folder of shards, or a list of these.
    `verify` checks the checksums of every record that is read. `kinds` says what a feature is where its first values
    do not tell: ``{"mask": "mask", "embedding": "float32[512]"}``.
    """
    return _open(path, kind="tfrecord", kinds=kinds, verify=verify, keep_index=keep_index)


def Manifest(path: Union[str, os.PathLike], *, root: Union[str, os.PathLike, None] = None,
             kinds: Mapping[str, str] | None = None, delimiter: str | None = None, **fields: str) -> Source:
    """A table of samples, CSV, TSV or JSON lines: paths and values, one sample per row.

    ``Manifest("train.csv", image="path", label="class")`` makes the fields image and label of those columns; without
    such keywords every column is a field. Columns of paths to images or .npy files are read, relative to the table's
    folder or to `root` (which they may not leave); names of classes under "label" or "class" become numbers.

    The cells of a .csv are separated by commas. Where the line of names has none, semicolons or tabs are found by
    themselves; `delimiter` says it where that is not so.
    """
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter.encode()) != 1):
        raise ValueError(f"delimiter={delimiter!r}: wants one letter, such as \";\"")
    return _open(path, kind="manifest", root=root, kinds=kinds, columns=list(fields.items()), delimiter=delimiter or "")


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


def open_source(source: Union[Paths, Source], kind: str | None = None) -> Source:
    """A path, glob or brace pattern, a list of them, or a list of (path, label) pairs to a Source; a Source is
    returned as it is."""
    if isinstance(source, Source):
        return source
    if isinstance(source, (list, tuple)) and _are_pairs(source):
        return _open_pairs(source)
    return _open(source, kind=kind or "")


def _are_pairs(files: Sequence[Any]) -> bool:
    are_pairs = [isinstance(file, (tuple, list)) for file in files]
    if any(are_pairs) and not all(are_pairs):
        raise TypeError("a list of files has either paths or (path, label) pairs, not both")
    return any(are_pairs)


def _open_pairs(pairs: Sequence[Any]) -> Source:
    for pair in pairs:
        if len(pair) != 2 or not isinstance(pair[0], (str, os.PathLike)):
            raise TypeError(f"{pair!r} is not a pair of a path and a label")
    labels = [label for _, label in pairs]
    if all(isinstance(label, str) for label in labels):
        classes = sorted(set(labels))
        number_of = {name: number for number, name in enumerate(classes)}
        return _open([path for path, _ in pairs], labels=[number_of[label] for label in labels], classes=classes)
    numbers = []
    for path, label in pairs:
        if isinstance(label, str) or not hasattr(label, "__index__"):
            raise TypeError(f"the label {label!r} of {os.fspath(path)!r}: labels are all whole numbers or all names of "
                            "classes; other values go into a table (penstock.Manifest)")
        numbers.append(operator.index(label))
    return _open([path for path, _ in pairs], labels=numbers)


def _path_list(path) -> list:
    paths = list(path) if isinstance(path, (list, tuple)) else [path]
    if not paths:
        raise ValueError("the source is an empty list")
    for one in paths:
        if not isinstance(one, (str, os.PathLike)):
            raise TypeError(f"a source is a path, a list of paths, a list of (path, label) pairs or a penstock source, "
                            f"not {type(one).__name__}")
    return [os.path.expanduser(os.fspath(one)) for one in paths]


def _open(path, kind="", masks=None, root=None, columns=(), kinds=None, delimiter="", verify=True, keep_index=True,
          labels=None, classes=()) -> Source:
    paths = _path_list(path)
    name = os.fsdecode(paths[0]) + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    began, shown = time.monotonic(), False

    def progress(files: int) -> None:
        nonlocal shown
        if time.monotonic() - began > _QUIET_SECONDS and sys.stderr.isatty():
            shown = True
            print(f"\rpenstock: looking through {name}: {files:,} so far", end="", file=sys.stderr, flush=True)

    def encoded(other) -> bytes:
        return os.fsencode(os.path.expanduser(other)) if other is not None else b""

    handle = _core.open_source([os.fsencode(one) for one in paths], kind=kind, masks=encoded(masks),
                               root=encoded(root), columns=list(columns), field_kinds=dict(kinds or {}),
                               delimiter=delimiter, verify=verify, keep_index=keep_index, labels=labels,
                               classes=list(classes), progress=progress, warn=log.warning)
    if shown:
        print(file=sys.stderr)
    log.info("opened %s: %s, %d samples in %.2f s", name, handle.kind(), len(handle), time.monotonic() - began)
    return Source(handle)
