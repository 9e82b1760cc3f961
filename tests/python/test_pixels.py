"""Pixels, held against Pillow and NumPy."""

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from pictures import (MEAN, STD, centre, jpeg_bytes, levels_apart, noise, normalized, read_rgb, save_jpeg, save_png,
                      shorter_side, smooth)

FILTERS = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS}


def load(path, *steps, **options):
    """The first sample, (H, W, C) unless told otherwise."""
    options = {"layout": "NHWC", "output": "numpy"} | options
    with ps.Loader(path, transform=list(steps), **options) as loader:
        return next(iter(loader))[0]


# -- decoding ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(1, 1), (8, 8), (7, 13), (33, 1), (120, 200)])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_jpeg_decodes_as_in_pillow(tmp_path, size, subsampling):
    path = save_jpeg(tmp_path / "x.jpg", smooth(*size), subsampling=subsampling)
    assert levels_apart(load(path), read_rgb(path)) <= 1


def test_progressive_and_optimised_jpegs_decode(tmp_path):
    path = save_jpeg(tmp_path / "x.jpg", smooth(90, 130), progressive=True, optimize=True)
    assert levels_apart(load(path), read_rgb(path)) <= 1


def test_a_jpeg_with_restart_markers_decodes(tmp_path):
    path = save_jpeg(tmp_path / "x.jpg", smooth(90, 130), restart_marker_blocks=3)
    assert levels_apart(load(path), read_rgb(path)) <= 1
    assert levels_apart(load(path, ps.CenterCrop(40)), np.asarray(centre(Image.open(path), 40, 40))) <= 1


def test_a_grey_jpeg_becomes_three_equal_channels(tmp_path):
    path = save_jpeg(tmp_path / "x.jpg", smooth(50, 60)[..., 0])
    pixels = load(path)
    assert pixels.shape == (50, 60, 3)
    assert levels_apart(pixels, read_rgb(path)) <= 1
    assert (pixels[..., 0] == pixels[..., 1]).all() and (pixels[..., 0] == pixels[..., 2]).all()


def test_a_cmyk_jpeg_becomes_rgb(tmp_path):
    path = save_jpeg(tmp_path / "x.jpg", Image.fromarray(smooth(50, 60)).convert("CMYK"), quality=95)
    assert levels_apart(load(path), read_rgb(path)) <= 2


def test_a_truly_four_coloured_cmyk_jpeg_becomes_rgb(tmp_path):
    inks = np.concatenate([smooth(48, 64), smooth(48, 64, seed=9)[..., :1]], -1)
    path = save_jpeg(tmp_path / "x.jpg", Image.fromarray(inks, "CMYK"), quality=95)
    assert levels_apart(load(path), read_rgb(path)) <= 2


