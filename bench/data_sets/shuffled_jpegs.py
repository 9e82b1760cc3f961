"""The samples of d1 in the order in which every record format holds them: shuffled over the classes."""
import random
from pathlib import Path

import places

SHARDS = 8


def samples(seed):
    """Yields (bytes of the JPEG, class number)."""
    for path, label in files(seed):
        yield Path(path).read_bytes(), label


def files(seed):
    """(path, class number) of the same samples."""
    found = places.jpeg_files()
    return random.Random(f"{seed} records").sample(found, len(found))


def in_shards(seed):
    """Yields (number of the shard, [(number of the sample, bytes of the JPEG, class number)])."""
    numbered = [(number, encoded, label) for number, (encoded, label) in enumerate(samples(seed))]
    size = -(-len(numbered) // SHARDS)
    for shard in range(SHARDS):
        yield shard, numbered[shard * size:(shard + 1) * size]
