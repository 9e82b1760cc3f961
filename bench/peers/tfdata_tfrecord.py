"""tf.data on TFRecord shards: shards interleaved, then a shuffle buffer."""
from peers import tfdata  # first: it sets TensorFlow's log level

import tensorflow as tf

import places

FEATURES = {"image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64)}


def load(record):
    features = tf.io.parse_single_example(record, FEATURES)
    return tfdata.sample(features["image/encoded"], features["image/class/label"])


def images(batch_size, threads, antialias):
    assert not antialias, "this pipeline resizes plainly"
    shards = places.shards(places.TFRECORD_FOLDER, ".tfrecord")
    dataset = tf.data.Dataset.from_tensor_slices(shards).shuffle(len(shards))
    dataset = dataset.interleave(tf.data.TFRecordDataset, cycle_length=len(shards), num_parallel_calls=1)
    return tfdata.epochs(dataset.shuffle(1000), load, batch_size, threads)
