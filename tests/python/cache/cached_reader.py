"""A process that reads with a cache, for the tests of processes that share one. Not a test itself.

Takes a JSON of Loader's options with "source", "kind" (a function of penstock), "kind_options", "steps" (a list of
[transform, arguments...]) and "cache" or "cache_options"; then commands, a line each. Answers in lines of JSON.
"""

import hashlib
import json
import logging
import os
import sys

import numpy as np

import penstock as ps


def digest_of(value, digest):
    """Feeds everything in a batch to the digest, its types and shapes too."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, (list, tuple)):
        digest.update(f"{len(value)}".encode())
        for part in value:
            digest_of(part, digest)
    else:
        digest.update(repr(value).encode())


def digests(loader):
    """One text a batch."""
    out = []
    for batch in loader:
        digest = hashlib.sha1()
        digest_of(batch, digest)
        out.append(digest.hexdigest()[:12])
    return out


def open_loader(options):
    options = dict(options)
    source, kind = options.pop("source"), options.pop("kind", "ImageFolder")
    opened = getattr(ps, kind)(source, **options.pop("kind_options", {}))
    steps = [getattr(ps, name)(*arguments) for name, *arguments in options.pop("steps", [])]
    if steps:
        options["transform"] = steps
    if "cache_options" in options:
        options["cache"] = ps.Cache(**options.pop("cache_options"))
    return ps.Loader(opened, **({"batch_size": 5, "output": "numpy", "threads": 2, "shuffle": True, "seed": 3} | options))


def expected_digests(epochs, **options):
    """Returns the hashes of the same loader without a cache, epoch by epoch."""
    options = {key: value for key, value in options.items() if key not in ("cache", "cache_options", "cache_form")}
    with open_loader(options) as loader:
        return [digests(loader) for _ in range(epochs)]


def report(loader, **more):
    stats = loader.stats()
    cache, last = stats["cache"], (stats["epochs"] or [{"cache": {"hits": 0, "misses": 0}}])[-1]["cache"]
    print(json.dumps({"hits": last["hits"], "misses": last["misses"], "tiers": cache["tiers"], "form": cache["form"],
                      "damaged": cache["damaged"], "errors": stats["errors"], "memory": stats["memory"], **more}),
          flush=True)


def main():
    messages = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logging.getLogger("penstock").addHandler(handler)
    loader = open_loader(json.loads(sys.argv[1]))
    report(loader, warnings=messages)
    for line in sys.stdin:
        command = line.strip()
        if command == "epoch":
            report(loader, digests=digests(loader), warnings=messages)
        elif command == "epoch that may fail":
            try:
                print(json.dumps({"digests": digests(loader)}), flush=True)
            except ps.Error as error:
                print(json.dumps({"digests": [], "error": str(error)}), flush=True)
        elif command == "close":
            loader.close()
            print("{}", flush=True)
        elif command == "fork":
            child = os.fork()
            if child == 0:
                sys.exit(0)
            print(json.dumps({"status": os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}), flush=True)
        elif command == "forever":
            print("{}", flush=True)
            while True:
                for _ in loader:
                    pass
        elif command == "raise":
            next(iter(loader))
            raise RuntimeError("the program fails")
        elif command == "exit early":
            next(iter(loader))
            sys.exit(3)
        elif command == "exit":
            break
