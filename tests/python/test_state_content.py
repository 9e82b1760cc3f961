"""A state is not loaded with other data of the same keys and sizes."""

import logging
import os
import shutil

import numpy as np
import pytest

import penstock as ps
from http_faults import serve
from PIL import Image
from test_iterators import make_patches, make_shard, make_zarr


def make_npy(folder):
    np.save(folder / "numbers.npy", np.arange(6000, dtype=np.int64).reshape(100, 60))
    return folder / "numbers.npy"


def make_images(folder, seed=3):
    """Writes images without compression, so that other pixels take as many bytes."""
    generator = np.random.default_rng(seed)
    (folder / "images" / "a").mkdir(parents=True, exist_ok=True)
    for i in range(24):
        image = Image.fromarray(generator.integers(0, 255, (20, 30, 3), np.uint8))
        image.save(folder / "images" / "a" / f"{i:03}.png", compress_level=0)
    return folder / "images"


# How the source is made in a folder, and where it is.
KINDS = {
    "npy": (make_npy, "numbers.npy"),
    "images": (make_images, "images"),
    "tar": (make_shard, "shard.tar"),
    "tar.gz": (lambda folder: make_shard(folder, compressed=True), "shard.tar.gz"),
    "zarr": (make_zarr, "store.zarr"),
    "patches": (make_patches, "volume.npy"),
}


def state_of(source, **keywords):
    with ps.Loader(source, batch_size=4, output="numpy", **keywords) as loader:
        next(iter(loader))
        return loader.state_dict()


def load(source, state, **keywords):
    with ps.Loader(source, batch_size=4, output="numpy", **keywords) as loader:
        loader.load_state_dict(state)
        return next(iter(loader))


@pytest.fixture
def folders(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    return tmp_path / "a", tmp_path / "b"


def other_values(kind, folder):
    """The same keys, shapes and sizes, other values."""
    if kind == "npy":
        np.save(folder / "numbers.npy", np.arange(6000, dtype=np.int64).reshape(100, 60) + 1)
    elif kind == "images":
        make_images(folder, seed=4)
    elif kind in ("tar", "tar.gz"):
        import gzip
        path = folder / KINDS[kind][1]
        raw = path.read_bytes()
        raw = bytearray(gzip.decompress(raw) if kind == "tar.gz" else raw)
        for at in range(512 + 128, len(raw) - 1024, 1024):
            if raw[at - 128:at - 122] == b"\x93NUMPY":
                raw[at:at + 400] = np.full((50,), 7, np.int64).tobytes()
        path.write_bytes(gzip.compress(bytes(raw)) if kind == "tar.gz" else bytes(raw))
    elif kind == "zarr":
        for path in (folder / "store.zarr").rglob("*"):
            if path.is_file() and "json" not in path.name and not path.name.startswith(".z"):
                data = bytearray(path.read_bytes())
                data[len(data) // 2:] = bytes(byte ^ 1 for byte in data[len(data) // 2:])
                path.write_bytes(data)
    else:
        np.save(folder / "volume.npy", np.zeros((40, 30, 20), np.float32))


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_elsewhere_is_the_same_data(folders, kind):
    make, _ = KINDS[kind]
    here, there = folders
    state = state_of(make(here), threads=1)
    shutil.copytree(here, there, dirs_exist_ok=True)
    for path in there.rglob("*"):
        os.utime(path, (1, 1))
    make_again = {"zarr": lambda: ps.Zarr(str(there / "store.zarr"), variables=["t"], sample_dim=0),
                  "patches": lambda: ps.Patches(str(there / "volume.npy"), size=(8, 8, 8), per_epoch=40)}
    source = make_again.get(kind, lambda: there / KINDS[kind][1])()
    load(source, state, threads=3, rank=1, world_size=2)
    assert state_of(source)["content"] == state["content"]


@pytest.mark.parametrize("kind", KINDS)
def test_other_values_of_the_same_keys_and_sizes_are_refused(folders, kind):
    make, _ = KINDS[kind]
    here, there = folders
    state = state_of(make(here))
    source = make(there)
    other_values(kind, there)
    if kind not in ("zarr", "patches"):
        source = there / KINDS[kind][1]
    with ps.Loader(source, batch_size=4, output="numpy") as loader:
        assert loader._core.state()["fingerprint"] == state["fingerprint"], "keys and sizes are the same"
        with pytest.raises(ps.Error, match="content differs"):
            loader.load_state_dict(state)


def test_a_state_without_content_loads_with_a_warning(folders, caplog):
    path = make_npy(folders[0])
    state = state_of(path)
    del state["content"]
    with caplog.at_level(logging.WARNING, "penstock"):
        load(path, state)
    assert "says nothing of the content" in caplog.text


def test_the_content_is_read_for_states_only(folders):
    path = make_images(folders[0])
    with ps.Loader(path, batch_size=4, output="numpy") as loader:
        assert "content" not in loader._core.state()
        for _ in loader:
            pass
        assert "content" not in loader._core.state()
        assert loader.state_dict()["content"] > 0


def test_over_http_it_is_that_of_the_files(folders):
    here, _ = folders
    path = make_npy(here)
    make_shard(here)
    with serve(here) as server:
        for name in ("numbers.npy", "shard.tar"):
            assert state_of(f"{server.url}/{name}")["content"] == state_of(here / name)["content"]
            load(f"{server.url}/{name}", state_of(here / name))


def test_a_server_that_is_gone_does_not_break_a_checkpoint(folders, caplog):
    here, _ = folders
    make_npy(here)
    whole = state_of(here / "numbers.npy")
    with serve(here) as server:
        with ps.Loader(f"{server.url}/numbers.npy", batch_size=100, output="numpy") as loader:
            list(loader)
            server.fail("404")
            with caplog.at_level(logging.WARNING, "penstock"):
                state = loader.state_dict()
                loader.state_dict()
            assert "content" not in state and state["epoch"] == 1
            assert caplog.text.count("could not be looked at") == 1
            loader.load_state_dict(whole)


def test_the_first_and_the_last_place_are_the_beginning_and_the_end(folders):
    rows = np.zeros((64, 1 << 17), np.uint8)
    np.save(folders[0] / "large.npy", rows)
    state = state_of(folders[0] / "large.npy")
    rows[0, 100] = 1
    np.save(folders[1] / "large.npy", rows)
    with pytest.raises(ps.Error, match="content differs"):
        load(folders[1] / "large.npy", state)
    rows[0, 100], rows[-1, -1] = 0, 1
    np.save(folders[1] / "large.npy", rows)
    with pytest.raises(ps.Error, match="content differs"):
        load(folders[1] / "large.npy", state)


def test_labels_count_too(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3,)))
    for name, labels in (("a.csv", (0, 1, 0)), ("b.csv", (0, 1, 1))):
        (tmp_path / name).write_text("path,class\n" + "".join(f"x.npy,{label}\n" for label in labels))
    first = ps.Manifest(str(tmp_path / "a.csv"))
    state = state_of(first)
    with pytest.raises(ps.Error):
        load(ps.Manifest(str(tmp_path / "b.csv")), state)