def test_decode_l_gives_one_grey_channel_as_in_pillow(tmp_path):
    colour = save_jpeg(tmp_path / "x.jpg", smooth(50, 60))
    grey = load(colour, ps.Decode("L"))
    assert grey.shape == (50, 60, 1)
    assert levels_apart(grey[..., 0], np.asarray(Image.open(colour).convert("L"))) <= 2
    png = save_png(tmp_path / "x.png", noise((31, 17, 3)))
    assert levels_apart(load(png, ps.Decode("L"))[..., 0], np.asarray(Image.open(png).convert("L"))) <= 1


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_turns_pictures_upright_when_asked(tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = save_jpeg(tmp_path / "x.jpg", smooth(48, 80), exif=exif)
    from PIL import ImageOps
    upright = ImageOps.exif_transpose(Image.open(path))
    assert levels_apart(load(path), read_rgb(path)) <= 1
    assert levels_apart(load(path, ps.Decode(exif_orientation=True)), np.asarray(upright)) <= 1
    small = np.asarray(upright.resize((20, 30), Image.BILINEAR))
    assert levels_apart(load(path, ps.Decode(exif_orientation=True), ps.Resize((30, 20))), small) <= 1
    cropped = np.asarray(centre(upright, 31, 29))
    assert levels_apart(load(path, ps.Decode(exif_orientation=True), ps.CenterCrop((31, 29))), cropped) <= 1


def test_exif_that_is_garbage_is_not_trouble(tmp_path):
    path = save_jpeg(tmp_path / "x.jpg", smooth(16, 16), exif=b"Exif\0\0II*\0\xff\xff\xff\xff" + b"\xff" * 50)
    assert load(path, ps.Decode(exif_orientation=True)).shape == (16, 16, 3)


@pytest.mark.parametrize("mode", ["RGB", "L", "LA", "RGBA", "P", "1", "I;16"])
@pytest.mark.parametrize("interlaced", [False, True])
def test_png_decodes_exactly(tmp_path, mode, interlaced):
    path = tmp_path / "x.png"
    picture = Image.fromarray(noise((21, 34, 3)))
    if mode == "I;16":
        values = np.random.default_rng(0).integers(0, 65536, (21, 34)).astype(np.uint16)
        Image.fromarray(values).save(path)
        expected = (values >> 8).astype(np.uint8)[..., None].repeat(3, -1)
        assert levels_apart(load(path), expected) <= 1
        return
    if mode == "LA":
        picture = Image.merge("LA", (picture.getchannel(0), picture.getchannel(1)))
    elif mode == "RGBA":
        picture.putalpha(picture.getchannel(1))
    elif mode == "P":
        picture = picture.quantize(40)
    else:
        picture = picture.convert(mode)
    picture.save(path, interlace=interlaced)
    # Alpha is dropped, as Pillow's convert("RGB") drops it.
    assert np.array_equal(load(path), np.asarray(picture.convert("RGB")))


def test_a_palette_png_with_transparency_keeps_its_colours(tmp_path):
    picture = Image.fromarray(noise((9, 9, 3))).quantize(8)
    picture.save(tmp_path / "x.png", transparency=3)
    assert np.array_equal(load(tmp_path / "x.png"), np.asarray(picture.convert("RGB")))


@pytest.mark.parametrize("lossless", [True, False])
def test_webp_decodes_as_in_pillow(tmp_path, lossless):
    path = tmp_path / "x.webp"
    Image.fromarray(smooth(60, 90)).save(path, lossless=lossless, quality=80)
    assert levels_apart(load(path), read_rgb(path)) <= (0 if lossless else 1)


def test_webp_with_alpha_keeps_its_colours(tmp_path):
    picture = Image.fromarray(smooth(20, 30))
    picture.putalpha(Image.fromarray(smooth(20, 30)[..., 0]))
    picture.save(tmp_path / "x.webp", lossless=True, exact=True)
    assert np.array_equal(load(tmp_path / "x.webp"), np.asarray(picture.convert("RGB")))


@pytest.mark.parametrize("ending", ["jpg", "png", "webp"])
def test_the_content_counts_not_the_ending(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    Image.fromarray(smooth(20, 30)).save(path, "PNG" if ending != "png" else "JPEG")
    assert levels_apart(load(path), read_rgb(path)) <= 1


# -- resizing and cropping --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nearest", "bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("size", [(17, 23), (64, 64), (150, 111), (1, 1), (200, 40)])
def test_resize_is_pillows_within_one_level(tmp_path, name, size):
    path = save_png(tmp_path / "x.png", smooth(90, 121))
    expected = Image.open(path).resize(size[::-1], FILTERS[name])
    assert levels_apart(load(path, ps.Resize(size, name)), np.asarray(expected)) <= 1


@pytest.mark.parametrize("name", ["bilinear", "bicubic", "lanczos"])
def test_resize_of_noise_is_pillows_within_one_level(tmp_path, name):
    path = save_png(tmp_path / "x.png", noise((90, 121, 3)))
    expected = Image.open(path).resize((40, 150), FILTERS[name])
    assert levels_apart(load(path, ps.Resize((150, 40), name)), np.asarray(expected)) <= 1


def test_resize_of_a_jpeg_equals_resize_of_its_decoded_pixels(tmp_path):
    path = save_jpeg(tmp_path / "x.jpg", smooth(211, 307))
    expected = Image.open(path).resize((100, 77), Image.BILINEAR)
    assert levels_apart(load(path, ps.Resize((77, 100))), np.asarray(expected)) <= 1


def test_resize_without_antialias_samples_only_neighbours(tmp_path):
    torch = pytest.importorskip("torch")
    pixels = noise((80, 120, 3))
    path = save_png(tmp_path / "x.png", pixels)
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(pixels.copy()).permute(2, 0, 1)[None].float(), (30, 50), mode="bilinear", align_corners=False)
    got = load(path, ps.Resize((30, 50), antialias=False))
    assert levels_apart(got, expected[0].permute(1, 2, 0).round().to(torch.uint8).numpy()) <= 1


@pytest.mark.parametrize("size", [(100, 160), (160, 100), (101, 101)])
def test_resize_of_the_shorter_side_keeps_the_ratio(tmp_path, size):
    path = save_png(tmp_path / "x.png", smooth(*size))
    expected = shorter_side(Image.open(path), 64, Image.BILINEAR)
    assert levels_apart(load(path, ps.Resize(64)), np.asarray(expected)) <= 1


@pytest.mark.parametrize("crop", [(10, 10), (11, 10), (31, 44), (60, 79), (60, 80)])
def test_centre_crop_is_torchvisions_and_exact(tmp_path, crop):
    path = save_png(tmp_path / "x.png", noise((60, 80, 3)))
    expected = np.asarray(centre(Image.open(path), *crop))
    assert np.array_equal(load(path, ps.CenterCrop(crop)), expected)


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}, {"subsampling": 1},
                                     {"restart_marker_blocks": 2}])
