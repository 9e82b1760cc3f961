"""What is sent to web servers along with requests."""

from __future__ import annotations

import os
import re
from typing import Mapping

from . import _core

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"]+")


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
    return os.fsdecode(_core.without_secrets(os.fsencode(uri)))


def redacted(text: str) -> str:
    """A text for people, such as the repr of an argument, with every URL in it without password and query."""
    return _URL.sub(lambda url: without_secrets(url[0]), text)
