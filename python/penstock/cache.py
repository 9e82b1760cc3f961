"""The Cache: keeps samples in memory and on disk between epochs."""

from __future__ import annotations

import atexit
import logging
import os
import weakref
from typing import Any, Literal, cast

from . import _core
from .arguments import checked_class
from .sizes import parse_bytes
from .stats import TierState

log = logging.getLogger("penstock")


@checked_class
class Cache:
    """Keeps samples between epochs, in memory that all processes of a machine share and on disk.

    The cache never evicts: entries that were added first stay. For a loader that visits every sample once per epoch, no
    cache of that size can have more hits. Samples that do not fit are read as if there were no cache.

    Processes of one user that read the same data with the same first transforms share the memory, which is freed when
    the last of them ends. It lies in /dev/shm, or in the folder that the environment variable
    PENSTOCK_SHARED_MEMORY_DIR names. The next run uses the entries on disk. Once all samples are in memory or on disk,
    those in memory are copied to free space on disk, in the background, as long as the Cache is open.

    Each entry knows the version of the file or object that it was made from: size, time and inode of a file, ETag or
    Last-Modified of an object on a server. Before an entry is used, its version is compared with the present one: once
    per epoch for a file, and once per loader for an object on a server. Whatever has changed is read again. Objects of
    a server that sends no version are cached in memory only.

    One Cache may serve several loaders (training and validation), and any thread may use it. ``cache="8GiB"`` of a
    Loader is short for ``Cache(ram="8GiB")``.

    Args:
        ram: The memory to use, for example "8GiB".
        disk: A folder and a size, for example "/scratch/cache:200GiB".
        policy: "keep" never evicts. "lru" evicts the entry that was unused longest; it is for comparison, and in memory
            only.
        revalidate: Whether versions are compared. False saves this work, for data that never change.

    Raises:
        ValueError: A size cannot be read, or neither `ram` nor `disk` is given.

    Example:
        >>> cache = ps.Cache(ram="8GiB", disk="/scratch/cache:200GiB")
        >>> train = ps.Loader("data/train", cache=cache)
        >>> validation = ps.Loader("data/val", cache=cache)
    """

    def __init__(self, ram: int | str | None = None, disk: str | None = None, *,
                 policy: Literal["keep", "lru"] = "keep", revalidate: bool = True) -> None:
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

    def tiers(self) -> dict[str, TierState]:
        """Returns the state of each tier.

        Returns:
            A dict by the name of the tier, "ram" or "disk". It is empty before the first loader uses the cache.

        Example:
            >>> cache.tiers()["ram"]["used"]
        """
        return cast("dict[str, TierState]", self._handle.tiers())

    def close(self) -> None:
        """Frees the memory as soon as no loader uses it. Destroying the object does the same."""
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
    """Returns the cache for ``cache=`` of a Loader, and whether it belongs to that loader alone."""
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
