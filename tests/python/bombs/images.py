"""Bombs for the image decoders."""

import functools
import io
import struct
import zlib

from PIL import Image

from . import MAX_BYTES, Maker

CROP = "[ps.CenterCrop(16)]"
WHOLE = "[ps.Resize((16, 16))]"


class ImageMaker(Maker):
    """Each image is opened as a folder of files with one label, cropped and resized in turn."""

    ending = ""

    def image(self, name, data, thin=False):
        if len(data) > MAX_BYTES:
            return
        step = WHOLE if thin or len(self.bombs) % 2 else CROP
        self.add(name, data, self.ending, "ps.Files([(path, 0)])", transform=step)


PIECE = 1 << 20


@functools.cache
def deflated_piece(letter):
    """A megabyte of one letter as a part of a deflate stream that stands by itself and can be repeated."""
    packer = zlib.compressobj(9, wbits=-15)
    return packer.compress(letter * PIECE) + packer.flush(zlib.Z_FULL_FLUSH)


def deflated(count, letter=b"\0"):
    """A raw deflate stream of `count` times the letter, without making them."""
    packer = zlib.compressobj(9, wbits=-15)
    return deflated_piece(letter) * (count // PIECE) + packer.compress(letter * (count % PIECE)) + packer.flush()


def zeros(count, letter=b"\0"):
    """A zlib stream of `count` zeros, or of another letter."""
    check, left, piece = 1, count, letter * PIECE
    while left > 0:
        check = zlib.adler32(piece[:left], check)
        left -= PIECE
    return b"\x78\xda" + deflated(count, letter) + struct.pack(">I", check)


# -- PNG ------------------------------------------------------------------------------------------


def png_chunk(kind, body=b""):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width, height, data, depth=8, colour=2, interlaced=0, extra=b"", after=b""):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    palette = png_chunk(b"PLTE", bytes(6)) if colour == 3 else b""
    return (b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + extra + palette + png_chunk(b"IDAT", data) + after
            + png_chunk(b"IEND"))


