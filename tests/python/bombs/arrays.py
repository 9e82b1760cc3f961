"""Bombs for .npy and .npz, and for Zarr: metadata, chunks and shards."""

import io
import json
import struct
import zipfile

import numcodecs

from . import MAX_BYTES, Maker
from .images import zeros
from .shards import gzip_of_zeros, tar


def npy(header, data=b"", length=None, version=1):
    text = header if isinstance(header, bytes) else header.encode()
    size = struct.pack("<H" if version == 1 else "<I", (len(text) if length is None else length) & (0xFFFF if version == 1 else 0xFFFFFFFF))
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def npy_header(shape, descr="<f4", fortran=False):
    return f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n"


def npy_files():
    for shape in ("(1000000000,)", "(10, 1000000000)", "(1, 2147483648)", "(4611686018427387904, 4)", "(0, 9999999999)",
                  "(9999999999, 0)", "(-1, 5)", "(1,)", "()", "(" + "1, " * 8 + ")", "(" + "1, " * 9 + ")",
                  "(" + "2, " * 60 + ")", "(" + "9" * 400 + ",)", "(3, 50000000)"):
        for descr in ("<f4", "|u1", "|V1000000000"):
            yield "shape", npy(npy_header(shape, descr), bytes(1000))
    for length in (0, 10, 60000, 2**31, 2**32 - 1):
        yield f"header-{length}", npy(npy_header("(3, 4)"), bytes(48), length, 2)
    for text in ("{" * 60000, "(" * 60000, "{'descr': " + "[" * 30000, " " * 60000, "{'shape': (" + "1," * 25000,
                 "'" * 60000):
        yield "text", npy(text, bytes(100))
    yield "rows", npy(npy_header("(100000, 2)", "|u1"), bytes(200000))
    yield "empty-rows", npy(npy_header("(100000000, 0)", "|u1"))
    yield "object", npy(npy_header("(100,)", "|O"), bytes(9000))


def npy_bombs(folder, random):
    maker = Maker("npy", folder)
    for number, (name, data) in enumerate(npy_files()):
        source = ("ps.Npy(path)", "ps.Npy([path])", "ps.Patches(path, (2,), per_epoch=2, memory=memory)")[number % 3]
        maker.add(name, data, ".npy", source)
    return maker.bombs


def zip_of(members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method, compresslevel=1) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


