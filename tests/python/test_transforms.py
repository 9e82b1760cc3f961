"""Transforms other than resizing, and fields that share their draws."""

import numpy as np
import pytest
from PIL import Image, ImageEnhance

import penstock as ps
from pictures import levels_apart, noise, save_png, smooth
from transformed import load_all


@pytest.fixture
def pairs(tmp_path):
    """Images whose red channel is their mask's class number times 20, in blocks."""
    for i in range(24):
        classes = np.kron(noise((12, 16), seed=i) % 12, np.ones((8, 8), np.uint8)).astype(np.uint8)
        save_png(tmp_path / "images" / f"{i}.png", np.stack([classes * 20, classes, 255 - classes], -1))
        save_png(tmp_path / "masks" / f"{i}.png", classes)
    return ps.ImageFolder(tmp_path / "images", masks=tmp_path / "masks")


# -- image and mask ---------------------------------------------------------------------------------


def test_a_mask_is_a_field_of_class_numbers(pairs):
    assert pairs.fields == {"image": "image", "mask": "mask"}
    images, masks = load_all(pairs, None)
    assert masks.shape == (24, 96, 128) and masks.dtype == np.uint8
    assert np.array_equal(images[..., 1], masks)


@pytest.mark.parametrize("steps", [
    [ps.RandomCrop(40)], [ps.RandomHorizontalFlip()], [ps.RandomVerticalFlip()], [ps.CenterCrop(64), ps.RandomRot90()],
    [ps.RandomResizedCrop(48, scale=(0.2, 1), interpolation="nearest")],
    [ps.RandomHorizontalFlip(), ps.RandomCrop(50), ps.RandomVerticalFlip(), ps.RandomRot90(), ps.Pad(3)],
    [ps.Resize((50, 70), "nearest")]])
def test_image_and_mask_share_their_draws(pairs, steps):
    images, masks = load_all(pairs, {"image": steps, "mask": steps})
    assert np.array_equal(images[..., 1], masks)
    assert np.array_equal(images[..., 0], masks * 20)


def test_draws_are_shared_even_where_one_field_has_more_steps(pairs):
    images, masks = load_all(pairs, {
        "image": [ps.ColorJitter(0, 0, 0, 0), ps.RandomCrop(40), ps.RandomHorizontalFlip()],
        "mask": [ps.RandomCrop(40), ps.RandomHorizontalFlip()]})
    assert np.array_equal(images[..., 1], masks)


def test_masks_are_resized_by_nearest_whatever_was_asked(pairs):
    steps = [ps.RandomResizedCrop(64, scale=(0.3, 0.6), interpolation="bilinear")]
    images, masks = load_all(pairs, {"image": steps, "mask": steps})
    assert set(np.unique(masks)) <= set(range(12))
    # Inside blocks the image has the mask's value; at their edges it is in between.
    assert (np.abs(images[..., 1].astype(int) - masks) <= 1).mean() > 0.5
    near = np.abs(images[..., 0].astype(int) - masks.astype(int) * 20) <= 3
    assert near.mean() > 0.5


def test_a_list_of_transforms_moves_the_masks_with_the_image(pairs):
    images, masks = load_all(pairs, [ps.CenterCrop(20), ps.RandomHorizontalFlip(), ps.Normalize([0.5], [0.5])])
    assert images.shape == (24, 20, 20, 3) and masks.shape == (24, 20, 20) and masks.dtype == np.uint8
    alike = load_all(pairs, {"image": [ps.CenterCrop(20), ps.RandomHorizontalFlip(), ps.Normalize([0.5], [0.5])],
                             "mask": [ps.CenterCrop(20), ps.RandomHorizontalFlip()]})
    assert np.array_equal(images, alike[0]) and np.array_equal(masks, alike[1])


# -- RandomErasing ----------------------------------------------------------------------------------


def test_erasing_gives_a_rectangle_one_value_and_leaves_the_mask_alone(pairs):
    images, masks = load_all(pairs, [ps.RandomErasing(p=1, scale=(0.1, 0.3), ratio=(0.5, 2), value=(250, 251, 252))])
    plain_images, plain_masks = load_all(pairs, None)
    assert np.array_equal(masks, plain_masks)
    erased = (images == (250, 251, 252)).all(-1)
    assert np.array_equal(images[~erased], plain_images[~erased])
    for one in erased:
        rows, columns = np.flatnonzero(one.any(1)), np.flatnonzero(one.any(0))
        assert one[rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1].all()
        assert 0.09 < one.mean() < 0.32
        assert 0.45 < len(rows) / len(columns) < 2.2


