"""Transforms that change the pixels of images. Masks do not change."""

import dataclasses
from collections.abc import Sequence

from ..arguments import checked_class, is_sequence, number, shown
from .base import Transform
from .checks import Range, checked_numbers, checked_range


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class ColorJitter(Transform):
    """Changes brightness, contrast, saturation and hue by random factors, in random order.

    Args:
        brightness: A number x means a factor from 1-x to 1+x. A pair is (from, to).
        contrast: In the same way.
        saturation: In the same way.
        hue: A number x means a shift from -x to x of the colour wheel, whose length is 1. A pair is (from, to).

    Raises:
        TypeError: An argument is neither a number nor a pair.
        ValueError: A number is negative, a pair is not ascending, or a hue is beyond 0.5.

    Example:
        >>> transform = [ps.ColorJitter(0.4, 0.4, 0.4, hue=0.1)]
    """

    brightness: Range = 0.0
    contrast: Range = 0.0
    saturation: Range = 0.0
    hue: Range = 0.0

    def __post_init__(self) -> None:
        for name, most in (("brightness", 1e6), ("contrast", 1e6), ("saturation", 1e6), ("hue", 0.5)):
            value, shown_as = getattr(self, name), self._name(name)
            if is_sequence(value):
                checked: Range = checked_range(shown_as, value, -0.5 if name == "hue" else 0, most, open_start=False)
            else:
                checked = number(shown_as, value, 0, most)
            self._set(**{name: checked})


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomErasing(Transform):
    """Erases a random rectangle of the image with probability p, by torchvision's rule. Masks are not erased.

    Args:
        p: The probability that an image is erased, 0 to 1.
        scale: The share of the area that the rectangle covers, (from, to).
        ratio: The height of the rectangle divided by its width, (from, to).
        value: One number for all channels, or one for each. Before Normalize it is a pixel value, after it a
            normalized one.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: A probability, share or ratio is out of range.

    Example:
        >>> transform = [ps.Normalize(0.45, 0.22), ps.RandomErasing(0.25, value=0)]
    """

    p: float = 0.5
    scale: tuple[float, float] = (0.02, 0.33)
    ratio: tuple[float, float] = (0.3, 3.3)
    value: float | Sequence[float] = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.value, str):
            raise TypeError(f"{self._name('value')}={shown(self.value)}: wants a number, or one for each channel; "
                            "random values are not supported")
        self._set(p=number(self._name("p"), self.p, 0, 1),
                  scale=checked_range(self._name("scale"), self.scale, 0, 1, open_start=False),
                  ratio=checked_range(self._name("ratio"), self.ratio, 0),
                  value=checked_numbers(self._name("value"), self.value))
