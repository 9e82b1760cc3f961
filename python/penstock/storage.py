"""Options of stores in buckets: ``storage=`` of the functions that open sources."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from . import _core
from .arguments import did_you_mean

# "endpoint", "region", "profile", "addressing": text; "anonymous", "requester_pays": bool; "credentials": a function
# that returns {"access_key_id": ..., "secret_access_key": ..., "session_token": ..., "expires": ...} or
# {"bearer_token": ...}.
Storage: TypeAlias = "Mapping[str, Any] | None"

_TEXTS = ("endpoint", "region", "profile", "addressing")
_FLAGS = ("anonymous", "requester_pays")
_CREDENTIALS = ("access_key_id", "secret_access_key", "session_token", "bearer_token")


def _seconds(expires: datetime.datetime | float | None) -> float | None:
    return expires.timestamp() if isinstance(expires, datetime.datetime) else expires


def _as_tuple(function: Callable[[], Mapping[str, Any]]) -> Callable[[], tuple[Any, ...]]:
    def call() -> tuple[Any, ...]:
        given = function()
        return (*(given.get(name) or "" for name in _CREDENTIALS), _seconds(given.get("expires")))

    return call


@contextlib.contextmanager
def storage_options(storage: Storage) -> Iterator[None]:
    """Holds for the stores that this thread makes meanwhile. Messages never show the values, which may be secrets."""
    if storage is None:
        yield
        return
    if not isinstance(storage, Mapping):
        raise TypeError(f'storage= wants a dict such as {{"anonymous": True}}, not {type(storage).__name__}')
    names = (*_TEXTS, *_FLAGS, "credentials")
    for name, value in storage.items():
        if name not in names:
            raise TypeError(f"storage= has no option {name!r}{did_you_mean(str(name), names)}")
        wanted = str if name in _TEXTS else bool
        if name == "credentials" and not callable(value):
            raise TypeError('storage: "credentials" is a function that returns a dict with "access_key_id", '
                            f'"secret_access_key" and "session_token", not {type(value).__name__}')
        if name != "credentials" and not isinstance(value, wanted):
            raise TypeError(f"storage: {name!r} is {type(value).__name__}, not {wanted.__name__}")
    credentials = storage.get("credentials")
    scope = _core.StorageScope(
        **{name: storage.get(name, "") for name in _TEXTS}, **{name: storage.get(name, False) for name in _FLAGS},
        credentials=None if credentials is None else _as_tuple(credentials))
    scope.enter()
    try:
        yield
    finally:
        scope.exit()