def npz_bombs(folder, random):
    maker = Maker("npz", folder)

    def add(name, data):
        if len(data) < MAX_BYTES - 4096:
            maker.add(name, tar([("a.npz", data), ("b.npz", data if len(data) < 300000 else b"")]), ".tar", "path")

    for megabytes in (1, 10, 60, 100, 200):
        plain = npy(npy_header(f"({megabytes << 20},)", "|u1")) + bytes(megabytes << 20)
        add(f"zeros-{megabytes}", zip_of([("x.npy", plain)]))
        add(f"short-{megabytes}", zip_of([("x.npy", npy(npy_header("(4,)", "|u1")) + bytes(megabytes << 20))]))
        add(f"long-{megabytes}", zip_of([("x.npy", npy(npy_header(f"({megabytes << 22},)", "|u1")) + bytes(megabytes << 20))]))
        for count in (5, 50):
            if megabytes <= 60 and megabytes * count <= 300:
                add(f"many-{megabytes}x{count}", zip_of([(f"x{i}.npy", plain) for i in range(count)]))
        del plain
    for count in (100, 1000, 3000, 6000):
        add(f"members-{count}", zip_of([(f"{i}.npy", npy(npy_header("(1,)", "|u1"), b"a")) for i in range(count)]))
        add(f"names-{count}", zip_of([("n" * (60000 // count) + f"{i}.npy", b"") for i in range(count)]))
    for _, data in list(npy_files())[:20]:
        add("member", zip_of([("x.npy", data)]))
    whole = zip_of([("x.npy", npy(npy_header("(4,)", "<f4"), bytes(16)))])
    for _ in range(20):
        body = bytearray(whole)
        at = random.randrange(len(body) - 4)
        body[at:at + 4] = random.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\0"))
        add("lies", bytes(body))
    return maker.bombs


# -- Zarr -----------------------------------------------------------------------------------------

CODECS_2 = {"zlib": {"id": "zlib", "level": 1}, "gzip": {"id": "gzip", "level": 1}, "zstd": {"id": "zstd", "level": 1},
            "lz4": {"id": "lz4"}, "blosc": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}}


def packed_zeros(codec, count):
    if codec == "zlib":
        return zeros(count)
    if codec == "gzip":
        return gzip_of_zeros(count)
    if codec == "zstd":
        return numcodecs.Zstd(level=1).encode(bytes(count))
    if codec == "lz4":
        return numcodecs.LZ4(acceleration=9).encode(bytes(count))
    return numcodecs.Blosc("lz4", 1).encode(bytes(count))


class ZarrMaker(Maker):
    def store(self, name, files, source="ps.Zarr(path, memory=memory)", **options):
        path = self.folder / f"{len(self.bombs):03}-{name}.zarr"
        for key, data in files.items():
            data = data if isinstance(data, bytes) else json.dumps(data).encode()
            (path / key).parent.mkdir(parents=True, exist_ok=True)
            (path / key).write_bytes(data)
        if sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) <= MAX_BYTES:
            self.note(name, path, source, **options)


def zarr2(shape, chunks, codec=None, dtype="|u1", filters=None, **more):
    return {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "compressor": CODECS_2.get(codec),
            "fill_value": 0, "order": "C", "filters": filters} | more


def zarr3(shape, chunks, codecs, dtype="uint8", **more):
    return {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype, "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "codecs": codecs, "attributes": {}} | more


BYTES = {"name": "bytes", "configuration": {"endian": "little"}}


def sharding(chunks, codecs=(BYTES,), index=(BYTES, {"name": "crc32c"})):
    return {"name": "sharding_indexed", "configuration": {"chunk_shape": chunks, "codecs": list(codecs),
                                                          "index_codecs": list(index), "index_location": "end"}}


def zarr_bombs(folder, random):
    maker = ZarrMaker("zarr", folder)
    for codec in CODECS_2:
        for count in (1 << 20, 20 << 20, 100 << 20, 240 << 20):
            data = packed_zeros(codec, count)
            if len(data) > 900_000:
                continue
            maker.store(f"{codec}-whole-{count >> 20}", {".zarray": zarr2([2, count], [1, count], codec), "0.0": data, "1.0": data})
            maker.store(f"{codec}-more-{count >> 20}", {".zarray": zarr2([2, 1000], [1, 1000], codec), "0.0": data})
            maker.store(f"{codec}-less-{count >> 20}", {".zarray": zarr2([2, 4 * count], [1, 4 * count], codec), "0.0": data})
    for name, body in (("blosc", b"\2\1\x21\1" + struct.pack("<III", 2**31 - 1, 2**20, 16) + bytes(100)),
                       ("lz4", struct.pack("<I", 2**31 - 1) + bytes(100)), ("zstd", b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8 + bytes(50))):
        maker.store(f"{name}-header", {".zarray": zarr2([2, 1000], [1, 1000], name), "0.0": body, "1.0": body})
    for shape, chunks in (([2**40], [1]), ([2**62, 2**62], [1, 1]), ([4, 2**31], [1, 2**31]), ([2**31, 4], [2**31, 4]),
                          ([2**62], [2**62]), ([1] * 8, [2**20] * 8), ([1] * 40, [1] * 40), ([0], [1]), ([5], [0]), ([10**30], [1]),
                          ([10, 10**7], [1, 10**7]), ([3, 10**8], [1, 10**8])):
        maker.store("shape2", {".zarray": zarr2(shape, chunks)})
        maker.store("shape3", {"zarr.json": zarr3(shape, chunks, [BYTES])})
    for inner, outer in ((1, 10**6), (1, 2**30), (1000, 2**31), (10**6, 10**6), (3, 10**9), (1, 2**40)):
        meta = zarr3([2, outer], [1, outer], [sharding([1, inner])])
        maker.store(f"shard-{inner}-{outer}", {"zarr.json": meta, "c/0/0": bytes(100_000), "c/1/0": b"\xff" * 100_000})
    deep = [BYTES]
    for level in range(6):
        deep = [sharding([1, 1 << 3 * (level + 1)], deep)]
        maker.store(f"nested-{level}", {"zarr.json": zarr3([2, 1 << 24], [1, 1 << 24], deep), "c/0/0": bytes(200_000)})
    for depth in (100, 255, 300, 100000):
        maker.store(f"deep-{depth}", {".zarray": zarr2([2], [1]), ".zattrs": b"[" * depth + b"]" * depth})
        maker.store(f"deep-meta-{depth}", {"zarr.json": b'{"zarr_format": 3, "a": ' + b"[" * depth + b"]" * depth + b"}"})
    many = {f"v{i}/.zarray": zarr2([2, 2**20], [1, 2**20]) for i in range(2000)}
    maker.store("group", {".zgroup": {"zarr_format": 2}, ".zmetadata": {"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}} | many}})
    maker.store("filters", {".zarray": zarr2([2, 10], [1, 10], filters=[{"id": "delta", "dtype": "<u8"}] * 5000)})
    maker.store("codecs", {"zarr.json": zarr3([2, 10], [1, 10], [BYTES] + [{"name": "gzip", "configuration": {"level": 1}}] * 3000)})
    names = {f"a{i}": "x" * 100 for i in range(7000)}
    maker.store("attributes", {".zarray": zarr2([2], [1]), ".zattrs": names})
    maker.store("patches", {".zarray": zarr2([2000, 2000, 2000], [1000, 1000, 1000], "zlib"), "0.0.0": zeros(900 << 20)},
                "ps.Patches(path, (8, 8, 8), per_epoch=4, memory=memory)")
    maker.store("grid", {".zarray": zarr2([2**20, 2**20], [1, 1])}, "ps.Patches(path, (4, 4), memory=memory)")
    return maker.bombs
