"""Volumes with channels: flips and turns move voxels in space and never exchange channels, whatever the order of axes."""

import itertools

import numpy as np
import pytest

import penstock as ps
from zarr_writers import assert_same, epoch

tifffile = pytest.importorskip("tifffile")

SIZES = {"Z": 4, "C": 3, "Y": 6, "X": 6, "S": 3, "T": 2}


def hyperstack(path, axes, dtype=np.uint16, **options):
    """Written by tifffile with these axes; every voxel has a number of its own."""
    shape = [SIZES[axis] for axis in axes]
    data = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    tifffile.imwrite(path, data, metadata={"axes": axes}, **options)
    assert tifffile.TiffFile(path).series[0].axes == axes
    return data


def flips_of(data, axes):
    """Every result that flips along Z, Y and X can have."""
    space = [axes.index(axis) for axis in "ZYX"]
    return [np.flip(data, chosen) for count in range(4) for chosen in itertools.combinations(space, count)]


def seen(path, shape, steps, epochs=12, **options):
    with ps.Loader(ps.Patches(path, shape, **options), batch_size=1, output="numpy", transform=steps, threads=2,
                   fields=["image"]) as loader:
        return [images[0] for _ in range(epochs) for (images,) in loader]


STACKS = [("ZCYX", {"imagej": True}), ("TZCYX", {"imagej": True}), ("CZYX", {"ome": True, "photometric": "minisblack"}),
          ("ZYXS", {"imagej": True, "dtype": np.uint8}), ("TZYXS", {"ome": True, "photometric": "rgb", "dtype": np.uint8})]


@pytest.mark.parametrize("axes, options", STACKS, ids=[axes for axes, _ in STACKS])
@pytest.mark.parametrize("before", [[], [ps.Cast("float32")], [ps.Map(lambda values: values.copy())], [ps.Normalize(0.0, 1.0, max_value=1)]],
                         ids=["alone", "cast", "map", "normalize"])
def test_flips_are_those_of_space(tmp_path, axes, options, before):
    data = hyperstack(tmp_path / "v.tif", axes, **options)
    possible = {flip.astype(np.float64).tobytes() for flip in flips_of(data, axes)}
    images = seen(tmp_path / "v.tif", data.shape, [*before, ps.RandomFlip3D()])
    got = {image.astype(np.float64).tobytes() for image in images}
    assert got <= possible and len(got) > 3
    whole = seen(tmp_path / "v.tif", data.shape, [*before, ps.RandomFlip3D(p=1.0)], epochs=1)[0]
    assert_same(whole.astype(np.float64),
                np.flip(data, [axes.index(axis) for axis in "ZYX"]).astype(np.float64))


@pytest.mark.parametrize("axes, options", STACKS, ids=[axes for axes, _ in STACKS])
def test_turns_are_those_of_a_plane(tmp_path, axes, options):
    data = hyperstack(tmp_path / "v.tif", axes, **options)
    plane = (axes.index("Y"), axes.index("X"))
    possible = {np.rot90(data, turns, plane).tobytes(): turns for turns in range(4)}
    turns = {possible[image.tobytes()] for image in seen(tmp_path / "v.tif", data.shape, [ps.RandomRot90()], epochs=30)}
    assert turns == {0, 1, 2, 3}


@pytest.mark.parametrize("axes, options", STACKS, ids=[axes for axes, _ in STACKS])
def test_normalize_takes_means_of_the_channels(tmp_path, axes, options):
    data = hyperstack(tmp_path / "v.tif", axes, **options)
    channels = axes.index("C" if "C" in axes else "S")
    mean, std = np.array([10.0, 20.0, 30.0]), np.array([1.0, 2.0, 4.0])
    shape = [-1 if axis == channels else 1 for axis in range(len(axes))]
    got = seen(tmp_path / "v.tif", data.shape, [ps.Normalize(list(mean), list(std), max_value=1)], epochs=1)[0]
    np.testing.assert_allclose(got, (data - mean.reshape(shape)) / std.reshape(shape), rtol=1e-5)
    found = ps.statistics(ps.Patches(tmp_path / "v.tif", data.shape), ["image"])["image"].channels
    others = tuple(axis for axis in range(len(axes)) if axis != channels)
    np.testing.assert_allclose([channel["mean"] for channel in found], data.mean(others))


