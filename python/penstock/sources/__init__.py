"""Where samples come from: folders, shards, tables and arrays, and parts and mixtures of them."""

from .files import Files, ImageFolder, Npy
from .mix import Mix
from .opening import Pairs, Paths, open_source
from .patches import Patches
from .shards import MDS, Tar, TFRecord
from .source import Source
from .table import Manifest
from .zarr import Zarr

__all__ = ["MDS", "Files", "ImageFolder", "Manifest", "Mix", "Npy", "Pairs", "Patches", "Paths", "Source", "TFRecord",
           "Tar", "Zarr", "open_source"]
