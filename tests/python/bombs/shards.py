"""Bombs for shards and records: tar, TFRecord and tf.train.Example, plain and compressed, and kept indexes."""

import gzip
import struct
import tarfile
import zlib

import numcodecs

from records import example, feature, frame, masked_crc, tar_bytes, varint

from . import MAX_BYTES, Maker
from .images import deflated


def tar(files):
    return tar_bytes(files, tarfile.USTAR_FORMAT)


def header(name, size, kind=b"0"):
    info = tarfile.TarInfo(name)
    info.type = kind
    raw = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    raw[124:136] = b"\x80" + size.to_bytes(11, "big") if size >= 1 << 33 else b"%011o\0" % size
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    return bytes(raw)


def padded(data):
    return data + bytes(-len(data) % 512)


def pax(records):
    body = b"".join(records)
    return header("pax", len(body), b"x") + padded(body)


def pax_record(key, value):
    length = len(key) + len(value) + 3
    while len(str(length)) + len(key) + len(value) + 3 != length:
        length = len(str(length)) + len(key) + len(value) + 3
    return b"%d %s=%s\n" % (length, key, value)


END = bytes(1024)
MEGABYTE = bytes(1 << 20)
SMALL = header("a.cls", 1) + padded(b"1")


def tar_files():
    """Name and pieces of archives: pieces are bytes, or a number of zeros."""
    for size in (2**31, 2**33 - 1, 2**40, 2**62, 2**33):
        yield f"size-{size}", [header("a.bin", size), bytes(2000)]
        yield f"pax-size-{size}", [pax([pax_record(b"size", b"%d" % size)]), header("a.bin", 5), bytes(2000)]
    for size in (1 << 16, 1 << 20, (1 << 20) + 1, 64 << 20, 400 << 20):
        for kind, name in ((b"x", "pax"), (b"g", "global"), (b"L", "name"), (b"K", "link")):
            yield f"{name}-{size}", [header(name, size, kind), size, SMALL, END]
    for count in (1000, 100_000):
        yield f"members-{count}", [b"".join(header(f"{i}.cls", 0) for i in range(min(count, 1800))), END]
    for count in (20, 100, 300):
        long_name = [pax_record(b"path", b"%d" % count + b"n" * 1_000_000 + b".cls") for count in range(count)]
        yield f"names-{count}", [piece for record in long_name for piece in (pax([record]) + header("a.cls", 0),)] + [END]
    yield "pax-records", [pax([pax_record(b"k%d" % i, b"v") for i in range(60000)]), SMALL, END]
    yield "fields", [b"".join(header(f"a.f{i}", 0) for i in range(1500)), END]
    yield "long-names", [b"".join(header("n" * 90 + f"{i}.x{i}", 0) for i in range(1500)), END]
    yield "links", [b"".join(header(f"a{i}.cls", 0, b"2") for i in range(1500)), END]
    yield "sparse", [header("a.bin", 10**9, b"S"), END]
    yield "no-end", [SMALL * 900]
    for size in (100 << 20, 300 << 20, 700 << 20):
        yield f"zeros-{size >> 20}", [header("a.bin", size), size, END]
        yield f"text-{size >> 20}", [header("a.txt", size), size, END]
        yield f"json-{size >> 20}", [header("a.json", size), size, END]
        yield f"class-{size >> 20}", [header("a.cls", size), size, END]
        yield f"image-{size >> 20}", [header("a.png", size), b"\x89PNG\r\n\x1a\n", size - 8, END]
        yield f"array-{size >> 20}", [header("a.npy", size), b"\x93NUMPY\1\0\xff\xff", size - 10, END]
        yield f"behind-{size >> 20}", [SMALL, END, size]


def plain_bytes(pieces):
    if sum(piece if isinstance(piece, int) else len(piece) for piece in pieces) > MAX_BYTES:
        return None
    return b"".join(bytes(piece) if isinstance(piece, int) else piece for piece in pieces)


