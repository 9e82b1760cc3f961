"""Penstock itself."""
import penstock as ps
import torch  # noqa: F401  (imported here, so that torch output does not import it inside the timed part)

import places
from peers.penstock_images import image_loader


def array_epochs(path, batch_size, threads):
    loader = ps.Loader(str(path), batch_size=batch_size, shuffle=True, seed=0, threads=threads,
                       memory="2GiB", output="numpy")
    return lambda: iter(loader)


def images(batch_size, threads, antialias):
    loader = image_loader(batch_size, threads, antialias, output="torch")
    return lambda: iter(loader)


def arrays(batch_size, threads):
    return array_epochs(places.NPY_FOLDER, batch_size, threads)


def arrays_of_one_file(batch_size, threads):
    return array_epochs(places.NPY_FILE, batch_size, threads)


def small_samples(batch_size, threads):
    return array_epochs(places.SMALL_SAMPLES_FILE, batch_size, threads)
