"""d1arrayrecord: the JPEGs of d1 in ArrayRecord shards for Grain: one byte of class number, then the JPEG."""
import shutil

from array_record.python.array_record_module import ArrayRecordWriter

import places
from data_sets.shuffled_jpegs import SHARDS, in_shards


def make(seed):
    shutil.rmtree(places.ARRAY_RECORD_FOLDER, ignore_errors=True)
    places.ARRAY_RECORD_FOLDER.mkdir(parents=True)
    count = 0
    for shard, samples in in_shards(seed):
        # Groups of one record, as Grain's documentation asks for: a group is read and unpacked as a whole.
        writer = ArrayRecordWriter(str(places.ARRAY_RECORD_FOLDER / f"part-{shard:04d}.array_record"), "group_size:1")
        for _, encoded, label in samples:
            writer.write(bytes((label,)) + encoded)
            count += 1
        writer.close()
    return {"count": count, "shards": SHARDS}
