"""Which share of look-ups a cache answers, by its size: filled once and kept, beside LRU."""
from math import log
from statistics import mean

import places
from workloads.image_epoch import BATCH, THREADS
from workloads.workload import Case, Column, Workload

FRACTIONS = (0.25, 0.5, 0.75, 1.0)
EPOCHS = 5


def case_name(fraction):
    return f"penstock, c = {fraction:g}"


def lru_ratio(fraction):
    """Returns the hit ratio of LRU when every epoch is a new permutation of all samples."""
    return fraction + (1 - fraction) * log(1 - fraction) if fraction < 1 else 1.0


def whole_epoch(loader):
    delivered = sum(len(labels) for _, labels in loader)
    assert delivered == places.JPEG_COUNT, delivered


def later_hit_ratios(loader):
    with loader:
        for _ in range(EPOCHS):
            whole_epoch(loader)
        return [epoch["cache"]["hit_ratio"] for epoch in loader.stats()["epochs"][1:EPOCHS]]


def measure(peer, fraction):
    import cached_size  # needs Pillow, which only the measured process has
    values = {}
    for policy, expected in (("keep", fraction), ("lru", lru_ratio(fraction))):
        ratios = later_hit_ratios(peer.loader(BATCH, THREADS, cached_size.cache_bytes(fraction), policy))
        assert len(ratios) == EPOCHS - 1, ratios
        values[f"{policy}_hit_ratio"] = mean(ratios)
        values[f"{policy}_expected"] = expected
        values[f"{policy}_off"] = max(abs(ratio - expected) for ratio in ratios)
    return values


WORKLOAD = Workload(
    "cacheratio", "Hit ratio of the cache",
    "The plain bilinear JPEG pipeline, shuffled, with a cache in RAM of c times the decoded data (2.3 GB). Kept: "
    "filled once in the order of visits, nothing is ever evicted (the default); no policy can reach more than c. LRU "
    f"(for comparison alone): c + (1 - c) ln(1 - c). Mean over epochs 2 to {EPOCHS}, and the epoch that is farthest "
    "off.",
    [Case(case_name(fraction), "penstock_cached", {"fraction": fraction}) for fraction in FRACTIONS],
    [Column("keep_hit_ratio", "kept, hit ratio", digits=3),
     Column("keep_off", "kept, farthest off", higher_is_better=False, digits=4),
     Column("lru_hit_ratio", "LRU, hit ratio", digits=3), Column("lru_expected", "LRU by the formula", digits=3),
     Column("lru_off", "LRU, farthest off", higher_is_better=False, digits=4)],
    measure)
