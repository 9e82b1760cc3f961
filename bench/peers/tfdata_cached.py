"""tf.data with cache() after the decode, all of it in memory."""
from peers import tfdata  # first: it sets TensorFlow's log level

import tensorflow as tf

import places

SHUFFLE = 256  # cache() wants a fixed order before it, so whole images are shuffled after it


def decode(path, label):
    return tf.io.decode_jpeg(tf.io.read_file(path), channels=3), label


def crop(image, label):
    begin, size = tfdata.random_box(tf.shape(image))
    cropped = tf.slice(image, begin, size)
    cropped.set_shape([None, None, 3])
    return tfdata.finish(cropped), label


def cached_images(batch_size, threads):
    paths, labels = zip(*places.jpeg_files())
    dataset = tf.data.Dataset.from_tensor_slices((list(paths), list(labels)))
    dataset = dataset.map(decode, num_parallel_calls=threads).cache().shuffle(SHUFFLE)
    return tfdata.epochs(dataset, crop, batch_size, threads)
