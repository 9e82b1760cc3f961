"""Returns the first samples of a source after transforms."""

import penstock as ps


def load_all(source, transform, batch_size=64, **options):
    options = {"layout": "NHWC", "output": "numpy"} | options
    with ps.Loader(source, batch_size=batch_size, transform=transform, **options) as loader:
        return next(iter(loader))