def test_erasing_a_mask_that_was_given_the_step_by_name_does_nothing_to_it(pairs):
    steps = [ps.RandomErasing(p=1), ps.RandomCrop(40)]
    masks = load_all(pairs, {"image": steps, "mask": steps})[1]
    assert np.array_equal(masks, load_all(pairs, {"image": steps, "mask": steps[1:]})[1])


def test_erasing_is_the_same_on_any_number_of_threads_and_differs_by_sample_and_epoch(pairs):
    def epochs(threads):
        with ps.Loader(pairs, batch_size=7, transform=[ps.RandomErasing(p=0.7), ps.RandomCrop(64)], output="numpy", seed=4,
                       threads=threads) as loader:
            return [np.concatenate([batch[0] for batch in loader]) for _ in range(2)]

    one, many = epochs(1), epochs(4)
    assert all(np.array_equal(a, b) for a, b in zip(one, many))
    assert not np.array_equal(one[0], one[1])


def test_erasing_happens_with_its_probability(tmp_path):
    np.save(tmp_path / "x.npy", np.full((400, 20, 30, 3), 9, np.uint8))
    erased = (load_all(tmp_path / "x.npy", [ps.RandomErasing(p=0.3)], batch_size=400) == 0).any((1, 2, 3))
    assert 80 < erased.sum() < 160


def test_erasing_by_random_values_is_refused():
    with pytest.raises(TypeError, match="RandomErasing: value='random': wants a number.*random values are not supported"):
        ps.RandomErasing(value="random")


# -- types and shapes of masks ----------------------------------------------------------------------


def test_masks_may_be_cast_and_keep_their_shape_in_any_layout(pairs):
    images, masks = load_all(pairs, {"mask": [ps.Cast("int64")]}, layout="NCHW", dtype="float32")
    assert masks.dtype == np.int64 and masks.shape == (24, 96, 128)
    assert images.dtype == np.float32 and images.shape == (24, 3, 96, 128)


def test_palette_masks_give_their_indices(tmp_path):
    values = noise((8, 8)) % 5
    save_png(tmp_path / "images" / "a.png", noise((8, 8, 3)))
    (tmp_path / "masks").mkdir()
    palette = Image.fromarray(values, "P")
    palette.putpalette([200, 10, 10, 30, 220, 40, 1, 2, 255, 90, 90, 90, 7, 70, 170])
    palette.save(tmp_path / "masks" / "a.png")
    _, masks = load_all(ps.ImageFolder(tmp_path / "images", masks=tmp_path / "masks"), None)
    assert np.array_equal(masks[0], values)


def test_an_image_without_a_mask_is_named(tmp_path):
    for name in ("a", "b"):
        save_png(tmp_path / "images" / f"{name}.png", noise((8, 8, 3)))
    save_png(tmp_path / "masks" / "a.png", noise((8, 8)))
    with pytest.raises(ps.NotFoundError, match="no mask for image b.png"):
        ps.ImageFolder(tmp_path / "images", masks=tmp_path / "masks")


def test_a_mask_of_another_size_than_its_image_is_an_error(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "masks").mkdir()
    Image.new("RGB", (100, 100)).save(tmp_path / "images" / "a.png")
    Image.new("L", (80, 60)).save(tmp_path / "masks" / "a.png")
    source = ps.ImageFolder(tmp_path / "images", masks=tmp_path / "masks")
    with ps.Loader(source, transform={"image": [ps.RandomCrop(32)], "mask": [ps.RandomCrop(32)]}, output="numpy") as loader:
        with pytest.raises(ps.Error, match="80x60.*100x100"):
            next(iter(loader))


# -- derived fields ---------------------------------------------------------------------------------


def test_a_derived_field_starts_from_the_other_fields_result(pairs):
    batch = load_all(pairs, {"image": [ps.RandomCrop(40), ps.RandomHorizontalFlip()],
                             "small": ps.Derive("image", [ps.Resize(10, "bicubic")])})
    images, _, small = batch
    for image, little in zip(images, small):
        expected = np.asarray(Image.fromarray(image).resize((10, 10), Image.BICUBIC))
        assert levels_apart(little, expected) <= 1


