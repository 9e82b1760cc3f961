"""Divides samples among the parts of a split."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from ..arguments import is_sequence, number, shown, whole_number
from ..errors import UsageError


def part_sizes(parts: Any, samples: int) -> list[int]:
    """Returns the number of samples of each part, from a fraction, fractions that add up to 1, or counts.

    Fractions are rounded as in torch.utils.data.random_split: down, and the samples left over go to the first parts.
    """
    if not is_sequence(parts):
        if isinstance(parts, (bool, str)) or not hasattr(parts, "__float__"):
            raise TypeError(f"split({shown(parts)}): wants a fraction, such as 0.9, or a list of fractions or counts")
        fraction = number("fraction", parts)
        if not 0 < fraction < 1:
            hint = f"; write [{parts}, {samples - int(parts)}] for counts" if 1 <= fraction < samples else ""
            raise ValueError(f"split({parts!r}): wants a fraction above 0 and below 1{hint}")
        first = _round(fraction * samples)
        sizes = [first, samples - first]
    elif all(isinstance(part, float) or getattr(getattr(part, "dtype", None), "kind", "") == "f" for part in parts):
        fractions = [number("split: a fraction", part, 0, 1) for part in parts]
        if not fractions or not math.isclose(math.fsum(fractions), 1, abs_tol=1e-6):
            raise ValueError(f"split({shown(parts)}): the fractions add up to {math.fsum(fractions):g}; "
                             "they must add up to 1")
        sizes = [math.floor(fraction * samples) for fraction in fractions]
        for i in range(samples - sum(sizes)):
            sizes[i % len(sizes)] += 1
    else:
        sizes = [_count_of(part, parts) for part in parts]
        if sum(sizes) != samples:
            raise ValueError(f"split({shown(parts)}): the counts add up to {sum(sizes)}; "
                             f"the source has {samples} samples")
    for i, size in enumerate(sizes):
        if size == 0:
            raise UsageError(f"split({shown(parts)}) of {samples} samples leaves part {i} empty",
                             code="invalid_argument")
    return sizes


def divide(sizes: Sequence[int], seed: int) -> list[list[int]]:
    """Draws the samples of each part, in ascending order."""
    order, parts, start = _core.shuffled(sum(sizes), seed), [], 0
    for size in sizes:
        parts.append(sorted(order[start:start + size]))
        start += size
    return parts


def divide_by_class(sizes: Sequence[int], seed: int, classes: Sequence[Any]) -> list[list[int]]:
    """Draws the samples of each part so that every class is divided in proportion to the sizes."""
    members: dict[Any, list[int]] = {}
    for sample in _core.shuffled(sum(sizes), seed):
        members.setdefault(classes[sample], []).append(sample)
    # Classes in order of first appearance, so that the division does not depend on the draws.
    groups = [members[one] for one in dict.fromkeys(classes)]
    parts: list[list[int]] = [[] for _ in sizes]
    for group, counts in zip(groups, share_out([len(group) for group in groups], sizes)):
        start = 0
        for part, count in zip(parts, counts):
            part += group[start:start + count]
            start += count
    return [sorted(part) for part in parts]


def share_out(rows: Sequence[int], columns: Sequence[int]) -> list[list[int]]:
    """Makes a table of whole numbers with these sums, each within one of its proportion, row * column / total.

    Every proportion is rounded down first. Then the cells with the largest remainders are rounded up, as far as the
    sums allow. Where a row has no cell left that may be rounded up, an augmenting path moves the increments of other
    rows aside. This always succeeds, because the remainders themselves fill all sums.
    """
    total = sum(rows)
    table = [[row * column // total for column in columns] for row in rows]
    remainder = [[row * column % total for column in columns] for row in rows]
    row_lacks = [row - sum(cells) for row, cells in zip(rows, table)]
    column_lacks = [column - sum(cells[j] for cells in table) for j, column in enumerate(columns)]
    raised: list[set[int]] = [set() for _ in rows]  # columns in which the row was rounded up
    places = sorted((-remainder[i][j], i, j) for i in range(len(rows)) for j in range(len(columns)) if remainder[i][j])
    for _, i, j in places:
        if row_lacks[i] and column_lacks[j]:
            raised[i].add(j)
            row_lacks[i] -= 1
            column_lacks[j] -= 1
    for i in range(len(rows)):
        while row_lacks[i]:
            column_lacks[_round_up_one(i, raised, remainder, column_lacks)] -= 1
            row_lacks[i] -= 1
    return [[cell + (j in raised[i]) for j, cell in enumerate(cells)] for i, cells in enumerate(table)]


def _round_up_one(row: int, raised: list[set[int]], remainder: list[list[int]], column_lacks: list[int]) -> int:
    """Rounds up one more cell of the row, along an augmenting path, and returns the column whose sum grew."""
    came_from: dict[int, tuple[int, int | None]] = {}  # column: (row that would be raised there, column it leaves)
    waiting: list[tuple[int, int | None]] = [(row, None)]
    for current, left in waiting:
        for column in range(len(column_lacks)):
            if column in came_from or column in raised[current] or not remainder[current][column]:
                continue
            came_from[column] = (current, left)
            if column_lacks[column]:
                end, place = column, column
                while True:
                    mover, previous = came_from[place]
                    raised[mover].add(place)
                    if previous is None:
                        return end
                    raised[mover].remove(previous)
                    place = previous
            waiting += [(other, column) for other in range(len(raised)) if column in raised[other]]
    raise AssertionError("the sums of rows and columns differ")


def _round(value: float) -> int:
    return math.floor(value + 0.5)  # halves go up, as in the engine


def _count_of(part: Any, parts: Any) -> int:
    try:
        return whole_number("split: a count", part, 0)
    except TypeError:
        raise TypeError(f"split({shown(parts)}): wants fractions (all with a decimal point) or counts") from None
