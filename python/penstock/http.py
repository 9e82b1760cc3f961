"""What is sent to web servers along with requests."""

from __future__ import annotations

from typing import Mapping


def header_lines(headers: Mapping[str, str] | None) -> list[str]:
    """``{"Authorization": "Bearer ..."}`` as lines. A message never shows a value: it may be a secret."""
    if headers is None:
        return []
    if not isinstance(headers, Mapping):
        raise TypeError(f'headers= wants a dict such as {{"Authorization": "Bearer ..."}}, not {type(headers).__name__}')
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"headers: the value of {name!r} is {type(value).__name__}; names and values are text")
    return [f"{name}: {value}" for name, value in headers.items()]


def without_secrets(uri: str) -> str:
    """The URL without password and query, for people to read. A path is returned as it is."""
    scheme, separator, rest = uri.partition("://")
    if not separator or not scheme or "/" in scheme:
        return uri
    for mark in "?#":
        rest = rest.partition(mark)[0]
    host, slash, path = rest.partition("/")
    return scheme + separator + host.rpartition("@")[2] + slash + path
