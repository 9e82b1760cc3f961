"""Runs with a cache on disk, for several test files."""

import contextlib

import penstock as ps
from cached import cached_loader, copied

SAMPLES = 40
CROP = [["RandomCrop", 32]]
LARGE = "16MiB"
ENTRY = 70 * 70 * 3 + 128  # of a decoded picture, about


def files_of(folder):
    return folder / "penstock-cache-1"


def read(source, folder, size=LARGE, epochs=2, ram=None, form="decoded", steps=(ps.RandomCrop(32),), revalidate=True,
         **options):
    """A run of its own: the batches, and what stats() said."""
    with contextlib.closing(ps.Cache(ram=ram, disk=f"{folder}:{size}", revalidate=revalidate)) as cache, \
            cached_loader(source, cache=cache, cache_form=form, transform=list(steps) or None, **options) as loader:
        batches = [[copied(batch) for batch in loader] for _ in range(epochs)]
        return batches, loader.stats()


def hits(stats):
    return [epoch["cache"]["hits"] for epoch in stats["epochs"]]