def png_bombs(folder, random):
    maker = ImageMaker("png", folder)
    maker.ending = ".png"
    small = zlib.compress(bytes(33 * 97))
    for kind, head in ((b"zTXt", b"k\0\0"), (b"iTXt", b"k\0\1\0\0\0"), (b"iCCP", b"k\0\0")):
        for megabytes, count in ((1, 100), (7, 100), (7, 12), (64, 8), (300, 2)):
            body = head + zeros(megabytes << 20, b"a")
            many = min(count, 900_000 // (len(body) + 12))
            maker.image(f"{kind.decode()}-{megabytes}x{many}", png(32, 33, small, extra=png_chunk(kind, body) * many))
    for kind, body, count in ((b"tEXt", b"k\0" + bytes(60000), 14), (b"sPLT", b"k\0\10" + bytes(60000), 14),
                              (b"tEXt", b"k\0v", 50000), (b"aaAa", bytes(1000), 900), (b"hIST", bytes(512), 1500),
                              (b"pHYs", bytes(9), 40000), (b"tIME", bytes(7), 40000), (b"eXIf", bytes(60000), 14)):
        maker.image(f"{kind.decode()}x{count}", png(32, 33, small, extra=png_chunk(kind, body) * count))
    for megabytes in (3, 30, 100, 300, 600, 900):
        maker.image(f"surplus-{megabytes}", png(32, 33, zeros(megabytes << 20)))
    for side, depth, colour in ((13000, 1, 0), (13000, 8, 0), (8000, 8, 2), (5000, 16, 6), (13000, 8, 3), (10000, 2, 3)):
        channels = {0: 1, 2: 3, 3: 1, 6: 4}[colour]
        data = zeros((side * channels * depth + 7) // 8 * side + side)
        for interlaced in (0, 1):
            maker.image(f"flat-{side}-{depth}-{colour}-{interlaced}", png(side, side, data, depth, colour, interlaced))
    for width, height in ((65500, 2700), (2700, 65500), (1, 65500), (65500, 1), (2**31 - 1, 1), (2**31 - 1, 2**31 - 1)):
        maker.image(f"claims-{width}x{height}", png(width, height, small))
        maker.image(f"claims-{width}x{height}-interlaced", png(width, height, small, 16, 6, 1))
    maker.image("empty-chunks", png(32, 33, small, after=png_chunk(b"IDAT") * 70000))
    maker.image("long-chunk", png(32, 33, small)[:-12] + struct.pack(">I", 2**31 - 1) + b"IDAT" + bytes(100))
    for _ in range(8):
        body = bytearray(png(32, 33, small, extra=png_chunk(b"zTXt", b"k\0\0" + zeros(7 << 20, b"a")) * 20))
        body[random.randrange(8, len(body))] ^= 1 << random.randrange(8)
        maker.image("flipped", bytes(body))
    return maker.bombs


# -- JPEG -----------------------------------------------------------------------------------------


def jpeg_segment(marker, body):
    return b"\xff" + bytes([marker]) + struct.pack(">H", len(body) + 2) + body


def table(kind, lengths, symbols):
    return jpeg_segment(0xC4, bytes([kind]) + bytes(lengths) + bytes(symbols))


ONE = [1] + [0] * 15  # one code, of one bit
TABLES = (jpeg_segment(0xDB, bytes([0]) + bytes([1] * 64)) + table(0x00, ONE, [0]) + table(0x10, ONE, [0xE0]))
END = b"\xff\xd9"


def jpeg_frame(marker, width, height, sampling):
    parts = b"".join(bytes([c + 1, across << 4 | down, 0]) for c, (across, down) in enumerate(sampling))
    return jpeg_segment(marker, struct.pack(">BHHB", 8, height, width, len(sampling)) + parts)


def scan(components, first, last, high, low, bits):
    """A scan whose codes are `bits` zeros: the shortest code again and again, and runs of 2**14 blocks."""
    head = bytes([len(components)]) + b"".join(bytes([c + 1, 0]) for c in components)
    return jpeg_segment(0xDA, head + bytes([first, last, high << 4 | low])) + bytes((bits + 7) // 8)


def blocks_of(width, height, sampling, component):
    widest, tallest = (max(s[i] for s in sampling) for i in (0, 1))
    across, down = sampling[component]
    return -(-width * across // (8 * widest)) * -(-height * down // (8 * tallest))


def progressive(width, height, sampling, scans):
    """All components' first coefficients, then `scans` scans of one coefficient each."""
    out = b"\xff\xd8" + TABLES + jpeg_frame(0xC2, width, height, sampling)
    for c in range(len(sampling)):
        out += scan([c], 0, 0, 0, 0, blocks_of(width, height, sampling, c))
    for number in range(scans):
        c, k, bit = number % len(sampling), 1 + number // len(sampling) % 63, number // len(sampling) // 63
        runs = blocks_of(width, height, sampling, c) // (1 << 14) + 1
        out += scan([c], k, k, 0 if bit == 0 else 13 - bit, 12 - bit, 15 * runs)
    return out + END


def jpeg_bombs(folder, random):
    maker = ImageMaker("jpeg", folder)
    maker.ending = ".jpg"
    grey, third, quarter = [(1, 1)], [(1, 1)] * 3, [(4, 1), (1, 1), (1, 1)]
    for side in (64, 1000, 2000, 2600):
        for scans in (10, 31, 60, 200, 499, 700):
            maker.image(f"scans-{side}-{scans}", progressive(side, side, grey, scans))
    for width, height in ((1, 60000), (60000, 1), (9, 65500), (65500, 9), (2500, 60000), (60000, 2500)):
        for name, sampling in (("411", quarter), ("444", third), ("422", [(2, 1), (1, 1), (1, 1)]),
                               ("441", [(1, 4), (1, 1), (1, 1)])):
            maker.image(f"progressive-{name}-{width}x{height}", progressive(width, height, sampling, 3),
                        min(width, height) < 16)
    for width, height in ((13000, 13000), (65500, 2700), (1, 65500), (65500, 65500)):
        for marker, what in ((0xC0, "baseline"), (0xC9, "arithmetic"), (0xCA, "arithmetic-progressive")):
            last = 0 if marker == 0xCA else 63
            body = b"\xff\xd8" + TABLES + jpeg_frame(marker, width, height, grey) + scan([0], 0, last, 0, 0, 5000)
            maker.image(f"{what}-{width}x{height}", body + END, width == 1)
    small = jpeg_frame(0xC2, 16, 16, grey)
    for name, extra in (("APP1", jpeg_segment(0xE1, bytes(65000)) * 14), ("COM", jpeg_segment(0xFE, b"x") * 150000),
                        ("DHT", table(0x00, ONE, [0]) * 40000), ("DQT", TABLES[:69] * 13000),
                        ("DRI", jpeg_segment(0xDD, b"\0\1") * 150000), ("fill", b"\xff" * 900000),
                        ("ICC", jpeg_segment(0xE2, b"ICC_PROFILE\0\1\xff" + bytes(65000)) * 14),
                        ("Exif", jpeg_segment(0xE1, b"Exif\0\0MM\0*\0\0\0\10\xff\xff" + bytes(60000)) * 14)):
        maker.image(name, b"\xff\xd8" + extra + TABLES + small + scan([0], 0, 0, 0, 0, 4) + END)
    for _ in range(10):
        body = bytearray(progressive(900, 900, third, random.randrange(30, 400)))
        body[random.randrange(2, len(body))] = random.randrange(256)
        maker.image("damaged", bytes(body))
    return maker.bombs


# -- WebP -----------------------------------------------------------------------------------------


def riff(*chunks):
    body = b"WEBP" + b"".join(kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for kind, data in chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


class Bits:
    """Least significant bit first, as WebP's lossless format has them."""

    def __init__(self):
        self.value, self.count, self.out = 0, 0, bytearray()

    def put(self, value, count):
        self.value |= value << self.count
        self.count += count
        while self.count >= 8:
            self.out.append(self.value & 255)
            self.value >>= 8
            self.count -= 8

    def bytes(self):
        return bytes(self.out) + bytes([self.value]) + bytes(8)


def lossless_with_groups(across, down, groups):
    """A flat picture of 4 by 4 pixels per entry of its entropy image, with that many groups of Huffman codes."""
    bits = Bits()
    bits.put(0x2F, 8)
    bits.put(across * 4 - 1, 14)
    bits.put(down * 4 - 1, 14)
    bits.put(0, 4)  # alpha, version
    bits.put(0, 1)  # no transform
    bits.put(0, 1)  # no colour cache
    bits.put(1, 1)  # an entropy image
    bits.put(0, 3)  # of 4 by 4 pixels
    bits.put(0, 1)  # no colour cache in it
    for symbols in (256 + 24, 256):  # green and red: the first 256 symbols have codes of 8 bits
        bits.put(0, 1)
        order = (17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8)
        bits.put(len(order) - 4, 4)
        for length in order:
            bits.put(1 if length in (0, 8) else 0, 3)  # codes of the lengths 0 and 8: one bit each
        bits.put(0, 1)  # lengths of all symbols follow
        for symbol in range(symbols):
            bits.put(1 if symbol < 256 else 0, 1)
    simple = 0b0001  # one symbol, 0
    for _ in range(3):
        bits.put(simple, 4)
    turned = [int(f"{i:08b}"[::-1], 2) for i in range(256)]
    for i in range(across * down):
        group = i % groups
        bits.put(turned[group & 255], 8)
        bits.put(turned[group >> 8], 8)
    for _ in range(groups * 5):
        bits.put(simple, 4)
    return bits.bytes()


def encoded(image, **options):
    out = io.BytesIO()
    image.save(out, **options)
    return out.getvalue()


def webp_bombs(folder, random):
    maker = ImageMaker("webp", folder)
    maker.ending = ".webp"
    for across, down, groups in ((256, 256, 65536), (256, 256, 20000), (512, 128, 65536), (1024, 256, 65536),
                                 (100, 100, 10000), (64, 64, 4096), (32, 32, 1000), (512, 512, 30000)):
        maker.image(f"groups-{groups}-{across}", riff((b"VP8L", lossless_with_groups(across, down, groups))))
    for width, height in ((3000, 3000), (16383, 200), (200, 16383), (5000, 900)):
        image = Image.new("RGB", (width, height), (9, 80, 200))
        for lossless in (True, False):
            maker.image(f"flat-{width}x{height}-{lossless}", encoded(image, format="WEBP", lossless=lossless, method=0))
    small = encoded(Image.new("RGBA", (40, 30), (1, 2, 3, 99)), format="WEBP", lossless=True)
    pixels = small[small.index(b"VP8L") + 8:]
    lossy = encoded(Image.new("RGB", (40, 30), (1, 2, 3)), format="WEBP")[20:]
    claims = [(16383, 16383), (10000, 10000), (16384, 16384), (4000, 2000), (2800, 2800)]
    for width, height in claims:
        head = bytearray(pixels)
        head[1:5] = struct.pack("<I", (width - 1) & 16383 | ((height - 1) & 16383) << 14)
        maker.image(f"claims-{width}-lossless", riff((b"VP8L", bytes(head))))
        head = bytearray(lossy)
        head[6:10] = struct.pack("<HH", width & 16383, height & 16383)
        maker.image(f"claims-{width}-lossy", riff((b"VP8 ", bytes(head))))
    for flags, kind in ((0x08, b"EXIF"), (0x04, b"XMP "), (0x20, b"ICCP"), (0x08, b"ABCD")):
        extended = (b"VP8X", bytes([flags, 0, 0, 0]) + struct.pack("<I", 39)[:3] + struct.pack("<I", 29)[:3])
        for size, count in ((900000, 1), (9, 40000), (60000, 14)):
            maker.image(f"{kind.decode().strip()}-{size}", riff(extended, *[(kind, bytes(size))] * count, (b"VP8L", pixels)))
    frames = [Image.new("RGB", (400, 400), (i, 0, 0)) for i in range(60)]
    for count in (2, 20, 60):
        maker.image(f"frames-{count}", encoded(frames[0], format="WEBP", save_all=True, append_images=frames[1:count]))
    while len(maker.bombs) < 55:
        body = bytearray(lossless_with_groups(64, 64, random.randrange(2, 4096)))
        body[random.randrange(5, len(body))] ^= 1 << random.randrange(8)
        maker.image("damaged", riff((b"VP8L", bytes(body))))
    return maker.bombs


# -- GIF, BMP, PNM --------------------------------------------------------------------------------


def gif(width, height, blocks, frame=None, before=b"", interlaced=False):
    left, top, across, down = frame or (0, 0, width, height)
    head = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6)
    image = b"," + struct.pack("<HHHHB", left, top, across, down, 0x40 if interlaced else 0) + b"\x02"
    return head + before + image + blocks + b"\0;"


def lzw_zeros(pixels):
    """About `pixels` zeros in codes of growing length; giflib reads as many as it wants."""
    bits, out, size, next_code, made = Bits(), bytearray(), 3, 6, 0
    bits.put(4, 3)
    bits.put(0, 3)
    made, run = 1, 1
    while made < pixels and len(bits.out) < 400_000:
        if next_code >= 4095:
            bits.put(4, size)
            size, next_code, run = 3, 6, 1
            bits.put(0, 3)
            made += 1
            continue
        bits.put(next_code, size)
        run += 1
        made += run
        next_code += 1
        if next_code == 1 << size and size < 12:
            size += 1
    bits.put(5, size)
    data = bits.bytes()
    for at in range(0, len(data), 255):
        piece = data[at:at + 255]
        out += bytes([len(piece)]) + piece
    return bytes(out)


def gif_bombs(folder, random):
    maker = ImageMaker("gif", folder)
    maker.ending = ".gif"
    for width, height in ((13000, 13000), (65500, 2700), (2700, 65500), (5000, 5000), (65535, 65535), (3000, 3000)):
        for pixels in (100, 10_000_000, 200_000_000):
            maker.image(f"canvas-{width}-{pixels}", gif(width, height, lzw_zeros(pixels), interlaced=pixels == 10_000_000))
        maker.image(f"small-frame-{width}", gif(width, height, lzw_zeros(100), (5, 5, 4, 4)))
        maker.image(f"large-frame-{width}", gif(10, 10, lzw_zeros(1000), (5, 5, width, height)))
    for name, before in (("comment", b"!\xfe" + (b"\xff" + bytes(255)) * 3500 + b"\0"),
                         ("comments", b"!\xfe\1a\0" * 180000), ("controls", b"!\xf9\4\0\0\0\0\0" * 110000),
                         ("applications", (b"!\xff\x0bNETSCAPE2.0\3\1\0\0\0") * 45000), ("empty", b"!\xfe\0" * 300000)):
        maker.image(name, gif(20, 20, lzw_zeros(400), before=before))
    frame = b"," + struct.pack("<HHHHB", 0, 0, 3000, 3000, 0) + b"\x02" + lzw_zeros(9_000_000) + b"\0"
    for count in (2, 20):
        maker.image(f"frames-{count}", gif(3000, 3000, lzw_zeros(9_000_000))[:-1] + frame * count + b";")
    while len(maker.bombs) < 55:
        body = bytearray(gif(4000, 4000, lzw_zeros(random.randrange(10**7))))
        body[random.randrange(6, len(body))] = random.randrange(256)
        maker.image("damaged", bytes(body))
    return maker.bombs


def bmp(width, height, bits, compression, data, colours=0, header=40):
    info = struct.pack("<IiiHHIIiiII", header, width, height, 1, bits, compression, 0, 0, 0, colours, 0)
    info += bytes(header - 40)
    palette = bytes(4 * min(colours or (1 << bits), 70000)) if bits <= 8 else b""
    return b"BM" + struct.pack("<IHHI", 0, 0, 0, 14 + len(info) + len(palette)) + info + palette + data


def bmp_bombs(folder, random):
    maker = ImageMaker("bmp", folder)
    maker.ending = ".bmp"
    for width, height in ((13000, 13000), (65500, 2700), (2700, -65500), (4000, 4000), (2**31 - 1, 2**31 - 1), (1, 65500)):
        for bits, compression in ((8, 1), (4, 2), (1, 0), (24, 0), (32, 3), (8, 0)):
            data = b"\0\1" if compression in (1, 2) else bytes(1000)
            maker.image(f"claims-{width}x{height}-{bits}-{compression}", bmp(width, height, bits, compression, data))
    for name, data in (("runs", b"\xff\7" * 400000), ("jumps", b"\0\2\xff\xff" * 200000), ("rows", b"\0\0" * 400000),
                       ("plain", b"\0\xff" + bytes(256)), ("zero-jumps", b"\0\2\0\0" * 200000)):
        for bits, compression in ((8, 1), (4, 2)):
            maker.image(f"{name}-{bits}", bmp(4000, 4000, bits, compression, data))
    for colours in (65536, 65537, 2**31):
        maker.image(f"palette-{colours}", bmp(20, 20, 8, 0, bytes(400), colours))
    while len(maker.bombs) < 55:
        body = bytearray(bmp(3000, 3000, 8, 1, b"\xff\7" * random.randrange(90000)))
        body[random.randrange(14, 60)] = random.randrange(256)
        maker.image("damaged", bytes(body))
    return maker.bombs


def pnm_bombs(folder, random):
    maker = ImageMaker("pnm", folder)
    maker.ending = ".pnm"
    for kind in range(1, 7):
        most = b"" if kind in (1, 4) else b" 255"
        for size in (b"13000 13000", b"65500 2700", b"1 65500", b"9999999999 9999999999", b"4000 4000", b"3000 3000"):
            maker.image(f"P{kind}-{size.decode().replace(' ', 'x')}", b"P%d %s%s\n" % (kind, size, most) + b"0 " * 50000)
        maker.image(f"P{kind}-comments", b"P%d\n" % kind + b"#\n" * 400000 + b"16 16" + most + b"\n" + b"1 " * 800)
        maker.image(f"P{kind}-spaces", b"P%d\n" % kind + b" " * 900000 + b"16 16" + most + b"\n" + b"1 " * 800)
        maker.image(f"P{kind}-digits", b"P%d\n" % kind + b"0" * 900000 + b"16 16" + most + b"\n")
    while len(maker.bombs) < 56:
        size = b"%d %d" % (random.randrange(1, 70000), random.randrange(1, 70000))
        maker.image("claims", b"P%d %s 65535\n" % (random.randrange(1, 7), size) + b"7 " * random.randrange(200000))
    return maker.bombs


def qoi_bombs(folder, random):
    maker = ImageMaker("qoi", folder)
    maker.ending = ".qoi"
    end = bytes(7) + b"\1"

    def qoi(width, height, data, channels=3):
        return b"qoif" + struct.pack(">LLBB", width, height, channels, 0) + data + end

    for width, height in ((13000, 13000), (65500, 2700), (2700, 65500), (4000, 4000), (2**32 - 1, 2**32 - 1), (1, 65500), (0, 9)):
        for name, data in (("nothing", b""), ("runs", b"\xfd" * 400000), ("colours", b"\xfe\1\2\3" * 100000),
                           ("seen", b"\7" * 400000), ("steps", b"\x80\0" * 200000)):
            maker.image(f"{name}-{width}x{height}", qoi(width, height, data))
    while len(maker.bombs) < 55:
        body = bytearray(qoi(3000, 3000, b"\xfd" * random.randrange(150000)))
        body[random.randrange(4, 60)] = random.randrange(256)
        maker.image("damaged", bytes(body))
    return maker.bombs
