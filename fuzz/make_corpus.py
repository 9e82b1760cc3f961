"""Writes small seed inputs for the fuzz targets into fuzz/corpus (which is not committed).

Needs Pillow and NumPy; the golden files of the tests serve as seeds, too.
"""

import io
import json
import pathlib
import struct

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent
GOLDEN = HERE.parent / "tests" / "golden"


def put(target, name, data):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def picture(width, height, channels):
    rng = np.random.default_rng(width * height)
    return rng.integers(0, 256, (height, width, channels), dtype=np.uint8)


def encoded(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def images():
    rgb = Image.fromarray(picture(20, 13, 3))
    wide = rgb.resize((100, 70))  # has several MCUs beside and above a region
    rgba = Image.fromarray(picture(9, 7, 4), "RGBA")
    for sampling in ["4:4:4", "4:2:2", "4:2:0"]:
        for progressive in [False, True]:
            name = f"{sampling.replace(':', '')}_{'p' if progressive else 'b'}"
            jpeg = encoded(rgb, "JPEG", quality=60, subsampling=sampling, progressive=progressive)
            put("jpeg", name, jpeg)
            put("jpeg_restarts", name, jpeg)
        blocks = encoded(wide, "JPEG", quality=40, subsampling=sampling, restart_marker_blocks=2)
        put("jpeg", f"{sampling.replace(':', '')}_restart_blocks", blocks)
    put("jpeg", "restart", encoded(rgb, "JPEG", quality=50, restart_marker_rows=1))
    for name in ["exif_6.jpg", "cmyk.jpg", "grey.jpg"]:
        put("jpeg", name, (GOLDEN / name).read_bytes())
        put("jpeg_restarts", name, (GOLDEN / name).read_bytes())
    put("png", "rgb", encoded(rgb, "PNG"))
    put("png", "rgba", encoded(rgba, "PNG"))
    put("png", "grey", encoded(rgb.convert("L"), "PNG"))
    put("png", "one_bit", encoded(rgb.convert("1"), "PNG"))
    put("png", "palette", encoded(rgb.convert("P"), "PNG"))
    put("png", "deep", encoded(Image.fromarray(np.arange(60, dtype=np.uint16).reshape(6, 10) * 1000), "PNG"))
    for lossless in [False, True]:
        put("webp", f"rgb_{lossless}", encoded(rgb, "WEBP", lossless=lossless))
        put("webp", f"rgba_{lossless}", encoded(rgba, "WEBP", lossless=lossless))
    targets = {".tif": "tiff_image", ".bmp": "bmp", ".gif": "gif", ".ppm": "pnm", ".pbm": "pnm", ".qoi": "qoi"}
    for path in sorted((GOLDEN / "images").iterdir()):
        if path.suffix in targets:
            put(targets[path.suffix], path.name, path.read_bytes())


def arrays():
    for name, array in {
        "f4": np.zeros((3, 4), "<f4"),
        "big_endian": np.zeros(5, ">i8"),
        "fortran": np.asfortranarray(np.zeros((3, 4), "<c16")),
        "scalar": np.zeros((), "?"),
        "empty": np.zeros((0, 3), "<u2"),
        "dates": np.zeros(2, "M8[ns]"),
    }.items():
        for version in [(1, 0), (2, 0), (3, 0)]:
            out = io.BytesIO()
            np.lib.format.write_array(out, array, version)
            put("npy", f"{name}_{version[0]}", out.getvalue())


def index():
    def text(value):
        return struct.pack("<Q", len(value)) + value

    names = b"1.jpg22.jpg"
    body = b"PENSTIX2" + text(b"root") + b"\0"
    body += struct.pack("<Q", 2) + text(b"") + struct.pack("<q", 5) + text(b"a") + struct.pack("<q", 6)
    body += struct.pack("<Q", 2) + struct.pack("<IIQq", 0, 5, 100, 1) + struct.pack("<IIQq", 1, 6, 200, 2)
    left_out = struct.pack("<Q", 2) + text(b"") + struct.pack("<Q", 1) + text(b"txt") + struct.pack("<Q", 3) + text(b"a/LICENSE")
    put("file_index", "two", body + text(names) + left_out)


# As fuzz/codec_chain_fuzz.cpp has them.
CHAINS = [
    ["blosc"], ["gzip"], ["zlib"], ["zstd"], ["lz4"], ["crc32c"], ["zstd", "crc32c"], ["blosc", "zstd", "crc32c"],
    ["zlib", "lz4", "gzip"], ["shuffle 4", "zlib"], ["fixedscaleoffset <f8 <i4 0 4", "delta <i4 <i2", "blosc"],
    ["delta <f8 <f8", "shuffle 8", "zlib"], ["bytes >", "delta <i4 <i4"], ["delta <i4 <i2", "bytes >", "zlib"],
    ["quantize <f2 <f8"],
]  # fmt: skip


def codecs():
    content = (GOLDEN / "codecs" / "cases.bin").read_bytes()
    for case in json.loads((GOLDEN / "codecs" / "cases.json").read_text()):
        begin, size = case["encoded"]
        encoded = content[begin : begin + size]
        name = "".join(c if c.isalnum() else "_" for c in case["name"])
        if case["codecs"] == ["blosc"]:
            put("blosc_frame", name, encoded)
        if case["codecs"] in CHAINS:
            count = case["shape"][0]
            put("codec_chain", name, struct.pack("<BH", CHAINS.index(case["codecs"]), count) + encoded)


if __name__ == "__main__":
    images()
    arrays()
    index()
    codecs()