def test_decoding_only_the_crop_of_a_jpeg_gives_the_same_pixels(tmp_path, options):
    path = save_jpeg(tmp_path / "x.jpg", noise((131, 177, 3)), quality=60, **options)
    whole = load(path)
    for height, width in ((1, 1), (17, 33), (64, 48), (100, 177), (131, 5)):
        top, left = int(round((131 - height) / 2)), int(round((177 - width) / 2))
        crop = load(path, ps.CenterCrop((height, width)))
        assert np.array_equal(crop, whole[top:top + height, left:left + width]), (height, width)
    for seed in range(8):
        crop = load(path, ps.RandomCrop((40, 50)), seed=seed)
        windows = np.lib.stride_tricks.sliding_window_view(whole, (40, 50, 3))[:, :, 0]
        assert (windows == crop).all((2, 3, 4)).any()


def test_the_evaluation_pipeline_is_pillows_and_numpys(photos):
    transform = [ps.Resize(256), ps.CenterCrop(224), ps.Normalize(MEAN, STD)]
    with ps.Loader(photos, batch_size=8, transform=transform, output="numpy") as loader:
        batch = next(iter(loader))
    assert batch.dtype == np.float32 and batch.shape == (8, 3, 224, 224)
    for path, sample in zip(sorted(photos.iterdir()), batch):
        pixels = np.asarray(centre(shorter_side(Image.open(path), 256, Image.BILINEAR), 224, 224))
        one_level = 1 / (255 * min(STD)) + 1e-5
        assert np.abs(sample - normalized(pixels)).max() <= one_level


def test_the_evaluation_pipeline_with_bicubic(photos):
    transform = [ps.Resize(96, "bicubic"), ps.CenterCrop(80)]
    with ps.Loader(photos, batch_size=8, transform=transform, output="numpy", layout="NHWC") as loader:
        batch = next(iter(loader))
    for path, sample in zip(sorted(photos.iterdir()), batch):
        assert levels_apart(sample, np.asarray(centre(shorter_side(Image.open(path), 96, Image.BICUBIC), 80, 80))) <= 1


def test_random_resized_crop_of_all_is_a_resize(tmp_path):
    path = save_jpeg(tmp_path / "x.jpg", smooth(90, 90))
    got = load(path, ps.RandomResizedCrop(40, scale=(1, 1), ratio=(1, 1)))
    assert levels_apart(got, np.asarray(Image.open(path).resize((40, 40), Image.BILINEAR))) <= 1


def coordinates(path, height, width):
    """A picture that says where each pixel was: red is x, green is y."""
    y, x = np.mgrid[0:height, 0:width]
    return save_png(path, np.stack([x, y, np.zeros_like(x)], -1).astype(np.uint8))


def test_random_resized_crop_takes_boxes_of_the_asked_area_and_ratio(tmp_path):
    path = coordinates(tmp_path / "x.png", 200, 250)
    areas, ratios, lefts = [], [], []
    for seed in range(60):
        got = load(path, ps.RandomResizedCrop(64, scale=(0.1, 0.5), ratio=(0.5, 2.0)), seed=seed).astype(float)
        # A linear picture stays linear: slope times size is the box.
        width = (got[32, 40, 0] - got[32, 20, 0]) / 20 * 64
        height = (got[40, 32, 1] - got[20, 32, 1]) / 20 * 64
        areas.append(width * height / (200 * 250))
        ratios.append(width / height)
        lefts.append(got[32, 0, 0])
    assert min(areas) > 0.08 and max(areas) < 0.55 and max(areas) - min(areas) > 0.25
    assert min(ratios) > 0.45 and max(ratios) < 2.2 and min(ratios) < 0.8 and max(ratios) > 1.25
    assert len(set(lefts)) > 20


