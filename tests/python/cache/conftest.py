"""What the tests of the cache share."""

import gc

import pytest

import penstock as ps
from cached import abandoned_files, batches_of, mapped_files
from cached_data import Stored, write_folders
from pictures import noise, save_png


@pytest.fixture(autouse=True)
def nothing_is_left_in_shared_memory():
    before = abandoned_files()
    yield
    gc.collect()
    assert mapped_files() == [] and [path for path in abandoned_files() if path not in before] == []


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    made = {}

    def get(name):
        if name not in made:
            made[name] = Stored(name, tmp_path_factory.mktemp("data"))
        return made[name]
    return get


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return write_folders(tmp_path_factory.mktemp("pictures"))


@pytest.fixture
def noisy(tmp_path):
    """40 pictures that do not compress, 14.7 kB each."""
    for i in range(40):
        save_png(tmp_path / "noisy" / f"{i:02}.png", noise((70, 70, 3), seed=i), compress_level=1)
    return tmp_path / "noisy"


@pytest.fixture
def folder(tmp_path):
    """For a cache on disk."""
    return tmp_path / "cache folder"


@pytest.fixture
def truth(noisy):
    """Three epochs of random crops, read without a cache."""
    return batches_of(noisy, 3, transform=[ps.RandomCrop(32)])
