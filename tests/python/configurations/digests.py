"""What a configuration delivers, as hashes: its batches, their order, and its state in the middle of an epoch."""

import hashlib
import json

import numpy as np

import penstock as ps

# A fixed budget, so that nothing depends on how much memory happens to be free.
RESOURCES = {"output": "numpy", "memory": "192MiB"}

# Options that decide which sample comes when; the others decide what becomes of it.
ORDER_OPTIONS = ("shuffle", "shuffle_window", "sampler", "weights", "seed", "epoch_size", "drop_last", "rank",
                 "world_size", "bucket_by")


def _add(hasher, value):
    """Type, shape and bytes; containers item by item, with their length."""
    if isinstance(value, dict):
        hasher.update(f"dict {len(value)};".encode())
        for name, item in value.items():
            _add(hasher, name)
            _add(hasher, item)
    elif isinstance(value, (list, tuple)):
        hasher.update(f"{type(value).__name__} {len(value)};".encode())
        for item in value:
            _add(hasher, item)
    elif isinstance(value, np.ndarray):
        little = np.ascontiguousarray(value.astype(value.dtype.newbyteorder("<"), copy=False))
        hasher.update(f"array {little.dtype.str} {value.shape};".encode())
        hasher.update(little.tobytes())
    elif isinstance(value, bytes):
        hasher.update(f"bytes {len(value)};".encode() + value)
    elif isinstance(value, str):
        hasher.update(f"text {len(value.encode())};".encode() + value.encode())
    else:
        hasher.update(f"json {json.dumps(value, sort_keys=True)};".encode())


def digest(value):
    hasher = hashlib.sha256()
    _add(hasher, value)
    return hasher.hexdigest()


def _loader(make, data, threads):
    source, options = make(data)
    return ps.Loader(source, threads=threads, **RESOURCES, **options)


def delivered(make, data, threads):
    """{"batches", "order", "state"}, and the digest of each batch after the state was taken in the first epoch."""
    batches, state, rest = [], None, []
    with _loader(make, data, threads) as loader:
        middle = len(loader) // 2
        for epoch in range(2):
            for number, batch in enumerate(loader):
                if epoch == 0 and number >= middle:
                    rest.append(digest(batch))
                batches.append(digest(batch))
                if epoch == 0 and number + 1 == middle:
                    state = loader.state_dict()
            batches.append("end of epoch")
    assert state is not None, "an epoch of at least two batches"
    source, options = make(data)
    order_options = {name: options[name] for name in ORDER_OPTIONS if name in options}
    with ps.Loader(source, batch_size=options.get("batch_size", 1), fields=["key"], threads=threads, **RESOURCES,
                   **order_options) as loader:
        order = [list(keys) for _ in range(2) for (keys,) in loader]
    hashes = {"batches": digest(batches), "order": digest(order), "state": digest(state)}
    return hashes, state, rest


def resumed(make, data, threads, state):
    """The digest of each batch of the epoch that is left after the state."""
    with _loader(make, data, threads) as loader:
        loader.load_state_dict(state)
        return [digest(batch) for batch in loader]
