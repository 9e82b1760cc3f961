"""TIFF, BMP, GIF and QOI files byte by byte, for variants that no library writes."""

import io
import struct

import numpy as np
from PIL import Image

from pictures import noise


def tiff(entries, data, order="<"):
    """A classic TIFF with one strip; `entries` are {tag: (type, values)}."""
    sizes = {1: "B", 3: "H", 4: "L"}
    entries = {273: (4, [0]), 279: (4, [len(data)]), **entries}
    body = struct.pack(order + "2sHL", b"II" if order == "<" else b"MM", 42, 8)
    extra_at = 8 + 2 + 12 * len(entries) + 4
    extra = b""
    directory = struct.pack(order + "H", len(entries))
    lengths = [len(values) * {1: 1, 3: 2, 4: 4}[kind] for kind, values in entries.values()]
    total_extra = sum(length for length in lengths if length > 4)
    for tag, (kind, values) in sorted(entries.items()):
        if tag == 273:
            values = [extra_at + total_extra]
        raw = struct.pack(order + sizes[kind] * len(values), *values)
        if len(raw) <= 4:
            value = raw.ljust(4, b"\0")
        else:
            value = struct.pack(order + "L", extra_at + len(extra))
            extra += raw
        directory += struct.pack(order + "HHL", tag, kind, len(values)) + value
    return body + directory + b"\0\0\0\0" + extra + data


def tiff_tags(width, height, bits, photometric, samples=1, **more):
    tags = {256: (3, [width]), 257: (3, [height]), 258: (3, [bits] * samples), 259: (3, [1]), 262: (3, [photometric]),
            277: (3, [samples])}
    return tags | more


def bmp(width, height, bits, data, *, compression=0, palette=b"", masks=b"", colours=0, header=40, offset=None):
    if header == 12:
        info = struct.pack("<LHHHH", 12, width, height, 1, bits)
    else:
        info = struct.pack("<LllHHLLLLLL", header, width, height, 1, bits, compression, len(data), 0, 0, colours, 0)
        if header > 40:
            info += masks.ljust(header - 40, b"\0")
            masks = b""
    begin = 14 + len(info) + len(masks) + len(palette) if offset is None else offset
    return b"BM" + struct.pack("<LLL", 0, 0, begin) + info + masks + palette + data


def bmp_rows(width, height, bits, seed=0):
    return noise((height, (width * bits + 31) // 32 * 4), seed=seed).tobytes()


def bmp_palette(colours, entry=4):
    return noise((colours, entry), seed=9).tobytes()


def run_lengths(width, height, bits, seed=0):
    """Runs, pixels one by one, jumps and ends of rows, mixed at random."""
    random = np.random.default_rng(seed)
    out = bytearray()
    for y in range(height):
        x = 0
        while x < width:
            left = width - x
            kind = random.integers(0, 4)
            count = int(random.integers(1, min(left, 9) + 1))
            if kind == 0 and count >= 3:
                stored = (count + 1) // 2 if bits == 4 else count
                out += bytes([0, count]) + random.integers(0, 256, stored).astype(np.uint8).tobytes()
                out += b"\0" * (stored % 2)
            elif kind == 1:
                out += bytes([0, 2, count, 0])
            else:
                out += bytes([count, int(random.integers(0, 256))])
            x += count
        out += b"\0\0"
    return bytes(out) + b"\0\1"


def gif(screen, frame, place, *, palette=b"", local=b"", transparent=None):
    """A first frame that need not cover the canvas; the codes are Pillow's own."""
    out = io.BytesIO()
    Image.fromarray(frame).save(out, "GIF", interlace=0)
    raw = out.getvalue()
    image_at = raw.index(b"," + struct.pack("<HHHH", 0, 0, frame.shape[1], frame.shape[0]))
    flags = raw[image_at + 9]
    codes = raw[image_at + 10 + ((3 << (flags & 7) + 1) if flags & 128 else 0):]

    def bits(table):
        return 0x80 | ((len(table) // 3).bit_length() - 2) if table else 0

    header = b"GIF89a" + struct.pack("<HHBBB", *screen, bits(palette), 3, 0) + palette
    if transparent is not None:
        header += b"!\xf9\x04" + bytes([1, 0, 0, transparent]) + b"\0"
    return (header + b"," + struct.pack("<HHHHB", *place, frame.shape[1], frame.shape[0], bits(local)) + local + codes)


def qoi(width, height, data, *, channels=3, colour_space=0, end=b"\0" * 7 + b"\1"):
    return b"qoif" + struct.pack(">LLBB", width, height, channels, colour_space) + data + end


def qoi_pixels(pixels, seed=0):
    """All ways to say a pixel, mixed at random."""
    random = np.random.default_rng(seed)
    out = bytearray()
    left = pixels
    while left > 0:
        way = random.integers(0, 6)
        if way == 0:
            run = min(int(random.integers(1, 63)), left)
            out.append(0xC0 | run - 1)
            left -= run
            continue
        some = random.integers(0, 256, 4).astype(np.uint8).tobytes()
        out += {1: b"\xfe" + some[:3], 2: b"\xff" + some, 3: bytes([some[0] & 63]), 4: bytes([64 | some[0] & 63]),
                5: bytes([128 | some[0] & 63, some[1]])}[int(way)]
        left -= 1
    return bytes(out)
