"""Which part of a parallel job this process is."""

from __future__ import annotations

import dataclasses
import sys

from . import _core


@dataclasses.dataclass(frozen=True)
class Ranks:
    rank: int
    world_size: int
    local_ranks: int  # ranks that share this machine
    found_by: str


def find_ranks() -> Ranks:
    """torch.distributed if it is initialised, else torchrun's variables, an srun step, or MPI."""
    rank, world_size, local_ranks, found_by = _core.ranks_from_environment()
    # A program that uses torch.distributed has imported it; importing it here would cost a second.
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        own_world = distributed.get_world_size()
        if found_by == "none":
            local_ranks = own_world
        return Ranks(distributed.get_rank(), own_world, min(local_ranks, own_world), "torch.distributed")
    return Ranks(rank, world_size, local_ranks, found_by)
