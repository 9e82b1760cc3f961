"""The part of a parallel job that this process is."""

from __future__ import annotations

import dataclasses
import logging
import sys
from typing import Any

from .. import _core
from ..arguments import whole_number

log = logging.getLogger("penstock")


@dataclasses.dataclass(frozen=True)
class Ranks:
    """The rank of this process among the processes of a job."""

    rank: int
    world_size: int
    local_ranks: int  # the number of ranks on this machine
    found_by: str


def find_ranks() -> Ranks:
    """Asks torch.distributed if it is initialised, else reads the variables of torchrun, an srun step or MPI."""
    rank, world_size, local_ranks, found_by = _core.ranks_from_environment()
    # A program that uses torch.distributed has imported it; importing it here would cost a second.
    distributed: Any = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        own_world = distributed.get_world_size()
        if found_by == "none":
            local_ranks = own_world
        return Ranks(distributed.get_rank(), own_world, min(local_ranks, own_world), "torch.distributed")
    return Ranks(rank, world_size, local_ranks, found_by)


def choose_ranks(rank: int | None, world_size: int | None) -> Ranks:
    """Returns the ranks that the user gave, or else those that find_ranks() finds."""
    found = find_ranks()
    if (rank is None) != (world_size is None):
        raise ValueError("give rank and world_size together, or neither")
    if rank is not None:
        rank, world_size = whole_number("rank", rank, 0), whole_number("world_size", world_size, 1)
        return Ranks(rank, world_size, min(found.local_ranks, world_size), "given")
    if found.world_size > 1:
        log.info("rank %d of %d (%s)", found.rank, found.world_size, found.found_by)
    return found
