"""Values of patches: what attributes make of stored numbers, and labels that move with their image."""

import numpy as np
import pytest

import penstock as ps
from zarr_writers import assert_same, epoch, make_loader, write_zarr

xr = pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # xarray and zarr warn of each other

SHAPE, SIZE = (12, 10, 11), (4, 5, 6)


def dataset():
    rng = np.random.default_rng(0)
    data = rng.uniform(250, 310, SHAPE)
    data[rng.random(SHAPE) < 0.1] = np.nan
    return xr.Dataset({"packed": (("z", "y", "x"), data), "marked": (("z", "y", "x"), data.astype("f4")),
                       "scaled": (("z", "y", "x"), np.nan_to_num(data, nan=260)),
                       "classes": (("z", "y", "x"), rng.integers(0, 5, SHAPE).astype("u1"))})


@pytest.fixture(params=[2, 3])
def store(tmp_path, request):
    encoding = {"packed": {"dtype": "int16", "scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -32768},
                "marked": {"_FillValue": np.float32(-9999.0)}, "scaled": {"dtype": "uint8", "scale_factor": 2.0},
                "classes": {"_FillValue": 4}}
    path = tmp_path / "a.zarr"
    for own in encoding.values():
        own["chunks"] = (5, 4, 6)
    dataset().to_zarr(path, encoding=encoding, zarr_format=request.param)
    return path


def cut(volume, origin):
    return volume[tuple(slice(o, o + edge) for o, edge in zip(origin, SIZE))]


@pytest.mark.parametrize("variable", ["packed", "marked", "scaled"])
@pytest.mark.parametrize("per_epoch", [None, 40])
def test_values_are_those_of_xarray(store, variable, per_epoch):
    expected = xr.open_zarr(store, chunks=None)[variable].values.astype("f4")
    stored = xr.open_zarr(store, chunks=None, decode_cf=False)[variable].values
    source = ps.Patches(store / variable, SIZE, per_epoch=per_epoch)
    for options in ({}, {"threads": 1}):
        patches, origins = epoch(source, fields=["image", "position"], batch_size=7, **options)
        assert patches.dtype == np.float32
        for patch, origin in zip(patches, origins):
            np.testing.assert_allclose(patch, cut(expected, origin), rtol=1e-6)
    patches, origins = epoch(ps.Patches(store / variable, SIZE, per_epoch=per_epoch, decode_cf=False),
                             fields=["image", "position"], batch_size=7)
    for patch, origin in zip(patches, origins):
        assert_same(patch, cut(stored, origin))


def test_missing_values_as_the_user_wants_them(store, tmp_path):
    expected = xr.open_zarr(store, chunks=None)["packed"].values.astype("f4")
    patches, origins = epoch(ps.Patches(store / "packed", SIZE, nan=-1.0), batch_size=5)
    for patch, origin in zip(patches, origins):
        np.testing.assert_allclose(patch, np.nan_to_num(cut(expected, origin), nan=-1.0), rtol=1e-6)
    with pytest.raises(ps.Error):
        epoch(ps.Patches(store / "packed", SIZE, nan="error"), batch_size=5)
    np.save(tmp_path / "v.npy", expected)
    patches, origins = epoch(ps.Patches(tmp_path / "v.npy", SIZE, nan=0), batch_size=5)
    for patch, origin in zip(patches, origins):
        np.testing.assert_array_equal(patch, np.nan_to_num(cut(expected, origin), nan=0.0))
    with pytest.raises(ValueError, match="nan="):
        ps.Patches(store / "packed", SIZE, nan="zero")


def test_volumes_with_scales_of_their_own(tmp_path):
    stored = np.arange(np.prod(SHAPE), dtype="i2").reshape(SHAPE)
    paths = [write_zarr(tmp_path / str(i), stored, (5, 5, 5), attributes={"scale_factor": scale, "add_offset": 1.0})
             for i, scale in enumerate((0.5, 4.0))]
    patches, origins, numbers = epoch(ps.Patches(paths, SIZE), batch_size=5)
    for patch, origin, number in zip(patches, origins, numbers):
        np.testing.assert_allclose(patch, cut(stored * (0.5, 4.0)[number] + 1, origin), rtol=1e-6)
    plain = write_zarr(tmp_path / "plain", stored, (5, 5, 5))
    with pytest.raises(ps.Error, match="int16, where .* is float32"):
        ps.Patches([paths[0], plain], SIZE)


def test_normalize_applies_to_decoded_values(store):
    expected = (xr.open_zarr(store, chunks=None)["scaled"].values - 280.0) / 20.0
    patches, origins = epoch(ps.Patches(store / "scaled", SIZE), batch_size=5, transform=[ps.Normalize(280.0, 20.0)])
    for patch, origin in zip(patches, origins):
        np.testing.assert_allclose(patch, cut(expected, origin), rtol=1e-5, atol=1e-5)


def test_labels_stay_classes_unless_they_are_scaled(store):
    """A _FillValue is a class number that a loss can ignore; a scale makes it a quantity."""
    classes = xr.open_zarr(store, chunks=None, decode_cf=False)["classes"].values
    _, labels, origins = epoch(ps.Patches(store / "packed", SIZE, labels=store / "classes"), batch_size=5)
    for label, origin in zip(labels, origins):
        assert_same(label, cut(classes, origin))
    target = xr.open_zarr(store, chunks=None)["scaled"].values.astype("f4")
    _, labels, origins = epoch(ps.Patches(store / "packed", SIZE, labels=store / "scaled"), batch_size=5)
    for label, origin in zip(labels, origins):
        np.testing.assert_allclose(label, cut(target, origin), rtol=1e-6)


# -- labels that move with their image --------------------------------------------------------------

STEPS = [ps.RandomFlip3D(), ps.RandomRot90()]


@pytest.fixture
def labelled(tmp_path):
    volume = np.arange(16 ** 3, dtype="i4").reshape(16, 16, 16)
    paths = [write_zarr(tmp_path / name, volume.astype(dtype), (7, 7, 7)) for name, dtype in (("v", "f4"), ("l", "i4"))]
    return ps.Patches(paths[0], (5, 5, 5), per_epoch=64, labels=paths[1])


@pytest.mark.parametrize("fields", [None, ["image", "label"], ["label", "image"], {"x": "image", "y": "label"}],
                         ids=["all", "list", "label first", "renamed"])
@pytest.mark.parametrize("form", ["list", "dict"])
def test_labels_take_the_moves_of_the_image(labelled, fields, form):
    image, label = ("x", "y") if isinstance(fields, dict) else ("image", "label")
    steps = [*STEPS, ps.Normalize(0.0, 1.0)]
    names = list(fields or ["image", "label"])
    with make_loader(labelled, fields=fields, batch_size=8,
                     transform=steps if form == "list" else {image: steps}) as loader:
        batches = [{name: value.copy() for name, value in (batch.items() if isinstance(batch, dict) else zip(names, batch))}
                   for batch in loader]
    moved = 0
    for batch in batches:
        assert batch[label].dtype == np.int32
        np.testing.assert_array_equal(batch[image].astype("i4"), batch[label])
        moved += sum(patch.ravel()[0] != patch.min() for patch in batch[label])
    assert moved > 32


def test_steps_given_for_labels_win(labelled):
    with make_loader(labelled, batch_size=8, transform={"image": [ps.RandomFlip3D(p=1.0)], "label": []}) as loader:
        for images, labels in loader:
            np.testing.assert_array_equal(images[:, ::-1, ::-1, ::-1].astype("i4"), labels)


def test_masks_of_images_take_the_moves_in_the_dict_form_too(tmp_path):
    from PIL import Image

    for name in ("images", "masks"):
        (tmp_path / name).mkdir()
    rng = np.random.default_rng(0)
    for i in range(12):
        grey = rng.integers(0, 256, (24, 20), dtype=np.uint8)
        Image.fromarray(grey[..., None].repeat(3, 2)).save(tmp_path / "images" / f"{i}.png")
        Image.fromarray(grey).save(tmp_path / "masks" / f"{i}.png")
    source = ps.ImageFolder(tmp_path / "images", masks=tmp_path / "masks")
    steps = [ps.RandomCrop((8, 8)), ps.RandomHorizontalFlip()]
    for transform in (steps, {"image": steps}):
        with make_loader(source, batch_size=4, fields=["image", "mask"], transform=transform) as loader:
            for images, masks in loader:
                assert images.shape[1:] == (3, 8, 8)
                np.testing.assert_array_equal(images[:, 0], masks)
