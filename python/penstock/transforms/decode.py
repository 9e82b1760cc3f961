"""Decode: settings of the decoding of images."""

import dataclasses

from ..arguments import checked_class, choice, flag
from .base import Transform


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Decode(Transform):
    """Sets how an image is decoded. It can only be the first transform.

    Args:
        mode: "RGB" or "L" (grey).
        exif_orientation: Whether images are turned upright according to their EXIF data.
        fast_decode: Whether JPEGs are decoded at a half, quarter or eighth of their size if the result is smaller
            still. This is faster, but the pixels differ.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: `mode` is not one of the two words.

    Example:
        >>> transform = [ps.Decode("L", exif_orientation=True), ps.Resize(256)]
    """

    mode: str = "RGB"
    _: dataclasses.KW_ONLY
    exif_orientation: bool = False
    fast_decode: bool = False

    def __post_init__(self) -> None:
        self._set(mode=choice(self._name("mode"), self.mode, ("RGB", "L")),
                  exif_orientation=flag(self._name("exif_orientation"), self.exif_orientation),
                  fast_decode=flag(self._name("fast_decode"), self.fast_decode))
