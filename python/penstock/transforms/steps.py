"""Questions about steps that the loader asks, and their conversion for the engine."""

from collections.abc import Sequence
from typing import Any

from .base import Transform
from .colour import ColorJitter, RandomErasing
from .geometry import CenterCrop, Pad, RandomCrop, RandomHorizontalFlip, RandomResizedCrop, RandomVerticalFlip, Resize
from .map import Map
from .volumes import RandomFlip3D, RandomRot90


def is_transform(value: Any) -> bool:
    """Returns whether a value is a transform."""
    return isinstance(value, Transform)


def moves_pixels(value: Any) -> bool:
    """Returns whether this step moves pixels, so that masks must take it together with their image."""
    return isinstance(value, (CenterCrop, Pad, RandomCrop, RandomFlip3D, RandomHorizontalFlip, RandomResizedCrop,
                              RandomRot90, RandomVerticalFlip, Resize))


def joint_fields(value: Any) -> tuple[str, ...]:
    """Returns the fields that a Map over several fields names; an empty tuple for every other step."""
    return tuple(value.fields or ()) if isinstance(value, Map) else ()


def makes_image(value: Any) -> bool:
    """Returns whether an array is an image (height, width, channels) after this step."""
    return isinstance(value, (CenterCrop, ColorJitter, Pad, RandomCrop, RandomErasing, RandomHorizontalFlip,
                              RandomResizedCrop, RandomVerticalFlip, Resize))


def engine_steps(field_steps: Sequence[tuple[str, Sequence[Transform], str]]) -> list[tuple[str, list[Any], str]]:
    """Returns (name, steps, derived from) of each field, with the steps in the form that the engine takes.

    A step that is in the lists of several fields becomes one step of the engine, because the engine identifies steps by
    identity: a Map over several fields runs once for all of them.
    """
    made = {id(step): step._engine_step() for _, steps, _ in field_steps for step in steps}
    return [(name, [made[id(step)] for step in steps], derived_from) for name, steps, derived_from in field_steps]
