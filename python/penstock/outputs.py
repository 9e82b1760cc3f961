"""Batches as arrays of the library that trains on them, without a copy."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Callable

from .arguments import choice

OUTPUTS = ("numpy", "torch", "jax", "dlpack")


def choose_output(output: str | None) -> str:
    """What was asked for; else torch where it can be imported, else NumPy."""
    if output is None:
        has_torch = "torch" in sys.modules or importlib.util.find_spec("torch") is not None
        return "torch" if has_torch else "numpy"
    choice("output", output, OUTPUTS)
    if output in ("torch", "jax") and importlib.util.find_spec(output) is None:
        raise ValueError(f"output={output!r}: {output} is not installed")
    return output


def converter(output: str) -> Callable[[Any], Any]:
    """From an object with ``__dlpack__`` (for NumPy: an array) to an array of the library."""
    if output == "torch":
        import torch

        return torch.from_dlpack
    if output == "jax":
        import jax.dlpack

        return jax.dlpack.from_dlpack
    return lambda array: array


def channels_first(tensor):
    """Shape (..., C, H, W) over memory (..., H, W, C): torch's channels_last."""
    return tensor.movedim(-1, -3)
