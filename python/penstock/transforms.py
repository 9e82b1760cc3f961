"""The transforms: descriptions of steps, which the engine carries out in its worker threads.

A transform is a small immutable value. It prints as the call that makes it, compares by its arguments, and can be
copied and pickled (a Map wherever its function can).
"""

import dataclasses
from typing import Any, Callable, Sequence, Union

from . import _core
from .arguments import checked_class, choice, flag, is_sequence, number, shown, text, whole_number

__all__ = ["CenterCrop", "Cast", "ColorJitter", "Decode", "Derive", "Map", "Normalize", "OneHot", "Pad", "RandomCrop",
           "RandomErasing", "RandomFlip3D", "RandomHorizontalFlip", "RandomResizedCrop", "RandomRot90",
           "RandomVerticalFlip", "Resize"]

INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "lanczos")
DTYPES = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16",
          "float32", "float64", "complex64", "complex128")

_MOST = 2**31 - 1  # the engine counts pixels in 32 bits

Size = Union[int, tuple[int, int]]
Range = Union[float, tuple[float, float]]


class Transform:
    """Base of all transforms: a dataclass whose fields are its arguments."""

    __slots__ = ()

    def __repr__(self) -> str:
        """The call that makes it; arguments that have their default value are left out."""
        arguments = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.default is dataclasses.MISSING:
                arguments.append(repr(value))
            elif value != field.default:
                arguments.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _set(self, **checked: Any) -> None:
        """Puts checked arguments in place of those that were given; for __post_init__ alone."""
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _name(self, argument: str) -> str:
        return f"{type(self).__name__}: {argument}"

    def _engine_step(self) -> Any:
        """The engine's own description of the same step."""
        return getattr(_core, type(self).__name__)(
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(self)})  # type: ignore[arg-type]


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Decode(Transform):
    """How an image is decoded; only as the first transform.

    mode: "RGB" or "L" (grey).
    exif_orientation: turn pictures upright.
    fast_decode: decode JPEGs at a half, quarter or eighth of their size where the result is smaller still. This is
        faster, and the pixels are not the same.
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
    """Resizes to (height, width), or the shorter side to `size` keeping the ratio. Antialiased like torchvision.

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
    """The middle of the image, `size` or (height, width)."""

    size: Size

    def __post_init__(self) -> None:
        self._set(size=_size(self._name("size"), self.size))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomCrop(Transform):
    """A random part of the image, `size` or (height, width). Put Pad before it where images are small."""

    size: Size

    def __post_init__(self) -> None:
        self._set(size=_size(self._name("size"), self.size))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomResizedCrop(Transform):
    """A random part of the image, resized to `size` or (height, width), by torchvision's rule.

    scale: the part's share of the area, (from, to).
    ratio: its width over its height, (from, to).
    interpolation, antialias: as for Resize.
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
    """Mirrors left and right with probability p."""

    p: float = 0.5

    def __post_init__(self) -> None:
        self._set(p=number(self._name("p"), self.p, 0, 1))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomVerticalFlip(Transform):
    """Mirrors top and bottom with probability p."""

    p: float = 0.5

    def __post_init__(self) -> None:
        self._set(p=number(self._name("p"), self.p, 0, 1))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class ColorJitter(Transform):
    """Changes brightness, contrast, saturation and hue by random factors, in random order.

    A number x means a factor from 1-x to 1+x (hue: -x to x); a pair is (from, to).
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
    """(value / max_value - mean) / std for each channel; makes float32.

    mean, std: one number for all channels, or one for each.
    max_value: 255 for uint8 input and 1 for other types unless given, so torchvision's means fit as they are.
    """

    mean: Union[float, Sequence[float]]
    std: Union[float, Sequence[float]]
    _: dataclasses.KW_ONLY
    max_value: Union[float, None] = None

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
    """Converts to another type: "float32", "float16", "bfloat16", "uint8", "int64", ..."""

    dtype: str

    def __post_init__(self) -> None:
        self._set(dtype=dtype_name(self._name("dtype"), self.dtype))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Pad(Transform):
    """Adds a border of `fill`: one number, (left-right, top-bottom) or (left, top, right, bottom)."""

    padding: Union[int, Sequence[int]]
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
    """Flips each of the last three axes of an array with probability p. Axes that are known to count channels are not
    flipped and do not count: of a (Z, C, Y, X) stack these are Z, Y and X."""

    p: float = 0.5

    def __post_init__(self) -> None:
        self._set(p=number(self._name("p"), self.p, 0, 1))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomRot90(Transform):
    """Turns an image, or the last two axes of an array, by 0, 90, 180 or 270 degrees."""


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class RandomErasing(Transform):
    """Gives a random rectangle of the image one value, with probability p, by torchvision's rule. Masks are not erased.

    scale: the rectangle's share of the area, (from, to).
    ratio: its height over its width, (from, to).
    value: one number for all channels, or one for each: of the pixels where it stands before Normalize, of the
        normalized values behind it.
    """

    p: float = 0.5
    scale: tuple[float, float] = (0.02, 0.33)
    ratio: tuple[float, float] = (0.3, 3.3)
    value: Union[float, Sequence[float]] = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.value, str):
            raise TypeError(f"{self._name('value')}={shown(self.value)}: wants a number, or one for each channel; random "
                            "values are not supported")
        self._set(p=number(self._name("p"), self.p, 0, 1),
                  scale=_range(self._name("scale"), self.scale, 0, 1, open_start=False),
                  ratio=_range(self._name("ratio"), self.ratio, 0),
                  value=_numbers(self._name("value"), self.value))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class OneHot(Transform):
    """An integer label to a float32 vector of zeros and a one."""

    classes: int

    def __post_init__(self) -> None:
        self._set(classes=whole_number(self._name("classes"), self.classes, 1, _MOST))


