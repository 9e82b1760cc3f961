"""d1tfrecord: the JPEGs of d1 in TFRecord shards of tf.train.Example."""
import shutil

import places
from data_sets.shuffled_jpegs import SHARDS, in_shards
from data_sets.tfrecord_format import bytes_feature, example, int64_feature, record


def make(seed):
    shutil.rmtree(places.TFRECORD_FOLDER, ignore_errors=True)
    places.TFRECORD_FOLDER.mkdir(parents=True)
    count = 0
    for shard, samples in in_shards(seed):
        with open(places.TFRECORD_FOLDER / f"part-{shard:04d}.tfrecord", "wb") as file:
            for _, encoded, label in samples:
                file.write(record(example({b"image/encoded": bytes_feature(encoded),
                                           b"image/class/label": int64_feature(label)})))
                count += 1
    return {"count": count, "shards": SHARDS}
