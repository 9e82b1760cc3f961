"""Several sources as one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from .. import _core
from ..arguments import any_number, shown
from .opening import Path, open_source
from .recipe import recorded
from .source import Source


@recorded
def Mix(sources: Sequence[Path | Source], weights: Sequence[float] | None = None) -> Source:
    """Makes one source of several that have the same fields.

    Args:
        sources: Sources, or paths that ``open_source`` opens.
        weights: The share of the samples that each source makes up. Samples of a small source with a large weight then
            come several times per epoch, and an epoch has as many samples as all sources together (see ``epoch_size``
            of Loader). Without weights, every sample of each source comes once per epoch.

    Returns:
        The mixture, with the fields that the sources have.

    Raises:
        UsageError: The fields of the sources differ.

    Example:
        >>> ps.Mix(["data/photos", "data/drawings"], weights=[0.8, 0.2])
    """
    if isinstance(sources, (str, os.PathLike, Source, Mapping)) or not hasattr(sources, "__iter__"):
        raise TypeError(f"sources={shown(sources)}: Mix wants a list of sources")
    handles = [open_source(source)._handle for source in sources]
    if weights is None:
        return Source(_core.mix_sources(handles, []))
    if isinstance(weights, (str, bytes, Mapping)) or not hasattr(weights, "__iter__"):
        raise TypeError(f"weights={shown(weights)}: wants a number for each source")
    shares = [any_number("weights", weight) for weight in weights]
    return Source(_core.mix_sources(handles, shares), listed=_core.mix_sources(handles, []))
