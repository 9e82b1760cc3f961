"""Checks of arguments that several transforms share. Each message shows the argument and says what to write."""

from typing import Any

from ..arguments import choice, is_sequence, number, shown, whole_number

INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "lanczos")
DTYPES = ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16",
          "float32", "float64", "complex64", "complex128")

MAX_COUNT = 2**31 - 1  # the engine counts pixels in 32 bits

Size = int | tuple[int, int]
Range = float | tuple[float, float]


def checked_size(name: str, value: Any) -> Size:
    """Checks one number, or a pair (height, width)."""
    if not is_sequence(value):
        return whole_number(name, value, 1, MAX_COUNT)
    if len(value) != 2:
        raise TypeError(f"{name}={shown(value)}: wants one number or (height, width)")
    return whole_number(name, value[0], 1, MAX_COUNT), whole_number(name, value[1], 1, MAX_COUNT)


def checked_range(name: str, value: Any, least: float, most: float = float("inf"), *, open_start: bool = True
                  ) -> tuple[float, float]:
    """Checks a pair (from, to) within limits. With `open_start`, from must be greater than `least`."""
    if not is_sequence(value) or len(value) != 2:
        raise TypeError(f"{name}={shown(value)}: wants a pair (from, to)")
    start, end = number(name, value[0], least, most), number(name, value[1], least, most)
    if start > end or (open_start and start <= least):
        sign = "<" if open_start else "<="
        raise ValueError(f"{name}={shown(value)}: wants (from, to) with {least:g} {sign} from <= to")
    return start, end


def checked_numbers(name: str, value: Any) -> float | tuple[float, ...]:
    """Checks one number for all channels, or a sequence with one number per channel."""
    if not is_sequence(value):
        return number(name, value)
    if len(value) == 0:
        raise ValueError(f"{name}={value!r}: wants a number, or one for each channel")
    return tuple(number(name, one) for one in value)


def dtype_name(argument: str, dtype: Any) -> str:
    """Returns the name of a type. "float32", numpy.float32, numpy.dtype("float32") and torch.float32 are the same."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype)).removeprefix("torch.")
    if name not in DTYPES and not isinstance(dtype, str):
        raise TypeError(f'{argument}={shown(dtype)}: wants the name of a type, such as "float32"')
    return choice(argument, name, DTYPES)
