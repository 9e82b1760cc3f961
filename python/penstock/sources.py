"""Where samples come from: folders, shards, tables, arrays; and parts and mixtures of them."""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence, Union

from . import _core
from .arguments import any_number, checked_keywords, did_you_mean, flag, shown, text, text_mapping, whole_number
from .arguments import path as path_argument
from .errors import UsageError
from .http import header_lines, without_secrets
from .indices import chosen_indices
from .labels import class_of_each, field_values, label_field
from .recipe import Recipe, recorded, remake
from .sample_reader import SampleReader
from .sizes import parse_bytes
from .splitting import divide, divide_by_class, part_sizes

log = logging.getLogger("penstock")

# One path, glob or brace pattern, or several in the order in which their samples come.
Paths = Union[str, os.PathLike, Sequence[Union[str, os.PathLike]]]
Pairs = Sequence[tuple[Union[str, os.PathLike], Union[int, str]]]  # files and their labels
Headers = Union[Mapping[str, str], None]  # of HTTP requests
Memory = Union[int, str, None]  # "1GiB", or bytes

_QUIET_SECONDS = 1.0  # a scan that takes longer shows what it is doing


class Source:
    """Samples that a Loader can read. Immutable; may be shared by several loaders.

    ``len(source)``, ``source.fields``, ``source.classes`` and ``source.key(i)`` describe it;
    ``source[i]`` is one decoded sample, so that a source is a data set for torch's DataLoader too;
    ``subset``, ``split`` and ``filter`` make smaller ones; ``rename`` gives fields other names.

    A source can be pickled: unpickling opens the data again, in whichever process does it. The pickle holds all
    arguments that the source was made with.
    """

    def __init__(self, handle: _core.SourceHandle, listed: _core.SourceHandle | None = None):
        self._handle = handle
        self._listed = listed or handle  # the samples one after another, where the handle itself draws by weight
        self._recipe: Recipe | None = None
        self._reader: SampleReader | None = None
        self._targets: list[int] | None = None

    def __len__(self) -> int:
        return len(self._handle)

    def __getitem__(self, sample: int) -> Any:
        """One decoded sample, as a batch of a Loader would have it: a tuple in field order, or the bare value of a
        single field. Labels are Python integers.

        Of random patches it is the patch at that place of the first epoch with seed 0.
        """
        if isinstance(sample, slice):
            raise TypeError(f"source[{sample.start}:{sample.stop}]: wants one index; "
                            "source.subset(range(...)) makes a part")
        index = whole_number("sample", sample)
        if not -len(self) <= index < len(self):
            raise IndexError(f"sample {index}: the source has {len(self)} samples")
        reader = self._reader
        if reader is None or reader.process != os.getpid():
            # Its own Source, so that the reader does not keep this one alive.
            reader = self._reader = SampleReader(Source(self._listed))
        return reader.read(index % len(self))

    def __iter__(self) -> Iterator[Any]:
        """The samples in order, each by ``source[i]``; a Loader is faster."""
        for sample in range(len(self)):
            yield self[sample]

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
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class name; empty where there are none."""
        return {name: label for label, name in enumerate(self.classes)}

    @property
    def targets(self) -> list[int]:
        """The label of every sample. Folders and tables know them; of shards the label field is read once."""
        try:
            return list(self._labels())
        except UsageError as error:  # an attribute that is not there, for hasattr() and its like
            raise AttributeError(f"targets: {error}") from error

    def _labels(self) -> list[int]:
        if self._targets is None:
            self._targets = field_values(self, label_field(self))
        return self._targets

    @property
    def stored_bytes(self) -> int:
        """What the samples take where they lie."""
        return self._handle.stored_bytes()

    @checked_keywords
    def key(self, sample: int) -> str:
        """The sample's name: its path below the folder, or its number."""
        index = whole_number("sample", sample)
        if not -len(self) <= index < len(self):
            raise IndexError(f"sample {index}: the source has {len(self)} samples")
        return self._handle.key(index % len(self))

    @recorded
    def subset(self, samples: Union[float, Iterable[int], Iterable[bool]]) -> "Source":
        """Some of the samples: the first fraction (a float up to 1), those with these indices, or those where a mask
        is true (one boolean for each sample)."""
        if isinstance(samples, float):
            if not 0 < samples <= 1:
                raise ValueError(f"subset({samples}): a fraction is above 0 and at most 1")
            samples = range(max(1, round(samples * len(self))))
        if isinstance(samples, (str, bytes, Mapping)) or not hasattr(samples, "__iter__"):
            raise TypeError(f"subset({shown(samples)}): wants a fraction, such as 0.1, or a sequence of indices")
        size = len(self)
        indices = []
        for index in chosen_indices(samples, size, "subset"):
            if not -size <= index < size:
                raise ValueError(f"subset index {index}, the source has {size} samples")
            indices.append(index % size)
        return Source(self._handle.subset(indices))

    @recorded
    def rename(self, names: Mapping[str, str]) -> "Source":
        """The same samples with other names for some fields: ``source.rename({"jpg": "image", "cls": "label"})``."""
        if not isinstance(names, Mapping) or not all(isinstance(name, str) for pair in names.items() for name in pair):
            raise TypeError(f'rename({shown(names)}): wants {{"old name": "new name"}}')
        return Source(self._handle.rename(dict(names)))

    @recorded
    def split(self, fraction: Union[float, Sequence[Union[int, float]]], seed: int = 0, *,
              stratify: Union[str, Sequence[Any], None] = None) -> tuple["Source", ...]:
        """Sources that share no sample and together have all, chosen at random by `seed`.

        ``split(0.9)`` makes two: that fraction of the samples, and the rest. ``split([0.8, 0.1, 0.1])`` makes one for
        each fraction, ``split([800, 100, 100])`` one for each count, with sizes as torch.utils.data.random_split has
        them. Each part keeps the source's order.

        stratify: the name of a field of classes, such as "label", or a sequence with the class of each sample: every
            part then has every class in proportion, to within one sample.
        """
        sizes = part_sizes(fraction, len(self))
        seed = whole_number("seed", seed, 0, 2**64 - 1)
        parts = (divide(sizes, seed) if stratify is None else
                 divide_by_class(sizes, seed, class_of_each(self, stratify)))
        return tuple(Source(self._handle.subset(part)) for part in parts)

    @checked_keywords
    def filter(self, field: str, predicate: Callable[[Any], bool], *, threads: int | None = None) -> "Source":
        """The samples whose `field` satisfies `predicate`, in order.

        The predicate gets the value as a batch would have it: a number for a label, a str for text or ``"key"``,
        what the JSON holds, a NumPy array for an image. Every sample's field is read once, now.
        """
        from .loader import Loader

        text("field", field, "the name of a field")
        if not callable(predicate):
            raise TypeError(f"predicate={shown(predicate)}: wants a function of one value")
        chosen = []
        with Loader(self, batch_size=256, fields=[field], collate="list", output="numpy", threads=threads, rank=0,
                    world_size=1) as loader:
            for start, (values,) in zip(range(0, len(self), 256), loader):
                chosen += [start + i for i, value in enumerate(values) if predicate(value)]
        if not chosen:
            raise UsageError(f"filter({field!r}): no sample of {self.uri} satisfies it", code="invalid_argument",
                             uri=self.uri)
        return self.subset(chosen)

    def __repr__(self) -> str:
        made_by = self._recipe or f"Source {without_secrets(self.uri)!r}"
        return f"<penstock.{made_by}: {self.kind}, {len(self)} samples of {', '.join(self.fields)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._recipe is None:
            raise TypeError(f"{self!r} cannot be pickled: how it was made is not known")
        return remake, (self._recipe, self._handle.fingerprint())

    def __copy__(self) -> "Source":
        return self  # immutable

    def __deepcopy__(self, _: Any) -> "Source":
        return self


