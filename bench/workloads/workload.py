"""What a workload is: named cases, how one is measured, and how its numbers are shown."""
from dataclasses import dataclass, field
from typing import Callable


@dataclass(frozen=True)
class Case:
    """One loader under one setting. Measured in a process of its own."""
    name: str
    peer: str                     # module of bench/peers
    options: dict = field(default_factory=dict)
    hand_written: bool = False    # a limit that users could write themselves, not a released loader
    against: str = "penstock"     # the case of Penstock that it is compared with

    @property
    def is_penstock(self):
        return self.peer.startswith("penstock")


@dataclass(frozen=True)
class Column:
    value: str                    # key in the measured values
    label: str
    higher_is_better: bool = True
    digits: int = 0


@dataclass(frozen=True)
class Workload:
    key: str
    title: str
    text: str
    cases: list
    columns: list
    measure: Callable = None      # (peer module, **options) -> {value: number}; called in the measured process
    code: Callable = None         # instead of measure: case -> program for `python -c`
    group_by: str | tuple = None  # option, or options, whose values make separate tables
    warm_up: bool = False         # run each case once, unrecorded, before the rounds
    samples_memory: bool = False  # watch the case from outside, adding the value peak_pss_mb
    cold: bool = False            # drop the page cache before each case
    data_sets: tuple = None       # the ones that it reads; None: it may read any

    def group_of(self, options):
        """The table that a case with these options belongs to."""
        if isinstance(self.group_by, tuple):
            return tuple(options[name] for name in self.group_by)
        return options.get(self.group_by)
