"""Opens whatever a user names as a source: a path, a pattern, a URL, or a list of files."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from .. import _core
from ..arguments import flag, shown, text, text_mapping, whole_number
from ..arguments import path as path_argument
from ..http import header_lines, without_secrets
from ..sizes import parse_bytes
from ..staging import OpenStage, open_stage
from ..storage import Storage, storage_options
from .recipe import recorded
from .source import Source

log = logging.getLogger("penstock")

Path: TypeAlias = "str | os.PathLike[str]"
# One path, glob or brace pattern, or several in the order in which their samples come.
Paths: TypeAlias = "Path | Sequence[Path]"
Pairs: TypeAlias = "Sequence[tuple[Path, int | str]]"  # files and their labels
Headers: TypeAlias = "Mapping[str, str] | None"  # of HTTP requests
Memory: TypeAlias = "int | str | None"  # "1GiB", or a number of bytes

_QUIET_SECONDS = 1.0  # work that takes longer shows its progress


@recorded
def open_source(source: Paths | Pairs | Source, kind: str | None = None, *, headers: Headers = None,
                storage: Storage = None, memory: Memory = None, stage: Path | None = None) -> Source:
    """Opens a source of any kind. The path tells the kind.

    Args:
        source: A path, a glob or brace pattern, a URL, a list of these, or a list of (path, label) pairs. A Source is
            returned unchanged.
        kind: The kind of the source, if its path does not tell it: "images", "npy", "tar", "tfrecord",
            "manifest", "packed", "zarr" or "mds".
        headers: Headers of the requests to the server of a URL, as for ``Tar``.
        storage: Options of buckets, as for ``Tar``.
        memory: The memory that opening may take, as for ``Tar``.
        stage: A local folder that receives a copy of the data while they are read, as for ``Loader``.

    Returns:
        The source.

    Raises:
        NotFoundError: There is no such file or folder, or no samples in it.
        UsageError: The kind is not known, or the data are not of that kind.

    Example:
        >>> source = ps.open_source("shards/train-{000..146}.tar")
        >>> len(source), source.fields
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, (list, tuple)) and are_pairs(source):
        return open_pairs(source, stage=stage)
    return open_files(source, kind="" if kind is None else kind, headers=headers, storage=storage, memory=memory,
                      stage=stage)


def open_files(path: Any, *, kind: str = "", masks: Path | None = None, root: Path | None = None,
               columns: Mapping[str, str] | None = None, kinds: Mapping[str, str] | None = None, delimiter: str = "",
               verify: bool = True, keep_index: bool = True, labels: list[int] | None = None,
               classes: Sequence[str] = (), headers: Headers = None, storage: Storage = None, memory: Memory = None,
               stage: Path | None = None) -> Source:
    """Opens one path or a list of paths by the engine, with checked arguments."""
    paths = _path_list(path)
    through = open_stage(stage)
    name = os.fsdecode(paths[0]) + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
    with (storage_options(storage),
          Progress(lambda files: f"looking through {without_secrets(name)}: {files:,} so far") as progress):
        handle = _core.open_source([os.fsencode(one) for one in paths], is_list=isinstance(path, (list, tuple)),
                                   kind=text("kind", kind), masks=_encoded("masks", masks),
                                   root=_encoded("root", root), columns=list(text_mapping("columns", columns).items()),
                                   field_kinds=text_mapping("kinds", kinds), delimiter=delimiter,
                                   verify=flag("verify", verify), keep_index=flag("keep_index", keep_index),
                                   labels=labels, classes=list(classes), progress=progress, warn=log.warning,
                                   headers=header_lines(headers), memory=memory_bytes(memory),
                                   stage=None if through is None else through.handle)
    return opened(handle, progress.began, through)


class Progress:
    """Shows the progress of long work in one line of a terminal. It is the callback of the engine, in this thread."""

    def __init__(self, message: Callable[[int], str]) -> None:
        self._message = message
        self.began = time.monotonic()
        self._is_shown = False

    def __call__(self, count: int) -> None:
        """Shows the message for this count, unless the work began only just now."""
        if time.monotonic() - self.began > _QUIET_SECONDS and sys.stderr.isatty():
            self._is_shown = True
            print(f"\rpenstock: {self._message(count)}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, exception: type[BaseException] | None, *_: object) -> None:
        if self._is_shown and exception is None:
            print(file=sys.stderr)


def opened(handle: _core.SourceHandle, began: float, stage: OpenStage | None = None) -> Source:
    """Wraps a source that the engine has opened since the moment `began`, and logs how long that took."""
    log.info("opened %s: %s, %d samples in %.2f s", handle.uri(), handle.kind(), len(handle), time.monotonic() - began)
    source = Source(handle)
    source._stage = stage  # so that what is opened to the same folder shares it
    return source


def memory_bytes(memory: Memory) -> int:
    """Returns ``memory=`` in bytes. 0 leaves the choice to the engine."""
    return 0 if memory is None else parse_bytes(memory)


def are_pairs(files: Sequence[Any]) -> bool:
    """Tells whether a list holds (path, label) pairs. A list of paths and pairs is an error."""
    found = [isinstance(file, (tuple, list)) for file in files]
    if any(found) and not all(found):
        raise TypeError("a list of files has either paths or (path, label) pairs, not both")
    return any(found)


def open_pairs(pairs: Sequence[Any], *, stage: Path | None = None) -> Source:
    """Opens files with their labels: whole numbers, or names of classes, which are numbered in sorted order."""
    for pair in pairs:
        if len(pair) != 2 or not isinstance(pair[0], (str, os.PathLike)):
            raise TypeError(f"{shown(pair)} is not a pair of a path and a label")
    labels = [label for _, label in pairs]
    if all(isinstance(label, str) for label in labels):
        classes = sorted(set(labels))
        number_of = {name: number for number, name in enumerate(classes)}
        return open_files([path for path, _ in pairs], labels=[number_of[label] for label in labels], classes=classes,
                          stage=stage)
    numbers = []
    for path, label in pairs:
        if isinstance(label, str) or not hasattr(label, "__index__"):
            raise TypeError(f"the label {shown(label)} of {shown(os.fspath(path))}: labels are all whole numbers or "
                            "all names of classes; other values go into a table (penstock.Manifest)")
        numbers.append(whole_number("label", label))
    return open_files([path for path, _ in pairs], labels=numbers, stage=stage)


def _path_list(path: Any) -> list[str]:
    paths = list(path) if isinstance(path, (list, tuple)) else [path]
    if not paths:
        raise ValueError("the source is an empty list")
    for one in paths:
        if not isinstance(one, (str, os.PathLike)):
            raise TypeError(f"a source is a path, a list of paths, a list of (path, label) pairs or a penstock source, "
                            f"not {type(one).__name__}")
    return [os.path.expanduser(os.fspath(one)) for one in paths]


def _encoded(keyword: str, path: Path | None) -> bytes:
    return b"" if path is None else os.fsencode(path_argument(keyword, path))
