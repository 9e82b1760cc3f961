"""The data of the golden configurations: the same bytes wherever and with whichever libraries they are made.

Encoded files are copied from tests/golden, because encoders differ from version to version. Everything else is in
formats that are written here byte by byte. RandomState's stream of numbers is frozen; default_rng's is not.
"""

import json
import pathlib
import shutil
import struct
import zlib

import numpy as np

from records import example, npy_bytes, sequence_example, tar_bytes, write_json_lines, write_tar, write_tfrecord
from zarr_writers import write_raw_v2, write_raw_v3

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
JPEGS = ["baseline.jpg", "grey.jpg", "progressive.jpg", "cmyk.jpg", *(f"exif_{i}.jpg" for i in range(1, 9))]


def numbers(shape, seed, dtype=np.uint8):
    dtype = np.dtype(dtype)
    count = int(np.prod(shape))
    values = np.frombuffer(np.random.RandomState(seed).bytes(2 * count), "<u2")
    if dtype.kind == "f":
        return (values / 256.0 - 128).astype(dtype).reshape(shape)  # exact in every type of 32 bits and more
    return values.astype(dtype).reshape(shape)


def pixels(height, width, seed):
    """Slopes with some noise, so that a misplaced pixel, row or channel shows."""
    y, x, c = np.mgrid[0:height, 0:width, 0:3]
    return ((3 * x + 5 * y + 40 * c + 17 * seed) % 240 + numbers((height, width, 3), seed) % 16).astype(np.uint8)


def ppm(image):
    return b"P6\n%d %d\n255\n" % (image.shape[1], image.shape[0]) + image.tobytes()


def pgm(image):
    return b"P5\n%d %d\n255\n" % (image.shape[1], image.shape[0]) + image.tobytes()


