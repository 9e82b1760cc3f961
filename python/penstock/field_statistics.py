"""Means and deviations for Normalize, class counts, lengths of texts."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping, Sequence, Union

from . import _core
from .arguments import checked_keywords, is_sequence, text, whole_number
from .arguments import shown as describe
from .sizes import parse_bytes
from .sources import Pairs, Paths, Source, open_source


@dataclass(frozen=True)
class FieldStatistics:
    """What was measured of one field. Parts that do not apply to its kind are empty.

    mean, std, min, max: of images and arrays, one number for each channel (one for all where there are no channels), as
        ``ps.Normalize`` takes them: values of uint8 are divided by 255. NaN and infinities are left out.
    counts: of labels and masks, how often each value occurs; None where there are too many values to be classes.
    lengths: of texts, ``{"count", "mean", "std", "min", "max"}`` in characters (JSON and bytes: in bytes).
    channels: the numbers of each channel as ``penstock statistics --json`` prints them (uint8 arrays undivided).
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
    """The statistics of each field by its name, and of the visit: ``samples``, ``bad``, ``errors``, ``seconds``."""

    def __init__(self, fields: list[FieldStatistics], samples: int, bad: int, errors: list[dict], seconds: float):
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
def statistics(source: Union[Paths, Pairs, Source], fields: Union[str, Sequence[str], None] = None, *,
               threads: int | None = None, memory: Union[int, str, None] = None) -> Statistics:
    """Reads every sample once and measures its fields, the same numbers that ``penstock statistics`` prints.

    >>> found = ps.statistics("data/train")
    >>> ps.Normalize(found["image"].mean, found["image"].std)
    >>> found["label"].counts

    Means, deviations, minima and maxima are those of each channel: the channels of an image, the channels of a stack, the
    levels of a variable with a window, else the first axis of an array of three axes or more if it is short. `std` is
    NumPy's, over all elements. Samples that cannot be read are left out and listed in ``errors``.

    fields: only these; default: all. threads: default: all usable cores. memory: default: a quarter of what is free.
    """
    opened = open_source(source, memory=memory)
    if isinstance(fields, str):
        fields = [fields]
    if fields is not None and not is_sequence(fields):
        raise TypeError(f"fields={describe(fields)}: wants the name of a field, or a list of names")
    names = [text("fields", name, "the name of a field") for name in ([] if fields is None else fields)]
    count = 0 if threads is None else whole_number("threads", threads, 1, 1024)
    began, shown = time.monotonic(), False

    def progress(samples: int) -> None:
        nonlocal shown
        if time.monotonic() - began > 1 and sys.stderr.isatty():
            shown = True
            print(f"\rpenstock: measuring {opened.uri}: {samples:,} of {len(opened):,} samples", end="",
                  file=sys.stderr, flush=True)

    found = _core.measure_source(opened._handle, fields=names, threads=count,
                                 memory_bytes=parse_bytes(memory) if memory is not None else 0, progress=progress)
    if shown:
        print(file=sys.stderr)
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
