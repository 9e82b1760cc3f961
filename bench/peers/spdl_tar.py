"""SPDL on tar shards, with its own reader of archives and a shuffle buffer."""
import random

import spdl.io

import places
from peers import spdl_ffmpeg

BUFFER = 1000


def stored_samples():
    """Yields (bytes of the JPEG, class number) of all shards, shards in a random order."""
    shards = places.shards(places.TAR_FOLDER, ".tar")
    for shard in random.sample(shards, len(shards)):
        with open(shard, "rb") as file:
            members = spdl.io.iter_tarfile(file)
            for _, encoded in members:
                _, label = next(members)
                yield bytes(encoded), int(bytes(label))


def shuffled_samples():
    waiting = []
    for sample in stored_samples():
        if len(waiting) < BUFFER:
            waiting.append(sample)
            continue
        slot = random.randrange(BUFFER)
        sample, waiting[slot] = waiting[slot], sample
        yield sample
    yield from random.sample(waiting, len(waiting))


def images(batch_size, threads, antialias):
    assert antialias, "FFmpeg's scaler filters when it shrinks"
    return spdl_ffmpeg.epochs(shuffled_samples, batch_size, threads)
