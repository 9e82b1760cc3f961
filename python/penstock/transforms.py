"""The transforms, and a field made from another."""

from __future__ import annotations

from typing import Any, Sequence

from ._core import (CenterCrop, Cast, ColorJitter, Decode, Map, Normalize, OneHot, Pad, RandomCrop,
                    RandomFlip3D, RandomHorizontalFlip, RandomResizedCrop, RandomRot90,
                    RandomVerticalFlip, Resize)

_CLASSES = (CenterCrop, Cast, ColorJitter, Decode, Map, Normalize, OneHot, Pad, RandomCrop, RandomFlip3D,
            RandomHorizontalFlip, RandomResizedCrop, RandomRot90, RandomVerticalFlip, Resize)

__all__ = [cls.__name__ for cls in _CLASSES] + ["Derive"]


class Derive:
    """A new field made from another field's result, decoded once.

    >>> transform = {"image": [RandomCrop(96)], "small": Derive("image", [Resize(24, "bicubic")])}
    """

    def __init__(self, source: str, steps: Sequence[Any]):
        self.source = source
        self.steps = list(steps)


def is_transform(value: Any) -> bool:
    return isinstance(value, _CLASSES)


def moves_pixels(value: Any) -> bool:
    """Whether masks must take this step together with their image."""
    return isinstance(value, (CenterCrop, Pad, RandomCrop, RandomFlip3D, RandomHorizontalFlip, RandomResizedCrop,
                              RandomRot90, RandomVerticalFlip, Resize))


def is_for(value: Any, field: str) -> bool:
    """Whether the step concerns this field; a Map over several fields names them."""
    return not getattr(value, "fields", None) or field in value.fields


def makes_image(value: Any) -> bool:
    """Whether an array that passes through this step is an image (height, width, channels) afterwards."""
    return isinstance(value, (CenterCrop, ColorJitter, Pad, RandomCrop, RandomHorizontalFlip, RandomResizedCrop,
                              RandomVerticalFlip, Resize))
