"""Transforms that flip and rotate arrays with spatial axes, such as patches of volumes. Masks and labels move too."""

import dataclasses

from ..arguments import checked_class, number
from .base import Transform


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomFlip3D(Transform):
    """Flips each of the last three axes of an array at random.

    Axes that are known to be channels are not flipped and do not count: for a (Z, C, Y, X) stack, the three axes are
    Z, Y and X.

    Args:
        p: The probability for each axis.

    Raises:
        TypeError: `p` is not a number.
        ValueError: `p` is not from 0 to 1.

    Example:
        >>> transform = [ps.RandomFlip3D(), ps.Normalize(0.4, 0.2)]
    """

    p: float = 0.5

    def __post_init__(self) -> None:
        self._set(p=number(self._name("p"), self.p, 0, 1))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomRot90(Transform):
    """Rotates an image, or the last two axes of an array, by 0, 90, 180 or 270 degrees at random.

    Example:
        >>> transform = [ps.RandomRot90(), ps.RandomFlip3D()]
    """
