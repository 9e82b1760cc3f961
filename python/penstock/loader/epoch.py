"""The iterator over the batches of one epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import Error

if TYPE_CHECKING:
    from .loader import Loader

_program_ends = False


class Epoch(Iterator[Any]):
    """One pass over the data, or the rest of one. ``iter(loader)`` makes it.

    Epochs of one loader are independent of each other and share its worker threads and memory. Dropping an epoch gives
    its batches back to the loader, as ``close()`` does.
    """

    def __init__(self, loader: Loader, core: _core.EpochHandle) -> None:
        self._loader = loader
        self._core = core

    def __iter__(self) -> Epoch:
        return self

    def __next__(self) -> Any:
        """Waits for the next batch and returns it."""
        try:
            return self._next_batch()
        except StopIteration:
            self._loader._running.discard(self)
            raise
        except Error:
            self._loader._running.discard(self)
            if _program_ends:  # a background thread that nothing waits for ends without a message
                raise StopIteration from None
            raise

    def __len__(self) -> int:
        """Returns the number of batches per epoch on this rank."""
        return len(self._loader)

    def close(self) -> None:
        """Ends this epoch and gives its batches back to the loader. Batches already delivered stay valid."""
        self._loader._check_process()
        self._loader._running.discard(self)
        self._core.close()

    def _next_batch(self) -> Any:
        loader = self._loader
        loader._check_process()
        while True:
            got = self._core.next(loader._output == "numpy")
            loader._log_warnings()
            if got is None:
                raise StopIteration
            samples, arrays = got
            # A batch may consist of bad samples alone. One rank leaves it out; several ranks must stay in step.
            if loader._slice_world > 1 or samples > 0:
                return loader._batches.assemble(arrays)


def end_all() -> None:
    """Closes all loaders when the program ends, and lets background threads end without a message."""
    global _program_ends
    _program_ends = True
    _core.close_all_loaders()
