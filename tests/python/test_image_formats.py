"""BMP, PNM, GIF and QOI images, held against Pillow pixel by pixel."""

import io
import struct
import tarfile

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from as_pillow import DOTS, HEIGHT, PICTURES, WIDTH, check, load
from image_files import bmp, bmp_palette, bmp_rows, gif, qoi, qoi_pixels, run_lengths
from pictures import noise
from records import example, write_tfrecord

# -- BMP --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["grey", "rgb", "rgba", "palette", "one_bit"])
def test_bmp_as_pillow_writes_it(tmp_path, kind):
    path = tmp_path / "x.bmp"
    PICTURES[kind].save(path)
    check(path)


MASKS = {
    "565": (16, (0xF800, 0x7E0, 0x1F)), "555": (16, (0x7C00, 0x3E0, 0x1F)),
    "bgrx": (32, (0xFF0000, 0xFF00, 0xFF)), "xbgr": (32, (0xFF000000, 0xFF0000, 0xFF00)),
}


@pytest.mark.parametrize("height", [HEIGHT, -HEIGHT], ids=["bottom_up", "top_down"])
@pytest.mark.parametrize("bits", [1, 4, 8, 16, 24, 32])
def test_bmp_of_any_depth(tmp_path, bits, height):
    path = tmp_path / "x.bmp"
    palette = bmp_palette(1 << bits) if bits <= 8 else b""
    path.write_bytes(bmp(WIDTH, height, bits, bmp_rows(WIDTH, HEIGHT, bits), palette=palette))
    check(path)


@pytest.mark.parametrize("header", [40, 56, 108, 124])
@pytest.mark.parametrize("masks", MASKS)
def test_bmp_with_colour_masks(tmp_path, masks, header):
    bits, values = MASKS[masks]
    path = tmp_path / "x.bmp"
    path.write_bytes(bmp(WIDTH, HEIGHT, bits, bmp_rows(WIDTH, HEIGHT, bits), compression=3, header=header,
                         masks=struct.pack("<LLL", *values)))
    check(path)


def test_bmp_of_os2_and_with_few_colours(tmp_path):
    path = tmp_path / "x.bmp"
    path.write_bytes(bmp(WIDTH, HEIGHT, 4, bmp_rows(WIDTH, HEIGHT, 4), palette=bmp_palette(16, 3), header=12))
    check(path)
    path.write_bytes(bmp(WIDTH, HEIGHT, 8, bmp_rows(WIDTH, HEIGHT, 8), palette=bmp_palette(20), colours=20))
    check(path)  # numbers beyond the palette


def test_bmp_whose_offset_forgets_the_palette(tmp_path):
    path = tmp_path / "x.bmp"
    path.write_bytes(bmp(WIDTH, HEIGHT, 8, bmp_rows(WIDTH, HEIGHT, 8), palette=bmp_palette(256), offset=54))
    check(path)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("seed", range(4))
def test_bmp_with_run_lengths(tmp_path, bits, seed):
    path = tmp_path / "x.bmp"
    path.write_bytes(bmp(WIDTH, HEIGHT, bits, run_lengths(WIDTH, HEIGHT, bits, seed), compression=3 - bits // 4,
                         palette=bmp_palette(1 << bits)))
    check(path)


@pytest.mark.parametrize("content, message", [
    (bmp(4, 4, 2, bytes(16)), "2 bits"), (bmp(4, 4, 24, bytes(48), compression=4), "compression 4"),
    (bmp(4, 4, 24, bytes(47)), "truncated"), (bmp(4, 4, 8, b"\4\1", compression=1, palette=bytes(1024)), "truncated"),
    (bmp(0, 4, 24, b""), "no pixels"), (bmp(60000, 60000, 24, b""), "60000x60000"),
])
def test_a_bmp_that_is_not_read_says_why(tmp_path, content, message):
    (tmp_path / "x.bmp").write_bytes(content)
    with pytest.raises(ps.Error, match=message):
        load(tmp_path / "x.bmp")


# -- PNM --------------------------------------------------------------------------------------------


def plain(values):
    return "\n".join(" ".join(map(str, row.ravel())) for row in values).encode()


@pytest.mark.parametrize("most", [1, 7, 100, 255])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("text", [True, False])
def test_pnm_of_one_byte(tmp_path, most, channels, text):
    values = noise((HEIGHT, WIDTH, channels)) % np.uint16(most + 1)
    magic = {(1, True): 2, (3, True): 3, (1, False): 5, (3, False): 6}[channels, text]
    path = tmp_path / ("x.pgm" if channels == 1 else "x.ppm")
    path.write_bytes(f"P{magic}\n# made by hand\n{WIDTH} {HEIGHT} # size\n{most}\n".encode()
                     + (plain(values) if text else values.astype(np.uint8).tobytes()))
    check(path)


