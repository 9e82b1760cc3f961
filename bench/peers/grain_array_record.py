"""Grain on ArrayRecord shards, with OpenCV, its reading threads in one process."""
import grain

import places
from peers.grain_threads import batches
from peers.torch_opencv import decode


def load(record):
    return decode(memoryview(record)[1:]).numpy(), record[0]


def images(batch_size, threads, antialias):
    assert not antialias, "OpenCV's bilinear resize does not filter"
    source = grain.sources.ArrayRecordDataSource(places.shards(places.ARRAY_RECORD_FOLDER, ".array_record"))
    return batches(grain.MapDataset.source(source).shuffle(seed=3).map(load), batch_size, threads)
