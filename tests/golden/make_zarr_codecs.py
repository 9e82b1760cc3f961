"""Writes tests/golden/codecs: chunks encoded by numcodecs, and what numcodecs decodes from them.

Needs numcodecs (0.16.6 made what is committed) with google-crc32c or crc32c, and for what numcodecs
cannot write a libblosc.so.1 with Snappy. A case lists codecs in the order of encoding, as the test spells them:
"blosc", "shuffle 4", "delta <i4 <i2" (decoded and encoded type), "bytes >", "transpose 1 0".
"""

import ctypes
import gzip
import json
import pathlib
import struct
import zlib

import numcodecs
import numpy as np

OUT = pathlib.Path(__file__).parent / "codecs"
SHUFFLES = {"none": 0, "bytes": 1, "bits": 2}


def ramp(count, dtype):
    """Smooth with a little noise: compresses, but not to nothing."""
    noise = np.random.default_rng(count).integers(0, 3, count)
    return (np.arange(count) // 3 + noise).astype(dtype)


def case(name, codecs, array, encoded, decoded=None):
    decoded = array if decoded is None else decoded
    return {
        "name": name,
        "codecs": codecs,
        "dtype": np.dtype(array.dtype).name,
        "shape": list(array.shape),
        "encoded": bytes(encoded),
        "decoded": np.ascontiguousarray(decoded).tobytes(),
    }


def installed_blosc(array, inner, shuffle, item_bytes, block_bytes):
    library = ctypes.CDLL("libblosc.so.1")
    size_t = ctypes.c_size_t
    compress = library.blosc_compress_ctx
    compress.argtypes = [ctypes.c_int, ctypes.c_int, size_t, size_t, ctypes.c_char_p, ctypes.c_char_p, size_t,
                         ctypes.c_char_p, size_t, ctypes.c_int]
    out = ctypes.create_string_buffer(array.nbytes * 2 + 64)
    size = compress(5, shuffle, item_bytes, array.nbytes, array.tobytes(), out, len(out), inner, block_bytes, 1)
    assert size > 0
    return out.raw[:size]


def split_blosc(array, block_bytes):
    """Several blocks that are split, which the library does from 64 KiB on; last block first, and Zlib in it."""
    blocks = []
    for begin in range(0, array.nbytes, block_bytes):
        block = array.tobytes()[begin : begin + block_bytes]
        pieces = array.itemsize if len(block) == block_bytes else 1
        step = len(block) // pieces
        packed = b""
        for piece in (block[i * step : (i + 1) * step] for i in range(pieces)):
            small = zlib.compress(piece, 9)
            packed += struct.pack("<I", len(small) if len(small) < step else step)
            packed += small if len(small) < step else piece
        blocks.append(packed)
    at, begins, content = 16 + 4 * len(blocks), [], b""
    for block in reversed(blocks):
        begins.insert(0, at + len(content))
        content += block
    size = at + len(content)
    frame = struct.pack("<BBBBIII", 2, 1, 3 << 5, array.itemsize, array.nbytes, block_bytes, size)
    frame += struct.pack(f"<{len(begins)}I", *begins) + content
    assert numcodecs.Blosc().decode(frame) == array.tobytes()
    return frame


def bloscs():
    array = ramp(544, "<f4")
    for shuffle, number in SHUFFLES.items():
        for inner in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"]:
            # Zstandard: four blocks and a rest. The others: one block, the bytes of an item each for itself.
            codec = numcodecs.Blosc(cname=inner, clevel=5, shuffle=number, blocksize=512)
            yield case(f"blosc {inner} {shuffle}", ["blosc"], array, codec.encode(array))
        yield case(f"blosc snappy {shuffle}", ["blosc"], array, installed_blosc(array, b"snappy", number, 4, 512))
        codec = numcodecs.Blosc(cname="lz4", clevel=5, shuffle=number, blocksize=128)
        yield case(f"blosc lz4 blocks {shuffle}", ["blosc"], array, codec.encode(array))
    yield case("blosc split blocks", ["blosc"], array, split_blosc(array, 512))
    wide = ramp(140, "<c16")
    yield case("blosc wide items", ["blosc"], wide, numcodecs.Blosc("lz4", 5, 1).encode(wide))
    noise = np.random.default_rng(7).integers(0, 256, 700).astype("u1")
    yield case("blosc stored", ["blosc"], noise, numcodecs.Blosc("lz4", 5, 1).encode(noise))
    yield case("blosc level 0", ["blosc"], array, numcodecs.Blosc("zstd", 0, 1).encode(array))
    short = ramp(3, "<i2")
    yield case("blosc short", ["blosc"], short, numcodecs.Blosc("lz4", 5, 1).encode(short))
    # Items of the frame that are no items of the array: Zarr v2 of old wrote bytes.
    odd = ramp(1002, "<u2") // 8
    frame = numcodecs.Blosc("lz4", 5, 1, blocksize=170).encode(odd.view("V3"))
    yield case("blosc items of 3", ["blosc"], odd, frame)
    odd = odd[:1000]
    yield case("blosc last item not whole", ["blosc"], odd, installed_blosc(odd, b"lz4", 1, 3, 170))


def compressors():
    array = ramp(200, "<i4")
    yield case("plain", [], array, array.tobytes())
    yield case("gzip", ["gzip"], array, numcodecs.GZip(6).encode(array))
    half = array.nbytes // 2
    members = gzip.compress(array.tobytes()[:half], mtime=0) + gzip.compress(array.tobytes()[half:], mtime=0)
    yield case("gzip members", ["gzip"], array, members)
    yield case("gzip padded", ["gzip"], array, members + bytes(5))
    yield case("zlib", ["zlib"], array, numcodecs.Zlib(6).encode(array))
    yield case("lz4", ["lz4"], array, numcodecs.LZ4().encode(array))
    yield case("zstd", ["zstd"], array, numcodecs.Zstd(3).encode(array))
    yield case("zstd checksum", ["zstd"], array, numcodecs.Zstd(3, checksum=True).encode(array))
    both = numcodecs.Zstd(3).encode(array.tobytes()[:half]) + numcodecs.Zstd(3).encode(array.tobytes()[half:])
    yield case("zstd frames", ["zstd"], array, both)
    summed = numcodecs.CRC32C(location="end")
    yield case("crc32c", ["crc32c"], array, summed.encode(array))
    yield case("zstd crc32c", ["zstd", "crc32c"], array, summed.encode(numcodecs.Zstd(3).encode(array)))
    yield case("crc32c zstd", ["crc32c", "zstd"], array, numcodecs.Zstd(3).encode(summed.encode(array)))
    stacked = summed.encode(numcodecs.Zstd(3).encode(numcodecs.Blosc("lz4", 5, 1).encode(array)))
    yield case("blosc zstd crc32c", ["blosc", "zstd", "crc32c"], array, stacked)
    deep = numcodecs.GZip(1).encode(numcodecs.LZ4().encode(numcodecs.Zlib(1).encode(array)))
    yield case("zlib lz4 gzip", ["zlib", "lz4", "gzip"], array, deep)


def shuffles():
    for dtype in ["<u2", "<i4", "<f8", "<c16"]:
        array = ramp(75, dtype)
        size = array.itemsize
        shuffled = numcodecs.Shuffle(size).encode(array)
        yield case(f"shuffle {size}", [f"shuffle {size}"], array, shuffled)
    array = ramp(75, "<i4")
    yield case("shuffle 3", ["shuffle 3"], array, numcodecs.Shuffle(3).encode(array))
    yield case("shuffle 1", ["shuffle 1"], array, numcodecs.Shuffle(1).encode(array))
    yield case("shuffle zlib", ["shuffle 4", "zlib"], array,
               numcodecs.Zlib(3).encode(numcodecs.Shuffle(4).encode(array)))


def filtered(name, codec, words, array, encoded=None):
    encoded = codec.encode(array) if encoded is None else encoded
    return case(name, [words], array, encoded.tobytes(), codec.decode(encoded))


def filters():
    for decoded, encoded in [("<i4", "<i4"), ("<i4", "<i2"), ("<u2", "|i1"), ("|u1", "|u1"), ("<i8", "<i4"),
                             ("<u8", "<u8"), (">i4", ">i2"), (">i4", "<i2"), ("<f4", "<f4"), ("<f8", "<f4"),
                             ("<f4", "<f8"), ("<f4", "<i2"), ("<f2", "<f2"), (">f2", ">f2"), (">f8", ">f8"),
                             ("<f2", "|i1"), ("<f2", "<i2"), ("<f2", "<f8"), ("<f4", "<i4"), ("<i4", "<f4"),
                             ("<i8", "<u8"), ("<u8", "<i4")]:
        array = ramp(520, "i8")  # more than a block of ours
        array = (array * 1.1 if "f" in decoded else array).astype(decoded)
        if "f" in encoded:
            array[::7] += array.dtype.type(1)
        codec = numcodecs.Delta(decoded, encoded)
        yield filtered(f"delta {decoded} {encoded}", codec, f"delta {decoded} {encoded}", array)
    wraps = np.array([250, 3, 255, 0, 128], "u1")
    yield filtered("delta wraps", numcodecs.Delta("u1"), "delta |u1 |u1", wraps)
    zero = np.array([-0.0, -0.0, 0.0, -0.0], "<f4")
    yield filtered("delta minus zero", numcodecs.Delta("<f4"), "delta <f4 <f4", zero, zero)
    for decoded, encoded, offset, scale in [("<f8", "|u1", 0, 10), ("<f8", "<i2", 1000, 100), ("<f4", "<u2", -3.7, 7.3),
                                            ("<f4", "<i4", 0.1, 1e3), ("<f2", "|i1", 2, 3), (">f4", ">i2", 1, 9),
                                            ("<f8", "<i8", 1e6, 1e-3), ("<f4", "<f4", 0.1, 3.3),
                                            ("<f8", "<f4", 0.1, 3.3), ("<f2", "<f2", 0.1, 3.3),
                                            ("<i4", "|u1", 3, 2), ("<i2", "<f4", 3, 0.7), ("<u8", "<u8", 0, 0.5)]:
        array = (ramp(90, "f8") * 1.37).astype(decoded)
        codec = numcodecs.FixedScaleOffset(offset, scale, decoded, encoded)
        words = f"fixedscaleoffset {decoded} {encoded} {offset} {scale}"
        yield filtered(words, codec, words, array)
    for decoded, encoded in [("<f4", "<f4"), ("<f8", "<f4"), ("<f4", "<f2"), ("<f8", "<f2"), (">f8", ">f4"),
                             ("<f4", "<f8"), ("<f2", "<f8"), ("<f2", "<f4"), (">f4", "<f4")]:
        array = (ramp(90, "f8") * 1.37).astype(decoded)
        codec = numcodecs.Quantize(2, decoded, encoded)
        words = f"quantize {decoded} {encoded}"
        yield filtered(words, codec, words, array)
    # Every kind of number, and what is just between two halves.
    edges = np.array([0.0, -0.0, 1e-8, 2.0**-25, 2.0**-25 * 1.0000001, 2.0**-24, 3 * 2.0**-25, 6.09e-5, 6.104e-5, 1,
                      1 + 2.0**-11, 1 + 3 * 2.0**-11, 2047.5, 65504, 65519.99, 65520, 1e30, np.inf, -np.inf, np.nan])
    yield filtered("quantize edges", numcodecs.Quantize(2, "<f2", "<f8"), "quantize <f2 <f8", edges.astype("<f2"),
                   edges)
    every_half = np.arange(0, 65536, 197).astype("<u2").view("<f2")
    yield filtered("quantize every half", numcodecs.Quantize(2, "<f8", "<f2"), "quantize <f8 <f2",
                   every_half.astype("<f8"), every_half)


def chains():
    array = ramp(240, "<f8") * 0.5
    scale = numcodecs.FixedScaleOffset(0, 4, "<f8", "<i4")
    delta = numcodecs.Delta("<i4", "<i2")
    encoded = numcodecs.Blosc("zstd", 5, 1).encode(delta.encode(scale.encode(array)))
    yield case("scale delta blosc", ["fixedscaleoffset <f8 <i4 0 4", "delta <i4 <i2", "blosc"], array, encoded)
    same = numcodecs.Delta("<f8")
    yield case("delta shuffle zlib", ["delta <f8 <f8", "shuffle 8", "zlib"], array,
               numcodecs.Zlib(5).encode(numcodecs.Shuffle(8).encode(same.encode(array))))
    # Zarr v2: numcodecs takes the array's bytes for the filter's type. So the order of the array stays.
    big = ramp(100, ">i4")
    encoded = numcodecs.Delta("<i4").encode(big.view("<i4"))
    yield case("v2 big-endian, filter little", ["bytes >", "delta <i4 <i4"], big, encoded.tobytes())
    yield case("big-endian", ["bytes >", "zlib"], big, numcodecs.Zlib(1).encode(big))
    # Zarr v3: the filter's elements are stored as "bytes" says.
    encoded = numcodecs.Delta("<i4", "<i2").encode(big.astype("<i4")).astype(">i2")
    yield case("v3 delta, bytes big", ["delta <i4 <i2", "bytes >", "zlib"], big.astype("<i4"),
               numcodecs.Zlib(1).encode(encoded))


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        cases = [*bloscs(), *compressors(), *shuffles(), *filters(), *chains()]
    assert len({one["name"] for one in cases}) == len(cases)
    OUT.mkdir(exist_ok=True)
    content = b""  # of cases.bin; a case says where in there its bytes are
    for one in cases:
        for side in ["encoded", "decoded"]:
            at = content.find(one[side])
            if at < 0:
                at = len(content)
                content += one[side]
            one[side] = [at, len(one[side])]
    (OUT / "cases.bin").write_bytes(content)
    (OUT / "cases.json").write_text("[\n" + ",\n".join(json.dumps(one) for one in cases) + "\n]\n")
    print(len(cases), "cases,", len(content), "bytes")
