"""Checks of arguments. Each message shows the argument and says what to write instead."""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import math
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ParamSpec, TypeVar

from .errors import UsageError
from .http import redacted

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
Class = TypeVar("Class", bound=type)


def whole_number(name: str, value: Any, least: int | None = None, most: int = 2**63 - 1) -> int:
    """Checks a whole number: an int, or an integer of NumPy, but not True, 3.0 or "3"."""
    if isinstance(value, bool):
        raise TypeError(f"{name}={value!r}: wants a whole number")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}={shown(value)}: wants a whole number") from None
    if least is not None and number < least:
        raise ValueError(f"{name}={number}: wants at least {least}")
    if not -most - 1 <= number <= most:
        raise ValueError(f"{name}={shown(value)} is too large")
    return number


def any_number(name: str, value: Any) -> float:
    """Checks a number, which may be infinite or not-a-number."""
    if isinstance(value, (bool, str, bytes)):
        raise TypeError(f"{name}={shown(value)}: wants a number")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={shown(value)}: wants a number") from None
    except OverflowError:
        raise ValueError(f"{name}={shown(value)} is too large") from None


def number(name: str, value: Any, least: float = -math.inf, most: float = math.inf) -> float:
    """Checks a finite number within limits."""
    result = any_number(name, value)
    if not math.isfinite(result):
        raise ValueError(f"{name}={value!r}: wants a finite number")
    if not least <= result <= most:
        limits = f"from {least:g} to {most:g}" if most < math.inf else f"of at least {least:g}"
        raise ValueError(f"{name}={value!r}: wants a number {limits}")
    return result


def flag(name: str, value: Any) -> bool:
    """Checks a boolean."""
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):  # NumPy has its own type
        return bool(value)
    raise TypeError(f"{name}={shown(value)}: wants True or False")


def text(name: str, value: Any, meaning: str = "a string") -> str:
    """Checks a str."""
    if not isinstance(value, str):
        raise TypeError(f"{name}={shown(value)}: wants {meaning}")
    return str(value)


def path(name: str, value: Any) -> str:
    """Checks a path, and expands "~"."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        raise TypeError(f"{name}={shown(value)}: wants a path")
    return os.path.expanduser(value)


def text_mapping(name: str, value: Any) -> dict[str, str]:
    """Checks a dict from names to texts. None is an empty dict."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f'{name}={shown(value)}: wants a dict, such as {{"name": "text"}}')
    for key, one in value.items():
        if not isinstance(key, str) or not isinstance(one, str):
            raise TypeError(f"{name}: {shown(key)}: {shown(one)} is not a pair of texts")
    return dict(value)


def choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Checks that a value is one of a few words. The message names the nearest."""
    known = list(choices)
    if isinstance(value, str) and value in known:
        return str(value)
    listed = ", ".join(f'"{one}"' for one in known[:-1]) + f' or "{known[-1]}"'
    message = f"{name}={shown(value)}: wants {listed}"
    if not isinstance(value, str):
        raise TypeError(message)
    raise UsageError(message + did_you_mean(value, known))


@contextlib.contextmanager
def plain_type_errors(function: str) -> Iterator[None]:
    """Replaces the engine's list of C++ signatures by a sentence, for arguments that no other check covers."""
    try:
        yield
    except TypeError as error:
        if "incompatible function arguments" not in str(error):
            raise
        given = str(error).rpartition("Invoked with types: ")[2].strip()
        raise TypeError(f"{function}(): an argument has the wrong type ({given}); help(penstock.{function}) says what "
                        "each one wants") from None


def checked_keywords(function: Callable[Parameters, Returned], name: str | None = None,
                     message: Callable[[str, list[str]], str] | None = None) -> Callable[Parameters, Returned]:
    """Decorates a function so that a keyword that it does not have is an error, which names the nearest one.

    Args:
        function: The function.
        name: The name that the message gives to it. The default is its own name.
        message: Makes another message from the unknown keyword and the list of known keywords.
    """
    parameters = inspect.signature(function).parameters
    known = [one for one, parameter in parameters.items()
             if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) and one != "self"]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())

    @functools.wraps(function)
    def call(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Returned:
        for keyword in keywords:
            if keyword not in parameters and not takes_any:
                raise TypeError(message(keyword, known) if message else
                                f"{name or function.__name__}() has no keyword {keyword!r}" + (
                                    did_you_mean(keyword, known) or
                                    (f"; there are {', '.join(known)}" if known else "; it takes none")))
        return function(*arguments, **keywords)

    return call


def checked_class(cls: Class) -> Class:
    """Decorates a class so that a keyword that it does not take is an error, which names the nearest one."""
    made_by: Any = cls
    made_by.__init__ = checked_keywords(made_by.__init__, cls.__name__)
    return cls


def is_sequence(value: Any) -> bool:
    """Tells whether a value is a list, tuple, array or tensor with at least one axis, and no text, mapping or set."""
    return (hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, (str, bytes))
            and not hasattr(value, "keys") and getattr(value, "ndim", 1) != 0)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns a question to append to a message, or "" where no name is near."""
    by_lower_case = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower(), by_lower_case, 1)
    return f"; did you mean {by_lower_case[near[0]]!r}?" if near else ""


def shown(value: Any) -> str:
    """Returns the repr of a value for a message: without secrets of URLs, and not too long."""
    try:
        result = redacted(repr(value))
    except Exception:  # the repr of a class of the user may fail; the message must still name it
        result = f"<{type(value).__name__}>"
    return result if len(result) <= 80 else result[:77] + "..."
