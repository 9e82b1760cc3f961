"""Sizes in bytes, as people write them."""

from __future__ import annotations

import re

_UNITS = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9,
          "t": 10**12, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def parse_bytes(size: int | str, keyword: str = "memory") -> int:
    """Returns the number of bytes of a size such as ``"12GiB"``, ``"500 MB"`` or a number."""
    if isinstance(size, int) and not isinstance(size, bool):
        count = size
    elif isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", size)
        if not match or match.group(2).lower() not in _UNITS:
            raise ValueError(f'{keyword}={size!r}: wants a size such as "12GiB", "500MB" or a number of bytes')
        count = int(float(match.group(1)) * _UNITS[match.group(2).lower()])
    else:
        raise TypeError(f"{keyword}={size!r}: wants a size such as \"12GiB\" or a number of bytes")
    if count >= 2**63:
        raise ValueError(f"{keyword}={size!r}: is too large")
    if count <= 0:
        raise ValueError(f"{keyword}={size!r}: must be above zero")
    return count