def test_a_derived_field_can_be_the_only_one_delivered(pairs):
    small, = load_all(pairs, {"image": [ps.CenterCrop(40)], "small": ps.Derive("image", [ps.Resize(10)])},
                      fields=["small"])
    assert small.shape == (24, 10, 10, 3)


def test_two_derived_fields_do_not_disturb_each_other_or_the_first(pairs):
    plain = load_all(pairs, {"image": [ps.CenterCrop(40)]}, fields=["image"])[0]
    images, a, b = load_all(pairs, {
        "image": [ps.CenterCrop(40)], "a": ps.Derive("image", [ps.Resize(20), ps.ColorJitter(0.5)]),
        "b": ps.Derive("image", [ps.Map(lambda x: 255 - x)])}, fields=["image", "a", "b"])
    assert np.array_equal(images, plain)
    assert np.array_equal(b, 255 - plain)
    assert a.shape == (24, 20, 20, 3)


def test_derive_of_a_field_that_is_not_there_is_a_value_error(flat):
    with pytest.raises(ValueError, match="no field \"imag\".*did you mean \"image\""):
        ps.Loader(flat, transform={"x": ps.Derive("imag", [])})


# -- labels -----------------------------------------------------------------------------------------


def test_one_hot_labels(classes):
    _, labels = load_all(classes, {"label": [ps.OneHot(3)]})
    assert labels.dtype == np.float32 and np.array_equal(labels, np.eye(3)[[0] * 4 + [1] * 3 + [2] * 5])


def test_a_label_beyond_the_one_hot_classes_is_an_error(classes):
    with pytest.raises(ps.Error, match="label 2 is not one of 2 classes"):
        load_all(classes, {"label": [ps.OneHot(2)]})


def test_labels_may_be_cast_and_mapped(classes):
    _, labels = load_all(classes, {"label": [ps.Cast("int32")]})
    assert labels.dtype == np.int32
    _, labels = load_all(classes, {"label": [ps.Map(lambda label: label * 10)]})
    assert labels.shape == (12,) and labels.max() == 20


# -- sizes, flips, turns, borders -------------------------------------------------------------------


def test_flips_with_certainty_are_numpys(tmp_path):
    pixels = noise((7, 9, 3))
    save_png(tmp_path / "x.png", pixels)
    assert np.array_equal(load_all(tmp_path, [ps.RandomHorizontalFlip(1)])[0], pixels[:, ::-1])
    assert np.array_equal(load_all(tmp_path, [ps.RandomVerticalFlip(p=1)])[0], pixels[::-1])
    assert np.array_equal(load_all(tmp_path, [ps.RandomHorizontalFlip(0), ps.RandomVerticalFlip(0)])[0], pixels)


def test_flips_come_about_as_often_as_asked(tmp_path):
    values = np.tile(np.arange(4, dtype=np.uint8)[None, None, :, None], (400, 1, 1, 1))
    np.save(tmp_path / "x.npy", values)
    batch = load_all(tmp_path / "x.npy", [ps.RandomHorizontalFlip(0.3)], batch_size=400)
    flipped = (batch.reshape(400, 4)[:, 0] == 3).mean()
    assert 0.2 < flipped < 0.4


def test_random_rot90_turns_like_numpy_and_reaches_all_four(tmp_path):
    values = noise((200, 5, 5, 3))
    np.save(tmp_path / "x.npy", values)
    batch = load_all(tmp_path / "x.npy", [ps.Map(lambda x: x[..., 0]), ps.RandomRot90()], batch_size=200)
    seen = set()
    for got, value in zip(batch, values):
        turns = [k for k in range(4) if np.array_equal(np.squeeze(got), np.rot90(value[..., 0], k))]
        assert turns
        seen.add(turns[0])
    assert seen == {0, 1, 2, 3}


