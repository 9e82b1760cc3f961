"""Configurations of loaders whose batches, order and states must never change.

tests/golden/configurations.json has the hash of each, tests/golden/make_configurations.py makes it, and
test_golden_configurations.py compares.
"""

from .arrays import ARRAYS
from .data import make_data
from .digests import delivered, digest, resumed
from .images import IMAGES
from .shards import SHARDS

__all__ = ["CONFIGURATIONS", "delivered", "digest", "make_data", "resumed"]

CONFIGURATIONS = IMAGES | SHARDS | ARRAYS
assert len(CONFIGURATIONS) == len(IMAGES) + len(SHARDS) + len(ARRAYS)
