"""The process that opens bombs, one after another, and says what each took.

Reads one bomb per line of its input, as JSON; writes one line for each: the most memory beyond what the import
takes, in bytes, the seconds, and how it ended.
"""

import ctypes
import json
import os
import sys
import time
import warnings

import numpy  # noqa: F401  what the import takes includes it

import penstock as ps

MAX_BATCHES = 30


def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))


def forget_peak():
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def load(bomb, memory, on_error):
    options = dict(bomb["options"])
    if "transform" in options:
        options["transform"] = eval(options["transform"], {"ps": ps})
    source = eval(bomb["source"], {"ps": ps, "path": bomb["path"], "memory": memory})
    with ps.Loader(source, batch_size=1, memory=memory, threads=2, output="numpy", on_error=on_error, **options) as loader:
        for number, _ in enumerate(loader):
            if number >= MAX_BATCHES:
                break


def run(bomb, memory):
    os.environ.update(bomb["environment"])
    results = []
    for on_error in ("skip", "raise"):
        forget_peak()
        began = time.monotonic()
        ended = {"error": "", "message": "", "uri": ""}
        try:
            load(bomb, memory, on_error)
        except Exception as error:  # what it is, is for the test to judge
            ended = {"error": type(error).__name__, "message": str(error)[:600], "uri": str(getattr(error, "uri", ""))}
        results.append(ended | {"peak": status("VmHWM"), "seconds": time.monotonic() - began})
    return results


def main():
    warnings.simplefilter("ignore")
    base = status("VmRSS")
    for line in sys.stdin:
        results = run(json.loads(line), sys.argv[1])
        print(json.dumps({"base": base, "results": results}), flush=True)


if __name__ == "__main__":
    main()
