"""Data of every kind that the cache is tested with, and its batches without one."""

import json

import numpy as np
from PIL import Image

import penstock as ps
from cached import batches_of
from pictures import noise, save_jpeg, save_png, smooth
from records import (example, npy_bytes, npz_bytes, number_samples, png_bytes, write_json_lines, write_tar,
                     write_tfrecord)
from zarr_writers import write_zarr

FORMS = ("auto", "encoded", "decoded")
SMALL, LARGE = "1MiB", "16MiB"  # of the data below, a part; all of it
SAMPLES = 30


def detail(i, height=110, width=130, channels=3):
    """A picture that compresses a little."""
    return (smooth(height, width, seed=i, channels=channels) // 2 + noise((height, width, channels), seed=i) // 2).squeeze()


def turned(path, pixels, orientation):
    image = Image.fromarray(pixels)
    exif = image.getexif()
    exif[0x0112] = orientation
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, path.suffix[1:].replace("jpg", "jpeg"), exif=exif, quality=92)


def write_folders(folder):
    """Two classes of every kind of picture, of different sizes."""
    for i in range(SAMPLES):
        place, pixels = folder / "ab"[i % 2] / f"{i:02}", detail(i, 110 + 3 * i, 190 - 2 * i)
        kind = i % 10
        if kind == 0:
            save_png(place.with_suffix(".png"), pixels)
        elif kind == 1:
            save_png(place.with_suffix(".png"), pixels[:, :, 0])
        elif kind == 2:
            save_jpeg(place.with_suffix(".jpg"), pixels[:, :, 0])
        elif kind == 3:
            save_jpeg(place.with_suffix(".jpg"), pixels, progressive=True)
        elif kind == 4:
            turned(place.with_suffix(".jpg"), pixels, 1 + i % 8)
        elif kind == 5:
            turned(place.with_suffix(".jpg"), pixels, 6)
        elif kind == 6:
            save_png(place.with_suffix(".png"), np.dstack([pixels, pixels[:, :, :1]]))
        elif kind == 7:
            save_jpeg(place.with_suffix(".jpg"), pixels, quality=95, subsampling=0)
        elif kind == 8:
            Image.fromarray(pixels).save(place.with_suffix(".webp"), "WEBP", quality=90)
        else:
            Image.fromarray(pixels).quantize(32).save(place.with_suffix(".png"))
    return lambda: ps.ImageFolder(folder)


