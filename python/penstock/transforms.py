"""The transforms: descriptions of steps that the engine carries out in its worker threads.

A transform is a small immutable value. It prints as the call that makes it, compares by its arguments, and can be
copied and pickled (a Map wherever its function can).
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from .arguments import checked_class, choice, flag, is_sequence, number, shown, text, whole_number

__all__ = ["CenterCrop", "Cast", "ColorJitter", "Decode", "Derive", "Map", "Normalize", "OneHot", "Pad", "RandomCrop",
           "RandomErasing", "RandomFlip3D", "RandomHorizontalFlip", "RandomResizedCrop", "RandomRot90",
           "RandomVerticalFlip", "Resize"]

INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "lanczos")
DTYPES = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16",
          "float32", "float64", "complex64", "complex128")

_MOST = 2**31 - 1  # the engine counts pixels in 32 bits

Size = int | tuple[int, int]
Range = float | tuple[float, float]


class Transform:
    """Base of all transforms: a dataclass whose fields are its arguments."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Returns the call that makes the transform. Arguments that have their default value are left out."""
        arguments = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.default is dataclasses.MISSING:
                arguments.append(repr(value))
            elif value != field.default:
                arguments.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _set(self, **checked: Any) -> None:
        """Replaces arguments by their checked values. Only __post_init__ calls this."""
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _name(self, argument: str) -> str:
        return f"{type(self).__name__}: {argument}"

    def _engine_step(self) -> Any:
        """Returns the same step as the engine describes it."""
        return getattr(_core, type(self).__name__)(
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(self)})  # type: ignore[arg-type]


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Decode(Transform):
    """Says how an image is decoded. It can only be the first transform.

    Args:
        mode: "RGB" or "L" (grey).
        exif_orientation: Whether pictures are turned upright, as their EXIF data say.
        fast_decode: Whether JPEGs are decoded at a half, quarter or eighth of their size where the result is smaller
            still. This is faster, but the pixels differ.
    """

    mode: str = "RGB"
    _: dataclasses.KW_ONLY
    exif_orientation: bool = False
    fast_decode: bool = False

    def __post_init__(self) -> None:
        self._set(mode=choice(self._name("mode"), self.mode, ("RGB", "L")),
                  exif_orientation=flag(self._name("exif_orientation"), self.exif_orientation),
                  fast_decode=flag(self._name("fast_decode"), self.fast_decode))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Resize(Transform):
    """Resizes an image, with the same pixels as torchvision's antialiased Resize.

    Args:
        size: (height, width), or the length of the shorter side, which keeps the ratio of the sides.
        interpolation: "nearest", "bilinear", "bicubic" or "lanczos".
        antialias: False gives plain interpolation between neighbours.
    """

    size: Size
    interpolation: str = "bilinear"
    _: dataclasses.KW_ONLY
    antialias: bool = True

    def __post_init__(self) -> None:
        self._set(size=_size(self._name("size"), self.size),
                  interpolation=choice(self._name("interpolation"), self.interpolation, INTERPOLATIONS),
                  antialias=flag(self._name("antialias"), self.antialias))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class CenterCrop(Transform):
    """Takes the middle of an image.

    Args:
        size: (height, width), or one number for both.
    """

    size: Size

    def __post_init__(self) -> None:
        self._set(size=_size(self._name("size"), self.size))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomCrop(Transform):
    """Takes a random part of an image. Put Pad before it where images are smaller than that.

    Args:
        size: (height, width), or one number for both.
    """

    size: Size

    def __post_init__(self) -> None:
        self._set(size=_size(self._name("size"), self.size))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomResizedCrop(Transform):
    """Takes a random part of an image, by torchvision's rule, and resizes it.

    Args:
        size: (height, width) of the result, or one number for both.
        scale: The share of the area that the part has, (from, to).
        ratio: The width of the part divided by its height, (from, to).
        interpolation: "nearest", "bilinear", "bicubic" or "lanczos".
        antialias: False gives plain interpolation between neighbours.
    """

    size: Size
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    interpolation: str = "bilinear"
    _: dataclasses.KW_ONLY
    antialias: bool = True

    def __post_init__(self) -> None:
        self._set(size=_size(self._name("size"), self.size),
                  scale=_range(self._name("scale"), self.scale, 0, 1),
                  ratio=_range(self._name("ratio"), self.ratio, 0),
                  interpolation=choice(self._name("interpolation"), self.interpolation, INTERPOLATIONS),
                  antialias=flag(self._name("antialias"), self.antialias))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomHorizontalFlip(Transform):
    """Mirrors left and right at random.

    Args:
        p: The probability.
    """

    p: float = 0.5

    def __post_init__(self) -> None:
        self._set(p=number(self._name("p"), self.p, 0, 1))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomVerticalFlip(Transform):
    """Mirrors top and bottom at random.

    Args:
        p: The probability.
    """

    p: float = 0.5

    def __post_init__(self) -> None:
        self._set(p=number(self._name("p"), self.p, 0, 1))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class ColorJitter(Transform):
    """Changes brightness, contrast, saturation and hue by random factors, in random order.

    Args:
        brightness: A number x means a factor from 1-x to 1+x. A pair is (from, to).
        contrast: In the same way.
        saturation: In the same way.
        hue: A number x means a shift from -x to x of the colour wheel, whose length is 1. A pair is (from, to).
    """

    brightness: Range = 0.0
    contrast: Range = 0.0
    saturation: Range = 0.0
    hue: Range = 0.0

    def __post_init__(self) -> None:
        for name, most in (("brightness", 1e6), ("contrast", 1e6), ("saturation", 1e6), ("hue", 0.5)):
            value, shown_as = getattr(self, name), self._name(name)
            if is_sequence(value):
                checked: Range = _range(shown_as, value, -0.5 if name == "hue" else 0, most, open_start=False)
            else:
                checked = number(shown_as, value, 0, most)
            self._set(**{name: checked})


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Normalize(Transform):
    """Computes ``(value / max_value - mean) / std`` for each channel, as float32.

    Channels are those of an image, those of a stack (one mean for each channel or each variable), the levels of a
    window, else the first or last axis of an array, whichever has as many entries as there are means.

    Args:
        mean: One number for all channels, or one for each.
        std: One number for all channels, or one for each.
        max_value: By default 255 for uint8 and 1 for other types, so torchvision's means fit as they are.
    """

    mean: float | Sequence[float]
    std: float | Sequence[float]
    _: dataclasses.KW_ONLY
    max_value: float | None = None

    def __post_init__(self) -> None:
        mean, std = _numbers(self._name("mean"), self.mean), _numbers(self._name("std"), self.std)
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

    Types of whole numbers cut fractions off. Numbers beyond the range of the type become its nearest end: 300 becomes
    255 as uint8.

    Args:
        dtype: The type, such as "float32", "float16", "bfloat16", "uint8" or "int64".
    """

    dtype: str

    def __post_init__(self) -> None:
        self._set(dtype=dtype_name(self._name("dtype"), self.dtype))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Pad(Transform):
    """Adds a border.

    Args:
        padding: The width of the border: one number, (left-right, top-bottom) or (left, top, right, bottom).
        fill: The value of its pixels.
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
            checked: Any = tuple(whole_number(name, side, 0, _MOST) for side in padding)
        else:
            checked = whole_number(name, padding, 0, _MOST)
        self._set(padding=checked, fill=number(self._name("fill"), self.fill))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomFlip3D(Transform):
    """Flips each of the last three axes of an array at random.

    Axes that are known to be channels are not flipped and do not count: for a (Z, C, Y, X) stack, the three axes are
    Z, Y and X.

    Args:
        p: The probability for each axis.
    """

    p: float = 0.5

    def __post_init__(self) -> None:
        self._set(p=number(self._name("p"), self.p, 0, 1))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomRot90(Transform):
    """Turns an image, or the last two axes of an array, by 0, 90, 180 or 270 degrees at random."""


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomErasing(Transform):
    """Erases a random rectangle of the image with probability p, by torchvision's rule. Masks are not erased.

    Args:
        p: Probability that an image is erased, 0 to 1.
        scale: Share of the area that the rectangle covers, as (from, to).
        ratio: Height of the rectangle over its width, as (from, to).
        value: One number for all channels, or one for each. Before Normalize it is a pixel value, after it a
            normalized one.
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
                  scale=_range(self._name("scale"), self.scale, 0, 1, open_start=False),
                  ratio=_range(self._name("ratio"), self.ratio, 0),
                  value=_numbers(self._name("value"), self.value))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class OneHot(Transform):
    """Makes of an integer label a float32 vector of zeros and a one.

    Args:
        classes: The length of the vector.
    """

    classes: int

    def __post_init__(self) -> None:
        self._set(classes=whole_number(self._name("classes"), self.classes, 1, _MOST))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Map(Transform):
    """Calls your own function.

    The function runs in worker threads and holds the GIL, so keep it small. An exception becomes the ``__cause__`` of
    the penstock.Error that the loader raises. A Map can be pickled where its function can: a function at the top of a
    module, not a lambda.

    Args:
        function: Gets a NumPy array, (H, W, C) for images, and returns an array.
        fields: The function gets these fields at once, in this order, each after the steps before this one, and
            returns a tuple in the same order, or a dict of those that change. Texts come as str, JSON as objects. A
            text that is returned as an array is delivered as an array. The fields need not be delivered.
        generator: Whether the last argument of the function is a numpy.random.Generator. Each sample has its own, which
            is the same on any number of threads and ranks.

    Example:
        >>> ps.Map(lambda image: 255 - image)
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


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Derive:
    """Makes a new field from the result of another field, which is decoded once.

    Args:
        source: The name of the other field.
        steps: The transforms that make the new field.

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


def is_transform(value: Any) -> bool:
    """Tells whether a value is a transform."""
    return isinstance(value, Transform)


def moves_pixels(value: Any) -> bool:
    """Tells whether masks must take this step together with their image."""
    return isinstance(value, (CenterCrop, Pad, RandomCrop, RandomFlip3D, RandomHorizontalFlip, RandomResizedCrop,
                              RandomRot90, RandomVerticalFlip, Resize))


def joint_fields(value: Any) -> tuple[str, ...]:
    """Returns the fields that a Map over several fields names, and nothing for every other step."""
    return tuple(value.fields or ()) if isinstance(value, Map) else ()


def makes_image(value: Any) -> bool:
    """Tells whether an array that passes through this step is an image (height, width, channels) afterwards."""
    return isinstance(value, (CenterCrop, ColorJitter, Pad, RandomCrop, RandomErasing, RandomHorizontalFlip,
                              RandomResizedCrop, RandomVerticalFlip, Resize))


def engine_steps(field_steps: Sequence[tuple[str, Sequence[Transform], str]]) -> list[tuple[str, list[Any], str]]:
    """Returns (name, steps, derived from) of each field, with the steps as the engine takes them.

    A step that is in the lists of several fields becomes one step of the engine, which tells steps apart by identity: a
    Map that gets several fields runs once for all of them.
    """
    made = {id(step): step._engine_step() for _, steps, _ in field_steps for step in steps}
    return [(name, [made[id(step)] for step in steps], derived_from) for name, steps, derived_from in field_steps]


def dtype_name(argument: str, dtype: Any) -> str:
    """Returns the name of a type. "float32", numpy.float32, numpy.dtype("float32") and torch.float32 are the same."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype)).removeprefix("torch.")
    if name not in DTYPES and not isinstance(dtype, str):
        raise TypeError(f'{argument}={shown(dtype)}: wants the name of a type, such as "float32"')
    return choice(argument, name, DTYPES)


def _size(name: str, value: Any) -> Size:
    if not is_sequence(value):
        return whole_number(name, value, 1, _MOST)
    if len(value) != 2:
        raise TypeError(f"{name}={shown(value)}: wants one number or (height, width)")
    return whole_number(name, value[0], 1, _MOST), whole_number(name, value[1], 1, _MOST)


def _range(name: str, value: Any, least: float, most: float = float("inf"), *, open_start: bool = True
           ) -> tuple[float, float]:
    if not is_sequence(value) or len(value) != 2:
        raise TypeError(f"{name}={shown(value)}: wants a pair (from, to)")
    start, end = number(name, value[0], least, most), number(name, value[1], least, most)
    if start > end or (open_start and start <= least):
        sign = "<" if open_start else "<="
        raise ValueError(f"{name}={shown(value)}: wants (from, to) with {least:g} {sign} from <= to")
    return start, end


def _numbers(name: str, value: Any) -> float | tuple[float, ...]:
    if not is_sequence(value):
        return number(name, value)
    if len(value) == 0:
        raise ValueError(f"{name}={value!r}: wants a number, or one for each channel")
    return tuple(number(name, one) for one in value)