def bmp(image):
    """24 bits a pixel, rows from the bottom, each a multiple of four bytes."""
    height, width, _ = image.shape
    rows = b"".join(row[:, ::-1].tobytes().ljust((3 * width + 3) // 4 * 4, b"\0") for row in image[::-1])
    return struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 54 + len(rows), 0, 0, 54, 40, width, height, 1, 24, 0, len(rows),
                       2835, 2835, 0, 0) + rows


def stored_gzip(data):
    """A gzip member whose blocks are not compressed."""
    blocks = [data[at:at + 65535] for at in range(0, len(data), 65535)] or [b""]
    body = b"".join(struct.pack("<BHH", at == len(blocks) - 1, len(block), len(block) ^ 0xFFFF) + block
                    for at, block in enumerate(blocks))
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + body + struct.pack("<II", zlib.crc32(data), len(data))


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def chunk_files(values, chunks, name=lambda at: ".".join(map(str, at))):
    """The chunks of an array, those at the border filled up with zeros."""
    counts = [-(-extent // chunk) for extent, chunk in zip(values.shape, chunks)]
    files = {}
    for at in np.ndindex(*counts):
        part = values[tuple(slice(i * chunk, (i + 1) * chunk) for i, chunk in zip(at, chunks))]
        whole = np.zeros(chunks, values.dtype)
        whole[tuple(slice(extent) for extent in part.shape)] = part
        files[name(at)] = whole.tobytes()
    return files


def zarr2(path, values, chunks, dims=(), **attributes):
    write_raw_v2(path, values.shape, chunks, values.dtype.str, chunk_files(values, chunks))
    (path / ".zattrs").write_text(json.dumps({"_ARRAY_DIMENSIONS": list(dims)} | attributes if dims else attributes))


def zarr3(path, values, chunks, dims=(), **attributes):
    files = chunk_files(values, chunks, lambda at: "c/" + "/".join(map(str, at)))
    write_raw_v3(path, values.shape, chunks, values.dtype.name, files=files, attributes=attributes,
                 **({"dimension_names": list(dims)} if dims else {}))


def group2(path):
    put(path / ".zgroup", b'{"zarr_format": 2}')


def make_images(folder):
    for i, name in enumerate(JPEGS):
        put(folder / "jpegs" / "abc"[i % 3] / name, (GOLDEN / name).read_bytes())
    for path in sorted((GOLDEN / "images").iterdir()):
        if path.suffix in (".png", ".webp", ".gif", ".bmp", ".ppm", ".pbm", ".tif"):
            put(folder / "formats" / path.name, path.read_bytes())
    for i in range(14):
        image = pixels(40 + 3 * i, 64 - 2 * i, i)
        name = f"{i:02}.bmp" if i % 3 == 0 else f"{i:02}.ppm"
        put(folder / "pictures" / "images" / name, bmp(image) if i % 3 == 0 else ppm(image))
        put(folder / "pictures" / "masks" / f"{i:02}.pgm", pgm((image[..., 0] // 40).astype(np.uint8)))
        put(folder / "squares" / ("even" if i % 2 == 0 else "odd") / f"{i:02}.ppm", ppm(pixels(24, 24, 50 + i)))
    shutil.copytree(folder / "squares", folder / "damaged")
    for name in ("even/04.ppm", "odd/05.ppm", "odd/13.ppm"):
        put(folder / "damaged" / name, (folder / "squares" / name).read_bytes()[:900])


def make_records(folder):
    for shard in range(3):
        files = []
        for i in range(7 * shard, 7 * shard + 7):
            files += [(f"s/{i:04}.jpg", (GOLDEN / JPEGS[i % len(JPEGS)]).read_bytes()), (f"s/{i:04}.cls", b"%d" % (i % 4)),
                      (f"s/{i:04}.txt", f"náme {i}".encode()), (f"s/{i:04}.json", json.dumps({"n": [i] * (i % 3)}).encode()),
                      (f"s/{i:04}.vec.npy", npy_bytes(numbers((3, 5), i, "<f4")))]
        write_tar(folder / "tar" / f"part-{shard}.tar", files)
        records = [example(image=(GOLDEN / JPEGS[i % len(JPEGS)]).read_bytes(), label=i, name=f"record {i}",
                           steps=list(range(i % 6 + 1)), vector=[i / 4, -i / 8, 1.5])
                   for i in range(8 * shard, 8 * shard + 8)]
        write_tfrecord(folder / "tfrecord" / f"part-{shard}.tfrecord", records)
    write_tfrecord(folder / "sequences.tfrecord", [
        sequence_example({"id": i}, words=[[i, j, 7] for j in range(1 + i % 4)], motion=[[i / 2] * 2] * (i % 3))
        for i in range(9)])
    arrays = {name: (GOLDEN / "records" / f"{name}.npz").read_bytes() for name in ("stored", "deflated", "streamed")}
    write_tar(folder / "npz.tar", [(f"{i}.npz", arrays[name]) for i, name in enumerate(arrays)])
    for shard in range(18):  # more shards than are read side by side
        files = [(f"{i:04}.cls", b"%d" % i) for i in range(5 * shard, 5 * shard + 5)]
        put(folder / "gzip" / f"part-{shard:02}.tar.gz", stored_gzip(tar_bytes(files)))
    files = []  # a shard of several blocks
    for i in range(30):
        files += [(f"{i:04}.cls", b"%d" % i), (f"{i:04}.bin", numbers((400_000,), i).tobytes())]
    put(folder / "gzip_long" / "long.tar.gz", stored_gzip(tar_bytes(files)))
    rows = [{"path": f"pictures/images/{i:02}.{'bmp' if i % 3 == 0 else 'ppm'}", "label": ["ant", "bee", "cat"][i % 3],
             "caption": "word " * (i % 5) + "ü", "boxes": [[i, i + 1]] * (i % 3), "weight": i / 4} for i in range(14)]
    write_json_lines(folder / "table.jsonl", rows)
    lines = ["path,label,weight,caption"] + [f'{row["path"]},{row["label"]},{row["weight"]},"a, {row["caption"]}"' for row in rows]
    (folder / "table.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def make_arrays(folder):
    np.save(folder / "one.npy", numbers((29, 4, 6), 1, "<f4"))
    np.save(folder / "big_endian.npy", numbers((23, 3, 5), 2, ">i2"))
    np.save(folder / "images.npy", numbers((19, 12, 14, 3), 4, "|u1"))
    for i in range(13):
        put(folder / "many" / f"{i:02}.npy", npy_bytes(numbers((4, 6), 10 + i, "<f4")))
        put(folder / "fortran" / f"{i:02}.npy", npy_bytes(np.asfortranarray(numbers((4, 6), 90 + i, "<f8"))))
        put(folder / "ragged" / f"{i:02}.npy", npy_bytes(numbers((1 + 5 * i % 11, 3), 30 + i, "<i4")))
    volume = numbers((22, 26, 24), 5, "<u2")
    np.save(folder / "volume.npy", volume)
    labels = (numbers((22, 26, 24), 6) % 9 == 0).astype("|u1") * (1 + volume % 3).astype("|u1")
    np.save(folder / "labels.npy", labels)
    mask = np.zeros((22, 26, 24), "|u1")
    mask[4:15, 6:20, 3:22] = 1
    np.save(folder / "mask.npy", mask)
    zarr2(folder / "volume2.zarr", volume, (8, 9, 10))
    zarr2(folder / "labels2.zarr", labels, (8, 9, 10))
    zarr3(folder / "volume3.zarr", numbers((2, 20, 18, 21), 7, "float32"), (1, 7, 8, 9), "czyx")


def make_stores(folder):
    zarr2(folder / "plain2.zarr", numbers((31, 6, 8), 8, ">i4"), (4, 5, 3))
    zarr3(folder / "plain3.zarr", numbers((27, 8, 8), 9, "uint16"), (5, 4, 8))
    for year in range(3):
        store = folder / f"weather-{year}.zarr"
        group2(store)
        dims = ("time", "lat", "lon")
        zarr2(store / "t2m", numbers((11, 4, 6), 60 + year, "<i2"), (3 + year, 2, 6), dims,
              scale_factor=0.5 * (1 + year), add_offset=16.0, _FillValue=77)
        zarr2(store / "wind", numbers((11, 4, 6), 70 + year, "<f4"), (2, 4, 3 + year), dims)
        zarr2(store / "time", np.arange(11 * year, 11 * year + 11, dtype="<i8") * 6, (11,), ("time",),
              units="hours since 2001-02-01", calendar="proleptic_gregorian")
        zarr2(store / "lat", np.array([60, 50, 40, 30], "<f8"), (4,), ("lat",))
        zarr2(store / "lon", np.arange(6, dtype="<f8") * 60, (6,), ("lon",))
    cases = json.loads((GOLDEN / "codecs" / "cases.json").read_text())
    stored = (GOLDEN / "codecs" / "cases.bin").read_bytes()
    encoded = [stored[at:at + length] for at, length in
               (case["encoded"] for case in cases if case["codecs"] == ["blosc"] and case["shape"] == [544])]
    write_raw_v2(folder / "blosc.zarr", (8 * len(encoded), 68), (8, 68), "<f4",
                 {f"{i}.0": chunk for i, chunk in enumerate(encoded)},
                 compressor={"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1})


def make_data(folder):
    folder = pathlib.Path(folder)
    for name in ("records", "tiff"):
        shutil.copytree(GOLDEN / name, folder / name)
    make_images(folder)
    make_records(folder)
    make_arrays(folder)
    make_stores(folder)
    return folder
