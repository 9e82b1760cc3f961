"""Bombs for the readers of TIFF: images, volumes and the OME-XML in their descriptions."""

import struct
import zlib

from . import MAX_BYTES, Maker
from .images import CROP, WHOLE, progressive, zeros

SHORT, LONG, TEXT = 3, 4, 2
SIZES = {SHORT: 2, LONG: 4, TEXT: 1}


def tiff(*pages, data=b"", more=0):
    """Pages are dictionaries of tag: (type, values or (count, offset)); the data stand at offset 8."""
    out = bytearray(b"II*\0" + struct.pack("<I", 8 + len(data) + len(data) % 2) + data + b"\0" * (len(data) % 2))
    for number, tags in enumerate(pages):
        directory = len(out)
        tables = directory + 2 + 12 * len(tags) + 4
        entries, tail = b"", b""
        for tag, (kind, values) in sorted(tags.items()):
            if isinstance(values, tuple):  # a claim
                entries += struct.pack("<HHII", tag, kind, *values)
                continue
            raw = values if kind == TEXT else b"".join(struct.pack("<H" if kind == SHORT else "<I", v) for v in values)
            count = len(raw) // SIZES[kind]
            if len(raw) <= 4:
                entries += struct.pack("<HHI", tag, kind, count) + raw.ljust(4, b"\0")
            else:
                entries += struct.pack("<HHII", tag, kind, count, tables + len(tail))
                tail += raw + b"\0" * (len(raw) % 2)
        last = number + 1 == len(pages)
        out += struct.pack("<H", len(tags)) + entries + struct.pack("<I", more if last else tables + len(tail)) + tail
    return bytes(out)


def page(width, height, compression=1, strips=None, rows=None, **other):
    tags = {256: (LONG, [width]), 257: (LONG, [height]), 258: (SHORT, [8]), 259: (SHORT, [compression]),
            262: (SHORT, [1]), 277: (SHORT, [1]), 278: (LONG, [rows or height]),
            273: (LONG, [8] * (strips or 1)), 279: (LONG, [1000] * (strips or 1))}
    tags.update({int(key[1:]): value for key, value in other.items()})
    return tags


