"""Makes a batch in the form that the user asked for, from the arrays that the engine delivers."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ..sources import Source
from ..transforms import makes_image
from .field_steps import FieldSteps
from .outputs import channels_first, converter

# Name, dtype, shape of one sample and form of a field, as LoaderHandle.sample_fields() has them.
SampleField = tuple[str, str, tuple[int, ...], str]


class BatchAssembler:
    """Converts arrays to the user's library, turns images to channels_last, and makes a tuple, a dict or a bare array.

    It never changes after load_library(), so any thread may use it then.
    """

    def __init__(self, fields: Sequence[SampleField], *, output: str, as_dict: bool, as_bare: bool,
                 channels_last: Collection[int], collate: Callable[[list[Any]], Any] | None) -> None:
        self._names = [name for name, _, _, _ in fields]
        self._fields = fields
        self._output = output
        self._as_dict = as_dict
        self._as_bare = as_bare
        self._channels_last = channels_last  # the indices of the fields that are turned
        self._collate = collate
        self._convert: Callable[[Any], Any] | None = None

    def load_library(self) -> None:
        """Imports the library whose arrays are delivered. This may take a second."""
        if self._convert is None:
            self._convert = converter(self._output)

    def assemble(self, arrays: Sequence[Any]) -> Any:
        """Returns the batch made of one array (or list) for each field."""
        batch = [self._finish_field(i, values) for i, values in enumerate(arrays)]
        if self._collate is not None:
            return self._collate([self._arrange(values) for values in zip(*batch)])
        return self._arrange(batch)

    def _arrange(self, values: Sequence[Any]) -> Any:
        if self._as_dict:
            return dict(zip(self._names, values))
        return values[0] if self._as_bare else tuple(values)

    def _finish_field(self, index: int, values: Any) -> Any:
        assert self._convert is not None
        _, dtype, _, form = self._fields[index]
        if form == "texts":
            return [json.loads(text) for text in values] if dtype == "json" else values
        if form == "list":
            return [self._turn(index, self._convert(value)) for value in values]
        array = self._convert(values)
        # The lengths of a padded image are in the order of its axes.
        if index - 1 in self._channels_last and self._names[index] == self._names[index - 1] + "_lengths":
            return array[:, [2, 0, 1]]
        return self._turn(index, array)

    def _turn(self, index: int, array: Any) -> Any:
        return channels_first(array) if index in self._channels_last else array


def image_fields(fields: Sequence[SampleField], steps_by_field: FieldSteps, source: Source,
                 renamed: Mapping[str, str]) -> frozenset[int]:
    """Returns the indices of the fields that are images. ``layout="channels_last"`` turns these and no other arrays."""
    steps = {name: (own, derived_from) for name, own, derived_from in steps_by_field}

    def is_image(name: str) -> bool:
        own, derived_from = steps.get(name, ([], ""))
        if any(makes_image(step) for step in own):
            return True
        return is_image(derived_from) if derived_from else source.fields.get(renamed.get(name, name)) == "image"

    return frozenset(i for i, (name, _, shape, _) in enumerate(fields)
                     if len(shape) == 3 and shape[2] <= 4 and is_image(name))
