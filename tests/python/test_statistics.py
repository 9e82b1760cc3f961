"""ps.statistics against NumPy over the decoded data, and against the command line."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import penstock as ps
import records
from pictures import read_rgb, save_png, smooth
from zarr_writers import write_zarr


def close(found, values, axes):
    """One number a channel, whatever axis of `values` is left."""
    values = np.asarray(values, np.float64)
    for name in ("mean", "std", "min", "max"):
        np.testing.assert_allclose(getattr(found, name), np.ravel(getattr(values, name)(axes)), rtol=1e-6, atol=1e-12)


def test_channels_of_images_and_counts_of_classes(classes):
    found = ps.statistics(classes)
    assert list(found) == ["image", "label"] and found.samples == 12 and found.bad == 0 and found.errors == []
    pixels = np.concatenate([read_rgb(path).reshape(-1, 3) for path in classes.glob("*/*.jpg")]) / 255
    close(found["image"], pixels, 0)
    assert found["label"].counts == {0: 4, 1: 3, 2: 5} and found["label"].classes == ["ant", "horse", "zebra"]
    images, _ = next(iter(ps.Loader(classes, batch_size=12, output="numpy", transform={
        "image": [ps.Normalize(found["image"].mean, found["image"].std)]})))
    np.testing.assert_allclose(images.mean((0, 2, 3)), 0, atol=1e-4)
    np.testing.assert_allclose(images.std((0, 2, 3)), 1, atol=1e-4)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_arrays_go_straight_into_normalize(tmp_path, dtype):
    data = (np.random.default_rng(0).normal(100, 20, (9, 3, 16, 17)) % 256).astype(dtype)
    np.save(tmp_path / "a.npy", data)
    found = ps.statistics(tmp_path / "a.npy", "array")["array"]
    close(found, data / (255 if dtype == "uint8" else 1), (0, 2, 3))
    got = next(iter(ps.Loader(tmp_path / "a.npy", batch_size=9, output="numpy",
                              transform=[ps.Normalize(found.mean, found.std)])))
    np.testing.assert_allclose(got.mean((0, 2, 3)), 0, atol=1e-4)
    np.testing.assert_allclose(got.std((0, 2, 3)), 1, atol=1e-4)


def test_the_numbers_are_those_of_the_command_line(tmp_path):
    rng = np.random.default_rng(0)
    files = []
    for i in range(20):
        files += [(f"{i:03}.png", records.png_bytes(smooth(9, 8, seed=i))), (f"{i:03}.cls", str(i % 3).encode()),
                  (f"{i:03}.seg.png", records.png_bytes(rng.integers(0, 3, (9, 8), dtype=np.uint8))),
                  (f"{i:03}.npy", records.npy_bytes(rng.normal(0, 1, (4, 5, 6)))), (f"{i:03}.txt", b"word" * i)]
    path = records.write_tar(tmp_path / "a.tar", files)
    program = os.path.join(os.path.dirname(sys.executable), "penstock")
    printed = json.loads(subprocess.run([program, "statistics", str(path), "--json", "--threads", "2"], check=True,
                                        capture_output=True).stdout)
    found = ps.statistics(str(path), threads=2)
    assert found.samples == printed["samples"] == 20 and len(found) == len(printed["fields"]) == 5
    for want in printed["fields"]:
        got = found[want["name"]]
        assert (got.kind, got.samples) == (want["kind"], want["samples"])
        if "channels" in want:
            for mine, theirs in zip(got.channels, want["channels"], strict=True):
                assert mine == pytest.approx(theirs, rel=1e-12)
            assert list(got.mean) == pytest.approx(want["normalize"]["mean"])
            assert list(got.std) == pytest.approx(want["normalize"]["std"])
        elif "counts" in want:
            assert got.counts == {int(value): n for value, n in want["counts"].items()}
        else:
            assert got.lengths == pytest.approx(want["lengths"])


def test_variables_levels_and_labels_of_patches(tmp_path):
    import zarr

    rng = np.random.default_rng(0)
    zarr.create_group(tmp_path / "a.zarr")
    data = rng.normal(250, 20, (10, 3, 4, 5)).astype("f4")
    data[2, 1, 0, 0], data[3, 2, 1, 1] = np.nan, np.inf
    write_zarr(tmp_path / "a.zarr/t", data, (3, 3, 4, 5), names=["time", "level", "lat", "lon"])
    found = ps.statistics(ps.Zarr(tmp_path / "a.zarr", ["t"], "time"))["t"]
    assert (found.nan, found.infinite) == (1, 1)
    for level in range(3):
        values = data[:, level][np.isfinite(data[:, level])].astype("f8")
        assert found.mean[level] == pytest.approx(values.mean()) and found.max[level] == pytest.approx(values.max())
    volume, labels = rng.random((8, 8, 8), np.float32), rng.integers(0, 4, (8, 8, 8)).astype("int16")
    write_zarr(tmp_path / "v", volume, (4, 4, 4))
    write_zarr(tmp_path / "l", labels, (4, 4, 4))
    grid = ps.statistics(ps.Patches([tmp_path / "v"], (4, 4, 4), labels=[tmp_path / "l"]))
    assert grid["label"].counts == {int(v): int((labels == v).sum()) for v in range(4)}
    with pytest.raises(ps.UsageError, match="per_epoch"):
        ps.statistics(ps.Patches([tmp_path / "v"], (4, 4, 4), per_epoch=5))


def test_bad_samples_are_left_out_and_listed(flat):
    (flat / "003.png").write_bytes(b"no picture")
    found = ps.statistics(flat)
    assert (found.samples, found.bad) == (12, 1) and found["image"].samples == 11
    assert found.errors[0]["sample"] == 3 and found.errors[0]["uri"].endswith("003.png")
    assert "1 of them bad" in repr(found)
    for path in flat.glob("*.png"):
        path.write_bytes(b"no picture")
    with pytest.raises(ps.Error, match="000.png"):
        ps.statistics(flat)


def test_wrong_arguments_say_what_is_right(flat):
    with pytest.raises(ps.UsageError, match='did you mean "image"'):
        ps.statistics(flat, "imgae")
    with pytest.raises(ValueError, match="threads=0"):
        ps.statistics(flat, threads=0)
    with pytest.raises(ValueError, match="memory"):
        ps.statistics(flat, memory="much")
    with pytest.raises(KeyError, match="there are image"):
        ps.statistics(flat)["label"]


def test_a_sample_larger_than_the_memory_is_bad(tmp_path):
    np.save(tmp_path / "0.npy", np.zeros((4096, 4096)))
    with pytest.raises(ps.Error, match="memory"):
        ps.statistics(tmp_path / "*.npy", memory="16MiB")


def test_an_interrupt_ends_it(tmp_path):
    for i in range(4):
        save_png(tmp_path / "photos" / f"{i}.png", smooth(1500, 1500, seed=i))
    for i in range(4, 400):
        os.link(tmp_path / "photos" / f"{i % 4}.png", tmp_path / "photos" / f"{i}.png")
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            ps.statistics(tmp_path / "photos", threads=1)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, handler)
    shutil.rmtree(tmp_path / "photos")