@pytest.mark.parametrize("name", ["bilinear", "bicubic"])
def test_random_resized_crop_of_a_jpeg_is_pillows_resize_of_a_box(tmp_path, name):
    """The box is found from a picture of coordinates with the same size and draws."""
    where = coordinates(tmp_path / "where" / "x.png", 150, 220)
    path = save_jpeg(tmp_path / "what" / "x.jpg", smooth(150, 220, seed=3), quality=92)
    image = Image.open(path).convert("RGB")
    for seed in range(6):
        step = ps.RandomResizedCrop(48, scale=(0.3, 1), interpolation="nearest")
        found = load(where, step, seed=seed).astype(int)
        guess = [found[0, 0, 0], found[0, 0, 1], found[-1, -1, 0] + 1, found[-1, -1, 1] + 1]
        got = load(path, ps.RandomResizedCrop(48, scale=(0.3, 1), interpolation=name), seed=seed)
        # Nearest sampling tells the box within a few pixels; one of those boxes must fit.
        margin = range(0, 4)
        best = min(levels_apart(got, np.asarray(image.crop((l, t, r, b)).resize((48, 48), FILTERS[name])))
                   for l in (max(0, guess[0] - m) for m in margin) for t in (max(0, guess[1] - m) for m in margin)
                   for r in (min(220, guess[2] + m) for m in margin) for b in (min(150, guess[3] + m) for m in margin))
        assert best <= 1, seed


def test_a_resize_after_a_crop_does_not_see_beyond_the_crop(tmp_path):
    pixels = np.full((60, 60, 3), 255, np.uint8)
    pixels[20:40, 20:40] = 0
    path = save_png(tmp_path / "x.png", pixels)
    assert load(path, ps.CenterCrop(20), ps.Resize(10)).max() == 0


def test_resize_twice_is_pillow_twice(tmp_path):
    path = save_png(tmp_path / "x.png", smooth(90, 121))
    expected = Image.open(path).resize((50, 60), Image.BILINEAR).resize((33, 22), Image.BILINEAR)
    assert levels_apart(load(path, ps.Resize((60, 50)), ps.Resize((22, 33))), np.asarray(expected)) <= 1


def test_fast_decode_is_close_and_opt_in(tmp_path):
    path = save_jpeg(tmp_path / "x.jpg", smooth(640, 800), quality=95)
    exact = load(path, ps.Resize((60, 75))).astype(int)
    fast = load(path, ps.Decode(fast_decode=True), ps.Resize((60, 75))).astype(int)
    assert exact.shape == fast.shape
    assert np.abs(exact - fast).mean() < 3


def test_a_crop_larger_than_the_image_says_so(flat):
    with pytest.raises(ps.Error, match="20x24.*smaller.*64x64") as caught:
        with ps.Loader(flat, transform=[ps.CenterCrop(64)], output="numpy") as loader:
            next(iter(loader))
    assert caught.value.code == "shape_mismatch" and caught.value.uri.endswith("000.png")


def test_images_of_different_size_without_a_resize_say_what_to_do(photos):
    with ps.Loader(photos, batch_size=8, output="numpy") as loader:
        with pytest.raises(ps.Error, match="resize or crop") as caught:
            next(iter(loader))
    assert caught.value.code == "shape_mismatch" and caught.value.sample == 1


# -- layouts and types ------------------------------------------------------------------------------


def test_nchw_is_the_default_and_nhwc_the_same_pixels(photos):
    steps = [ps.Resize((40, 30)), ps.Normalize(MEAN, STD)]
    for cast in ({}, {"dtype": "float16"}):
        planes = load(photos, *steps, layout="NCHW", **cast)
        packed = load(photos, *steps, layout="NHWC", **cast)
        assert planes.shape == (3, 40, 30) and packed.shape == (40, 30, 3)
        assert np.array_equal(planes.transpose(1, 2, 0), packed)