@recorded
def ImageFolder(path: Paths, masks: Union[str, os.PathLike, None] = None, *, keep_index: bool = True) -> Source:
    """Images (jpg, png, webp, tif, bmp, gif, ppm, pgm, pbm, pnm, qoi) below a folder, or matching a pattern.

    Folders right below `path` are classes, sorted by name: fields ``image, label``. A folder
    without folders is flat: field ``image``. With `masks`, a folder that holds a mask for each
    image under the same name (its ending may differ), there is also ``mask``.

    Hidden files, hidden folders and ``__MACOSX`` are passed over; files with other endings are left out with
    one warning. A class without images keeps its number, with a warning. A list of folders (with the same
    classes), patterns or files is read in the order given.
    """
    return _open(path, kind="images", masks=masks, keep_index=keep_index)


@recorded
def Files(files: Sequence[Any]) -> Source:
    """Images or .npy files that you list: ``Files([("a.jpg", 0), ("b.jpg", 1)])`` or ``Files(["a.jpg", "b.jpg"])``.

    Labels are whole numbers, or names of classes, which are sorted and counted from 0 (``source.classes``). Relative
    paths start from the working folder. The key of a sample is its path as given. For more columns than a label, or
    labels with fractions, write a table and open it by ``Manifest``.
    """
    if isinstance(files, (str, os.PathLike, Mapping)) or not hasattr(files, "__iter__"):
        raise TypeError(f"Files({shown(files)}): wants a list of paths, or of (path, label) pairs")
    files = list(files)
    return _open_pairs(files) if _are_pairs(files) else _open(files)


