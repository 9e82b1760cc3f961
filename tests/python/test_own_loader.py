"""A Map that calls the loader it is part of would wait for itself: it is an error that says so."""

import json
import subprocess
import sys

import pytest

LIMIT = 60
PROGRAM = """
import json, sys
import numpy as np
import penstock as ps

source, call = sys.argv[1:]
own = {}

def use(array):
    if own:
        if call == "next":
            next(own["iterator"])
        elif call == "iter":
            iter(own["loader"])
        elif call == "load_state_dict":
            own["loader"].load_state_dict(own["state"])
        elif call == "set_epoch":
            own["loader"].set_epoch(3)
        elif call == "close":
            own["loader"].close()
        elif call == "state_dict":
            own["loader"].state_dict()
        elif call == "stats":
            own["loader"].stats()
        elif call == "len":
            len(own["loader"])
    return array

loader = ps.Loader(ps.Npy(source), 4, output="numpy", threads=2, transform=[ps.Map(use)])
state = loader.state_dict()
iterator = iter(loader)
own.update(loader=loader, iterator=iterator, state=state)
try:
    said = f"{sum(1 for _ in loader)} batches"
except ps.Error as error:
    said = str(error)
own.clear()
loader.close()
print(json.dumps(said))
"""


def run(source, call):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(source), call], capture_output=True, text=True,
                          timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("call, name", [("next", "next(iterator)"), ("iter", "iter(loader)"),
                                        ("load_state_dict", "load_state_dict()")])
def test_what_waits_for_the_loader_is_an_error(numbers, call, name):
    said = run(numbers, call)
    assert f"{name} inside a Map of the same loader" in said and "sample" in said


def test_closing_it_is_an_error(numbers):
    assert "cannot be closed from inside its own Map" in run(numbers, "close")


@pytest.mark.parametrize("call", ["stats", "state_dict", "len", "set_epoch"])
def test_what_does_not_wait_is_allowed(numbers, call):
    assert run(numbers, call) == "6 batches"


def test_another_loader_may_be_used_inside_a_map(numbers):
    program = """
import sys
import penstock as ps

other = ps.Loader(ps.Npy(sys.argv[1]), 23, output="numpy", threads=1)
loader = ps.Loader(ps.Npy(sys.argv[1]), 4, output="numpy", threads=2,
                   transform=[ps.Map(lambda array: array + next(iter(other))[0].sum() * 0)])
print(sum(len(batch) for batch in loader))
"""
    done = subprocess.run([sys.executable, "-c", program, str(numbers)], capture_output=True, text=True, timeout=LIMIT)
    assert done.stdout == "23\n", done.stderr
