"""Staging: copies data sets to a local folder, beforehand or while they are read."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import time
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from . import _core
from .arguments import checked_keywords, flag, whole_number
from .arguments import path as path_argument
from .errors import Error
from .http import header_lines, without_secrets
from .sizes import parse_bytes
from .stats import StagingStats

if TYPE_CHECKING:
    from .sources.opening import Headers, Path

log = logging.getLogger("penstock")

_QUIET_SECONDS = 1.0  # work that takes longer shows its progress


@dataclass(frozen=True)
class StageReport:
    """What ``stage`` did.

    Attributes:
        objects: The number of files of the data set.
        bytes: Their size.
        objects_skipped: The number of files that the folder had already.
        bytes_copied: The bytes that this process read from the source. Other processes may have copied the rest.
        seconds: The time that it took.
    """

    objects: int
    bytes: int
    objects_skipped: int
    bytes_copied: int
    seconds: float


@checked_keywords
def stage(source: Path, folder: Path, *, headers: Headers = None, memory: int | str | None = None,
          threads: int | None = None, verify: bool = False, piece: int | str | None = None,
          sync: bool = True) -> StageReport:
    """Copies a data set to a local folder, and returns when the copy is whole.

    The folder then opens as the same data set. The copy is made in pieces with a checksum each. If it is interrupted,
    the next call verifies what is there and copies the rest. Several processes that stage the same source to the same
    folder share the work. Files that are whole, and whose size and time (or ETag) the source still has, are skipped.

    ``ps.Loader(source, stage=folder)`` does the same while it reads.

    Args:
        source: A file, a folder, a glob or brace pattern, or a URL. A web server cannot list a folder, so a URL names
            files, a table (whose files are copied too) or a Zarr hierarchy.
        folder: The local folder. It is made if it is missing.
        headers: Headers of the requests to the server of a URL, as for ``Tar``.
        memory: The memory for pieces on their way. The default is "64MiB".
        threads: The number of threads that write, and that read local files. The default is 4.
        verify: Whether all files are compared with the checksums of the copying afterwards, also those that were
            skipped.
        piece: The size of a piece. The default is "8MiB".
        sync: Whether each file survives a power failure once it has its name.

    Returns:
        A StageReport.

    Raises:
        NotFoundError: There is no such file or folder.
        Error: A file changed while it was copied, the disk has too little space, or a copy is damaged (`verify`).

    Example:
        >>> ps.stage("https://example.org/train-{000..146}.tar", "/scratch/train")
        >>> loader = ps.Loader("/scratch/train")
    """
    name, target = os.fsencode(path_argument("source", source)), os.fsencode(_folder("folder", folder))
    with _Progress(f"staging {without_secrets(os.fsdecode(name))}") as progress:
        report = _core.stage(name, target, headers=header_lines(headers),
                             piece_bytes=0 if piece is None else parse_bytes(piece, "piece"),
                             memory_bytes=0 if memory is None else parse_bytes(memory),
                             threads=0 if threads is None else whole_number("threads", threads, 1, 1024),
                             sync=flag("sync", sync), progress=progress)
    if flag("verify", verify):
        with _Progress(f"verifying {os.fsdecode(target)}") as progress:
            damaged = _core.check_staged(target, progress=progress)["damaged"]
        if damaged:
            more = f" (and {len(damaged) - 1} more files)" if len(damaged) > 1 else ""
            raise Error(f"{damaged[0][0]} {damaged[0][1]}{more}", code="corrupt", uri=os.fsdecode(target))
    return StageReport(**report)


class _Progress:
    """Shows bytes, rate and time left in one line of a terminal."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._began = time.monotonic()
        self._is_shown = False

    def __call__(self, objects: int, done: int, total_objects: int, total: int) -> None:
        seconds = time.monotonic() - self._began
        if seconds < _QUIET_SECONDS or not sys.stderr.isatty():
            return
        self._is_shown = True
        rate = done / seconds
        text = f"{objects:,} files, {done / 1e6:,.0f} MB, {rate / 1e6:,.0f} MB/s"
        if total > 0:
            text = f"{100 * done / total:.0f} %, {text}"
            if rate > 0:
                text += f", {max(0, total - done) / rate:,.0f} s left"
        print(f"\rpenstock: {self._title}: {text}\033[K", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            print(file=sys.stderr)


class OpenStage:
    """A folder that loaders and sources of this process stage to. They share it."""

    def __init__(self, folder: str, memory: int) -> None:
        self.folder = folder
        self.handle = _core.open_stage(os.fsencode(folder), memory_bytes=memory)
        self._loaders = 0
        self._has_warned = False

    def enter(self) -> None:
        """Counts a loader that uses it."""
        self._loaders += 1

    def leave(self) -> None:
        """The last loader that leaves ends the copying."""
        self._loaders -= 1
        if self._loaders == 0:
            with _lock:
                if _open.get(self.folder) is self:
                    del _open[self.folder]
            self.handle.close()

    def stats(self) -> StagingStats:
        """Returns the numbers, and logs the first failure once."""
        stats = cast(StagingStats, self.handle.stats())
        if stats["error"] and not self._has_warned:
            self._has_warned = True
            log.warning("staging to %s failed, and the data come from the source: %s", self.folder, stats["error"])
        return stats


_open: weakref.WeakValueDictionary[str, OpenStage] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def open_stage(folder: Path | None, memory: int = 0) -> OpenStage | None:
    """Returns the stage of the folder that ``stage=`` names."""
    if folder is None:
        return None
    name = _folder("stage", folder)
    with _lock:
        found = _open.get(name)
        if found is None:
            found = _open[name] = OpenStage(name, memory)
        return found


def _folder(name: str, folder: Any) -> str:
    path = path_argument(name, folder)
    if not path:
        raise ValueError(f"{name}={path!r}: wants a folder")
    return os.path.abspath(path)


@atexit.register
def _close_all() -> None:
    for stage in list(_open.values()):
        stage.handle.close()


# The threads of a stage do not come along through a fork, so a child opens its own.
os.register_at_fork(after_in_child=_open.clear)