@pytest.mark.parametrize("most", [256, 1000, 65535])
@pytest.mark.parametrize("text", [True, False])
def test_pnm_of_two_bytes(tmp_path, most, text):
    values = np.random.default_rng(0).integers(0, most + 1, (HEIGHT, WIDTH, 3)).astype(">u2")
    path = tmp_path / "x.pnm"
    path.write_bytes(f"P{3 if text else 6} {WIDTH} {HEIGHT} {most}\n".encode()
                     + (plain(values) if text else values.tobytes()))
    check(path)
    # Pillow has no 8-bit form of deep grey; it is scaled as colours are.
    grey = np.repeat(values[:, :, :1], 3, -1)
    path.write_bytes(f"P6 {WIDTH} {HEIGHT} {most}\n".encode() + grey.tobytes())
    expected = np.asarray(Image.open(path))
    path.write_bytes(f"P5 {WIDTH} {HEIGHT} {most}\n".encode() + np.ascontiguousarray(values[:, :, 0]).tobytes())
    np.testing.assert_array_equal(load(path), expected)


def test_pbm(tmp_path):
    path = tmp_path / "x.pbm"
    PICTURES["one_bit"].save(path)
    check(path)
    path.write_bytes(f"P1\n{WIDTH} {HEIGHT}\n".encode() + "".join("01"[int(dot)] for dot in DOTS.ravel()).encode())
    check(path)


@pytest.mark.parametrize("content, message", [
    (b"P5 4 4 255\n" + bytes(15), "truncated"), (b"P2 2 1 9\n3", "truncated"), (b"P2 2 1 9\n3 10", "is 10"),
    (b"P2 2 1 9\n3 x", "not a number"), (b"P5 4 4 70000\n", "70000"), (b"P1 2 1\n02", "0 or 1"),
])
def test_a_pnm_that_is_not_read_says_why(tmp_path, content, message):
    (tmp_path / "x.pnm").write_bytes(content)
    with pytest.raises(ps.Error, match=message):
        load(tmp_path / "x.pnm")


# -- GIF --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interlace", [0, 1])
@pytest.mark.parametrize("kind", ["grey", "rgb", "palette", "one_bit"])
def test_gif_as_pillow_writes_it(tmp_path, kind, interlace):
    path = tmp_path / "x.gif"
    PICTURES[kind].save(path, interlace=interlace)
    check(path)


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (40, 5), (9, 64)])
def test_small_interlaced_gifs(tmp_path, size):
    path = tmp_path / "x.gif"
    Image.fromarray(noise((size[1], size[0]))).save(path, interlace=1)
    check(path)


GLOBAL, LOCAL = noise((16, 3), seed=5).tobytes(), noise((32, 3), seed=6).tobytes()
GREYS = bytes(level for level in range(16) for _ in range(3))
FRAMES = {
    "global": {"palette": GLOBAL}, "both": {"palette": GLOBAL, "local": LOCAL}, "local": {"local": LOCAL}, "none": {},
    "greys": {"palette": GREYS},
    "transparent": {"palette": GLOBAL, "transparent": 5},
    "transparent_local": {"palette": GLOBAL, "local": LOCAL, "transparent": 0},
}


@pytest.mark.parametrize("colours", FRAMES)
@pytest.mark.parametrize("screen, place", [((20, 15), (3, 2)), ((12, 10), (0, 0)), ((5, 5), (2, 1)), ((40, 30), (0, 0))])
def test_a_frame_on_its_canvas(tmp_path, screen, place, colours):
    path = tmp_path / "x.gif"
    frame = noise((10, 12), seed=1) % 40  # some numbers are beyond the palettes
    path.write_bytes(gif(screen, frame, place, **FRAMES[colours]))
    check(path)


def test_a_local_palette_of_greys_goes_before_the_global_one(tmp_path):
    """Pillow shows the global colours here, against the format."""
    path = tmp_path / "x.gif"
    frame = noise((10, 12), seed=1) % 16
    path.write_bytes(gif((12, 10), frame, (0, 0), palette=GLOBAL, local=GREYS))
    np.testing.assert_array_equal(load(path), np.repeat(frame[:, :, None], 3, -1))


def test_the_first_frame_of_an_animation(tmp_path):
    path = tmp_path / "x.gif"
    PICTURES["palette"].save(path, save_all=True, append_images=[PICTURES["grey"]], duration=40)
    check(path)


def test_a_cut_gif_is_noticed_whatever_region_is_wanted(tmp_path):
    path = tmp_path / "x.gif"
    Image.fromarray(noise((64, 64))).save(path)
    raw = path.read_bytes()
    path.write_bytes(raw[:len(raw) - 100])
    for steps in ([], [ps.CenterCrop(8)]):
        with pytest.raises(ps.Error, match="GIF"):
            load(path, *steps)


