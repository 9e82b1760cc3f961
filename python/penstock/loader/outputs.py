"""The libraries whose arrays a batch can hold, without a copy."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from ..arguments import choice

OUTPUTS = ("numpy", "torch", "jax", "dlpack")


def choose_output(output: str | None) -> str:
    """Returns the library that was asked for, or else torch where it can be imported, or else NumPy."""
    if output is None:
        has_torch = "torch" in sys.modules or importlib.util.find_spec("torch") is not None
        return "torch" if has_torch else "numpy"
    choice("output", output, OUTPUTS)
    if output in ("torch", "jax") and importlib.util.find_spec(output) is None:
        raise ValueError(f"output={output!r}: {output} is not installed")
    return output


def converter(output: str) -> Callable[[Any], Any]:
    """Returns a function from an object with ``__dlpack__`` (for NumPy: an array) to an array of the library."""
    if output == "torch":
        import torch

        from_torch: Callable[[Any], Any] = torch.from_dlpack
        return from_torch
    if output == "jax":
        import jax.dlpack

        from_jax: Callable[[Any], Any] = jax.dlpack.from_dlpack
        return from_jax
    return lambda array: array


def channels_first(tensor: Any) -> Any:
    """Returns a view of shape (..., C, H, W) of memory (..., H, W, C): torch's channels_last."""
    return tensor.movedim(-1, -3)
