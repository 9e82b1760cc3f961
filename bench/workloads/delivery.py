"""Several epochs of one loader of arrays: rates, and whether it delivered the data set."""
import json
import statistics
import time

import numpy as np

import places


def timed_epochs(epoch, least, epochs, started):
    """Values for the first epoch (from `started`, so construction counts) and for the later ones.

    The first epoch touches fresh memory, which can take longer than the reading; a training run
    sees that once. An epoch of fewer than `least` samples is an error.
    """
    rates = []
    first_batch_seconds = None
    for _ in range(epochs):
        delivered = 0
        for batch in epoch():
            if first_batch_seconds is None:
                first_batch_seconds = time.perf_counter() - started
            delivered += len(batch)
        now = time.perf_counter()
        assert delivered >= least, delivered
        rates.append(delivered / (now - started))
        started = now
    return {"first_batch_ms": 1e3 * first_batch_seconds, "first_epoch_per_second": rates[0],
            "later_epochs_per_second": statistics.median(rates[1:])}


def check(epoch, data_set):
    """One more epoch, outside the timing: the sum of first values tells lost and doubled samples."""
    expected = json.loads(places.DATA_RECIPE.read_text())[data_set]
    count, total = 0, 0.0
    for batch in epoch():
        samples = np.asarray(batch)
        count += len(samples)
        total += float(samples.reshape(len(samples), -1)[:, 0].sum(dtype=np.float64))
    whole = count == expected["count"]  # not so for a loader that fills up its last batch
    assert not whole or abs(total - expected["checksum"]) < 1e-6, (total, expected["checksum"])
