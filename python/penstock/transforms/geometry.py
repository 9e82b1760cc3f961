"""Transforms that crop, resize, flip and pad images. Masks move with their image."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from ..arguments import checked_class, choice, flag, is_sequence, number, shown, whole_number
from .base import Transform
from .checks import INTERPOLATIONS, MAX_COUNT, Size, checked_range, checked_size


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Resize(Transform):
    """Resizes an image, with the same pixels as torchvision's antialiased Resize.

    Masks are resized by nearest neighbours.

    Args:
        size: (height, width), or the length of the shorter side, which keeps the ratio of the sides.
        interpolation: "nearest", "bilinear", "bicubic" or "lanczos".
        antialias: False interpolates between neighbouring pixels without a filter.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A size is less than 1, or the interpolation is not known.

    Example:
        >>> transform = [ps.Resize(256), ps.CenterCrop(224)]
    """

    size: Size
    interpolation: str = "bilinear"
    _: dataclasses.KW_ONLY
    antialias: bool = True

    def __post_init__(self) -> None:
        self._set(size=checked_size(self._name("size"), self.size),
                  interpolation=choice(self._name("interpolation"), self.interpolation, INTERPOLATIONS),
                  antialias=flag(self._name("antialias"), self.antialias))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class CenterCrop(Transform):
    """Cuts out the middle of an image.

    Args:
        size: (height, width), or one number for both.

    Raises:
        TypeError: `size` has the wrong type.
        ValueError: A size is less than 1.

    Example:
        >>> transform = [ps.Resize(256), ps.CenterCrop(224)]
    """

    size: Size

    def __post_init__(self) -> None:
        self._set(size=checked_size(self._name("size"), self.size))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomCrop(Transform):
    """Cuts out a random part of an image. Put Pad before it if images may be smaller than that part.

    Args:
        size: (height, width), or one number for both.

    Raises:
        TypeError: `size` has the wrong type.
        ValueError: A size is less than 1.

    Example:
        >>> transform = [ps.Pad(4), ps.RandomCrop(32)]
    """

    size: Size

    def __post_init__(self) -> None:
        self._set(size=checked_size(self._name("size"), self.size))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomResizedCrop(Transform):
    """Cuts out a random part of an image, by torchvision's rule, and resizes it.

    Masks are resized by nearest neighbours.

    Args:
        size: (height, width) of the result, or one number for both.
        scale: The share of the area that the part has, (from, to).
        ratio: The width of the part divided by its height, (from, to).
        interpolation: "nearest", "bilinear", "bicubic" or "lanczos".
        antialias: False interpolates between neighbouring pixels without a filter.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A size is less than 1, a range is empty, or the interpolation is not known.

    Example:
        >>> transform = [ps.RandomResizedCrop(224, scale=(0.25, 1)), ps.RandomHorizontalFlip()]
    """

    size: Size
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    interpolation: str = "bilinear"
    _: dataclasses.KW_ONLY
    antialias: bool = True

    def __post_init__(self) -> None:
        self._set(size=checked_size(self._name("size"), self.size),
                  scale=checked_range(self._name("scale"), self.scale, 0, 1),
                  ratio=checked_range(self._name("ratio"), self.ratio, 0),
                  interpolation=choice(self._name("interpolation"), self.interpolation, INTERPOLATIONS),
                  antialias=flag(self._name("antialias"), self.antialias))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomHorizontalFlip(Transform):
    """Exchanges left and right at random.

    Args:
        p: The probability.

    Raises:
        TypeError: `p` is not a number.
        ValueError: `p` is not from 0 to 1.

    Example:
        >>> transform = [ps.RandomHorizontalFlip(0.5)]
    """

    p: float = 0.5

    def __post_init__(self) -> None:
        self._set(p=number(self._name("p"), self.p, 0, 1))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomVerticalFlip(Transform):
    """Exchanges top and bottom at random.

    Args:
        p: The probability.

    Raises:
        TypeError: `p` is not a number.
        ValueError: `p` is not from 0 to 1.

    Example:
        >>> transform = [ps.RandomVerticalFlip(0.5)]
    """

    p: float = 0.5

    def __post_init__(self) -> None:
        self._set(p=number(self._name("p"), self.p, 0, 1))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Pad(Transform):
    """Adds a border. Masks get the same border, with the same value.

    Args:
        padding: The width of the border: one number, (left-right, top-bottom) or (left, top, right, bottom).
        fill: The value of the pixels of the border.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A width is negative, or there are not one, two or four of them.

    Example:
        >>> transform = [ps.Pad((0, 8), fill=128)]
    """

    padding: int | Sequence[int]
    fill: float = 0.0

    def __post_init__(self) -> None:
        name = self._name("padding")
        padding: Any = self.padding
        if is_sequence(padding):
            if len(padding) not in (2, 4):
                raise ValueError(f"{name}={shown(padding)}: wants one number, (left-right, top-bottom) or "
                                 "(left, top, right, bottom)")
            checked: Any = tuple(whole_number(name, side, 0, MAX_COUNT) for side in padding)
        else:
            checked = whole_number(name, padding, 0, MAX_COUNT)
        self._set(padding=checked, fill=number(self._name("fill"), self.fill))