def test_channels_last_is_torchs(photos):
    torch = pytest.importorskip("torch")
    steps = [ps.Resize((40, 30)), ps.Normalize(MEAN, STD)]
    with ps.Loader(photos, batch_size=8, transform=steps, output="torch", layout="channels_last") as loader:
        batch = next(iter(loader))
    assert batch.shape == (8, 3, 40, 30)
    assert batch.is_contiguous(memory_format=torch.channels_last)
    with ps.Loader(photos, batch_size=8, transform=steps, output="torch") as loader:
        assert torch.equal(next(iter(loader)), batch)


def test_channels_last_leaves_arrays_that_are_no_images_alone(tmp_path):
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(0).random((4, 3, 5, 6)).astype(np.float32)
    np.save(tmp_path / "x.npy", values)
    with ps.Loader(tmp_path / "x.npy", batch_size=4, output="torch", layout="channels_last") as loader:
        assert torch.equal(next(iter(loader)), torch.from_numpy(values))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "uint8"])
def test_dtypes_of_images(photos, name):
    torch = pytest.importorskip("torch")
    steps = [ps.Resize((40, 30))] + ([ps.Normalize(MEAN, STD)] if name != "uint8" else [])
    with ps.Loader(photos, batch_size=8, transform=steps, output="torch", dtype=name) as loader:
        batch = next(iter(loader))
    with ps.Loader(photos, batch_size=8, transform=steps, output="torch") as loader:
        plain = next(iter(loader))
    assert batch.dtype == getattr(torch, name)
    assert torch.equal(batch, plain.to(batch.dtype))


def test_a_dtype_may_be_named_by_numpy_and_torch(flat):
    torch = pytest.importorskip("torch")
    for dtype in (np.float16, np.dtype("float16"), torch.float16, "float16"):
        assert load(flat, dtype=dtype).dtype == np.float16


def test_uint8_images_to_float_keep_their_values(flat):
    assert load(flat / "007.png", dtype="float32").max() == 7
    assert load(flat / "007.png", ps.Cast("float32")).dtype == np.float32


def test_normalize_makes_float32_and_takes_one_number_for_all_channels(tmp_path):
    path = save_png(tmp_path / "x.png", noise((10, 10, 3)))
    got = load(path, ps.Normalize(0.5, 0.25))
    assert got.dtype == np.float32
    assert np.allclose(got, (read_rgb(path) / 255 - 0.5) / 0.25, atol=1e-5)
    got = load(path, ps.Normalize((0, 0, 0), (1, 1, 1), max_value=1))
    assert np.array_equal(got, read_rgb(path).astype(np.float32))


def test_normalize_of_float_arrays_divides_by_nothing(tmp_path):
    values = np.random.default_rng(0).normal(size=(3, 2, 4, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", values)
    got = load(tmp_path / "x.npy", ps.Normalize((1, 2), (3, 4)))
    assert np.allclose(got, (values[0] - np.array([1, 2])[:, None, None]) / np.array([3, 4])[:, None, None], atol=1e-6)


def test_cast_to_uint8_rounds_or_cuts_but_never_wraps(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[-5.0, 0, 3, 254, 300, 1e9]], np.float32))
    got = load(tmp_path / "x.npy", ps.Cast("uint8"))
    assert got.dtype == np.uint8 and got.tolist() == [0, 0, 3, 254, 255, 255]


def test_a_cast_in_the_middle_changes_what_follows(flat):
    got = load(flat / "007.png", ps.Cast("float32"), ps.Normalize(1, 2))
    assert got.dtype == np.float32 and np.allclose(got, 3)  # float input: max_value is 1


def test_pixels_do_not_depend_on_a_batch_mates_size(photos, tmp_path):
    steps = [ps.RandomResizedCrop(32), ps.RandomHorizontalFlip()]
    with ps.Loader(photos, batch_size=8, transform=steps, output="numpy") as loader:
        together = next(iter(loader))
    with ps.Loader(photos, batch_size=1, transform=steps, output="numpy") as loader:
        alone = np.concatenate(list(loader))
    assert np.array_equal(together, alone)


def test_a_jpeg_with_bytes_after_its_end_decodes(tmp_path):
    (tmp_path / "x.jpg").write_bytes(jpeg_bytes(smooth(30, 40)) + b"\0" * 1000)
    assert load(tmp_path / "x.jpg").shape == (30, 40, 3)