def write_masked(folder):
    for i in range(SAMPLES):
        pixels = detail(i)
        save_png(folder / "images" / f"{i:02}.png", pixels)
        save_png(folder / "masks" / f"{i:02}.png", pixels[:, :, 1] // 32)
    return lambda: ps.ImageFolder(folder / "images", masks=folder / "masks")


def shard_files(first, count):
    files = []
    for i in range(first, first + count):
        floats = np.asfortranarray(np.random.default_rng(i).random((50, 40), np.float32))
        files += [(f"k{i:03}.png", png_bytes(detail(i, 60, 70))), (f"k{i:03}.seg.png", png_bytes(detail(i, 60, 70, 1))),
                  (f"k{i:03}.cls", str(i).encode()), (f"k{i:03}.txt", f"text {i} \u96ea".encode()),
                  (f"k{i:03}.json", json.dumps({"i": [i, None, "\u96ea"]}).encode()), (f"k{i:03}.npy", npy_bytes(floats)),
                  (f"k{i:03}.npz", npz_bytes(i % 2 == 0, a=floats * 2, b=np.int64(i), c=np.arange(6, dtype=">i4") + i)),
                  (f"k{i:03}.raw", bytes([i]) * (i % 3) + b"!")]
    return files


TAR_FIELDS = ["png", "seg.png", "cls", "txt", "json", "npy", "npz/a", "npz/b", "npz/c", "raw", "key"]


def write_shards(folder, ending=".tar"):
    write_tar(folder / f"s-0{ending}", shard_files(0, SAMPLES // 2))
    write_tar(folder / f"s-1{ending}", shard_files(SAMPLES // 2, SAMPLES - SAMPLES // 2))
    return lambda: ps.Tar(folder / f"s-*{ending}")


def write_records(folder):
    records = [example(image=png_bytes(detail(i)), label=i, text=f"caption {i}", floats=[i + 0.5, -1.0, 3.25],
                       raw=bytes([i, 0, 255])) for i in range(SAMPLES)]
    write_tfrecord(folder / "r.tfrecord", records)
    return lambda: ps.TFRecord(folder / "r.tfrecord", kinds={"image": "image", "text": "text"})


def write_one_npy(folder):
    np.save(folder / "big.npy", np.random.default_rng(0).random((SAMPLES, 90, 60)))
    return lambda: ps.Npy(folder / "big.npy")


def write_many_npy(folder):
    (folder / "many").mkdir()
    for i in range(SAMPLES):
        array = np.random.default_rng(i).random((90, 60))
        np.save(folder / "many" / f"{i:02}.npy", array.astype(">f8") if i % 3 == 0 else np.asfortranarray(array))
    return lambda: ps.Npy(folder / "many")


def write_table(folder):
    rows = []
    for i in range(SAMPLES):
        save_png(folder / "p" / f"{i}.png", detail(i))
        rows.append({"image": f"p/{i}.png", "number": i, "share": i / 7, "name": f"n{i}", "other": {"k": [i]}})
    write_json_lines(folder / "t.jsonl", rows)
    return lambda: ps.Manifest(folder / "t.jsonl")


def volume(shape=(SAMPLES, 64, 96), dtype=np.float32):
    return (np.random.default_rng(5).random(shape) * 1000).astype(dtype)


def writes_zarr(chunks=(4, 40, 50), **options):
    def write(folder):
        write_zarr(folder / "z", volume(), chunks, **options)
        return lambda: ps.Zarr(folder / "z")
    return write


def write_holes(folder):
    path = write_zarr(folder / "z", volume(), (4, 40, 50), fill_value=-7)
    for name in ("0/0/0", "3/1/0", "7/1/1", "2/0/1"):
        (path / "c" / name).unlink()
    return lambda: ps.Zarr(path)


def write_transposed(folder):
    import zarr

    write_zarr(folder / "z", volume(), (4, 40, 50), filters=[zarr.codecs.TransposeCodec(order=(2, 0, 1))],
               compressors=zarr.codecs.GzipCodec(level=1))
    return lambda: ps.Zarr(folder / "z")


def write_group(folder):
    import zarr

    root = zarr.open_group(str(folder / "g"), mode="w")
    for name, scale in (("a", 1), ("b", 3)):
        root.create_array(name, shape=(SAMPLES + 4, 60, 50), chunks=(3, 60, 50), dtype="f4",
                          dimension_names=("time", "y", "x"))[...] = volume((SAMPLES + 4, 60, 50)) * scale
    root.create_array("still", shape=(60, 50), chunks=(60, 50), dtype="i2", dimension_names=("y", "x"))[...] = 5
    return lambda: ps.Zarr(folder / "g", ["a", "b", "still"], "time", window=(2, 3), isel={"y": slice(5, 55, 2)})


def write_patches(folder, **options):
    write_zarr(folder / "v", volume((40, 90, 120)), (16, 32, 32))
    write_zarr(folder / "l", (volume((40, 90, 120)) > 600).astype(np.uint8), (16, 32, 32))
    return lambda: ps.Patches(folder / "v", (10, 20, 30), labels=folder / "l", **options)


def write_npy_volume(folder):
    np.save(folder / "v.npy", volume((40, 90, 120)))
    return lambda: ps.Patches(folder / "v.npy", (10, 20, 30), per_epoch=SAMPLES)


def write_two_folders(folder):
    for i in range(SAMPLES):
        save_png(folder / "one" / f"{i:02}.png", detail(i))
        save_png(folder / "two" / f"{i:02}.png", detail(100 + i))
    return lambda: ps.Mix([ps.ImageFolder(folder / "one"), ps.ImageFolder(folder / "two").subset(range(3, 25))])


CROP = [ps.RandomCrop(48), ps.RandomHorizontalFlip()]
# name: what writes it, options of the loader
DATA = {
    "class folders": (write_folders, {"transform": CROP}),
    "masks": (write_masked, {"transform": CROP}),
    "tar": (write_shards, {"fields": TAR_FIELDS, "transform": CROP}),
    "tar.gz": (lambda folder: write_shards(folder, ".tar.gz"), {"fields": TAR_FIELDS, "transform": CROP}),
    "tar as lists": (write_shards, {"fields": TAR_FIELDS, "collate": "list"}),
    "tfrecord": (write_records, {"fields": ["image", "label", "text", "floats", "raw", "key"], "transform": CROP}),
    "one .npy": (write_one_npy, {}),
    "many .npy": (write_many_npy, {"transform": [ps.Normalize((0.5,), (2.0,))]}),
    "manifest": (write_table, {"transform": CROP}),
    "mix": (write_two_folders, {"fields": ["image", "key"], "transform": CROP}),
    "zarr v2": (writes_zarr(version=2), {}),
    "zarr v2 in Fortran's order": (writes_zarr(version=2, order="F"), {}),
    "zarr v3": (writes_zarr(compressors="auto"), {}),
    "zarr v3 whole samples": (writes_zarr(chunks=(1, 64, 96), compressors="auto"), {}),
    "zarr v3 plain": (writes_zarr(), {}),
    "zarr v3 sharded": (writes_zarr(chunks=(2, 32, 48), shards=(8, 64, 96), compressors="auto"), {}),
    "zarr with holes": (write_holes, {}),
    "zarr transposed": (write_transposed, {"transform": [ps.Normalize((0.5,), (2.0,))]}),
    "zarr window": (write_group, {}),
    "grid of patches": (write_patches, {}),
    "random patches": (lambda folder: write_patches(folder, per_epoch=SAMPLES, min_foreground=0.3),
                       {"transform": [ps.RandomFlip3D()]}),
    "patches of a .npy": (write_npy_volume, {}),
}


class Stored:
    """One of DATA, written once, and its batches without a cache."""

    def __init__(self, name, folder):
        write, self.options = DATA[name]
        self.folder, self.open = folder, write(folder)
        self.expected = batches_of(self.open(), **self.options)


# What is written over by the same sizes with other content: arguments of cached_reader.open_loader().
REPLACED = {
    "folder": {"source": "d", "kind_options": {"keep_index": False}},
    "kept index": {"source": "d"},
    "manifest": {"source": "d.csv", "kind": "Manifest"},
    "tar": {"source": "d.tar", "kind": "Tar"},
    "zarr": {"source": "z", "kind": "Zarr"},
    "npy": {"source": "d.npy", "kind": "Npy"},
    "npy volume": {"source": "d.npy", "kind": "Patches", "kind_options": {"size": (1, 30, 30)}},
}


def replaced_source(folder, name):
    return REPLACED[name] | {"source": str(folder / REPLACED[name]["source"])}


def write_replaced(folder, name, seed):
    numbers = np.random.default_rng(seed).integers(0, 99, (20, 30, 30), dtype=np.int32)
    kind = REPLACED[name].get("kind")
    if kind == "Zarr":
        write_zarr(folder / "z", numbers, (2, 30, 30))
    elif kind in ("Npy", "Patches"):
        np.save(folder / "d.npy", numbers)
    elif kind == "Tar":
        write_tar(folder / "d.tar", number_samples(10 + 40 * seed, 20, pad=500))
    else:
        for i in range(20):
            pixels, path = noise((30, 30, 3), seed=100 * seed + i), folder / "d" / f"{i:02}.png"
            if seed and i % 2:  # in place, the same file
                save_png(folder / "one.png", pixels, compress_level=0)
                with open(path, "r+b") as file:
                    file.write((folder / "one.png").read_bytes())
            else:
                save_png(path, pixels, compress_level=0)
        (folder / "d.csv").write_text("image\n" + "".join(f"d/{i:02}.png\n" for i in range(20)))
