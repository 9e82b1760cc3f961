"""NVIDIA DALI's reader of TFRecord shards, with index files."""
import nvidia.dali.tfrecord as tfrecord
from nvidia.dali import fn, pipeline_def

import places
from peers import dali, dali_index

BYTES = tfrecord.FixedLenFeature((), tfrecord.string, "")
INT64 = tfrecord.FixedLenFeature([1], tfrecord.int64, -1)


def read(folder, bytes_name, label_name, index_folder):
    shards = places.shards(folder, ".tfrecord")
    features = fn.readers.tfrecord(path=shards, index_path=dali_index.ready(dali_index.TFRECORD, shards, index_folder),
                                   features={bytes_name: BYTES, label_name: INT64}, name="reader",
                                   random_shuffle=True, initial_fill=1000)
    return features[bytes_name], features[label_name]


def images(batch_size, threads, antialias):
    return dali.image_epochs(lambda: read(places.TFRECORD_FOLDER, "image/encoded", "image/class/label",
                                          places.INDEX_FOLDER), batch_size, threads, antialias)


def open_records(index_folder, batch_size, threads):
    @pipeline_def(batch_size=batch_size, num_threads=threads, device_id=None)
    def pipeline():
        return read(places.MANY_TFRECORD_FOLDER, "text", "label", index_folder)

    opened = pipeline()
    opened.build()
    return opened, opened.epoch_size("reader")
