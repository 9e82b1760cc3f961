"""Decode(exif_orientation=True), held against Pillow's exif_transpose for every format that has EXIF."""

import io
import struct
import warnings
import zlib

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageOps

import penstock as ps
from pictures import smooth

PIXELS = smooth(23, 31)
ORDERS = {"little": "<", "big": ">"}


def exif(orientation, order="<", kind=3, count=1):
    """A block as cameras write it: a directory of three tags, the orientation in the middle."""
    value = struct.pack(order + {3: "HH", 4: "L", 8: "hh"}[kind], *([orientation, 0] if kind != 4 else [orientation]))
    entries = [struct.pack(order + "HHL4s", 0x010E, 2, 3, b"hi\0\0"),
               struct.pack(order + "HHL4s", 0x0112, kind, count, value),
               struct.pack(order + "HHLL", 0x011A, 5, 1, 50)]
    return (struct.pack(order + "2sHL", b"II" if order == "<" else b"MM", 42, 8) + struct.pack(order + "H", 3)
            + b"".join(entries) + struct.pack(order + "L", 0) + struct.pack(order + "LL", 72, 1))


def save(path, block):
    """As Pillow writes it, with the block as it is."""
    options = {".jpg": {"quality": 90}, ".webp": {"lossless": True}}.get(path.suffix, {})
    Image.fromarray(PIXELS).save(path, exif=b"Exif\0\0" + block if path.suffix == ".jpg" else block, **options)


def upright(path):
    """Returns the picture as Pillow turns it, or as it is stored if Pillow cannot read the EXIF data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.asarray(ImageOps.exif_transpose(Image.open(path)).convert("RGB"))
        except (SyntaxError, struct.error):
            return np.asarray(Image.open(path).convert("RGB"))


def load(path, *steps, upright=True):
    steps = [ps.Decode(exif_orientation=upright), *steps]
    with ps.Loader(path, transform=steps, layout="NHWC", output="numpy") as loader:
        return next(iter(loader))[0]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("ending", ["png", "webp", "jpg"])
def test_every_orientation_in_both_byte_orders(tmp_path, ending, orientation, order):
    path = tmp_path / f"x.{ending}"
    save(path, exif(orientation, ORDERS[order]))
    expected = upright(path)
    assert expected.shape == ((31, 23, 3) if orientation > 4 else (23, 31, 3))
    np.testing.assert_array_equal(load(path), expected)
    np.testing.assert_array_equal(load(path, upright=False), np.asarray(Image.open(path)))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("ending", ["png", "webp"])
def test_a_region_of_a_turned_picture(tmp_path, ending, orientation):
    path = tmp_path / f"x.{ending}"
    save(path, exif(orientation))
    whole = upright(path)
    top, left = round((whole.shape[0] - 9) / 2), round((whole.shape[1] - 7) / 2)
    np.testing.assert_array_equal(load(path, ps.CenterCrop((9, 7))), whole[top:top + 9, left:left + 7])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("orientation", range(1, 9))
def test_tiff_is_turned_always_as_pillow_does(tmp_path, orientation, order):
    path = tmp_path / "x.tif"
    with tifffile.TiffWriter(path, byteorder=ORDERS[order]) as writer:
        writer.write(PIXELS, photometric="rgb", extratags=[(274, 3, 1, orientation, True)])
    expected = upright(path)
    assert expected.shape == ((31, 23, 3) if orientation > 4 else (23, 31, 3))
    np.testing.assert_array_equal(load(path), expected)
    np.testing.assert_array_equal(load(path, upright=False), np.asarray(Image.open(path).convert("RGB")))


DAMAGED = {
    "nothing": b"", "one_byte": b"I", "no_tiff": b"XX*\0" + exif(6)[4:], "other_version": exif(6)[:2] + b"\x29\0" + exif(6)[4:],
    "directory_beyond": exif(6)[:4] + struct.pack("<L", 5000) + exif(6)[8:], "cut_in_the_tag": exif(6)[:30],
    "cut_behind_the_tag": exif(6)[:36], "zero": exif(0), "nine": exif(9), "as_long": exif(6, kind=4),
    "as_long_big": exif(6, ">", kind=4), "signed": exif(6, kind=8), "no_values": exif(6, count=0),
    "two_values": exif(6, count=2), "values_elsewhere": exif(6, count=900), "twice_exif": b"Exif\0\0Exif\0\0" + exif(6),
    "as_text": exif(6)[:22] + struct.pack("<HHL4s", 0x0112, 2, 2, b"6\0\0\0") + exif(6)[34:],
}


@pytest.mark.parametrize("damage", DAMAGED)
@pytest.mark.parametrize("ending", ["png", "webp"])
def test_what_makes_no_sense_is_passed_over_as_in_pillow(tmp_path, ending, damage):
    path = tmp_path / f"x.{ending}"
    try:
        save(path, DAMAGED[damage])
    except Exception:
        pytest.skip("Pillow does not write it")
    np.testing.assert_array_equal(load(path), upright(path))


def test_png_chunks_behind_the_pixels_and_with_a_wrong_checksum(tmp_path):
    out = io.BytesIO()
    Image.fromarray(PIXELS).save(out, "PNG")
    plain, block = out.getvalue(), exif(6)
    body = b"eXIf" + block
    for name, checksum in (("behind.png", zlib.crc32(body)), ("wrong.png", zlib.crc32(body) ^ 1)):
        chunk = struct.pack(">L", len(block)) + body + struct.pack(">L", checksum)
        (tmp_path / name).write_bytes(plain[:-12] + chunk + plain[-12:])
    np.testing.assert_array_equal(load(tmp_path / "behind.png"), upright(tmp_path / "behind.png"))
    assert load(tmp_path / "behind.png").shape == (31, 23, 3)
    np.testing.assert_array_equal(load(tmp_path / "wrong.png"), PIXELS)


def test_a_webp_whose_flags_deny_the_chunk(tmp_path):
    path = tmp_path / "x.webp"
    save(path, exif(6))
    raw = bytearray(path.read_bytes())
    assert raw[12:16] == b"VP8X"
    raw[20] &= ~0x08
    path.write_bytes(raw)
    np.testing.assert_array_equal(load(path), upright(path))
    assert load(path).shape == PIXELS.shape
