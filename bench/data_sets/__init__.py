"""The benchmark's data sets: which there are, what makes them, and which of them are still to be made.

Each has a module whose make(seed) writes its files and returns a description; the same seed always gives
the same samples. places.DATA_RECIPE remembers what was made, so that only what is missing or outdated is.
"""
import json
from dataclasses import dataclass

import places


@dataclass(frozen=True)
class DataSet:
    module: str                  # of this package
    recipe: int = 1              # raised when the module would write other files than before
    environment: str = "venv"    # the Python environment that the module runs in
    package: str = None          # optional package without which the data set is left out
    sources: tuple = ()          # data sets that it is made of


DATA_SETS = {
    "d1": DataSet("jpegs"),
    "d2": DataSet("arrays"),
    "d1k": DataSet("small_samples"),
    "d1tar": DataSet("tar_shards", sources=("d1",)),
    "d1tfrecord": DataSet("tfrecord_shards", sources=("d1",)),
    "d1index": DataSet("dali_indexes", environment="venv-dali", sources=("d1tar", "d1tfrecord")),
    "d1mds": DataSet("mds_shards", environment="venv-streaming", package="mosaicml-streaming", sources=("d1",)),
    "d1litdata": DataSet("litdata_chunks", package="litdata", sources=("d1",)),
    "d1arrayrecord": DataSet("array_record_shards", package="grain", sources=("d1",)),
    "d1beton": DataSet("beton_file", environment="venv-ffcv", package="ffcv", sources=("d1",)),
    "d1m": DataSet("many_records"),
    "d3": DataSet("weather"),
    "d3chunks": DataSet("large_chunks"),
    "d4": DataSet("volume"),
    "dmillion": DataSet("many_chunks"),
}


def version(name):
    """Its recipe and those of its sources: a data set is outdated as soon as what it is made of is."""
    data_set = DATA_SETS[name]
    return [data_set.recipe] + [version(source) for source in data_set.sources]


def made(seed):
    """{name: description} of what there is of this seed."""
    if not places.DATA_RECIPE.exists():
        return {}
    found = json.loads(places.DATA_RECIPE.read_text())
    return found if found["seed"] == seed else {}


def outdated(seed):
    """Names of the data sets to make, sources first. Descriptions once came without a version, of the first one."""
    found = made(seed)
    return [name for name in DATA_SETS if name not in found or found[name].get("version", [1]) != version(name)]


def remember(seed, name, description):
    found = {**made(seed), "seed": seed, name: {"version": version(name), **description}}
    places.DATA_RECIPE.parent.mkdir(parents=True, exist_ok=True)
    places.DATA_RECIPE.write_text(json.dumps(found, indent=1) + "\n")