def test_random_flip_3d_flips_the_last_three_axes_of_volumes(tmp_path):
    volumes = noise((64, 2, 3, 4, 5)).astype(np.float32)
    np.save(tmp_path / "x.npy", volumes)
    batch = load_all(tmp_path / "x.npy", [ps.RandomFlip3D()])
    seen = set()
    for got, volume in zip(batch, volumes):
        found = [axes for axes in [(), (1,), (2,), (3,), (1, 2), (1, 3), (2, 3), (1, 2, 3)]
                 if np.array_equal(got, np.flip(volume, axes))]
        assert len(found) == 1
        seen.add(found[0])
    assert len(seen) >= 6


def test_pad_adds_left_top_right_bottom(tmp_path):
    pixels = noise((7, 9, 3))
    save_png(tmp_path / "x.png", pixels)
    for padding, widths in ((2, ((2, 2), (2, 2))), ((1, 3), ((3, 3), (1, 1))), ((1, 2, 3, 4), ((2, 4), (1, 3)))):
        got = load_all(tmp_path, [ps.Pad(padding, fill=9)])[0]
        assert np.array_equal(got, np.pad(pixels, (*widths, (0, 0)), constant_values=9))


def test_pad_then_random_crop_reaches_the_border(tmp_path):
    pixels = np.full((16, 16, 3), 200, np.uint8)
    save_png(tmp_path / "x.png", pixels)
    with ps.Loader(tmp_path, transform=[ps.Pad(4), ps.RandomCrop(16)], epoch_size=64, batch_size=64,
                   output="numpy") as loader:
        batch = next(iter(loader))
    assert batch.shape == (64, 3, 16, 16)
    assert set(np.unique(batch)) == {0, 200} and len({sample.tobytes() for sample in batch}) > 20


def test_image_transforms_work_on_arrays_of_height_width_channels(tmp_path):
    values = noise((3, 20, 30, 3))
    np.save(tmp_path / "x.npy", values)
    got = load_all(tmp_path / "x.npy", [ps.Resize((10, 15))])
    for sample, value in zip(got, values):
        assert levels_apart(sample, np.asarray(Image.fromarray(value).resize((15, 10), Image.BILINEAR))) <= 1


def test_bicubic_can_make_rows_much_wider_than_the_image(tmp_path):
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (10, 300, 3), dtype=np.uint8)).save(tmp_path / "a.png")
    with ps.Loader(tmp_path, transform=[ps.Resize((20, 9000), "bicubic")], layout="NHWC", output="numpy") as loader:
        batch = next(iter(loader))
    expected = np.asarray(Image.open(tmp_path / "a.png").resize((9000, 20), Image.BICUBIC))
    assert levels_apart(batch[0], expected) <= 1


# -- colour -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, enhance", [("brightness", ImageEnhance.Brightness), ("contrast", ImageEnhance.Contrast),
                                           ("saturation", ImageEnhance.Color)])
@pytest.mark.parametrize("factor", [0.0, 0.4, 1.0, 1.7])
def test_color_jitter_is_pillows_enhancement(tmp_path, name, enhance, factor):
    path = save_png(tmp_path / "x.png", smooth(40, 50))
    got = load_all(tmp_path, [ps.ColorJitter(**{name: (factor, factor)})])[0]
    assert levels_apart(got, np.asarray(enhance(Image.open(path)).enhance(factor))) <= 2


@pytest.mark.parametrize("shift", [-0.5, -0.2, 0.1, 0.33])
def test_color_jitter_turns_the_hue_as_torchvision_does_with_pillow(tmp_path, shift):
    path = save_png(tmp_path / "x.png", smooth(16, 16))
    got = load_all(tmp_path, [ps.ColorJitter(hue=(shift, shift))])[0]
    hue, saturation, value = Image.open(path).convert("HSV").split()
    turned = (np.asarray(hue).astype(int) + int(shift * 255)) % 256
    expected = Image.merge("HSV", (Image.fromarray(turned.astype(np.uint8)), saturation, value)).convert("RGB")
    assert levels_apart(got, np.asarray(expected)) <= 2


def test_color_jitter_draws_within_its_range(tmp_path):
    save_png(tmp_path / "x.png", np.full((4, 4, 3), 100, np.uint8))
    with ps.Loader(tmp_path, transform=[ps.ColorJitter(brightness=0.3)], epoch_size=200, batch_size=200,
                   output="numpy") as loader:
        values = next(iter(loader))[:, 0, 0, 0]
    assert values.min() >= 69 and values.max() <= 131 and len(np.unique(values)) > 30
