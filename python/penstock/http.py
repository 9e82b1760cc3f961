"""Headers and URLs of web servers, and the secrets in them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from . import _core

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"]+")


def header_lines(headers: Mapping[str, str] | None) -> list[str]:
    """Returns headers as lines. A message never shows the value of a header, which may be a secret."""
    if headers is None:
        return []
    if not isinstance(headers, Mapping):
        raise TypeError('headers= wants a dict such as {"Authorization": "Bearer ..."}, '
                        f"not {type(headers).__name__}")
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"headers: the value of {name!r} is {type(value).__name__}; names and values are text")
    return [f"{name}: {value}" for name, value in headers.items()]


def without_secrets(uri: str) -> str:
    """Returns a URL without password and query. A path is returned as it is."""
    return os.fsdecode(_core.without_secrets(os.fsencode(uri)))


def redacted(text: str) -> str:
    """Returns a text, such as the repr of an argument, in which no URL has a password or query."""
    return _URL.sub(lambda url: without_secrets(url[0]), text)
