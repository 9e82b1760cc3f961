"""How a source was made: the function and its arguments.

An opened source holds an index, open files and perhaps connections, which cannot be sent to another process. Its recipe
can be sent, and unpickling a source makes it again from its recipe.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ..arguments import checked_keywords, plain_type_errors, shown
from ..errors import Error
from ..http import without_secrets

if TYPE_CHECKING:
    from .source import Source

Parameters = ParamSpec("Parameters")
Made = TypeVar("Made")

_SECRET_KEYWORDS = ("headers", "storage", "token", "password", "credentials")


@dataclasses.dataclass(frozen=True, repr=False)
class Recipe:
    """A call that makes sources."""

    function: Callable[..., Any]  # at the top of a module, or a method of Source
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    part: int | None = None  # which one, where the function makes several sources

    def __str__(self) -> str:
        """Returns the call without secrets: passwords, signatures in URLs, headers."""
        name, arguments = self.function.__name__, list(self.arguments)
        if "." in self.function.__qualname__:  # a method: its first argument is the source that it was called on
            name = f"{arguments.pop(0)._recipe}.{name}"
        texts = [_shown(value) for value in arguments]
        texts += [f"{keyword}={'...' if keyword in _SECRET_KEYWORDS else _shown(value)}"
                  for keyword, value in self.keywords.items()]
        return f"{name}({', '.join(texts)})" + (f"[{self.part}]" if self.part is not None else "")

    __repr__ = __str__


def recorded(function: Callable[Parameters, Made]) -> Callable[Parameters, Made]:
    """Decorates a function or method that makes sources: each source gets its recipe."""
    checked = checked_keywords(function)

    @functools.wraps(function)
    def call(*arguments: Parameters.args, **keywords: Parameters.kwargs) -> Made:
        own = tuple(_repeatable(value) for value in arguments)
        own_keywords = {keyword: _repeatable(value) for keyword, value in keywords.items()}
        with plain_type_errors(function.__name__):
            made = checked(*own, **own_keywords)
        parts: Any = enumerate(made) if isinstance(made, tuple) else ((None, made),)
        for part, source in parts:
            if source._recipe is None:
                source._recipe = Recipe(call, own, own_keywords, part)
        return made

    return call


def remake(recipe: Recipe, fingerprint: int) -> Source:
    """Makes the source again. Other data are an error, because indices would then mean other samples."""
    made = recipe.function(*recipe.arguments, **recipe.keywords)
    source: Source = made if recipe.part is None else made[recipe.part]
    if source._handle.fingerprint() != fingerprint:
        raise Error(f"the data of {recipe} changed since this source was pickled; open the source again instead",
                    code="changed", uri=source.uri)
    return source


def _repeatable(value: Any) -> Any:
    """Copies lists and dicts, which the caller may change later, and makes lists of iterators, which run once."""
    if isinstance(value, dict):
        return {key: _repeatable(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(_repeatable(one) for one in value)
    return list(value) if hasattr(value, "__next__") else value


def _shown(value: Any) -> str:
    from .source import Source

    if isinstance(value, Source):
        return str(value._recipe)
    if isinstance(value, (list, tuple)) and len(value) <= 4:
        inside = ", ".join(_shown(one) for one in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
    if isinstance(value, (list, tuple, range)) or getattr(value, "ndim", 0) > 0:
        return f"<{len(value)} values>"
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    return repr(without_secrets(value)) if isinstance(value, str) else shown(value)