@checked_class
@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Map(Transform):
    """Your own function: a NumPy array in ((H, W, C) for images), an array out.

    fields: the function gets these fields at once, in this order, after the steps before it of each of them, and
        returns a tuple in the same order, or a dict of those that change. Texts come as str, JSON as objects; a text
        that is returned as an array is delivered as one. The fields need not be delivered.
    generator: the last argument is a numpy.random.Generator of the sample's own, the same on any number of threads
        and ranks.

    It runs in worker threads, under the GIL, so keep it small. An exception is the ``__cause__`` of the
    penstock.Error that the loader raises. A Map can be pickled where its function can: a function at the top of a
    module, not a lambda.
    """

    function: Callable[..., Any]
    _: dataclasses.KW_ONLY
    fields: Union[Sequence[str], None] = None
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
    """A new field made from another field's result, decoded once.

    >>> transform = {"image": [RandomCrop(96)], "small": Derive("image", [Resize(24, "bicubic")])}
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
    return isinstance(value, Transform)


def moves_pixels(value: Any) -> bool:
    """Whether masks must take this step together with their image."""
    return isinstance(value, (CenterCrop, Pad, RandomCrop, RandomFlip3D, RandomHorizontalFlip, RandomResizedCrop,
                              RandomRot90, RandomVerticalFlip, Resize))


def joint_fields(value: Any) -> tuple[str, ...]:
    """The fields that a Map over several fields names; empty for every other step."""
    return (value.fields or ()) if isinstance(value, Map) else ()


def makes_image(value: Any) -> bool:
    """Whether an array that passes through this step is an image (height, width, channels) afterwards."""
    return isinstance(value, (CenterCrop, ColorJitter, Pad, RandomCrop, RandomErasing, RandomHorizontalFlip,
                              RandomResizedCrop, RandomVerticalFlip, Resize))


def engine_steps(field_steps: Sequence[tuple[str, Sequence[Transform], str]]) -> list[tuple[str, list[Any], str]]:
    """(name, steps, derived from) of each field, with the steps as the engine takes them.

    A step that stands in the lists of several fields becomes one step of the engine, which tells steps apart by
    identity: a Map that sees several fields runs once for all of them.
    """
    made = {id(step): step._engine_step() for _, steps, _ in field_steps for step in steps}
    return [(name, [made[id(step)] for step in steps], derived_from) for name, steps, derived_from in field_steps]


def dtype_name(argument: str, dtype: Any) -> str:
    """ "float32", numpy.float32, numpy.dtype("float32") and torch.float32 all say it."""
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
        raise ValueError(f"{name}={shown(value)}: wants (from, to) with {least:g} {'<' if open_start else '<='} from <= to")
    return start, end


def _numbers(name: str, value: Any) -> Union[float, tuple[float, ...]]:
    if not is_sequence(value):
        return number(name, value)
    if len(value) == 0:
        raise ValueError(f"{name}={value!r}: wants a number, or one for each channel")
    return tuple(number(name, one) for one in value)
