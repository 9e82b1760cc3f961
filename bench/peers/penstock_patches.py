"""Penstock's patches of a volume."""
import numpy  # noqa: F401  (batches are NumPy arrays, so it counts as import)
import penstock as ps

from peers.random_patches import SIZE

PER_EPOCH = 100_000


def patches(location, batch_size, threads, memory_mib, draws="clustered"):
    """draws: "clustered", region by region (the default shuffle), or "uniform"."""
    loader = ps.Loader(ps.Patches(str(location), size=SIZE, per_epoch=PER_EPOCH), batch_size=batch_size,
                       shuffle="full" if draws == "uniform" else True, seed=0, threads=threads,
                       memory=f"{memory_mib}MiB", output="numpy", dtype="float32")
    return iter(loader)


def places(location):
    """Yields the origins of the clustered patches, without reading any patch."""
    loader = ps.Loader(ps.Patches(str(location), size=SIZE, per_epoch=PER_EPOCH), batch_size=256, shuffle=True, seed=0,
                       fields=["position"], output="numpy")
    for (positions,) in loader:
        yield from positions.tolist()
