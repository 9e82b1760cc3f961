"""Arguments that Zarr and Patches share."""

from __future__ import annotations

import numbers
import operator
import os
from typing import Any

from .selections import MAX_INDEX


def missing_values(nan: Any) -> str | float:
    """Checks ``nan=``: "keep", "error", or the number that replaces missing values."""
    if nan not in ("keep", "error") and (isinstance(nan, (str, bool)) or not isinstance(nan, numbers.Real)):
        raise ValueError(f'nan={nan!r}: wants "keep", "error" or a number')
    return nan if isinstance(nan, str) else float(nan)


def missing_chunks(missing: str | None) -> str:
    """Checks ``missing=``: "fill" or "error". The engine takes "" for None."""
    if missing not in ("fill", "error", None):
        raise ValueError(f'missing={missing!r}: wants "fill" or "error"')
    return missing or ""


def array_name(path: Any) -> str:
    """Checks the path or URL of one array."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"a volume or array is named by its path or URL, not by {type(path).__name__}")
    return os.path.expanduser(os.fspath(path))


def array_names(paths: Any) -> list[str]:
    """Checks one path or URL, or several. None is an empty list."""
    if paths is None:
        return []
    if isinstance(paths, (str, os.PathLike)) or not hasattr(paths, "__iter__"):
        return [array_name(paths)]
    return [array_name(path) for path in paths]


def integer(keyword: str, value: Any, below: int = MAX_INDEX) -> int:
    """Checks a whole number whose magnitude is less than `below`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{keyword}={value!r}: wants a whole number")
    number = operator.index(value)
    if not -below < number < below:
        raise ValueError(f"{keyword}={value!r} is too large")
    return number