def with_data(data, width, height, compression, rows=None, **other):
    """All strips are the same bytes."""
    rows = rows or height
    strips = -(-height // rows)
    tags = page(width, height, compression, strips, rows, **other)
    tags[279] = (LONG, [len(data)] * strips)
    return tiff(tags, data=data)


def pack_bits(count):
    return b"\x81\0" * (count // 128 + 1)


def files():
    """Name and bytes of files that both readers meet."""
    for width, height in ((13000, 13000), (65500, 2700), (1, 65500), (4000, 4000), (2**31, 2**31)):
        for compression in (1, 5, 8, 32773, 7, 3, 50000):
            yield f"claims-{width}-{compression}", tiff(page(width, height, compression), data=bytes(1000))
    for megabytes in (10, 100, 400, 900):
        yield f"deflate-{megabytes}", with_data(zeros(megabytes << 20), 40, 40, 8)
    for side in (3000, 6000, 13000):
        yield f"flat-{side}", with_data(zeros(side * side), side, side, 8)
        yield f"one-strip-for-all-{side}", with_data(zeros(side * 8), side, side, 8, rows=8)
        yield f"runs-{side}", with_data(pack_bits(side * 40), side, side, 32773, rows=40)
    for rows in (1, 2):
        yield f"strips-{rows}", with_data(zlib.compress(bytes(3000 * rows)), 3000, 60000, 8, rows=rows)
    for scans in (3, 60, 99, 400):
        for side in (500, 2000, 4000):
            yield f"jpeg-{side}-{scans}", with_data(progressive(side, side, [(1, 1)], scans), side, side, 7)
        yield f"jpegs-{scans}", with_data(progressive(2000, 1000, [(1, 1)], scans), 2000, 30000, 7, rows=1000)
    for tag in (270, 273, 279, 305, 320, 330, 700, 34665, 65000):
        for count in (10**6, 2**31, 2**32 - 1):
            yield f"tag-{tag}-{count}", tiff(page(40, 40, 1, **{f"t{tag}": (LONG, (count, 8))}), data=bytes(1600))
    yield "tags", tiff({tag: (LONG, [0] * 3) for tag in range(256, 20000)}, data=bytes(100))
    yield "tiles", tiff(page(40, 40, 8, t322=(LONG, [60000]), t323=(LONG, [2900]), t324=(LONG, [8]),
                             t325=(LONG, [1000])), data=zeros(60000 * 2900)[:900000])
    one = page(8, 8, 1)
    one[279] = (LONG, [64])
    yield "pages", tiff(*[one] * 7000, data=bytes(64))
    yield "loop", tiff(one, data=bytes(64), more=72)


def tiff_image_bombs(folder, random):
    maker = Maker("tiff", folder)
    for name, data in files():
        if len(data) <= MAX_BYTES:
            step = WHOLE if len(maker.bombs) % 2 else CROP
            maker.add(name, data, ".tif", "ps.Files([(path, 0)])", transform=step)
    return maker.bombs


def tiff_volume_bombs(folder, random):
    maker = Maker("tiff_volume", folder)
    for name, data in files():
        if len(data) <= MAX_BYTES:
            maker.add(name, data, ".tif", "ps.Patches(path, (8, 8), per_epoch=3, memory=memory)")
    return maker.bombs


def ome(sizes, inside="", head="", order="XYCZT"):
    text = " ".join(f'Size{axis}="{size}"' for axis, size in sizes.items())
    return (f'<?xml version="1.0"?>{head}<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="i">'
            f'<Pixels DimensionOrder="{order}" Type="uint8" {text}>{inside}</Pixels></Image></OME>').encode()


def ome_bombs(folder, random):
    maker = Maker("ome_xml", folder)
    texts = {}
    for size in (10**6, 2**31, 2**63, 10**30, -1, 0):
        for axis in "XYZCT":
            texts[f"size-{axis}-{size}"] = ome({"X": 8, "Y": 8, "Z": 1, "C": 1, "T": 1} | {axis: size})
    plain = {"X": 8, "Y": 8, "Z": 1, "C": 1, "T": 1}
    lol = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
    texts["entities"] = ome(plain, "&l11;", f'<!DOCTYPE OME [<!ENTITY l0 "lol">{lol}]>')
    texts["external"] = ome(plain, "&x;", '<!DOCTYPE OME [<!ENTITY x SYSTEM "file:///dev/zero">]>')
    for count in (10, 1000, 15000):
        texts[f"planes-{count}"] = ome(plain, '<TiffData IFD="0" FirstZ="0"/>' * count)
        texts[f"plane-count-{count}"] = ome(plain, f'<TiffData PlaneCount="{count * 10**6}"/>')
        texts[f"deep-{count}"] = ome(plain, "<a>" * count)
        texts[f"attributes-{count}"] = ome(plain, "<a " + " ".join(f'a{i}="1"' for i in range(count)) + "/>")
        texts[f"spaces-{count}"] = ome(plain, " " * count * 50)
        texts[f"images-{count}"] = ome(plain).replace(b"</OME>", b"<Image/>" * count + b"</OME>")
    texts["open"] = ome(plain)[:-20] + b"<" * 500000
    texts["quotes"] = ome(plain)[:-20] + b'"' * 500000
    texts["comment"] = b"<!--" + b"-" * 800000 + ome(plain)
    for name, text in (("imagej", b"ImageJ=1.5\nimages=%d\nslices=%d\n"), ("shaped", b'{"shape": [%d, %d]}')):
        for count in (2, 10**6, 2**40, 2**63):
            texts[f"{name}-{count}"] = text % (count, count)
    for name, text in texts.items():
        one = page(8, 8, 1, t270=(TEXT, text + b"\0"))
        one[279] = (LONG, [64])
        maker.add(name, tiff(one, data=bytes(64)), ".ome.tif", "ps.Patches(path, (8, 8), memory=memory)")
    return maker.bombs
