"""Lists of samples: indices, or a mask with one boolean for each sample."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..arguments import whole_number


def chosen_indices(samples: Any, size: int, what: str) -> list[int]:
    """Returns indices as they are, and for a mask (NumPy, torch or a list of booleans) the indices where it is true.

    `what` begins the messages, for example "subset". Negative indices are not changed.
    """
    dtype = getattr(samples, "dtype", None)
    if dtype is not None and len(getattr(samples, "shape", ())) != 1:
        raise ValueError(f"{what}: wants one dimension of indices or of booleans, not the shape {tuple(samples.shape)}")
    values = list(samples.tolist() if hasattr(samples, "tolist") else samples)
    booleans = sum(_is_boolean(value) for value in values)
    if booleans == 0:
        return [whole_number(f"{what}: index", value) for value in values]
    if booleans < len(values):
        raise TypeError(f"{what}: booleans and numbers are mixed; give indices, or a mask with one boolean for each "
                        "sample")
    if len(values) != size:
        raise ValueError(f"{what}: a mask of {len(values)} booleans, but the source has {size} samples")
    return [index for index, is_chosen in enumerate(values) if is_chosen]


def refuse_booleans(values: Iterable[Any], what: str) -> None:
    """Raises an error where a mask was given instead of numbers."""
    if any(_is_boolean(value) for value in values):
        raise TypeError(f"{what}: wants numbers, not booleans; source.subset(mask) chooses samples by a mask")


def _is_boolean(value: Any) -> bool:
    if type(value) is int:
        return False
    # Scalars of NumPy and torch have a dtype.
    return isinstance(value, bool) or str(getattr(value, "dtype", "")) in ("bool", "torch.bool")
