"""TIFF files as images, held against Pillow and tifffile pixel by pixel."""

import struct

import numpy as np
import pytest
import tifffile
from PIL import Image

import penstock as ps
from as_pillow import DOTS, GREY, HEIGHT, PICTURES, RGB, WIDTH, check, load
from image_files import tiff, tiff_tags
from pictures import noise


@pytest.mark.parametrize("compression", [None, "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits"])
@pytest.mark.parametrize("kind", PICTURES)
def test_tiff_without_loss(tmp_path, kind, compression):
    path = tmp_path / "x.tif"
    PICTURES[kind].save(path, compression=compression)
    check(path)


@pytest.mark.parametrize("kind", ["grey", "rgb", "cmyk"])
def test_tiff_with_jpeg(tmp_path, kind):
    path = tmp_path / "x.tiff"
    PICTURES[kind].save(path, compression="jpeg", quality=80)
    check(path)


@pytest.mark.parametrize("compression", ["group3", "group4", "tiff_ccitt"])
def test_tiff_of_a_fax(tmp_path, compression):
    path = tmp_path / "x.tif"
    PICTURES["one_bit"].save(path, compression=compression)
    check(path)


@pytest.mark.parametrize("options", [
    {"tile": (16, 16)}, {"tile": (16, 32), "compression": "zlib"}, {"rowsperstrip": 4},
    {"rowsperstrip": 5, "compression": "zlib"}, {"planarconfig": "separate"}, {"byteorder": ">", "compression": "zlib"},
    {"planarconfig": "separate", "tile": (16, 16), "compression": "zlib"}, {"bigtiff": True}], ids=str)
def test_tiff_as_tifffile_writes_it(tmp_path, options):
    path = tmp_path / "x.tif"
    pixels = RGB.transpose(2, 0, 1) if options.get("planarconfig") == "separate" else RGB
    for_file = {name: options[name] for name in ("byteorder", "bigtiff") if name in options}
    with tifffile.TiffWriter(path, **for_file) as writer:
        writer.write(pixels, photometric="rgb", **{k: v for k, v in options.items() if k not in for_file})
    # Pillow cannot read planes in tiles: the pixels are those that were written.
    if options.get("planarconfig") == "separate" and "tile" in options:
        np.testing.assert_array_equal(load(path), RGB)
        np.testing.assert_array_equal(load(path, ps.CenterCrop((9, 7))), RGB[10:19, 15:22])
    else:
        check(path)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("bits", [1, 2, 4, 8])
@pytest.mark.parametrize("photometric", [0, 1, 3])
def test_tiff_of_few_bits(tmp_path, bits, photometric, order):
    path = tmp_path / "x.tif"
    row_bytes = (WIDTH * bits + 7) // 8
    tags = tiff_tags(WIDTH, HEIGHT, bits, photometric)
    if photometric == 3:
        tags[320] = (3, [int(v) for v in np.random.default_rng(1).integers(0, 65536, 3 << bits)])
    path.write_bytes(tiff(tags, noise((HEIGHT, row_bytes)).tobytes(), order))
    check(path)


@pytest.mark.parametrize("alpha", [0, 1, 2])
def test_tiff_with_alpha_premultiplied_or_not(tmp_path, alpha):
    path = tmp_path / "x.tif"
    pixels = noise((HEIGHT, WIDTH, 4), seed=3)
    pixels[:3, :, 3] = 0
    pixels[3:5, :, 3] = 255
    tags = tiff_tags(WIDTH, HEIGHT, 8, 2, 4)
    tags[338] = (3, [alpha])
    path.write_bytes(tiff(tags, pixels.tobytes()))
    check(path)


def test_tiff_with_bits_in_reverse(tmp_path):
    path = tmp_path / "x.tif"
    tags = tiff_tags(WIDTH, HEIGHT, 1, 1)
    tags[266] = (3, [2])
    path.write_bytes(tiff(tags, noise((HEIGHT, (WIDTH + 7) // 8)).tobytes()))
    check(path)


def test_colours_of_16_bits_are_as_in_pillow(tmp_path):
    path = tmp_path / "x.tif"
    deep = np.random.default_rng(0).integers(0, 65536, (HEIGHT, WIDTH, 3)).astype(np.uint16)
    tifffile.imwrite(path, deep, photometric="rgb")
    check(path)


def test_grey_of_16_bits_is_as_in_a_png(tmp_path):
    deep = np.random.default_rng(0).integers(0, 65536, (HEIGHT, WIDTH)).astype(np.uint16)
    tifffile.imwrite(tmp_path / "x.tif", deep, photometric="minisblack")
    Image.fromarray(deep).save(tmp_path / "x.png")
    np.testing.assert_array_equal(load(tmp_path / "x.tif"), load(tmp_path / "x.png"))
    np.testing.assert_array_equal(load(tmp_path / "x.tif")[:, :, 0], deep >> 8)


def test_the_first_page_of_several(tmp_path):
    path = tmp_path / "x.tif"
    PICTURES["rgb"].save(path, save_all=True, append_images=[PICTURES["grey"]])
    check(path)


@pytest.mark.parametrize("write, message", [
    (lambda path: tifffile.imwrite(path, np.zeros((4, 5), np.float32)), "floating-point"),
    (lambda path: tifffile.imwrite(path, np.zeros((4, 5), np.uint32)), "32 bits"),
    (lambda path: tifffile.imwrite(path, np.zeros((4, 5, 12), np.uint8), photometric="minisblack",
                                   planarconfig="contig"), "12 samples"),
    (lambda path: Image.fromarray(RGB).convert("LAB").save(path), "L\\*a\\*b"),
    (lambda path: Image.fromarray(RGB).save(path, compression="lzma"), "compression 34925"),
])
def test_a_tiff_that_is_not_read_says_what_it_is(tmp_path, write, message):
    path = tmp_path / "x.tif"
    write(path)
    with pytest.raises(ps.Error, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_tags_that_claim_more_than_the_file_are_refused(tmp_path):
    path = tmp_path / "x.tif"
    tags = tiff_tags(8, 8, 8, 1) | {40000 + i: (1, list(range(50))) for i in range(50)}
    path.write_bytes(tiff(tags, bytes(64)))
    check(path)
    raw = bytearray(path.read_bytes())
    first = raw.find(struct.pack("<HH", 40000, 1))
    place = raw[first + 8:first + 12]
    for i in range(50):  # all over the same bytes, and longer than they were
        at = raw.find(struct.pack("<HH", 40000 + i, 1))
        raw[at + 4:at + 12] = struct.pack("<L", 600) + place
    path.write_bytes(raw)
    with pytest.raises(ps.Error, match="claims more data"):
        load(path)
