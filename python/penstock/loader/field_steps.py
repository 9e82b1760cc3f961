"""The steps that each field takes, from ``transform=`` of a Loader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..sources import Source
from ..torch_words import transform_list
from ..transforms import Derive, joint_fields, moves_pixels

FieldSteps = list[tuple[str, list[Any], str]]  # name, steps, the field that it is derived from or ""


def field_steps(transform: Any, source: Source, names: Sequence[str], renamed: Mapping[str, str]) -> FieldSteps:
    """Returns the steps of each field that has any.

    `names` are the requested fields (empty: those of the source). `renamed` maps them to the names in the source.
    """
    if transform is None:
        return []
    kinds = {name: source.fields.get(renamed.get(name, name)) for name in names} or dict(source.fields)
    if isinstance(transform, Mapping):
        given = [(name, _steps(steps.steps, name), steps.source) if isinstance(steps, Derive) else
                 (name, _steps(steps, name), "") for name, steps in transform.items()]
        return given + _mask_steps(given, kinds)
    # A bare list applies to all outputs of the first delivered image or, if there is none, of the first array.
    steps = transform_list(transform)
    first = next((name for wanted in ("image", "array") for name, kind in kinds.items() if kind == wanted), None)
    if first is None and not (steps and all(joint_fields(step) for step in steps)):
        raise UsageError("there is no image or array that transforms could be for")
    views = [name for name in kinds if first is not None and renamed.get(name, name) == renamed.get(first, first)]
    given = [(view, [step for step in steps if not joint_fields(step) or view in joint_fields(step)], "")
             for view in views]
    given += _mask_steps(given, kinds)
    has_steps = {name for name, _, _ in given}
    others = dict.fromkeys(name for step in steps for name in joint_fields(step) if name not in has_steps)
    return given + [(name, [step for step in steps if name in joint_fields(step)], "") for name in others]


def _mask_steps(given: FieldSteps, kinds: Mapping[str, str | None]) -> FieldSteps:
    """Returns the steps of masks that have none: those that move the pixels of the first image (or array)."""
    masks = [name for name, kind in kinds.items() if kind == "mask" and name not in [own for own, _, _ in given]]
    for wanted in ("image", "array"):
        for name, steps, derived_from in given:
            if kinds.get(name) == wanted and not derived_from and any(map(moves_pixels, steps)):
                return [(mask, [step for step in steps if moves_pixels(step) or mask in joint_fields(step)], "")
                        for mask in masks]
    return []


def _steps(steps: Any, field: str) -> list[Any]:
    if not isinstance(field, str):
        raise TypeError(f"transform: {field!r} is not the name of a field")
    return transform_list(steps, f"transform of {field!r}")
