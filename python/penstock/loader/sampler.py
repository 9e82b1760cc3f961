"""The user's own order: what ``sampler=`` of a Loader takes."""

from __future__ import annotations

from typing import Any

from ..arguments import shown
from ..errors import UsageError
from ..sources.indices import chosen_indices
from .ranks import Ranks


class Sampler:
    """The sampler of a user, which gives a new list of indices for each epoch.

    The list that draw() returns first, so that the loader knows its length, also serves the first epoch.
    """

    def __init__(self, given: Any, samples: int) -> None:
        if hasattr(given, "__next__"):
            raise TypeError("sampler: wants something that can be gone through every epoch, such as a list or a torch "
                            "sampler, not an iterator")
        self.given = given
        self._samples = samples
        self._is_fresh = True  # no epoch has used the list that was drawn last

    def draw_for(self, epoch: int) -> list[int] | None:
        """Returns the list for this epoch, or None where the list that was drawn last serves it."""
        if hasattr(self.given, "set_epoch"):
            self.given.set_epoch(epoch)
        elif self._is_fresh:
            return None
        return self.draw()

    def use(self) -> None:
        """Notes that an epoch uses the list that was drawn last, so that the next epoch needs another one."""
        self._is_fresh = False

    def draw(self) -> list[int]:
        """Returns a list of indices."""
        if not hasattr(self.given, "__iter__") and not hasattr(self.given, "__getitem__"):
            raise TypeError(f"sampler={shown(self.given)}: wants a sequence of indices, a mask, or a torch sampler")
        indices = chosen_indices(self.given, self._samples, "sampler")
        if any(i < 0 for i in indices):
            raise ValueError("sampler gave a negative index")
        return indices


def rank_slice(ranks: Ranks, sampler: Any) -> tuple[int, int]:
    """Returns which part of the sampler's list belongs to this process, as (rank, world size)."""
    # torch's DistributedSampler has chosen the part of this rank already.
    if getattr(sampler, "num_replicas", 1) > 1:
        return 0, 1
    if sampler is not None and ranks.world_size > 1 and not hasattr(sampler, "__getitem__") \
            and not hasattr(sampler, "__next__"):
        raise UsageError("a sampler that draws anew would draw differently on every rank; use shuffle=True or "
                         "weights=, a list, or torch's DistributedSampler")
    return ranks.rank, ranks.world_size
