"""The labels of samples, for `targets`, stratified splits and balanced weights."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from ..arguments import any_number, did_you_mean, shown
from ..errors import UsageError
from .indices import refuse_booleans

if TYPE_CHECKING:
    from .source import Source

_LABEL_NAMES = ("label", "labels", "cls", "class", "target", "targets")


def label_field(source: Source) -> str:
    """Returns the field that holds the labels: the one that has such a name, or else the only integer field."""
    integers = [name for name, kind in source.fields.items() if kind == "integer"]
    named = [name for name in integers if name.split("/")[-1].lower() in _LABEL_NAMES]
    for candidates in (named, integers):
        if len(candidates) == 1:
            return candidates[0]
    raise UsageError(f"{source.uri} has no field of labels: its integer fields are "
                     f"{', '.join(map(repr, integers)) or 'none'} of {', '.join(source.fields)}",
                     code="invalid_argument", uri=source.uri)


def field_values(source: Source, field: str) -> list[Any]:
    """Returns the field's value of every sample, from the index where it has them, else by reading each once."""
    from ..loader import Loader
    from .source import Source as SourceType

    if source._handle.is_drawn():
        raise UsageError("random patches have no list of samples, and so no list of labels", code="invalid_argument",
                         uri=source.uri)
    names = list(source.fields)
    if field not in names:
        raise UsageError(f"{source.uri} has no field {field!r}{did_you_mean(field, names)} "
                         f"(it has {', '.join(names)})", code="invalid_argument", uri=source.uri)
    known = source._handle.index_integers(names.index(field))
    if known is not None:
        return known
    if source.fields[field] not in ("integer", "text"):
        raise UsageError(f"field {field!r} of {source.uri} is of kind {source.fields[field]}; classes are integers or "
                         "texts", code="invalid_argument", uri=source.uri)
    values: list[Any] = []
    with Loader(SourceType(source._listed), batch_size=1024, fields=[field], output="numpy", rank=0,
                world_size=1) as loader:
        for (batch,) in loader:
            values += batch.tolist() if hasattr(batch, "tolist") else batch
    return values


def class_of_each(source: Source, stratify: Any) -> list[Any]:
    """Returns the class of each sample. `stratify` is the name of a field, or a sequence of classes."""
    if isinstance(stratify, str):
        return field_values(source, stratify)
    if not hasattr(stratify, "__iter__") or isinstance(stratify, (bytes, dict)):
        raise TypeError(f"stratify={shown(stratify)}: wants the name of a field, or one class for each sample")
    classes = [value.item() if hasattr(value, "item") else value for value in stratify]
    if len(classes) != len(source):
        raise ValueError(f"stratify has {len(classes)} classes for {len(source)} samples")
    for value in classes:
        try:
            hash(value)
        except TypeError:
            raise TypeError(f"stratify: {shown(value)} is no class; wants a number or a text for each sample") from None
    return classes


def balanced_weights(source: Source) -> list[float]:
    """Returns weights by which every class is drawn equally often: one over the number of its samples."""
    labels = source._labels()
    counts = collections.Counter(labels)
    return [1 / counts[label] for label in labels]


def sampling_weights(weights: Any, source: Source) -> list[float] | None:
    """Returns the weight of each sample for ``weights=`` of a Loader."""
    if weights is None:
        return None
    if isinstance(weights, str):
        if weights != "balanced":
            raise ValueError(f'weights={weights!r}: wants "balanced", or a number for each sample')
        return balanced_weights(source)
    if not hasattr(weights, "__iter__") or getattr(weights, "ndim", 1) != 1:
        raise TypeError(f'weights={shown(weights)}: wants "balanced", or a number for each sample')
    values = weights.tolist() if hasattr(weights, "tolist") else list(weights)
    refuse_booleans(values, "weights")
    return [any_number("weights", weight) for weight in values]
