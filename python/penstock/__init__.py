"""Penstock feeds training data to GPUs.

A ``Loader`` reads a source, applies transforms and delivers batches. Sources are functions such as ``ImageFolder``,
``Tar`` and ``Zarr``; transforms are classes such as ``Resize`` and ``Normalize``. The environment variable
PENSTOCK_LOG, for example "info", shows log messages on standard error.

Example:
    >>> import penstock as ps
    >>> loader = ps.Loader("data/train", batch_size=64, shuffle=True,
    ...                    transform=[ps.RandomResizedCrop(224), ps.RandomHorizontalFlip(),
    ...                               ps.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
    >>> for images, labels in loader:
    ...     ...
"""

import logging as _logging
import os as _os

from ._core import version as __version__
from .cache import Cache
from .errors import Error, MemoryBudgetError, NotFoundError, UsageError
from .field_statistics import FieldStatistics, Statistics, statistics
from .loader import Loader
from .pack import PackReport, finish_pack, pack
from .sources import Files, ImageFolder, Manifest, Mix, Npy, Patches, Source, Tar, TFRecord, Zarr, open_source
from .staging import stage
from .stats import LoaderStats
from .transforms import (
    Cast,
    CenterCrop,
    ColorJitter,
    Decode,
    Derive,
    Map,
    Normalize,
    OneHot,
    Pad,
    RandomCrop,
    RandomErasing,
    RandomFlip3D,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRot90,
    RandomVerticalFlip,
    Resize,
)

__all__ = ["Loader", "LoaderStats", "Cache", "Source", "ImageFolder", "Files", "Tar", "TFRecord", "Manifest", "Npy",
           "Zarr", "Patches", "Mix", "open_source", "pack", "finish_pack", "PackReport", "stage",
           "statistics", "Statistics", "FieldStatistics", "Error",
           "UsageError", "NotFoundError", "MemoryBudgetError", "__version__",
           "Cast", "CenterCrop", "ColorJitter", "Decode", "Derive", "Map", "Normalize", "OneHot", "Pad", "RandomCrop",
           "RandomErasing", "RandomFlip3D", "RandomHorizontalFlip", "RandomResizedCrop", "RandomRot90",
           "RandomVerticalFlip", "Resize"]

if _level := _os.environ.get("PENSTOCK_LOG"):
    _log = _logging.getLogger("penstock")
    _log.setLevel(_level.upper())
    _handler = _logging.StreamHandler()
    _handler.setFormatter(_logging.Formatter("penstock %(levelname)s: %(message)s"))
    _log.addHandler(_handler)
