"""Stores of every writer, element by element."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from zarr_writers import in_order, keyed_epoch, same

HERE = pathlib.Path(__file__).parent
ZARR_2_18 = HERE.parent.parent / "build" / "venv-zarr2" / "bin" / "python"  # made by `make test-python`

# name: (interpreter, writer, fewest arrays that it must have written)
WRITERS = {
    "zarr-python 3": (sys.executable, "zarr", 300),
    "zarrs": (sys.executable, "zarrs", 150),
    "tensorstore": (sys.executable, "tensorstore", 75),
    "zarr-python 2.18": (str(ZARR_2_18), "zarr", 155),
    "zarr-python 2.13 of Debian": ("/usr/bin/python3", "zarr", 155),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """stores(name): the folder of a writer, and what it could not write; skips where it is not installed."""
    made = {}

    def write(name):
        if name in made:
            return made[name]
        interpreter, writer, least = WRITERS[name]
        if not pathlib.Path(interpreter).exists():
            pytest.skip(f"{name}: no {interpreter}")
        module = {"zarr": "zarr, numcodecs"}.get(writer, writer)
        found = subprocess.run([interpreter, "-c", f"import {module}"], capture_output=True, text=True)
        if found.returncode != 0:
            pytest.skip(f"{name}: {found.stderr.strip().splitlines()[-1]}")
        folder = tmp_path_factory.mktemp("stores")
        subprocess.run([interpreter, str(HERE / "write_stores.py"), writer, str(folder)], check=True)
        refused = json.loads((folder / "written.json").read_text())["refused"]
        assert not refused, f"{name} could not write {refused}"
        assert len(list(folder.glob("*.npy"))) >= least
        made[name] = folder
        return folder

    return write


def problem_of(expected_file):
    """Returns what is wrong with one array, or None."""
    store, expected = expected_file.with_suffix(""), np.load(expected_file)
    field = ["below/wind"] if expected_file.name.startswith("group") else None
    try:
        # Times as they are stored; what they mean is the concern of test_time_values.py.
        source = ps.Zarr(store, variables=field, decode_cf="M8" not in store.name)
        got = in_order(keyed_epoch(source, fields=field or ["array"], batch_size=5, shuffle=True, memory="32MiB"))
    except ps.Error as error:
        return f"{expected_file.stem}: {error}"
    if same(got, expected):
        return None
    if got.dtype != expected.dtype.newbyteorder("=") or got.shape != expected.shape:
        return f"{expected_file.stem}: {got.dtype} {got.shape}, not {expected.dtype} {expected.shape}"
    wrong = np.argwhere(~((got == expected) | ((got != got) & (expected != expected))))
    at = tuple(wrong[0])
    return f"{expected_file.stem}: {len(wrong)} of {got.size} elements differ, the first at {at}: {got[at]}, not {expected[at]}"


@pytest.mark.parametrize("name", WRITERS)
def test_every_array_comes_back_element_by_element(stores, name):
    files = sorted(stores(name).glob("*.npy"))
    problems = [problem for file in files if (problem := problem_of(file))]
    assert not problems, f"{len(problems)} of {len(files)}:\n" + "\n".join(problems)