@recorded
def Npy(path: Paths, *, keep_index: bool = True, headers: Headers = None) -> Source:
    """One big .npy file (each entry of its first axis is a sample), or several .npy files, each of them a sample:
    a folder, a pattern, or a list (also a list of one)."""
    return _open(path, kind="npy", keep_index=keep_index, headers=headers)


@recorded
def Tar(path: Paths, *, kinds: Mapping[str, str] | None = None, keep_index: bool = True,
        headers: Headers = None, memory: Memory = None) -> Source:
    """Tar shards by the WebDataset convention: a file, a glob or brace pattern, a folder of shards, or a list of these.

    Files whose names agree up to the first dot are one sample; the rest of the name is the field: ``jpg``, ``cls``,
    ``seg.png``, ``json``. Images, .npy, .npz (a field an array: ``npz/weights``), .cls, .txt and .json are decoded,
    anything else is handed over as bytes; nothing is ever unpickled. `kinds` says what a field is where its name does
    not: ``{"labels.png": "mask", "bin": "float32[16]"}``.

    .tar.gz and .tar.zst can only be read forward: `shuffle=True` then shuffles in windows.

    headers: of a URL: ``{"Authorization": "Bearer ..."}`` goes with each request to its server, and to no other.
    memory: what opening may take while it works, for example "1GiB" (default: a quarter of what is free). The index that
        stays, about 60 bytes for each sample, comes on top.
    """
    return _open(path, kind="tar", kinds=kinds, keep_index=keep_index, headers=headers, memory=memory)


@recorded
def TFRecord(path: Paths, *, kinds: Mapping[str, str] | None = None, verify: bool = True,
             keep_index: bool = True, headers: Headers = None, memory: Memory = None) -> Source:
    """TFRecord shards of tf.train.Example or SequenceExample: each feature is a field.

    `path` is a file, a glob or brace pattern, a folder of shards, or a list of these.
    `verify` checks the checksums of every record that is read. `kinds` says what a feature is where its first values
    do not tell: ``{"mask": "mask", "embedding": "float32[512]"}``. `headers` go to the server of a URL, and `memory` is
    what opening may take (see Tar).
    """
    return _open(path, kind="tfrecord", kinds=kinds, verify=verify, keep_index=keep_index, headers=headers, memory=memory)


@recorded
def Manifest(path: Union[str, os.PathLike], *, root: Union[str, os.PathLike, None] = None,
             kinds: Mapping[str, str] | None = None, delimiter: str | None = None, headers: Headers = None,
             **fields: str) -> Source:
    """A table of samples, CSV, TSV or JSON lines: paths and values, one sample per row.

    ``Manifest("train.csv", image="path", label="class")`` makes the fields image and label of those columns; without
    such keywords every column is a field. Numbers with decimals are float64 (``kinds={"price": "float32"}`` rounds them).
    Columns of paths to images or .npy files are read, relative to the table's
    folder or to `root` (which they may not leave); names of classes under "label" or "class" become numbers.

    The cells of a .csv are separated by commas. Where the line of names has none, semicolons or tabs are found by
    themselves; `delimiter` says it where that is not so. `headers` go to the server of a URL (see Tar).
    """
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter.encode()) != 1):
        raise ValueError(f"delimiter={shown(delimiter)}: wants one letter, such as \";\"")
    try:
        return _open(path, kind="manifest", root=root, kinds=kinds, columns=fields, delimiter=delimiter or "",
                     headers=headers)
    except UsageError as error:
        slips = [did_you_mean(name, ("root", "kinds", "delimiter", "headers")) for name in fields]
        if not any(slips):
            raise
        raise UsageError(f"{error}{''.join(slips)}", code=error.code, uri=error.uri) from None


