"""The command line on volumes: what a TIFF is, and patches of it."""

import json

import numpy as np
import pytest

import penstock as ps
from test_cli import cli, one_line, program  # noqa: F401  (fixtures)
from zarr_writers import write_zarr

tifffile = pytest.importorskip("tifffile")


@pytest.fixture
def stack(tmp_path):
    path = tmp_path / "stack.tif"
    data = np.random.default_rng(0).integers(0, 1000, (12, 40, 36)).astype(np.uint16)
    tifffile.imwrite(path, data, compression="zlib", photometric="minisblack")
    return path, data


@pytest.fixture
def labels(tmp_path, stack):
    path = tmp_path / "labels.tif"
    tifffile.imwrite(path, (stack[1] > 700).astype(np.uint8), photometric="minisblack")
    return path


def test_inspect_says_what_a_stack_is(cli, stack, tmp_path):
    done = cli("inspect", stack[0])
    for text in ("TIFF volume", "12x40x36 uint16", "ZYX", "deflate", "--patch"):
        assert text in done.stdout
    found = json.loads(cli("inspect", stack[0], "--json").stdout)
    assert found["shape"] == [12, 40, 36] and found["axes"] == "ZYX" and found["dtype"] == "uint16"
    assert found["decoded_bytes"] == stack[1].nbytes and 0 < found["stored_bytes"] < stack[0].stat().st_size
    hyper = tmp_path / "hyper.tif"
    tifffile.imwrite(hyper, np.zeros((5, 2, 8, 9), np.float32), imagej=True, metadata={"axes": "ZCYX"})
    found = json.loads(cli("inspect", hyper, "--json").stdout)
    assert (found["axes"], found["shape"], found["compression"]) == ("ZCYX", [5, 2, 8, 9], "uncompressed")
    single = tmp_path / "single.tif"
    tifffile.imwrite(single, np.zeros((8, 9), np.uint8))
    found = json.loads(cli("inspect", single, "--json").stdout)
    assert found["kind"] == "image folder" and found["sampled"]["shapes"][0]["shape"] == [8, 9, 3]


def test_inspect_of_patches(cli, stack, labels):
    found = json.loads(cli("inspect", stack[0], "--patch", "4,16,16", "--labels", labels, "--json").stdout)
    expected = ps.Patches(stack[0], (4, 16, 16), labels=labels)
    assert found["samples"] == len(expected) and found["kind"] == "grid of patches"
    shapes = {one["field"]: one["shape"] for one in found["sampled"]["shapes"]}
    assert shapes["image"] == [4, 16, 16] and shapes["label"] == [4, 16, 16] and not found["sampled"]["broken"]
    found = json.loads(cli("inspect", stack[0], "--patch", "4,16,16", "--per-epoch", "50", "--json").stdout)
    assert found["samples"] == 50 and found["kind"] == "random patches"
    assert "grid of patches" in cli("inspect", stack[0], "--patch", "4,16,16", "--overlap", "2").stdout


def mean_of(done):
    """Returns the mean of all channels of the image."""
    image = next(one for one in json.loads(done.stdout)["fields"] if one["name"] == "image")
    return np.average([one["mean"] for one in image["channels"]], weights=[one["count"] for one in image["channels"]])


def test_statistics_of_a_covering_grid_are_those_of_the_volume(cli, stack, labels):
    path, data = stack
    whole = cli("statistics", path, "--patch", "4,20,12", "--labels", labels, "--json")
    assert mean_of(whole) == pytest.approx(data.mean(), rel=1e-6)
    part = cli("statistics", path, "--patch", "4,20,12", "--region", "0:4,:,:", "--json")
    assert mean_of(part) == pytest.approx(data[:4].mean(), rel=1e-6)


def test_verify_reads_every_patch_and_finds_damage(cli, tmp_path):
    path = write_zarr(tmp_path / "v", np.ones((16, 16, 16), np.uint8), (8, 8, 8))
    assert "64" in cli("verify", path, "--patch", "4,4,4").stdout
    cli("verify", path, "--patch", "8,8,8", "--per-epoch", "20")
    (path / "c" / "1" / "0" / "0").write_bytes(b"short")
    assert "c/1/0/0" in cli("verify", path, "--patch", "4,4,4", expect=1).stdout


def test_bench_of_patches(cli, stack):
    found = json.loads(cli("bench", stack[0], "--patch", "4,16,16", "--per-epoch", "200", "--batch", "8", "--epochs",
                           "1", "--json").stdout)
    assert found


def test_errors_say_what_to_write(cli, stack, labels):
    path = stack[0]
    for command in ("verify", "statistics", "bench"):
        assert "--patch" in one_line(cli(command, path, expect=1))
    assert "--patch" in one_line(cli("inspect", path, "--per-epoch", "5", expect=2))
    assert "range for each axis" in one_line(cli("inspect", path, "--patch", "4,4,4", "--region", "0-4", expect=2))
    assert "Z=30,C=2" in one_line(cli("inspect", path, "--patch", "4,4,4", "--axes", "ZC", expect=2))
    assert "Z 5 x C 2 = 10 pages" in one_line(cli("inspect", path, "--patch", "4,4,4", "--axes", "Z=5,C=2", expect=2))
    assert "smaller" in one_line(cli("inspect", path, "--patch", "40,4,4", expect=2))
    assert "--kind" in one_line(cli("inspect", path, "--patch", "4,4,4", "--kind", "npy", expect=2))


def test_python_says_to_use_patches(stack):
    for open_it in (ps.open_source, ps.Loader):
        with pytest.raises(ps.Error, match=r"ps\.Patches") as caught:
            open_it(stack[0])
        assert "[12, 40, 36]" in str(caught.value) and caught.value.uri == str(stack[0])
