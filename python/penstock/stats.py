"""The keys of the dicts that ``Loader.stats()`` and ``Cache.tiers()`` return.

All numbers are totals since the loader was made, unless a key says otherwise. Sizes are in bytes and times in seconds.
"""

from __future__ import annotations

from typing import TypedDict

__all__ = ["CacheHits", "CacheStats", "ChunkStats", "Counts", "EpochStats", "ErrorRecord", "LoaderStats", "MemoryStats",
           "QueueStats", "RankStats", "ShuffleStats", "StageStats", "Stages", "StagingStats", "TierHits", "TierState",
           "TierStats", "TuningStats"]


class Counts(TypedDict):
    """The number of samples by their outcome. ``planned`` is ``delivered + skipped + failed``."""

    planned: int
    """The samples of all batches that are finished, whatever their outcome."""
    delivered: int
    """The samples that batches delivered."""
    skipped: int
    """The bad samples that were left out (``on_error="skip"``)."""
    failed: int
    """The samples of batches that raised an exception."""
    padded: int
    """The delivered samples that another rank delivered too, so that all ranks have equally many batches."""
    replaced: int
    """The delivered samples that replace bad ones (``on_error="replace"``)."""
    batches: int
    """The delivered batches."""


class StageStats(TypedDict):
    """The work of one stage."""

    seconds: float
    """The time that threads were busy with the stage, summed over all threads."""
    items: int
    """The samples that passed the stage; for ``deliver``, the batches."""
    bytes: int
    """The bytes that the stage produced."""
    wait_seconds: float
    """For ``collate``, the time that worker threads waited because the queue was full. For ``deliver``, the time that
    the training loop waited for a batch."""


class Stages(TypedDict):
    """The stages that every sample passes, in this order."""

    read: StageStats
    """Reading from files and servers."""
    decode: StageStats
    """Decoding images, arrays and chunks."""
    transform: StageStats
    """The transforms."""
    collate: StageStats
    """Putting samples into batches."""
    deliver: StageStats
    """Handing batches to the training loop."""


class TierState(TypedDict):
    """The state of one tier of a cache, for all loaders and processes that use it."""

    capacity: int
    """The size of the tier."""
    used: int
    """The bytes in use."""
    entries: int
    """The number of cache entries."""
    damaged: int
    """The entries that were found to be damaged, and not used."""
    shared: bool
    """Whether several processes use the tier."""
    copied: int
    """For the disk tier, the entries that this process copied there from memory."""
    lock_timeouts: int
    """How often an entry could not be added because another process held the lock."""


class TierHits(TypedDict):
    """The hits of this loader in one tier of the cache."""

    hits: int
    """The fields and chunks that were found in the tier."""
    bytes: int
    """The bytes that were taken from the tier."""
    seconds_saved: float
    """The time of threads that these hits saved: the time to make the values, minus the time to find them."""


class TierStats(TierState, TierHits):
    """The state of one tier of the cache, and the hits of this loader in it."""


class CacheHits(TypedDict):
    """The lookups in the cache in one epoch. Each field or chunk that is looked up is a hit in one tier, or a miss."""

    hits: int
    """The hits in all tiers."""
    misses: int
    """The values that were in no tier."""
    hit_ratio: float
    """``hits / (hits + misses)``, or 0 if nothing was looked up."""
    tiers: dict[str, TierHits]
    """The hits of each tier, by its name: "ram" or "disk"."""


class CacheStats(TypedDict):
    """The state of the cache, and the hits of this loader in it. Without a cache, all numbers are 0."""

    hits: int
    """The hits in all tiers."""
    misses: int
    """The values that were in no tier."""
    hit_ratio: float
    """``hits / (hits + misses)``, or 0 if nothing was looked up."""
    tiers: dict[str, TierStats]
    """The state and the hits of each tier, by its name: "ram" or "disk"."""
    form: str
    """The form of the entries: "encoded", "decoded", or "" without a cache."""
    damaged: int
    """The entries of all tiers that were found to be damaged, and not used."""


class ErrorRecord(TypedDict):
    """One error, with the same fields as ``penstock.Error``."""

    code: str
    """A short name, such as "truncated" or "changed"."""
    message: str
    """A description of the error."""
    uri: str | None
    """The file or URL."""
    offset: int | None
    """The byte at which the error is."""
    length: int | None
    """The number of bytes that the error is about."""
    sample: int | None
    """The index of the sample."""


