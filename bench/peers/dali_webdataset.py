"""NVIDIA DALI's reader of tar shards, with index files."""
from nvidia.dali import fn, pipeline_def

import places
from peers import dali, dali_index


def read(folder, extensions, index_folder):
    shards = places.shards(folder, ".tar")
    return fn.readers.webdataset(paths=shards, index_paths=dali_index.ready(dali_index.TAR, shards, index_folder),
                                 ext=extensions, name="reader", random_shuffle=True, initial_fill=1000,
                                 missing_component_behavior="error")


def images(batch_size, threads, antialias):
    return dali.image_epochs(lambda: read(places.TAR_FOLDER, ["jpg", "cls"], places.INDEX_FOLDER), batch_size, threads,
                             antialias)


def open_records(index_folder, batch_size, threads):
    @pipeline_def(batch_size=batch_size, num_threads=threads, device_id=None)
    def pipeline():
        return tuple(read(places.MANY_TAR_FOLDER, ["txt", "cls"], index_folder))

    opened = pipeline()
    opened.build()
    return opened, opened.epoch_size("reader")
