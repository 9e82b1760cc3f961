"""Map: the user's own function as a transform."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from ..arguments import checked_class, flag, is_sequence, shown, text
from .base import Transform


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Map(Transform):
    """Calls your own function.

    The function runs in worker threads and holds the GIL, so keep it small. An exception becomes the ``__cause__`` of
    the penstock.Error that the loader raises. A Map can be pickled if its function can: a function at the top level
    of a module can, a lambda cannot.

    Args:
        function: Receives a NumPy array, (H, W, C) for images, and returns an array.
        fields: The function receives these fields at once, in this order, each after the steps before this one. It
            returns a tuple in the same order, or a dict of those that change. Texts are passed as str, JSON as objects.
            A text that is returned as an array is delivered as an array. The fields need not be delivered.
        generator: Whether the last argument of the function is a numpy.random.Generator. Each sample has its own, which
            is the same on any number of threads and ranks.

    Raises:
        TypeError: `function` is not a function, or `fields` is not a list of names.
        ValueError: `fields` is empty or names a field twice.

    Example:
        >>> transform = [ps.Map(lambda image: 255 - image)]
        >>> transform = {"image": [ps.Map(move_boxes, fields=["image", "boxes"], generator=True)]}
    """

    function: Callable[..., Any]
    _: dataclasses.KW_ONLY
    fields: Sequence[str] | None = None
    generator: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"Map: function={shown(self.function)}: wants a function")
        flag("Map: generator", self.generator)
        if self.fields is None:
            return
        if isinstance(self.fields, (str, bytes)) or not is_sequence(self.fields):
            hint = f"a list, [{self.fields!r}]" if isinstance(self.fields, str) else "a list of names"
            raise TypeError(f"Map: fields={shown(self.fields)}: wants {hint}")
        names = tuple(text("Map: fields", name, "the name of a field") for name in self.fields)
        if not names:
            raise ValueError("Map: fields is empty; leave it out for the field whose step this is")
        if len(set(names)) < len(names):
            raise ValueError(f"Map: fields={list(names)}: wants each name once")
        object.__setattr__(self, "fields", names)

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", None)
        options = f", fields={list(self.fields)}" if self.fields else ""
        options += ", generator=True" if self.generator else ""
        return f"Map({name if name is not None else shown(self.function)}{options})"
