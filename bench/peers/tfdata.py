"""tf.data with TensorFlow's partial JPEG decode and plain bilinear resize."""
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow as tf  # noqa: E402  (the log level is read at import)

import places  # noqa: E402
from peers.random_crop import MEAN, RATIO, SCALE, SIZE, STD  # noqa: E402

# Made here, so that starting TensorFlow's runtime counts as import.
mean = tf.constant([255 * value for value in MEAN], tf.float32)
inverse_std = tf.constant([1 / (255 * value) for value in STD], tf.float32)


def random_box(shape):
    """Returns the begin and the size of a random crop of an image of this shape."""
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        shape, tf.zeros([1, 0, 4], tf.float32), aspect_ratio_range=RATIO, area_range=SCALE, max_attempts=10,
        use_image_if_no_bounding_boxes=True)
    return begin, size


def finish(crop):
    image = tf.image.random_flip_left_right(tf.image.resize(crop, (SIZE, SIZE), "bilinear"))
    return tf.transpose((image - mean) * inverse_std, (2, 0, 1))


def sample(encoded, label):
    begin, size = random_box(tf.image.extract_jpeg_shape(encoded))
    box = tf.concat([begin[:2], size[:2]], axis=0)
    return finish(tf.image.decode_and_crop_jpeg(encoded, box, channels=3)), label


def images(batch_size, threads, antialias):
    assert not antialias, "this pipeline resizes plainly"
    paths, labels = zip(*places.jpeg_files())
    dataset = tf.data.Dataset.from_tensor_slices((list(paths), list(labels))).shuffle(len(paths))
    return epochs(dataset, lambda path, label: sample(tf.io.read_file(path), label), batch_size, threads)


def epochs(dataset, load, batch_size, threads):
    dataset = dataset.map(load, num_parallel_calls=threads, deterministic=False)
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    dataset = dataset.batch(batch_size).prefetch(2).with_options(options)
    return dataset.as_numpy_iterator
