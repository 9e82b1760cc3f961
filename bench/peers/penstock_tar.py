"""Penstock on tar shards of the WebDataset convention."""
import os

import penstock as ps
import torch  # noqa: F401  (imported here, so that torch output does not import it inside the timed part)

import places
from peers.penstock_images import image_loader


def images(batch_size, threads, antialias):
    loader = image_loader(batch_size, threads, antialias, output="torch", source=places.TAR_FOLDER / "*.tar")
    return lambda: iter(loader)


def open_records(index_folder, batch_size, threads):
    os.environ["PENSTOCK_CACHE_DIR"] = index_folder
    loader = ps.Loader(str(places.MANY_TAR_FOLDER / "*.tar"), batch_size=batch_size, shuffle=True, threads=threads)
    return loader, len(loader) * batch_size
