"""Penstock and TensorStore with the same draws: how much of the difference is the reader, and how much the sampler."""
import random
import time

import zarr_stores
from workloads import large_chunks, volume_patches
from workloads.workload import Case, Column, Workload

TEXT = ("Clustered: the places (samples) in the order in which Penstock's default shuffle visits them, region by region "
        "(window by window), for both. Uniform: both draw all of them at random, Penstock with shuffle=\"full\".")


def measure_patches(peer, draws):
    batch = 4
    iterator = peer.patches(volume_patches.location("zstd"), batch, volume_patches.THREADS, 256, draws=draws)
    volume_patches.check(next(iterator), batch)
    for _ in range(16):
        next(iterator)
    patches, started = 0, time.perf_counter()
    while time.perf_counter() - started < volume_patches.SECONDS:
        next(iterator)
        patches += batch
    return {"per_second": patches / (time.perf_counter() - started)}


def windows_of(store):
    """All samples: the chunks shuffled, then the samples of 16 chunks at a time, as Penstock's default does."""
    chunks = list(range(-(-store.count // store.chunks[0])))
    random.shuffle(chunks)
    for at in range(0, len(chunks), 16):
        samples = [sample for chunk in chunks[at:at + 16]
                   for sample in range(chunk * store.chunks[0], min((chunk + 1) * store.chunks[0], store.count))]
        random.shuffle(samples)
        yield from samples


def chunk_batches(peer, store, draws):
    if hasattr(peer, "small_loader"):
        return iter(peer.small_loader(store, large_chunks.BATCH, large_chunks.THREADS,
                                      shuffle="full" if draws == "uniform" else True))
    order = list(windows_of(store)) if draws == "clustered" else random.sample(range(store.count), store.count)
    read = peer.reader(store, large_chunks.THREADS)
    return (read(order[at:at + large_chunks.BATCH]) for at in range(0, len(order), large_chunks.BATCH))


def measure_chunks(peer, store, draws):
    """Over a part of the epoch, after the first batches, for everybody alike."""
    iterator = chunk_batches(peer, zarr_stores.LARGE_CHUNKS[store], draws)
    for _ in range(large_chunks.SETTLE_BATCHES):
        next(iterator)
    samples, started = 0, time.perf_counter()
    for batch in iterator:
        samples += len(batch)
        if time.perf_counter() - started > large_chunks.SECONDS:
            break
    return {"per_second": samples / (time.perf_counter() - started)}


def pairs(ours, theirs, **options):
    for draws in ("clustered", "uniform"):
        yield Case(f"penstock, {draws}", ours, {**options, "draws": draws})
        yield Case(f"TensorStore, {draws}", theirs, {**options, "draws": draws}, against=f"penstock, {draws}")


PATCHES = Workload(
    "w4same", "Patches of a volume with the same draws",
    "The patches of the section above, Blosc zstd, batch 4, two threads, 256 MiB for what each keeps. " + TEXT,
    list(pairs("penstock_patches", "tensorstore_patches")),
    [Column("per_second", "patches/s")], measure_patches, data_sets=("d4",))

CHUNKS = Workload(
    "w3same", "Zarr chunks of many samples with the same draws",
    "The arrays of the section above, two threads, 256 MiB for what each keeps, samples per second after the first "
    f"{large_chunks.SETTLE_BATCHES} batches. " + TEXT,
    [case for store in zarr_stores.LARGE_CHUNKS
     for case in pairs("penstock_zarr", "tensorstore_cached", store=store)],
    [Column("per_second", "samples/s")], measure_chunks, group_by="store",
    data_sets=("d3chunks",))