class QueueStats(TypedDict):
    """The queue of finished batches, at this moment."""

    capacity: int
    """The number of batches that are made ahead."""
    ready: int
    """The batches that are finished and not delivered yet."""
    bytes: int
    """The bytes of these batches."""


class MemoryStats(TypedDict):
    """The memory of the loader."""

    budget: int
    """The bytes that the loader may hold."""
    peak: int
    """The largest number of bytes that it held."""
    lent: int
    """The bytes of delivered batches that the program still holds, at this moment."""


class ChunkStats(TypedDict):
    """The chunks of chunked arrays (Zarr, patches of volumes)."""

    decoded: int
    """The chunks that were decoded. A chunk that is decoded twice counts twice."""
    reused: int
    """The uses of a chunk that was still in memory, decoded."""
    missing: int
    """The chunks that the store does not have; they have the fill value."""
    decoded_bytes: int
    """The bytes that decoding produced."""
    distinct: int
    """The distinct chunks that each epoch decoded, summed over the epochs. It is an estimate for sources with more than
    8 million chunks."""
    decodes_per_chunk: float
    """``decoded / distinct``: how often each chunk was decoded per epoch."""
    memory_for_one_decode: int | None
    """The ``memory=`` with which no epoch would decode a chunk twice. None if no epoch did."""


class ShuffleStats(TypedDict):
    """How well a windowed shuffle mixes the samples."""

    units: int
    """The storage units that are shuffled, or 0 if the shuffle has no windows."""
    window_units: int
    """The storage units among which samples are mixed."""
    samples_per_unit: float
    """The mean number of samples per storage unit."""
    design_effect: float
    """The variance of a batch's mean, relative to that with a full shuffle, if all samples of a storage unit were equal
    (Kish's design effect). 1 is as good as a full shuffle."""


class TuningStats(TypedDict):
    """The numbers that the loader chose, and why."""

    threads: int
    """The number of worker threads."""
    prefetch: int
    """The number of batches that are made ahead."""
    reason: str
    """Why there are this many threads and batches."""


class RankStats(TypedDict):
    """The part of a parallel job that this process is."""

    rank: int
    """The rank of this process."""
    world_size: int
    """The number of ranks."""
    local_ranks: int
    """The number of ranks on this machine."""
    found_by: str
    """The origin of these numbers, for example "given", "torch.distributed" or "none"."""


class EpochStats(Counts):
    """The statistics of one epoch."""

    epoch: int
    """The number of the epoch, from 0."""
    seconds: float
    """The time from the start of the epoch to its last batch."""
    first_batch_seconds: float
    """The time from the start of the epoch to its first batch."""
    stages: Stages
    """The work of each stage."""
    cache: CacheHits
    """The lookups in the cache."""


class StagingStats(TypedDict):
    """The numbers of a folder that data are staged to, in this process."""

    copied_bytes: int
    """The bytes that were read from the source in the background."""
    read_through_bytes: int
    """The bytes that were read from the source because a batch needed them before they were copied."""
    kept_bytes: int
    """Of these, the bytes that the folder has now."""
    served_bytes: int
    """The bytes that came from the folder."""
    objects_whole: int
    """The files that are whole in the folder."""
    error: str
    """The first failure of the copying, for example a full disk; empty if there was none."""


class LoaderStats(Counts):
    """The statistics of a loader since it was made: totals, and the same by epoch."""

    errors: list[ErrorRecord]
    """The first hundred errors."""
    stages: Stages
    """The work of each stage."""
    queue: QueueStats
    """The queue of finished batches."""
    first_batch_seconds: float
    """The time from making the loader to its first batch."""
    memory: MemoryStats
    """The memory of the loader."""
    chunks: ChunkStats
    """The chunks of chunked arrays."""
    cache: CacheStats
    """The cache."""
    shuffle: ShuffleStats
    """How well a windowed shuffle mixes the samples."""
    tuning: TuningStats
    """The numbers of threads and batches, and why."""
    bottleneck: str
    """The part that limits the speed: "read", "decode", "transform", "collate", "training step" or "unknown". It is
    "memory" if reading and decoding take longest because chunks are decoded several times per epoch."""
    epochs: list[EpochStats]
    """The statistics of each epoch."""
    windows_left_out: int
    """The windows over time that are not samples because they have a gap (see ``gaps=`` of Zarr)."""
    rank: RankStats
    """The part of a parallel job that this process is."""
    staging: StagingStats | None
    """The folder of ``stage=``; None without it."""
