"""Derive: a new field from the result of another one."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..arguments import checked_class, shown, text
from .base import Transform


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Derive:
    """Makes a new field from the result of another field, which is decoded once.

    Args:
        source: The name of the other field.
        steps: The transforms that make the new field.

    Raises:
        TypeError: `source` is not a name, or `steps` is not a list of transforms.

    Example:
        >>> transform = {"image": [ps.RandomCrop(96)], "small": ps.Derive("image", [ps.Resize(24, "bicubic")])}
    """

    source: str
    steps: Sequence[Transform]

    def __post_init__(self) -> None:
        text("Derive: source", self.source, 'the name of a field, such as "image"')
        steps: Any = self.steps
        if isinstance(steps, Transform):
            steps = [steps]
        elif isinstance(steps, (str, bytes, dict)) or not hasattr(steps, "__iter__"):
            raise TypeError(f"Derive: steps={shown(steps)}: wants a list of transforms")
        object.__setattr__(self, "steps", tuple(steps))

    def __repr__(self) -> str:
        return f"Derive({self.source!r}, {list(self.steps)!r})"
