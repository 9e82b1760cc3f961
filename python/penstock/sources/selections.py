"""Translates ``select=`` and ``isel=`` for the engine."""

from __future__ import annotations

import datetime
import operator
from typing import Any

import numpy as np

MAX_INDEX = 1 << 62  # no index or extent is larger


def selection(dim: Any, value: Any) -> tuple[Any, ...]:
    """Translates a selection by coordinates.

    Returns:
        ("value", label), ("list", labels) or ("range", from, to, step). A label is a number, or a date as (text,
        is_moment, calendar).
    """
    where = f"select {dim!r}"
    if isinstance(value, slice):
        return ("range", _end(where, value.start), _end(where, value.stop), _step(where, value.step))
    if isinstance(value, tuple):
        if len(value) != 2:
            raise ValueError(f"{where}: {value!r} is no range (from, to); a list selects single values")
        return ("range", _end(where, value[0]), _end(where, value[1]), 1)
    labels = _items(where, value)
    if labels is not None:
        return ("list", [_label(where, label) for label in labels])
    return ("value", _label(where, value))


def positions(dim: Any, value: Any) -> tuple[Any, ...]:
    """Translates a selection by position.

    Returns:
        ("value", position), ("list", positions), ("mask", booleans) or ("range", first, end, step).
    """
    where = f"isel {dim!r}"
    if isinstance(value, slice):
        # Ends beyond the dimension are cut, as everywhere in Python.
        first, stop = (None if end is None else max(-MAX_INDEX, min(MAX_INDEX, _whole(where, end)))
                       for end in (value.start, value.stop))
        return ("range", first, stop, _step(where, value.step))
    if isinstance(value, tuple):
        raise TypeError(f"{where}: {value!r} is a tuple; wants slice{value!r} for a range, or a list")
    items = _items(where, value)
    if items is not None:
        if is_mask(items):
            return ("mask", [bool(item) for item in items])
        return ("list", [_position(where, item) for item in items])
    return ("value", _position(where, value))


def is_mask(value: Any) -> bool:
    """Tells whether these are booleans, one for each entry of a dimension."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, (bool, np.bool_)) for item in value)
    return getattr(value, "ndim", 0) == 1 and np.asarray(value).dtype == np.bool_


def _items(where: str, value: Any) -> list[Any] | None:
    """Returns the items of a list or of an array with one axis, and None for a single value."""
    if isinstance(value, (list, range)):
        return list(value)
    axes = getattr(value, "ndim", 0)
    if not isinstance(axes, int) or axes == 0:
        return None
    if axes > 1:
        raise ValueError(f"{where}: an array with {axes} axes; wants one")
    return list(np.asarray(value))


def _label(where: str, value: Any) -> Any:
    if isinstance(value, str):
        return (value, False, "")
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    if getattr(value, "ndim", None) == 0 and not isinstance(value, np.generic):
        value = np.asarray(value)[()]
    if isinstance(value, datetime.date):
        return (value.isoformat(), True, "")
    if isinstance(value, np.datetime64):
        if np.isnat(value):
            raise ValueError(f"{where}: NaT is no date")
        return (str(value), True, "")
    if hasattr(value, "isoformat") and hasattr(value, "calendar"):  # a date of cftime
        return (value.isoformat(), True, value.calendar or "")
    if isinstance(value, (bool, np.bool_, np.timedelta64, datetime.timedelta)) or not hasattr(value, "__float__"):
        raise TypeError(f"{where}: {value!r} is neither a number nor a date; wants a value, a list of values, "
                        f"or (from, to)")
    return float(value)


def _end(where: str, value: Any) -> Any:
    return None if value is None else _label(where, value)


def _step(where: str, value: Any) -> int:
    if value is None:
        return 1
    step = _whole(f"{where}: step", value)
    if step == 0:
        raise ValueError(f"{where}: a step of 0 leads nowhere")
    return max(-MAX_INDEX, min(MAX_INDEX, step))  # beyond the dimension, one entry is left


def _position(where: str, value: Any) -> int:
    position = _whole(where, value)
    if not -MAX_INDEX < position < MAX_INDEX:
        raise ValueError(f"{where}: position {position} is too large")
    return position


def _whole(where: str, value: Any) -> int:
    if not isinstance(value, (bool, np.bool_)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(f"{where}: {value!r} is no whole number")