# -- QOI --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rgb", "rgba"])
def test_qoi_as_pillow_writes_it(tmp_path, kind):
    path = tmp_path / "x.qoi"
    PICTURES[kind].save(path)
    check(path)


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_qoi_with_every_kind_of_pixel(tmp_path, seed, channels):
    path = tmp_path / "x.qoi"
    path.write_bytes(qoi(WIDTH, HEIGHT, qoi_pixels(WIDTH * HEIGHT, seed), channels=channels, colour_space=seed % 2))
    check(path)


@pytest.mark.parametrize("content, message", [
    (qoi(4, 4, b"\xcf", channels=5), "channels"), (qoi(4, 4, b"\xcf", colour_space=2), "colour space"),
    (qoi(0, 4, b""), "no pixels"), (qoi(60000, 60000, b""), "60000x60000"), (qoi(100, 100, b"\xcf"), "truncated"),
    (qoi(4, 4, b"\xce\xfe\1\2", end=b"\0\0\0\0\0\0\1"), "truncated"), (qoi(4, 4, b"\xcf", end=b"\0" * 7), "truncated"),
    (qoi(4, 4, b"\xcf", end=b"\0" * 8), "end marker"), (qoi(4, 4, b"\xd0"), "end marker"),
])
def test_a_qoi_that_is_not_read_says_why(tmp_path, content, message):
    (tmp_path / "x.qoi").write_bytes(content)
    with pytest.raises(ps.Error, match=message):
        load(tmp_path / "x.qoi")


def test_a_qoi_is_no_mask(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "masks").mkdir()
    PICTURES["rgb"].save(tmp_path / "images" / "a.png")
    PICTURES["rgb"].save(tmp_path / "masks" / "a.qoi")
    source = ps.ImageFolder(tmp_path / "images", masks=tmp_path / "masks")
    with pytest.raises(ps.Error, match="QOI stores colours"), ps.Loader(source, output="numpy") as loader:
        next(iter(loader))


# -- where images come from ---------------------------------------------------------------------------

ENDINGS = ["tif", "tiff", "bmp", "gif", "ppm", "qoi"]


def encoded(ending):
    out = io.BytesIO()
    PICTURES["rgb"].save(out, {"tif": "TIFF", "tiff": "TIFF", "bmp": "BMP", "gif": "GIF", "ppm": "PPM", "qoi": "QOI"}[ending])
    return out.getvalue()


def pixels(content):
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))


def test_class_folders_have_them_beside_others(tmp_path):
    for number, ending in enumerate(ENDINGS):
        folder = tmp_path / ("cat" if number % 2 else "dog")
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.{ending}").write_bytes(encoded(ending))
    source = ps.ImageFolder(tmp_path)
    assert len(source) == 6 and source.classes == ["cat", "dog"]
    with ps.Loader(source, batch_size=6, fields=["image", "key"], layout="NHWC", output="numpy") as loader:
        (images, keys), = loader
    for image, key in zip(images, keys):
        np.testing.assert_array_equal(image, pixels((tmp_path / key).read_bytes()))


@pytest.mark.parametrize("ending", ENDINGS)
def test_tar_tables_and_records_have_them(tmp_path, ending):
    content = encoded(ending)
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        member = tarfile.TarInfo(f"a.{ending}")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    (tmp_path / f"a.{ending}").write_bytes(content)
    (tmp_path / "table.csv").write_text(f"image,label\na.{ending},4\n")
    write_tfrecord(tmp_path / "x.tfrecord", [example(picture=[content], label=[4])])
    for path, field in [("x.tar", ending), ("table.csv", "image"), ("x.tfrecord", "picture")]:
        source = ps.open_source(tmp_path / path)
        assert source.fields[field] == "image", path
        with ps.Loader(source, fields=[field], layout="NHWC", output="numpy") as loader:
            (image,), = loader
        np.testing.assert_array_equal(image[0], pixels(content))


@pytest.mark.parametrize("ending, kind", [("tif", "TIFF"), ("bmp", "BMP"), ("gif", "GIF"), ("pgm", "PPM")])
def test_masks_are_numbers_of_classes(tmp_path, ending, kind):
    classes = noise((HEIGHT, WIDTH)) % 7
    (tmp_path / "images").mkdir()
    (tmp_path / "masks").mkdir()
    PICTURES["rgb"].save(tmp_path / "images" / "a.png")
    mask = Image.fromarray(classes)
    if kind == "GIF":
        mask = mask.convert("P")
        mask.putpalette(bytes(range(21)))
    mask.save(tmp_path / "masks" / f"a.{ending}", kind)
    stored = np.asarray(Image.open(tmp_path / "masks" / f"a.{ending}"))
    source = ps.ImageFolder(tmp_path / "images", masks=tmp_path / "masks")
    with ps.Loader(source, output="numpy") as loader:
        (_, masks), = loader
    np.testing.assert_array_equal(masks[0], stored)
