"""Transforms that convert numbers: types, scales and labels."""

import dataclasses
from collections.abc import Sequence

from ..arguments import checked_class, number, whole_number
from .base import Transform
from .checks import MAX_COUNT, checked_numbers, dtype_name


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Normalize(Transform):
    """Computes ``(value / max_value - mean) / std`` for each channel, as float32.

    Channels are those of an image, those of a stack (one mean for each channel or each variable), or the levels of a
    variable with a window. For other arrays they are the first or the last axis, whichever has as many entries as
    there are means.

    Args:
        mean: One number for all channels, or one for each.
        std: One number for all channels, or one for each.
        max_value: By default 255 for uint8 and 1 for other types, so that torchvision's means can be used unchanged.

    Raises:
        TypeError: An argument is not a number or a sequence of numbers.
        ValueError: `mean` and `std` differ in length, or a deviation or `max_value` is 0.

    Example:
        >>> transform = [ps.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))]
    """

    mean: float | Sequence[float]
    std: float | Sequence[float]
    _: dataclasses.KW_ONLY
    max_value: float | None = None

    def __post_init__(self) -> None:
        mean, std = checked_numbers(self._name("mean"), self.mean), checked_numbers(self._name("std"), self.std)
        counts = [len(value) if isinstance(value, tuple) else 1 for value in (mean, std)]
        if counts[0] != counts[1]:
            raise ValueError(f"Normalize: {counts[0]} means and {counts[1]} deviations; give one of each per channel")
        if 0 in (std if isinstance(std, tuple) else (std,)):
            raise ValueError(f"{self._name('std')}={self.std!r}: a deviation of 0 cannot be divided by")
        maximum = None if self.max_value is None else number(self._name("max_value"), self.max_value)
        if maximum == 0:
            raise ValueError(f"{self._name('max_value')}={self.max_value!r}: must not be 0")
        self._set(mean=mean, std=std, max_value=maximum)


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Cast(Transform):
    """Converts to another type.

    A conversion to integers drops fractions. Numbers beyond the range of the type become the nearest number of that
    range: 300 becomes 255 as uint8.

    Args:
        dtype: The type, such as "float32", "float16", "bfloat16", "uint8" or "int64".

    Raises:
        TypeError: `dtype` is neither a name nor a type of NumPy or torch.
        ValueError: There is no such type.

    Example:
        >>> transform = [ps.Normalize(0.45, 0.22), ps.Cast("float16")]
    """

    dtype: str

    def __post_init__(self) -> None:
        self._set(dtype=dtype_name(self._name("dtype"), self.dtype))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class OneHot(Transform):
    """Turns an integer label into a float32 vector of zeros with a single one.

    Args:
        classes: The length of the vector.

    Raises:
        TypeError: `classes` is not a whole number.
        ValueError: `classes` is less than 1.

    Example:
        >>> transform = {"label": [ps.OneHot(1000)]}
    """

    classes: int

    def __post_init__(self) -> None:
        self._set(classes=whole_number(self._name("classes"), self.classes, 1, MAX_COUNT))
