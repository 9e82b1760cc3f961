"""How long batches of arrays take, for both kinds of peers: readers, which read the samples that they are asked for,
and loaders, which go ahead on their own."""
import random
import statistics
import time

import sample_sums

SETTLE_SHARE = 4  # of an epoch its fourth part is left out: the loader starts, and touches its memory the first time


def timed_reader(peer, store, batch, threads, seconds, least):
    """{first_ms: opening and the first batch, batch_ms: median of the later ones}"""
    expected = sample_sums.read(store)
    started = time.perf_counter()
    read = peer.reader(store, threads)
    asked = [(37 * slot + 11) % store.count for slot in range(batch)]
    first = read(asked)
    first_seconds = time.perf_counter() - started
    sample_sums.check(first, expected, store.shape, None if hasattr(peer, "ANY_SAMPLES") else asked)
    del first
    times = []
    while sum(times) < seconds or len(times) < least:
        indices = random.sample(range(store.count), batch)
        begun = time.perf_counter()
        read(indices)
        times.append(time.perf_counter() - begun)
    return {"first_ms": 1e3 * first_seconds, "batch_ms": 1e3 * statistics.median(times)}


def timed_loader(peer, store, batch, threads, seconds):
    """{first_ms: construction and the first batch, batch_ms: mean in the steady state of its shuffled epochs}"""
    expected = sample_sums.read(store)
    started = time.perf_counter()
    loader = peer.loader(store, batch, threads)
    iterator = iter(loader)
    first = next(iterator)
    first_seconds = time.perf_counter() - started
    sample_sums.check(first, expected, store.shape)
    del first
    steady_seconds = steady_batches = 0
    while steady_seconds < seconds:
        moments = [time.perf_counter() for _ in iterator]
        settled = moments[len(moments) // SETTLE_SHARE:]
        steady_seconds += settled[-1] - settled[0]
        steady_batches += len(settled) - 1
        iterator = iter(loader)
    return {"first_ms": 1e3 * first_seconds, "batch_ms": 1e3 * steady_seconds / steady_batches}


def timed(peer, store, batch, threads, seconds, least=3):
    if hasattr(peer, "loader"):
        return timed_loader(peer, store, batch, threads, seconds)
    return timed_reader(peer, store, batch, threads, seconds, least)