def test_a_size_of_fewer_axes_cuts_the_last_ones(tmp_path):
    """In ZCYX, (3, 5, 5) means C, Y and X, and Z comes whole. Flips still go along Z, Y and X."""
    data = hyperstack(tmp_path / "v.tif", "ZCYX", imagej=True)
    source = ps.Patches(tmp_path / "v.tif", (3, 5, 5))
    images, origins = epoch(source)
    for image, (c, y, x) in zip(images, origins):
        assert_same(image, data[:, c:c + 3, y:y + 5, x:x + 5])
    images, origins = epoch(source, transform={"image": [ps.RandomFlip3D(p=1.0)]})
    for image, (c, y, x) in zip(images, origins):
        assert_same(image, np.flip(data[:, c:c + 3, y:y + 5, x:x + 5], (0, 2, 3)))


def test_labels_without_channels_take_the_flips_of_their_image(tmp_path):
    data = hyperstack(tmp_path / "v.tif", "CZYX", ome=True, photometric="minisblack")
    tifffile.imwrite(tmp_path / "l.tif", data[0], photometric="minisblack")
    source = ps.Patches(tmp_path / "v.tif", data.shape[1:], labels=tmp_path / "l.tif")
    with ps.Loader(source, batch_size=1, output="numpy", transform=[ps.RandomFlip3D(), ps.RandomRot90()]) as loader:
        for image, label in (batch[:2] for _ in range(12) for batch in loader):
            assert_same(image[0, 0], label[0])


@pytest.mark.parametrize("name", ["c", "C", "channel"])
def test_named_dimensions_of_zarr(tmp_path, name):
    zarr = pytest.importorskip("zarr")
    data = np.arange(4 * 3 * 6 * 6).astype(np.uint16).reshape(4, 3, 6, 6)
    array = zarr.create_array(str(tmp_path / "v.zarr"), shape=data.shape, chunks=(2, 3, 4, 4), dtype=data.dtype,
                              dimension_names=["z", name, "y", "x"])
    array[:] = data
    assert_same(seen(tmp_path / "v.zarr", data.shape, [ps.RandomFlip3D(p=1.0)], epochs=1)[0], np.flip(data, (0, 2, 3)))


def test_a_stack_of_variables_has_no_third_axis_to_flip(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "s.zarr"), mode="w")
    for name in ("a", "b"):
        group.create_array(name, shape=(3, 4, 5), chunks=(1, 4, 5), dtype="float32", dimension_names=["time", "y", "x"])
    source = ps.Zarr(tmp_path / "s.zarr", ["a", "b"], "time", stack=True)
    with pytest.raises(ps.Error, match=r"RandomFlip3D needs three axes in space; .*axes \[0\] count channels"):
        next(iter(ps.Loader(source, transform=[ps.RandomFlip3D()], output="numpy")))


def test_a_mixture_wants_channels_on_the_same_axis(tmp_path):
    for name, axes in (("a", "ZCYX"), ("b", "CZYX")):
        shape = (3, 3, 6, 6)
        tifffile.imwrite(tmp_path / f"{name}.ome.tif", np.zeros(shape, np.uint8), ome=True, metadata={"axes": axes},
                         photometric="minisblack")
    parts = [ps.Patches(tmp_path / f"{name}.ome.tif", (3, 3, 6, 6)) for name in "ab"]
    with pytest.raises(ps.Error, match="channels of field image are another axis"):
        ps.Mix(parts)
