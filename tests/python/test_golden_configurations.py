"""Batches, order and states of many configurations are, bit for bit, those of tests/golden/configurations.json."""

import json

import pytest

import penstock as ps
from configurations import CONFIGURATIONS, delivered, digest, make_data, resumed
from configurations.data import GOLDEN
from configurations.digests import RESOURCES
from http_faults import serve

EXPECTED = json.loads((GOLDEN / "configurations.json").read_text())


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("configurations"))


def test_every_configuration_has_a_golden_hash():
    assert list(EXPECTED) == list(CONFIGURATIONS)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_batches_order_and_state_are_the_golden_ones(data, name):
    make = CONFIGURATIONS[name]
    found, state, rest = delivered(make, data, threads=1)
    assert found == EXPECTED[name]
    assert delivered(make, data, threads=3)[0] == EXPECTED[name]
    assert resumed(make, data, 2, state) == rest


@pytest.mark.parametrize("name", ["Zarr 2", "Zarr 3", "Zarr in windows of chunks"])
def test_a_store_on_a_server_gives_the_same_batches(data, name):
    local = delivered(CONFIGURATIONS[name], data, threads=2)[0]
    with serve(data) as server:
        def on_the_server(folder):
            path, options = CONFIGURATIONS[name](folder)
            return f"{server.url}/{path.relative_to(folder)}", options
        distant = delivered(on_the_server, data, threads=2)[0]
    assert distant["batches"] == local["batches"] == EXPECTED[name]["batches"]
    assert distant["order"] == local["order"]


def test_the_digest_sees_types_shapes_names_and_the_order_of_batches(data):
    with ps.Loader(data / "one.npy", batch_size=4, **RESOURCES) as loader:
        first, second = list(loader)[:2]
    different = [first, second, first.astype("f8"), first.reshape(8, -1), {"a": first}, {"b": first}, [first], (first,),
                 [first, second], [second, first], "text", b"text", ["te", "xt"]]
    assert len({digest(value) for value in different}) == len(different)
