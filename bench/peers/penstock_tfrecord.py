"""Penstock on TFRecord shards."""
import os

import penstock as ps
import torch  # noqa: F401  (imported here, so that torch output does not import it inside the timed part)

import places
from peers.penstock_images import training_steps

SHARDS = str(places.TFRECORD_FOLDER / "*.tfrecord")
FIELDS = ["image/encoded", "image/class/label"]


def images(batch_size, threads, antialias, verify=True):
    loader = ps.Loader(ps.TFRecord(SHARDS, verify=verify), fields=FIELDS,
                       transform={"image/encoded": training_steps(antialias)}, batch_size=batch_size,
                       shuffle=True, seed=0, threads=threads, memory="1GiB", output="torch")
    return lambda: iter(loader)


def stored_bytes(batch_size, threads, verify=True):
    loader = ps.Loader(ps.TFRecord(SHARDS, verify=verify, kinds={"image/encoded": "bytes"}), fields=FIELDS,
                       batch_size=batch_size, shuffle=True, seed=0, threads=threads, memory="1GiB")
    return lambda: iter(loader)


def open_records(index_folder, batch_size, threads):
    os.environ["PENSTOCK_CACHE_DIR"] = index_folder
    loader = ps.Loader(ps.TFRecord(str(places.MANY_TFRECORD_FOLDER / "*.tfrecord")), fields=["text", "label"],
                       batch_size=batch_size, shuffle=True, threads=threads)
    return loader, len(loader) * batch_size
