"""Makes small images of every format and variant, and the RGB pixels that Pillow reads from each.

Run once, with the project's own environment; the files it writes to images/ are committed. They are the
cases of the conformance suite of image codecs and the first inputs of the fuzz targets.
"""

import io
import pathlib
import struct
import sys

import numpy as np
import tifffile
from PIL import Image

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "python"))

from image_files import bmp, bmp_palette, bmp_rows, gif, qoi, qoi_pixels, run_lengths, tiff, tiff_tags  # noqa: E402
from pictures import noise, smooth  # noqa: E402

WIDTH, HEIGHT = 21, 14
RGB = Image.fromarray(smooth(HEIGHT, WIDTH))
GREY = RGB.convert("L")
DOTS = Image.fromarray(noise((HEIGHT, WIDTH)) > 128)


def saved(picture, kind, **options):
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def by_tifffile(pixels, **options):
    out = io.BytesIO()
    tifffile.imwrite(out, pixels, photometric="rgb", **options)
    return out.getvalue()


def pnm(magic, values, most):
    text = f"P{magic}\n# a comment\n{WIDTH} {HEIGHT}\n" + (f"{most}\n" if most else "")
    return text.encode() + values


def cases():
    colours = np.asarray(RGB)
    letters = " ".join(map(str, (colours % 8).ravel())).encode()
    palette_tags = tiff_tags(WIDTH, HEIGHT, 4, 3)
    palette_tags[320] = (3, [int(v) for v in np.random.default_rng(1).integers(0, 65536, 48)])
    masks = struct.pack("<LLL", 0xF800, 0x7E0, 0x1F)
    return {
        "rgb.png": saved(RGB, "PNG"),
        "rgb.webp": saved(RGB, "WEBP", lossless=True),
        "rgb.tif": saved(RGB, "TIFF"),
        "lzw.tif": saved(RGB, "TIFF", compression="tiff_lzw"),
        "deflate.tif": saved(RGB.quantize(30), "TIFF", compression="tiff_adobe_deflate"),
        "packbits.tif": saved(GREY, "TIFF", compression="packbits"),
        "jpeg.tif": saved(RGB, "TIFF", compression="jpeg", quality=80),
        "cmyk.tif": saved(RGB.convert("CMYK"), "TIFF", compression="tiff_lzw"),
        "fax4.tif": saved(DOTS, "TIFF", compression="group4"),
        "tiles.tif": by_tifffile(colours, tile=(16, 16), compression="zlib"),
        "planes.tif": by_tifffile(colours.transpose(2, 0, 1), planarconfig="separate", rowsperstrip=5),
        "palette4.tif": tiff(palette_tags, noise((HEIGHT, (WIDTH + 1) // 2)).tobytes(), ">"),
        "rgb24.bmp": saved(RGB, "BMP"),
        "palette4.bmp": bmp(WIDTH, -HEIGHT, 4, bmp_rows(WIDTH, HEIGHT, 4), palette=bmp_palette(16)),
        "masks16.bmp": bmp(WIDTH, HEIGHT, 16, bmp_rows(WIDTH, HEIGHT, 16), compression=3, masks=masks),
        "runs8.bmp": bmp(WIDTH, HEIGHT, 8, run_lengths(WIDTH, HEIGHT, 8), compression=1, palette=bmp_palette(256)),
        "runs4.bmp": bmp(WIDTH, HEIGHT, 4, run_lengths(WIDTH, HEIGHT, 4), compression=2, palette=bmp_palette(16)),
        "bits.pbm": saved(DOTS, "PPM"),
        "letters.pbm": pnm(1, "".join("01"[int(dot)] for dot in np.asarray(DOTS).ravel()).encode(), None),
        "bytes.ppm": saved(RGB, "PPM"),
        "letters.ppm": pnm(3, letters, 7),
        "deep.ppm": pnm(6, (colours.astype(">u2") * 200).tobytes(), 60000),
        "rows.gif": saved(RGB, "GIF", interlace=0),
        "interlaced.gif": saved(GREY, "GIF", interlace=1),
        "placed.gif": gif((WIDTH, HEIGHT), noise((9, 12)) % 16, (4, 3), palette=noise((16, 3)).tobytes(), transparent=5),
        "rgb.qoi": saved(RGB, "QOI"),
        "ways.qoi": qoi(WIDTH, HEIGHT, qoi_pixels(WIDTH * HEIGHT), channels=4),
    }


if __name__ == "__main__":
    (HERE / "images").mkdir(exist_ok=True)
    for name, content in cases().items():
        (HERE / "images" / name).write_bytes(content)
        pixels = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
        np.save(HERE / "images" / f"{name.replace('.', '_')}.npy", np.ascontiguousarray(pixels))