def gzip_of_zeros(count):
    check, left = 0, count
    while left > 0:
        check = zlib.crc32(MEGABYTE[:left], check)
        left -= len(MEGABYTE)
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + deflated(count) + struct.pack("<II", check, count & 0xFFFFFFFF)


def gzipped(pieces):
    """One gzip member for each run of bytes, and one for each run of zeros."""
    return b"".join(gzip_of_zeros(piece) if isinstance(piece, int) else gzip.compress(piece, 6) for piece in pieces)


def zstandard(pieces):
    """One frame for each piece, and one for each 8 MiB of zeros."""
    codec = numcodecs.Zstd(level=1)
    part = 8 << 20
    whole = codec.encode(bytes(part))
    out = []
    for piece in pieces:
        if isinstance(piece, int):
            out += [whole] * (piece // part) + ([codec.encode(bytes(piece % part))] if piece % part else [])
        else:
            out.append(codec.encode(piece))
    return b"".join(out)


def tar_bombs(folder, random, parser, ending, pack):
    maker = Maker(parser, folder)
    small = plain_bytes([SMALL, header("b.cls", 1), padded(b"2"), END])
    for name, pieces in tar_files():
        data = pack(pieces)
        if data is not None and len(data) <= MAX_BYTES:
            maker.add(name, data, ending, "path")
    while len(maker.bombs) < 55:
        body = bytearray(small)
        at = random.randrange(len(small) - 12)
        body[at:at + 12] = random.choice((b"77777777777\0", b"\x80" + b"\xff" * 11, b"\xff" * 12))
        if random.random() < 0.7:  # a checksum that fits
            start = at // 512 * 512
            body[start + 148:start + 156] = b" " * 8
            body[start + 148:start + 156] = b"%06o\0 " % (sum(body[start:start + 512]) & 0o777777)
        maker.add("lies", pack([bytes(body)]), ending, "path")
    return maker.bombs


# -- TFRecord -------------------------------------------------------------------------------------


def length_of(size):
    raw = struct.pack("<Q", size & (2**64 - 1))
    return raw + struct.pack("<I", masked_crc(raw))


def record_files():
    small = frame(example(x=[1, 2], t="abc"))
    for size in (2**31, 2**31 + 1, 2**40, 2**63, 2**64 - 1, 2**64 - 16):
        yield f"length-{size}", [length_of(size), bytes(1000)]
        yield f"second-{size}", [small, length_of(size), bytes(1000)]
    yield "empty-records", [frame(b"") * 60000]
    yield "small-records", [frame(example(x=1)) * 20000]
    for megabytes in (20, 100, 400, 800):
        yield f"zeros-{megabytes}", [length_of(megabytes << 20), megabytes << 20, bytes(4)]
        yield f"behind-{megabytes}", [small, megabytes << 20]
    for millions in (3, 30):
        texts = message(1, named(b"x", message(1, b"\x0a\0" * (millions * 10**6))))
        yield f"empty-strings-{millions}", [fast_frame(texts)]


def message(field_number, data):
    return varint(field_number << 3 | 2) + varint(len(data)) + data


def named(name, value):
    return message(1, message(1, name) + message(2, value))


def example_records():
    for size in (10, 1000, 2**31, 2**32, 2**63, 2**64 - 1):
        for field_number in (1, 2):
            yield f"length-{field_number}-{size}", varint(field_number << 3 | 2) + varint(size) + bytes(100)
            yield f"feature-{size}", message(1, message(1, message(1, b"x") + varint(2 << 3 | 2) + varint(size)))
    for count in (1000, 100_000, 400_000):
        yield f"empty-texts-{count}", message(1, named(b"x", message(1, b"\x0a\0" * count)))
        yield f"ones-{count}", message(1, named(b"x", message(3, message(1, b"\1" * count))))
        yield f"unpacked-{count}", message(1, named(b"x", message(3, b"\x08\1" * (count // 2))))
        yield f"floats-{count}", message(1, named(b"x", message(2, message(1, bytes(count)))))
        yield f"empty-features-{count}", message(1, b"".join(named(b"%d" % i, b"") for i in range(count // 20)))
        yield f"same-feature-{count}", message(1, named(b"x", feature([1])) * (count // 20))
        yield f"steps-{count}", message(2, named(b"x", b"\x0a\0" * count))
        yield f"full-steps-{count}", message(2, named(b"x", message(1, feature([1])) * (count // 10)))
        yield f"unknown-{count}", b"\x7a\0" * count
        yield f"empty-lists-{count}", message(1, named(b"x", b"\x0a\0" * count))
    deep = b""
    for _ in range(3000):
        deep = message(1, deep)
    yield "deep", deep
    yield "varints", message(1, named(b"x", message(3, message(1, b"\xff" * 100_000))))
    yield "long-name", message(1, named(b"n" * 800_000, feature([1])))


def fast_frame(record):
    """Returns a record without the checksum of its data, which takes Python long. Read it with verify=False."""
    return length_of(len(record)) + record + bytes(4)


def tfrecord_bombs(folder, random, parser, ending, pack):
    maker = Maker(parser, folder)
    for name, pieces in record_files():
        data = pack(pieces)
        if data is not None and len(data) <= MAX_BYTES:
            maker.add(name, data, ending, "ps.TFRecord(path, verify=False, memory=memory)")
    for name, record in example_records():
        for many in (1, 40) if pack is gzipped else (1,):
            data = pack([fast_frame(record)] * many)
            if data is not None and len(data) <= MAX_BYTES:
                maker.add(f"{name}x{many}", data, ending, "ps.TFRecord(path, verify=False, memory=memory)")
    while len(maker.bombs) < 55:
        body = bytearray(example(x=list(range(50)), t="abc"))
        body[random.randrange(len(body))] = random.choice((0x7F, 0xFF, 0))
        maker.add("lies", pack([frame(bytes(body))] * 3), ending, "ps.TFRecord(path, memory=memory)")
    return maker.bombs


# -- kept indexes ---------------------------------------------------------------------------------


def index_bombs(folder, random):
    """Indexes of good sources in which numbers were made huge. Each has a cache folder of its own."""
    import os

    import penstock as ps

    maker = Maker("index", folder)
    before = os.environ.get("PENSTOCK_CACHE_DIR")
    sources = {}
    shard = maker.folder / "good.tar"
    shard.write_bytes(plain_bytes([header(f"{i}.cls", 1) + padded(b"1") for i in range(20)] + [END]))
    records = maker.folder / "good.tfrecord"
    records.write_bytes(frame(example(x=1)) * 20)
    for path, source in ((shard, "path"), (records, "ps.TFRecord(path, memory=memory)")):
        home = maker.folder / f"home-{path.stem}{path.suffix}"
        home.mkdir()
        os.environ["PENSTOCK_CACHE_DIR"] = str(home)
        ps.Loader(eval(source, {"ps": ps, "path": str(path), "memory": None}), batch_size=1, output="numpy").close()
        index = next(file for file in home.rglob("*") if file.is_file())
        sources[source] = (path, index.relative_to(home), index.read_bytes())
    if before is None:
        os.environ.pop("PENSTOCK_CACHE_DIR")
    else:
        os.environ["PENSTOCK_CACHE_DIR"] = before
    for source, (path, name, whole) in sources.items():
        for number in range(30):
            body = bytearray(whole)
            at = number * 8 if number < 20 else random.randrange(len(body) - 8)
            body[at:at + 8] = random.choice((b"\xff" * 8, b"\xff" * 7 + b"\x7f", struct.pack("<Q", 2**40), struct.pack("<Q", 2**33)))
            home = maker.folder / f"cache-{len(maker.bombs)}"
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_bytes(bytes(body))
            maker.note(f"numbers-{at}", path, source, environment={"PENSTOCK_CACHE_DIR": str(home)})
    return maker.bombs
