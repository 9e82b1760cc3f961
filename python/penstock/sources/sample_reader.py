"""Single samples of a source, for ``source[i]``."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..loader import Loader
    from .source import Source


class SampleReader:
    """Reads one sample at a time, by a Loader with one worker thread that stays alive for the next sample.

    Any thread may call it. The worker thread does not survive a fork, so a reader serves only the `process` that made
    it. The thread ends with the last reference to the reader.
    """

    def __init__(self, source: Source) -> None:
        self.process = os.getpid()
        self._source = source
        self._lock = threading.Lock()
        self._loader: Loader | None = None

    def read(self, sample: int) -> Any:
        """Returns the values of one sample."""
        from ..loader import Loader

        with self._lock:
            if self._loader is None:
                # Epoch e of an order that is not shuffled, in epochs of one sample, is sample e.
                self._loader = Loader(self._source, batch_size=1, epoch_size=1, collate="list", threads=1, prefetch=1,
                                      rank=0, world_size=1)
            self._loader.set_epoch(sample)
            (batch,) = self._loader
        fields = self._source.fields
        if not isinstance(batch, tuple):
            return self._only(batch, next(iter(fields.values())))
        return tuple(self._only(values, fields[name]) for values, name in zip(batch, self._loader._names))

    def _only(self, values: Any, kind: str) -> Any:
        return int(values[0]) if kind == "integer" else values[0]
