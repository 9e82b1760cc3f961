"""Measures fields: means and deviations for Normalize, class counts, lengths of texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _core
from .arguments import checked_keywords, is_sequence, shown, text, whole_number
from .sources import Pairs, Paths, Source, open_source
from .sources.opening import Progress, memory_bytes


@dataclass(frozen=True)
class FieldStatistics:
    """The statistics of one field. Parts that do not apply to its kind are empty.

    Attributes:
        name: The name of the field.
        kind: The kind of the field: "image", "mask", "array", "integer", "text", "json" or "bytes".
        samples: The number of samples that were measured.
        mean: For images and arrays, the mean of each channel (one number if there are no channels), as
            ``penstock.Normalize`` takes it: values of uint8 are divided by 255. NaN and infinities are left out.
        std: The standard deviation of each channel, in the same way.
        min: The minimum of each channel, in the same way.
        max: The maximum of each channel, in the same way.
        per_channel: Whether there are channels.
        nan: The number of elements that are not-a-number.
        infinite: The number of elements that are infinite.
        channels: The numbers of each channel as ``penstock statistics --json`` prints them (uint8 is not divided).
        counts: For labels and masks, how often each value occurs. None if there are too many values to be classes.
        classes: The names of the classes, if they are known.
        lengths: For texts, ``{"count", "mean", "std", "min", "max"}`` in characters; for JSON and bytes, in bytes.
    """

    name: str
    kind: str
    samples: int
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    min: tuple[float, ...] = ()
    max: tuple[float, ...] = ()
    per_channel: bool = False
    nan: int = 0
    infinite: int = 0
    channels: list[dict[str, Any]] = field(default_factory=list, repr=False)
    counts: dict[int, int] | None = None
    classes: list[str] = field(default_factory=list)
    lengths: dict[str, Any] | None = None


class Statistics(Mapping[str, FieldStatistics]):
    """The statistics of each field, by its name.

    Attributes:
        samples: The number of samples that were read.
        bad: The number of samples that could not be read.
        errors: The errors: dicts with the keys of ``penstock.stats.ErrorRecord`` and "field".
        seconds: The time that the measurement took.

    Example:
        >>> found = ps.statistics("data/train")
        >>> {name: one.kind for name, one in found.items()}
    """

    def __init__(self, fields: list[FieldStatistics], samples: int, bad: int, errors: list[dict[str, Any]],
                 seconds: float) -> None:
        self._fields = {one.name: one for one in fields}
        self.samples = samples
        self.bad = bad
        self.errors = errors
        self.seconds = seconds

    def __getitem__(self, name: str) -> FieldStatistics:
        if name not in self._fields:
            raise KeyError(f"no field {name!r} was measured; there are {', '.join(self._fields)}")
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        bad = f", {self.bad} of them bad" if self.bad else ""
        return f"<penstock statistics of {self.samples} samples{bad}: {', '.join(self._fields)}>"


@checked_keywords
def statistics(source: Paths | Pairs | Source, fields: str | Sequence[str] | None = None, *,
               threads: int | None = None, memory: int | str | None = None) -> Statistics:
    """Reads every sample once and measures its fields. ``penstock statistics`` prints the same numbers.

    Means, deviations, minima and maxima are those of each channel: the channels of an image or of a stack, or the
    levels of a variable with a window. In other arrays of three axes or more, the first axis counts channels if it is
    short. The deviation is NumPy's ``std`` over all elements. Samples that cannot be read are left out and listed in
    ``errors``.

    Args:
        source: Anything that a Loader takes as its source.
        fields: The names of the fields to measure. By default, all.
        threads: The number of worker threads. By default, all usable cores.
        memory: The memory that may be used, for example "4GiB". The default is a quarter of the free memory.

    Returns:
        The statistics of each field, by its name.

    Raises:
        UsageError: There is no such field.
        Error: No sample could be read.

    Example:
        >>> found = ps.statistics("data/train")
        >>> ps.Normalize(found["image"].mean, found["image"].std)
        >>> found["label"].counts
    """
    opened = open_source(source, memory=memory)
    if isinstance(fields, str):
        fields = [fields]
    if fields is not None and not is_sequence(fields):
        raise TypeError(f"fields={shown(fields)}: wants the name of a field, or a list of names")
    names = [text("fields", name, "the name of a field") for name in ([] if fields is None else fields)]
    count = 0 if threads is None else whole_number("threads", threads, 1, 1024)
    with Progress(lambda samples: f"measuring {opened.uri}: {samples:,} of {len(opened):,} samples") as progress:
        found = _core.measure_source(opened._handle, fields=names, threads=count, memory_bytes=memory_bytes(memory),
                                     progress=progress)
    return Statistics([_of_field(one) for one in json.loads(found["fields"])], found["samples"], found["bad"],
                      found["errors"], found["seconds"])


def _of_field(found: dict[str, Any]) -> FieldStatistics:
    common = {"name": found["name"], "kind": found["kind"], "samples": found["samples"]}
    if "channels" in found:
        channels = found["channels"]
        divisor = found["normalize_divides_by"]
        nan = float("nan")

        def each(name: str) -> tuple[float, ...]:
            return tuple(nan if channel[name] is None else channel[name] / divisor for channel in channels)

        return FieldStatistics(**common, mean=each("mean"), std=each("std"), min=each("min"), max=each("max"),
                               per_channel=found["per_channel"], nan=found["nan"], infinite=found["infinite"],
                               channels=channels)
    if "counts" in found:
        counts = found["counts"]
        return FieldStatistics(**common, classes=found.get("classes", []),
                               counts=None if counts is None else {int(value): n for value, n in counts.items()})
    return FieldStatistics(**common, lengths=found["lengths"])
