"""The Cache: what samples are made from, kept in memory and on disk under a budget that holds."""

from __future__ import annotations

import atexit
import logging
import os
import weakref
from typing import Any, Union

from . import _core
from .arguments import checked_class
from .sizes import parse_bytes

log = logging.getLogger("penstock")


@checked_class
class Cache:
    """Keeps what loaders read and decode: ``ps.Loader(..., cache=ps.Cache(ram="8GiB", disk="/scratch/c:200GiB"))``.

    ``ram``: memory of the node. Processes of one user that read the same data with the same first steps share
    it; it goes away with the last of them. ``disk``: a folder and a size; what is there is found again by the
    next run. Once all samples are in memory or on disk, those in memory are copied to spare room on disk, in the
    background and as long as the Cache is open. What comes first stays: a loader that visits every sample once an epoch then hits as often as
    any cache of that size can. What does not fit is read as if there were no cache.

    One Cache may serve several loaders (training and validation). ``cache="8GiB"`` is short for
    ``Cache(ram="8GiB")``. ``policy="lru"`` throws out what was unused longest instead: for comparison, in
    memory alone.

    Each entry knows the version of the object that it was made from: size, time and inode of a file, ETag or
    Last-Modified of an object on a server. Before an entry is used, the object is looked at again, a file once per
    epoch, an object on a server once per loader, and what has changed is read anew. ``revalidate=False`` saves that:
    for data that never change. A server that says no version has its objects cached in memory alone.
    """

    def __init__(self, ram: Union[int, str, None] = None, disk: str | None = None, *, policy: str = "keep",
                 revalidate: bool = True):
        if not isinstance(revalidate, bool):
            raise TypeError(f"revalidate={revalidate!r}: wants True or False")
        folder, size = _folder_and_size(disk) if disk is not None else ("", 0)
        if not isinstance(policy, str):
            raise TypeError(f'policy={policy!r}: wants "keep" or "lru"')
        self.ram = 0 if ram is None else parse_bytes(ram, "ram")
        self.disk = disk
        self._handle = _core.open_cache(self.ram, os.fsencode(folder), size, policy, revalidate)
        self._is_closed = False
        _open_caches.add(self)

    def tiers(self) -> dict[str, dict[str, Any]]:
        """What each tier holds: capacity, used (bytes), entries, damaged, shared, on disk how many entries were
        copied there from memory by this process, and how often it could not add one because another process kept
        the lock. Empty before the first loader."""
        return self._handle.tiers()

    def close(self) -> None:
        """Gives the memory back once no loader uses it; without this, so does the end of the object."""
        self._is_closed = True
        self._handle.close()

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        tiers = ", ".join(f"{name} {tier['used'] / 2**20:.0f} of {tier['capacity'] / 2**20:.0f} MiB"
                          for name, tier in self.tiers().items())
        return f"<penstock.Cache: {tiers or ('closed' if self._is_closed else 'not used yet')}>"

    def __reduce__(self) -> Any:
        raise TypeError("a Cache cannot be pickled or copied: make one with the same arguments in each process, and "
                        "they share its memory")

    def _log_warnings(self) -> None:
        for message in self._handle.take_warnings():
            log.warning("%s", message)


def make_cache(cache: Any) -> tuple[Cache | None, bool]:
    """What ``cache=`` means, and whether it belongs to the one loader alone."""
    if cache is None or isinstance(cache, Cache):
        return cache, False
    if isinstance(cache, (int, str)) and not isinstance(cache, bool):
        return Cache(ram=parse_bytes(cache, "cache")), True
    raise TypeError(f'cache={cache!r}: wants a size such as "8GiB", or a penstock.Cache')


def _folder_and_size(disk: Any) -> tuple[str, int]:
    if not isinstance(disk, (str, os.PathLike)):
        raise TypeError(f'disk={disk!r}: wants a folder and a size, such as "/scratch/cache:200GiB"')
    folder, colon, size = os.fspath(disk).rpartition(":")
    if not colon or not folder or not size or "\0" in folder:
        raise ValueError(f'disk={disk!r}: wants a folder and a size, such as "/scratch/cache:200GiB"')
    return os.path.abspath(os.path.expanduser(folder)), parse_bytes(size, "disk")


_open_caches: weakref.WeakSet[Cache] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for cache in list(_open_caches):
        cache.close()