@recorded
def Mix(sources: Sequence[Union[str, os.PathLike, Source]], weights: Sequence[float] | None = None) -> Source:
    """Several sources with the same fields as one.

    Without `weights` every sample of each comes once an epoch. With them each source makes up that share of the
    samples, small ones coming round more often; an epoch is as many samples as there are in all (see `epoch_size`).
    """
    if isinstance(sources, (str, os.PathLike, Source, Mapping)) or not hasattr(sources, "__iter__"):
        raise TypeError(f"sources={shown(sources)}: Mix wants a list of sources")
    parts = [open_source(source) for source in sources]
    handles = [part._handle for part in parts]
    if weights is None:
        return Source(_core.mix_sources(handles, []))
    if isinstance(weights, (str, bytes, Mapping)) or not hasattr(weights, "__iter__"):
        raise TypeError(f"weights={shown(weights)}: wants a number for each source")
    shares = [any_number("weights", weight) for weight in weights]
    return Source(_core.mix_sources(handles, shares), listed=_core.mix_sources(handles, []))


@recorded
def open_source(source: Union[Paths, Pairs, "Source"], kind: str | None = None, *, headers: Headers = None,
                memory: Memory = None) -> Source:
    """A path, glob or brace pattern or URL, a list of them, or a list of (path, label) pairs to a Source; a Source is
    returned as it is. `headers` and `memory`: see Tar."""
    if isinstance(source, Source):
        return source
    if isinstance(source, (list, tuple)) and _are_pairs(source):
        return _open_pairs(source)
    return _open(source, kind="" if kind is None else kind, headers=headers, memory=memory)


def _are_pairs(files: Sequence[Any]) -> bool:
    are_pairs = [isinstance(file, (tuple, list)) for file in files]
    if any(are_pairs) and not all(are_pairs):
        raise TypeError("a list of files has either paths or (path, label) pairs, not both")
    return any(are_pairs)


def _open_pairs(pairs: Sequence[Any]) -> Source:
    for pair in pairs:
        if len(pair) != 2 or not isinstance(pair[0], (str, os.PathLike)):
            raise TypeError(f"{shown(pair)} is not a pair of a path and a label")
    labels = [label for _, label in pairs]
    if all(isinstance(label, str) for label in labels):
        classes = sorted(set(labels))
        number_of = {name: number for number, name in enumerate(classes)}
        return _open([path for path, _ in pairs], labels=[number_of[label] for label in labels], classes=classes)
    numbers = []
    for path, label in pairs:
        if isinstance(label, str) or not hasattr(label, "__index__"):
            raise TypeError(f"the label {shown(label)} of {shown(os.fspath(path))}: labels are all whole numbers or all names "
                            "of classes; other values go into a table (penstock.Manifest)")
        numbers.append(whole_number("label", label))
    return _open([path for path, _ in pairs], labels=numbers)


def _path_list(path: Any) -> list[str]:
    paths = list(path) if isinstance(path, (list, tuple)) else [path]
    if not paths:
        raise ValueError("the source is an empty list")
    for one in paths:
        if not isinstance(one, (str, os.PathLike)):
            raise TypeError(f"a source is a path, a list of paths, a list of (path, label) pairs or a penstock source, "
                            f"not {type(one).__name__}")
    return [os.path.expanduser(os.fspath(one)) for one in paths]


def _open(path, kind="", masks=None, root=None, columns=None, kinds=None, delimiter="", verify=True, keep_index=True,
          labels=None, classes=(), headers=None, memory=None) -> Source:
    paths = _path_list(path)
    name = os.fsdecode(paths[0]) + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    began, shown = time.monotonic(), False

    def progress(files: int) -> None:
        nonlocal shown
        if time.monotonic() - began > _QUIET_SECONDS and sys.stderr.isatty():
            shown = True
            print(f"\rpenstock: looking through {without_secrets(name)}: {files:,} so far", end="", file=sys.stderr, flush=True)

    def encoded(keyword: str, other: Any) -> bytes:
        return os.fsencode(path_argument(keyword, other)) if other is not None else b""

    handle = _core.open_source([os.fsencode(one) for one in paths], is_list=isinstance(path, (list, tuple)),
                               kind=text("kind", kind), masks=encoded("masks", masks), root=encoded("root", root),
                               columns=list(text_mapping("columns", columns).items()),
                               field_kinds=text_mapping("kinds", kinds), delimiter=delimiter,
                               verify=flag("verify", verify), keep_index=flag("keep_index", keep_index), labels=labels,
                               classes=list(classes), progress=progress, warn=log.warning,
                               headers=header_lines(headers), memory=0 if memory is None else parse_bytes(memory))
    if shown:
        print(file=sys.stderr)
    log.info("opened %s: %s, %d samples in %.2f s", handle.uri(), handle.kind(), len(handle), time.monotonic() - began)
    return Source(handle)
