"""The cache: samples never depend on it, and what it says of itself is so."""

import contextlib
import gc
import json
import os

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from cached import (abandoned_files, assert_counts_agree, assert_same_epochs, batches_of, cached_loader, copied,
                    mapped_files, same)
from http_faults import serve
from pictures import noise, save_jpeg, save_png, smooth
from records import (example, flip_byte, npy_bytes, npz_bytes, png_bytes, write_json_lines, write_tar,
                     write_tfrecord)
from zarr_writers import write_zarr

FORMS = ("auto", "encoded", "decoded")
SMALL, LARGE = "1MiB", "16MiB"  # of the data below, a part; all of it
SAMPLES = 30


@pytest.fixture(autouse=True)
def nothing_is_left_in_shared_memory():
    before = abandoned_files()
    yield
    gc.collect()
    assert mapped_files() == [] and [path for path in abandoned_files() if path not in before] == []


# -- data of every kind, each more than SMALL holds ---------------------------------------------------


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
    return lambda: ps.Zarr(folder / "g", ["a", "b", "still"], "time", window=(2, 3), select={"y": slice(5, 55, 2)})


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


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    made = {}

    def get(name):
        if name not in made:
            made[name] = Stored(name, tmp_path_factory.mktemp("data"))
        return made[name]
    return get


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", DATA)
def test_samples_do_not_depend_on_the_cache(stored, name, form):
    data = stored(name)
    open_source, options, expected = data.open, data.options, data.expected
    for size, threads in ((SMALL, 4), (LARGE, 1)):
        with cached_loader(open_source(), cache=size, cache_form=form, threads=threads, **options) as loader:
            assert_same_epochs([[copied(batch) for batch in loader] for _ in range(3)], expected)
            assert_counts_agree(loader.stats())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["class folders", "tar", "zarr v3", "random patches"])
def test_samples_do_not_depend_on_a_cache_that_throws_out(stored, name, form):
    data = stored(name)
    open_source, options, expected = data.open, data.options, data.expected
    for threads in (1, 4):
        cache = ps.Cache("500kB", policy="lru")
        with cached_loader(open_source(), cache=cache, cache_form=form, threads=threads, **options) as loader:
            assert_same_epochs([[copied(batch) for batch in loader] for _ in range(3)], expected)
            assert_counts_agree(loader.stats())
        cache.close()


STEPS = {
    "resize": [ps.Resize((40, 50))],
    "resize, centre": [ps.Resize(64), ps.CenterCrop(48)],
    "centre, resize": [ps.CenterCrop((100, 90)), ps.Resize((30, 40), "bicubic")],
    "centre alone": [ps.CenterCrop(48)],
    "resize, random crop": [ps.Resize(64), ps.RandomCrop(48), ps.RandomHorizontalFlip()],
    "resize, centre, random crop": [ps.Resize(64), ps.CenterCrop(60), ps.RandomCrop(48), ps.RandomVerticalFlip()],
    "resize twice": [ps.Resize(80), ps.Resize((30, 40))],
    "random crop": [ps.RandomCrop(64)],
    "random crop, resize": [ps.RandomCrop(64), ps.Resize(20)],
    "random crop with padding": [ps.Pad(40), ps.RandomCrop(160)],
    "random resized crop": [ps.RandomResizedCrop(48)],
    "resize, random resized crop": [ps.Resize(64), ps.RandomResizedCrop(48), ps.RandomHorizontalFlip()],
    "random resized crop, bicubic": [ps.RandomResizedCrop(48, interpolation="bicubic"), ps.RandomVerticalFlip()],
    "flips": [ps.RandomHorizontalFlip(), ps.RandomVerticalFlip(), ps.CenterCrop(64)],
    "turns": [ps.Resize((64, 64)), ps.RandomRot90()],
    "colours": [ps.Resize((64, 64)), ps.ColorJitter(0.4, 0.4, 0.4, 0.1)],
    "colours first": [ps.ColorJitter(0.4, 0.4, 0.4, 0.1), ps.RandomCrop(64)],
    "normalize": [ps.RandomCrop(64), ps.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))],
    "grey": [ps.Decode("L"), ps.Resize(64), ps.RandomCrop(48)],
    "as stored": [ps.Decode(exif_orientation=False), ps.RandomCrop(64)],
    "map": [ps.Resize((32, 32)), ps.Map(lambda pixels: 255 - pixels)],
    "map first": [ps.Map(lambda pixels: pixels[:40, :30] // 2)],
    "cast": [ps.Resize((32, 32)), ps.Cast("float16")],
    "derive": {"image": [ps.RandomCrop(96)], "small": ps.Derive("image", [ps.Resize(24, "bicubic")])},
    "derive from resized": {"image": [ps.Resize(96), ps.CenterCrop(80), ps.RandomCrop(64)],
                            "small": ps.Derive("image", [ps.Resize(24), ps.RandomHorizontalFlip()])},
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return write_folders(tmp_path_factory.mktemp("pictures"))


@pytest.mark.parametrize("name", STEPS)
def test_steps_give_the_same_from_the_cache(pictures, name):
    steps = STEPS[name]
    options = {"fields": ["image", "small", "key"]} if isinstance(steps, dict) else {}
    expected = batches_of(pictures(), 2, transform=steps, **options)
    for form, size, threads in (("decoded", SMALL, 1), ("decoded", LARGE, 4), ("encoded", SMALL, 4), ("auto", LARGE, 1)):
        got = batches_of(pictures(), 2, transform=steps, cache=size, cache_form=form, threads=threads, **options)
        assert_same_epochs(got, expected)


@pytest.mark.parametrize("options", [{"dtype": "float16", "layout": "NHWC"}, {"shuffle": "window", "shuffle_window": 3},
                                     {"shuffle": False, "drop_last": True}, {"epoch_size": 47},
                                     {"weights": range(1, SAMPLES + 1)}, {"sampler": [3, 3, 7, 1] * 6},
                                     {"collate": "pad", "transform": [ps.RandomHorizontalFlip()]},
                                     {"collate": "list", "transform": None, "bucket_by": "image"}], ids=str)
def test_ways_to_go_through_the_data(pictures, options):
    options = {"transform": STEPS["resize, random crop"]} | options
    expected = batches_of(pictures(), **options)
    for form in ("encoded", "decoded"):
        assert_same_epochs(batches_of(pictures(), cache=SMALL, cache_form=form, **options), expected)


def test_a_large_picture_of_which_parts_are_decoded(tmp_path):
    for i in range(3):
        save_jpeg(tmp_path / f"{i}.jpg", smooth(700 + 13 * i, 900 - 7 * i, seed=i), quality=90, subsampling=2)
    for steps in ([ps.RandomCrop(96)], [ps.RandomResizedCrop(64, scale=(0.02, 0.2))]):
        options = {"transform": steps, "epoch_size": 60}
        expected = batches_of(tmp_path, epochs=2, **options)
        for size in ("3MiB", "16MiB"):
            assert_same_epochs(batches_of(tmp_path, epochs=2, cache=size, cache_form="decoded", **options), expected)


@pytest.mark.parametrize("name", ["class folders", "tar.gz", "zarr v3"])
@pytest.mark.parametrize("form", FORMS)
def test_a_run_resumed_in_the_middle_goes_on_the_same(stored, name, form):
    data = stored(name)
    source, options, expected = data.open(), data.options, data.expected
    for epoch, taken in ((0, 2), (1, 4)):
        with cached_loader(source, cache=SMALL, cache_form=form, **options) as loader:
            for _ in range(epoch):
                list(loader)
            began = iter(loader)
            for _ in range(taken):
                next(began)
            state = loader.state_dict()
        with cached_loader(source, cache=LARGE, cache_form=form, threads=4, **options) as loader:
            loader.load_state_dict(state)
            rest = [[copied(batch) for batch in loader] for _ in range(3 - epoch)]
            assert_counts_agree(loader.stats())
        assert_same_epochs(rest, [expected[epoch][taken:], *expected[epoch + 1:]])


def test_an_epoch_left_early_and_begun_again(pictures):
    steps = STEPS["resize, random crop"]
    with cached_loader(pictures(), transform=steps) as plain, \
            cached_loader(pictures(), transform=steps, cache=LARGE, cache_form="decoded") as loader:
        for taken in (1, 3, 0, 6, 6):
            for _, one, other in zip(range(taken), plain, loader):
                assert same(one, other)
        assert_counts_agree(loader.stats())
        loader.set_epoch(0)
        plain.set_epoch(0)
        assert_same_epochs([[copied(b) for b in loader]], [[copied(b) for b in plain]])


# -- several loaders of one cache -------------------------------------------------------------------


def test_training_and_validation_share_a_cache(pictures):
    train, validation = pictures().split(0.7, seed=1)
    random, fixed = STEPS["resize, random crop"], STEPS["resize, centre"]
    expected = [batches_of(train, transform=random), batches_of(validation, transform=fixed, shuffle=False)]
    for size in (SMALL, LARGE):
        for form in FORMS:
            cache = ps.Cache(size)
            with cached_loader(train, transform=random, cache=cache, cache_form=form) as one, \
                    cached_loader(validation, transform=fixed, shuffle=False, cache=cache, cache_form=form) as two:
                for epoch in range(3):
                    assert_same_epochs([[copied(b) for b in one]], [expected[0][epoch]])
                    assert_same_epochs([[copied(b) for b in two]], [expected[1][epoch]])
                for loader in (one, two):
                    stats = loader.stats()
                    assert_counts_agree(stats)
                    assert size == SMALL or stats["epochs"][-1]["cache"]["hit_ratio"] == 1
            cache.close()


def test_loaders_of_different_steps_do_not_mix_up_their_samples(pictures):
    """All at once, in one cache, sample by sample in turns."""
    first = {
        "bilinear": [ps.Resize((40, 50))], "bicubic": [ps.Resize((40, 50), "bicubic")],
        "nearest": [ps.Resize((40, 50), "nearest")], "turned": [ps.Resize((50, 40))],
        "not smoothed": [ps.Resize((40, 50), antialias=False)],
        "shorter side": [ps.Resize(60), ps.CenterCrop((40, 50))], "centre": [ps.CenterCrop((40, 50))],
        "grey": [ps.Decode("L"), ps.CenterCrop((40, 50))],
        "as stored": [ps.Decode(exif_orientation=False), ps.CenterCrop((40, 50))],
        "two steps": [ps.CenterCrop((80, 100)), ps.Resize((40, 50))],
        "map": [ps.Map(lambda pixels: pixels[:40, :50] // 2)], "other map": [ps.Map(lambda pixels: pixels[:40, :50] // 3)],
    }
    truth = {name: batches_of(pictures(), epochs=2, transform=steps) for name, steps in first.items()}
    for form in ("encoded", "decoded"):
        cache = ps.Cache(LARGE)
        with contextlib.ExitStack() as stack:
            loaders = {name: stack.enter_context(cached_loader(pictures(), transform=steps, cache=cache, cache_form=form))
                       for name, steps in first.items()}
            for epoch in range(2):
                for place, batches in enumerate(zip(*loaders.values(), strict=True)):
                    for name, batch in zip(loaders, batches):
                        assert same(copied(batch), truth[name][epoch][place]), (form, name)
        cache.close()


def test_a_picture_that_is_an_image_here_and_a_mask_there(tmp_path):
    for i in range(6):
        save_png(tmp_path / "p" / f"{i}.png", detail(i)[:, :, 0])
    source = ps.ImageFolder(tmp_path / "p", masks=tmp_path / "p")
    expected = batches_of(source, transform=CROP)
    for form in FORMS:
        assert_same_epochs(batches_of(source, transform=CROP, cache=LARGE, cache_form=form), expected)


KINDS = ("bytes", "float32[12]", "float32[3,4]", "int32[12]", "float32[20]", "float32[5]", "npy")


@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tfrecord"])
def test_a_field_that_is_one_kind_here_and_another_there(tmp_path, ending, first):
    """What one loader keeps of a field is read as another says; a kind that does not fit stays an error."""
    values = [np.arange(12, dtype=np.float32) * i for i in range(8)]
    if ending == "tfrecord":
        write_tfrecord(tmp_path / "d.tfrecord", [example(bin=value.tobytes()) for value in values])
    else:
        write_tar(tmp_path / f"d.{ending}", [(f"{i}.bin", value.tobytes()) for i, value in enumerate(values)])

    def read(kind, cache=None):
        try:
            return batches_of(ps.open_source(tmp_path / f"d.{ending}") if kind is None else
                              (ps.TFRecord if ending == "tfrecord" else ps.Tar)(tmp_path / f"d.{ending}", kinds={"bin": kind}),
                              epochs=2, cache=cache)
        except ps.Error as error:
            return error.code

    for second in KINDS:
        with contextlib.closing(ps.Cache(LARGE)) as cache:
            read(first, cache)
            assert same(read(second, cache), read(second)), f"{first}, then {second}"


def test_a_mix_and_its_parts_share_entries(tmp_path):
    mixed = write_two_folders(tmp_path)()
    part = ps.ImageFolder(tmp_path / "two")
    expected = batches_of(mixed, transform=CROP), batches_of(part, transform=CROP)
    with contextlib.closing(ps.Cache(LARGE)) as cache:
        with cached_loader(mixed, transform=CROP, cache=cache, cache_form="decoded") as one, \
                cached_loader(part, transform=CROP, cache=cache, cache_form="decoded") as two:
            assert_same_epochs([[copied(b) for b in one] for _ in range(3)], expected[0])
            assert_same_epochs([[copied(b) for b in two] for _ in range(3)], expected[1])
            assert two.stats()["epochs"][0]["cache"]["hits"] == 22
            assert cache.tiers()["ram"]["entries"] == 2 * SAMPLES


def test_a_large_loader_after_a_small_one_has_room_for_all_its_entries(tmp_path):
    """The first of a cache's loaders does not decide how many entries there can be."""
    np.save(tmp_path / "small.npy", np.zeros((10, 500), np.float32))
    np.save(tmp_path / "large.npy", np.random.default_rng(0).random((5000, 500), np.float32))
    with contextlib.closing(ps.Cache("32MiB")) as cache, cached_loader(tmp_path / "small.npy", cache=cache) as small, \
            cached_loader(tmp_path / "large.npy", 100, cache=cache) as large:
        list(small)
        for _ in range(2):
            list(large)
        assert large.stats()["epochs"][-1]["cache"]["hit_ratio"] == 1


def test_a_relative_path_of_another_folder_is_other_data(tmp_path, monkeypatch):
    """Two data sets of one name, from two folders the program goes to."""
    arrays = [volume(), volume() * 2]
    stamp = 1_600_000_000_000_000_000
    for i, array in enumerate(arrays):
        write_zarr(tmp_path / str(i) / "z", array, (2, 64, 96))
        for j in range(4):
            save_png(tmp_path / str(i) / "p" / f"{j}.png", np.full((90, 90, 3), 10 * i + j, np.uint8))
            os.utime(tmp_path / str(i) / "p" / f"{j}.png", ns=(stamp, stamp))
    with contextlib.closing(ps.Cache(LARGE)) as cache:
        for i, array in enumerate(arrays):
            monkeypatch.chdir(tmp_path / str(i))
            got = batches_of(ps.Zarr("z"), epochs=1, cache=cache, cache_form="decoded", shuffle=False)[0]
            assert np.array_equal(np.concatenate(got), array)
            images = batches_of("p", 1, cache=cache, cache_form="decoded", shuffle=False, batch_size=4)[0][0]
            assert images[:, 0, 0, 0].tolist() == [10 * i + j for j in range(4)]


@pytest.mark.parametrize("policy", ["keep", "lru"])
@pytest.mark.parametrize("name", ["zarr", "folder", "manifest", "kept index", "npy volume"])
def test_data_replaced_between_two_loaders_of_one_cache(tmp_path, policy, name):
    def write(number):
        if name == "zarr":
            write_zarr(tmp_path / "z", np.full((6, 50, 50), number, np.int32), (1, 50, 50))
        elif name == "npy volume":
            np.save(tmp_path / "v.npy", np.full((6, 50, 50), number, np.int32))
        else:
            for i in range(6):
                save_png(tmp_path / "p" / f"{i}.png", np.full((50, 50, 3), number + i, np.uint8), compress_level=0)
            write_json_lines(tmp_path / "t.jsonl", [{"image": f"p/{i}.png"} for i in range(6)])

    def read(cache):
        source = {"zarr": lambda: ps.Zarr(tmp_path / "z"), "folder": lambda: ps.ImageFolder(tmp_path / "p", keep_index=False),
                  "kept index": lambda: ps.ImageFolder(tmp_path / "p"), "manifest": lambda: ps.Manifest(tmp_path / "t.jsonl"),
                  "npy volume": lambda: ps.Patches(tmp_path / "v.npy", (1, 50, 50))}[name]()
        fields = [next(iter(source.fields))]
        (batch,), = batches_of(source, 1, cache=cache, cache_form="decoded", fields=fields, batch_size=6, shuffle=False)
        return batch[0].reshape(6, -1)[:, 0].tolist()

    write(10)
    first = read(None)
    with contextlib.closing(ps.Cache(LARGE, policy=policy)) as cache:
        assert read(cache) == first
        write(20)
        second = read(None)
        assert first != second
        assert read(cache) == second


def test_a_cache_outlives_its_loaders_until_it_is_closed(pictures):
    steps = STEPS["resize, random crop"]
    cache = ps.Cache(LARGE)
    assert cache.tiers() == {} and "not used yet" in repr(cache) and mapped_files() == []
    batches_of(pictures(), epochs=1, transform=steps, cache=cache, cache_form="decoded")
    assert cache.tiers()["ram"]["entries"] == SAMPLES and "16 MiB" in repr(cache)
    with cached_loader(pictures(), transform=steps, cache=cache, cache_form="decoded") as loader:
        list(loader)
        assert loader.stats()["cache"]["hit_ratio"] == 1
        cache.close()  # not before its last loader
        list(loader)
        assert loader.stats()["cache"]["misses"] == 0
        path, = mapped_files()
        assert path.exists()
    assert cache.tiers() == {} and mapped_files() == [] and not path.exists()
    assert loader.stats()["cache"]["tiers"]["ram"]["entries"] == SAMPLES
    cache.close()


def test_a_cache_that_nobody_closes_goes_with_its_last_user(pictures):
    loader = cached_loader(pictures(), transform=CROP, cache=ps.Cache(LARGE))
    next(iter(loader))
    path, = mapped_files()
    del loader
    gc.collect()
    assert mapped_files() == [] and not path.exists()


def test_batches_stay_valid_after_the_cache_is_gone(pictures):
    with cached_loader(pictures(), transform=CROP, cache=LARGE, cache_form="decoded") as loader:
        list(loader)
        kept = list(loader)
    gc.collect()
    assert_same_epochs([kept], batches_of(pictures(), 2, transform=CROP)[1:])


# -- what the cache says of itself ------------------------------------------------------------------


@pytest.mark.parametrize("form", ["encoded", "decoded"])
@pytest.mark.parametrize("name, fields", [("class folders", 1), ("masks", 2), ("tar", 10), ("tar.gz", 10), ("manifest", 1),
                                          ("tfrecord", 5), ("one .npy", 1), ("many .npy", 1)])
def test_what_is_kept_is_hit_in_every_later_epoch(stored, name, fields, form):
    """A hit for each entry that was there when the epoch began, no more and no less."""
    source, options = stored(name).open(), stored(name).options
    for size in (SMALL, LARGE):
        with cached_loader(source, cache=size, cache_form=form, **options) as loader:
            kept = 0
            for epoch in range(4):
                list(loader)
                stats = loader.stats()
                this, tier = stats["epochs"][-1]["cache"], stats["cache"]["tiers"]["ram"]
                assert (this["hits"], this["misses"]) == (kept, fields * SAMPLES - kept), epoch
                kept = tier["entries"]
            assert_counts_agree(stats)
            assert kept == fields * SAMPLES if size == LARGE else 0 < kept
            assert this["hit_ratio"] == 1 or size == SMALL


@pytest.mark.parametrize("form", ["encoded", "decoded"])
def test_a_cache_smaller_than_the_data_is_full_after_the_first_epoch(tmp_path, form):
    for i in range(100):
        save_png(tmp_path / f"{i:03}.png", noise((80, 90, 3), seed=i), compress_level=1)
    entry = 80 * 90 * 3 + 200
    with cached_loader(tmp_path, cache="1500kB", cache_form=form, transform=[ps.RandomCrop(64)]) as loader:
        for _ in range(3):
            list(loader)
            tier = loader.stats()["cache"]["tiers"]["ram"]
            assert tier["capacity"] - tier["used"] < 3 * entry
        ratios = [epoch["cache"]["hit_ratio"] for epoch in loader.stats()["epochs"]]
        assert ratios[0] == 0 and abs(ratios[1] - tier["entries"] / 100) < 0.03 and ratios[2] == tier["entries"] / 100
        assert 0.5 < ratios[2] < 0.7


def test_a_cache_just_as_large_as_the_data_holds_all_of_it(tmp_path):
    for i in range(40):
        save_png(tmp_path / f"{i:02}.png", noise((80, 100, 3), seed=i))
    needed = 1_150_000  # a little more than it takes
    for size in (None, 0, -30_000):
        with cached_loader(tmp_path, cache=needed + (size or 0), cache_form="decoded") as loader:
            for _ in range(3):
                list(loader)
            stats = loader.stats()
        tier = stats["cache"]["tiers"]["ram"]
        assert tier["entries"] == 40 if size != -30_000 else 37 < tier["entries"] < 40
        assert stats["epochs"][-1]["cache"]["hits"] == tier["entries"]
        needed = tier["used"]


@pytest.mark.parametrize("name, chunks, form", [
    ("zarr v3 whole samples", 30, "decoded"), ("zarr v3 whole samples", 30, "encoded"), ("zarr v3", 32, "decoded"),
    ("zarr v3", 32, "encoded"), ("zarr v3 sharded", 60, "decoded"), ("zarr v3 sharded", 60, "encoded"),
    ("zarr v3 plain", 32, "decoded"), ("zarr v3 plain", 32, "encoded"), ("grid of patches", 72, "decoded"),
    ("grid of patches", 72, "encoded"), ("zarr with holes", 28, "decoded")])
def test_whole_chunks_are_kept_and_none_is_read_again(stored, name, chunks, form):
    with cached_loader(stored(name).open(), cache=LARGE, cache_form=form, **stored(name).options) as loader:
        for _ in range(3):
            list(loader)
        stats = loader.stats()
    assert_counts_agree(stats)
    assert stats["cache"]["tiers"]["ram"]["entries"] == chunks
    last = stats["epochs"][-1]["cache"]
    # Decoded chunks that are still at hand are not looked for.
    assert last["misses"] == 0 or "holes" in name
    if form == "decoded":
        assert last["hits"] > 0 and stats["chunks"]["decoded"] == chunks


@pytest.mark.parametrize("form", ["encoded", "decoded"])
def test_a_cache_that_throws_out_what_was_unused_hits_less(tmp_path, form):
    """In order, the oldest is always the next: no hit at all; by chance, fewer than the share that is kept."""
    for i in range(60):
        save_png(tmp_path / f"{i:02}.png", noise((60, 60, 3), seed=i), compress_level=1)
    for shuffle in (False, True):
        with contextlib.closing(ps.Cache("320kB", policy="lru")) as cache, \
                cached_loader(tmp_path, cache=cache, cache_form=form, shuffle=shuffle, threads=1) as loader:
            for _ in range(6):
                list(loader)
            stats = loader.stats()
            assert_counts_agree(stats)
            share = cache.tiers()["ram"]["entries"] / 60
            assert 0.4 < share < 0.6 and not cache.tiers()["ram"]["shared"]
            assert stats["cache"]["hits"] == 0 if not shuffle else 0 < stats["cache"]["hits"] < share * 300


def test_bytes_and_seconds_are_those_of_the_hits(pictures):
    steps = [ps.Resize((40, 50)), ps.RandomCrop(30)]
    with cached_loader(pictures(), transform=steps, cache=LARGE, cache_form="decoded") as loader:
        for _ in range(3):
            list(loader)
        stats = loader.stats()
    tier = stats["cache"]["tiers"]["ram"]
    assert tier["hits"] == 2 * SAMPLES and tier["bytes"] == 2 * SAMPLES * 40 * 50 * 3
    assert SAMPLES * 40 * 50 * 3 < tier["used"] <= tier["capacity"] == 16 << 20
    assert stats["cache"]["damaged"] == 0 and tier["damaged"] == 0 and tier["shared"] is True
    first, *later = (epoch["cache"]["tiers"]["ram"]["seconds_saved"] for epoch in stats["epochs"])
    assert first == 0 and all(saved > 0 for saved in later)
    made = sum(stats["epochs"][0]["stages"][stage]["seconds"] for stage in ("read", "decode", "transform"))
    assert max(later) < 20 * made  # what it took to make them, by a clock that does not stop when others run


def test_nothing_is_decoded_or_read_once_all_is_kept(pictures):
    for form, stage in (("decoded", "decode"), ("encoded", "read")):
        with cached_loader(pictures(), transform=CROP, cache=LARGE, cache_form=form) as loader:
            for _ in range(2):
                list(loader)
            stats = loader.stats()
        assert stats["cache"]["form"] == form
        assert stats["epochs"][1]["cache"]["hit_ratio"] == 1
        if form == "decoded":
            assert stats["epochs"][1]["stages"][stage]["items"] == 0


def test_without_a_cache_nothing_is_counted(pictures):
    with cached_loader(pictures(), transform=CROP) as loader:
        list(loader)
        cache = loader.stats()["cache"]
    assert (cache["hits"], cache["misses"], cache["tiers"], cache["form"], cache["damaged"]) == (0, 0, {}, "", 0)


def test_the_first_of_several_entries_is_not_one_of_the_users(pictures):
    """What a loader notes for others is no sample."""
    for form in FORMS:
        with cached_loader(pictures(), transform=CROP, cache=LARGE, cache_form=form) as loader:
            list(loader)
            assert loader.stats()["cache"]["tiers"]["ram"]["entries"] == SAMPLES, form


# -- memory -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["class folders", "tar.gz", "zarr v3", "random patches"])
@pytest.mark.parametrize("policy", ["keep", "lru"])
def test_all_of_it_stays_within_the_memory_given(stored, name, policy):
    for form in FORMS:
        with contextlib.closing(ps.Cache("2MiB", policy=policy)) as cache, \
                cached_loader(stored(name).open(), cache=cache, cache_form=form, memory="48MiB", threads=4,
                              **stored(name).options) as loader:
            for _ in range(2):
                list(loader)
            stats = loader.stats()
            assert 2 << 20 <= stats["memory"]["peak"] <= 48 << 20
            tier = cache.tiers()["ram"]
            assert tier["used"] <= tier["capacity"] <= 2 << 20


def test_memory_that_cannot_hold_the_cache_is_said(pictures):
    for cache in ("128MiB", "64MiB", "63MiB"):
        with pytest.raises((ps.MemoryBudgetError, ps.UsageError), match="(?s)MiB.*cache") as caught:
            cached_loader(pictures(), transform=CROP, memory="64MiB", cache=cache)
        assert "\n" not in str(caught.value)


def test_a_loader_that_could_not_be_made_leaves_the_cache_as_it_was(pictures):
    """What it would have answered for, the next one does."""
    with contextlib.closing(ps.Cache("32MiB")) as cache:
        for wrong in ({"memory": "32MiB"}, {"fields": ["imag"]}, {"transform": [ps.RandomCrop(48), ps.Decode()]}):
            with pytest.raises(ps.Error):
                cached_loader(pictures(), cache=cache, **({"transform": CROP} | wrong))
        with cached_loader(pictures(), transform=CROP, cache=cache, memory="128MiB") as loader:
            list(loader)
            assert 32 << 20 <= loader.stats()["memory"]["peak"] <= 128 << 20


def test_loaders_after_the_first_do_not_answer_for_the_same_memory(pictures):
    with contextlib.closing(ps.Cache("32MiB")) as cache:
        with cached_loader(pictures(), transform=CROP, cache=cache, memory="80MiB") as one:
            list(one)
            with cached_loader(pictures(), transform=CROP, cache=cache, memory="40MiB") as two:
                list(two)
                assert two.stats()["memory"]["peak"] <= 32 << 20
            assert one.stats()["memory"]["peak"] >= 32 << 20


def test_a_picture_larger_than_the_cache_is_not_kept_and_comes_all_the_same(tmp_path):
    for i in range(4):
        save_jpeg(tmp_path / f"{i}.jpg", smooth(800, 900, seed=i))
    expected = batches_of(tmp_path, transform=CROP)
    with cached_loader(tmp_path, transform=CROP, cache=SMALL, cache_form="decoded") as loader:
        assert_same_epochs([[copied(b) for b in loader] for _ in range(3)], expected)
        assert loader.stats()["cache"]["tiers"]["ram"]["entries"] == 0


# -- wrong arguments --------------------------------------------------------------------------------


@pytest.mark.parametrize("options, kind, words", [
    ({"cache": True}, TypeError, ["cache=True", "8GiB"]), ({"cache": 1.5}, TypeError, ["cache=1.5", "8GiB"]),
    ({"cache": "8 gigs"}, ValueError, ["cache=", "8 gigs", "GiB"]), ({"cache": ""}, ValueError, ["cache=''"]),
    ({"cache": 0}, ValueError, ["cache=0", "above zero"]), ({"cache": "-1GiB"}, ValueError, ["cache=", "-1GiB"]),
    ({"cache": "1000"}, ps.UsageError, ["1000", "1 MiB"]), ({"cache": ["8GiB"]}, TypeError, ["cache=", "8GiB"]),
    ({"cache": "4MiB", "cache_form": "raw"}, ps.UsageError, ["cache_form", "raw", "encoded", "decoded"]),
    ({"cache": "4MiB", "cache_form": None}, TypeError, ["cache_form", "None"]),
    ({"cache_form": "raw"}, ps.UsageError, ["cache_form", "raw"]),
    ({"cache_size": "4MiB"}, TypeError, ["cache_size", "cache"]),
    ({"cache": "4MiB", "cache_form": "decoded", "transform": [ps.Decode(fast_decode=True), ps.RandomCrop(48)]},
     ps.UsageError, ["cache_form", "decoded", "fast_decode"]),
], ids=str)
def test_wrong_arguments_of_a_loader_are_said(pictures, options, kind, words):
    with pytest.raises(kind) as caught:
        cached_loader(pictures(), **({"transform": CROP} | options))
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value) and "incompatible function arguments" not in str(caught.value)


@pytest.mark.parametrize("options, kind, words", [
    ({}, ps.UsageError, ["ram=", "disk="]), ({"ram": True}, TypeError, ["ram=True"]),
    ({"ram": "8 gigs"}, ValueError, ["ram=", "8 gigs"]), ({"ram": 0}, ValueError, ["ram=0"]),
    ({"ram": 2.5}, TypeError, ["ram=2.5"]), ({"ram": 10**30}, (ValueError, ps.UsageError, OverflowError), ["ram"]),
    ({"disk": "folder"}, ValueError, ["disk=", "folder", "size"]), ({"disk": 5}, TypeError, ["disk=5", "folder"]),
    ({"disk": "folder:"}, ValueError, ["disk=", "size"]), ({"disk": ":5GiB"}, ValueError, ["disk=", "folder"]),
    ({"disk": "folder:many"}, ValueError, ["disk", "many"]), ({"disk": "/a:0"}, ValueError, ["disk", "above zero"]),
    ({"ram": "4MiB", "policy": "mru"}, (ValueError, ps.UsageError), ["policy", "mru", "keep", "lru"]),
    ({"ram": "4MiB", "policy": None}, TypeError, ["policy=None", "keep", "lru"]),
    ({"disk": "/a:4MiB", "policy": "lru"}, ps.UsageError, ["lru", "memory"]),
], ids=str)
def test_wrong_arguments_of_a_cache_are_said(options, kind, words):
    with pytest.raises(kind) as caught:
        ps.Cache(**options)
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value) and "incompatible function arguments" not in str(caught.value)


def test_a_closed_cache_serves_no_more_loaders(pictures):
    cache = ps.Cache("4MiB")
    cache.close()
    with pytest.raises(ps.UsageError, match="cache is closed"):
        cached_loader(pictures(), transform=CROP, cache=cache)


def test_fast_decode_keeps_what_is_stored(pictures):
    steps = [ps.Decode(fast_decode=True), ps.RandomResizedCrop(32)]
    expected = batches_of(pictures(), transform=steps)
    for form in ("auto", "encoded"):
        with cached_loader(pictures(), transform=steps, cache=LARGE, cache_form=form) as loader:
            assert_same_epochs([[copied(b) for b in loader] for _ in range(3)], expected)
            assert loader.stats()["cache"]["form"] == "encoded" and loader.stats()["cache"]["hits"] == 2 * SAMPLES


# -- trouble ----------------------------------------------------------------------------------------


def break_some(folder):
    """What is no picture, a cut JPEG and PNG, an empty file; the paths."""
    jpegs, pngs = sorted(folder.rglob("*.jpg")), sorted(folder.rglob("*.png"))
    jpegs[1].write_bytes(b"no picture")
    jpegs[4].write_bytes(b"")
    jpegs[6].write_bytes(jpegs[6].read_bytes()[:900])
    pngs[2].write_bytes(pngs[2].read_bytes()[:5000])
    flip_byte(pngs[4], pngs[4].stat().st_size // 2)
    return [jpegs[1], jpegs[4], jpegs[6], pngs[2], pngs[4]]


COUNTS = ("planned", "delivered", "skipped", "failed", "padded", "replaced", "batches")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_broken_samples_are_counted_as_without_a_cache(tmp_path, on_error, form):
    open_source = write_folders(tmp_path)
    break_some(tmp_path)
    options = {"transform": [ps.Resize(64), ps.RandomCrop(48)], "on_error": on_error, "max_skip": 0.9,
               "fields": ["image", "key"]}
    with cached_loader(open_source(), **options) as plain:
        expected = [[copied(b) for b in plain] for _ in range(3)]
        without = plain.stats()
    assert without["skipped"] + without["replaced"] == 15
    for size in (SMALL, LARGE):
        with cached_loader(open_source(), cache=size, cache_form=form, **options) as loader:
            assert_same_epochs([[copied(b) for b in loader] for _ in range(3)], expected)
            stats = loader.stats()
        assert {key: stats[key] for key in COUNTS} == {key: without[key] for key in COUNTS}
        assert stats["errors"] == without["errors"]
        assert_counts_agree(stats)


def test_a_broken_sample_takes_no_room_from_others(tmp_path):
    """All that is whole fits, with room to spare."""
    for i in range(20):
        path = save_jpeg(tmp_path / f"{i:02}.jpg", detail(i, 200, 200))
        if i % 2:
            damage(path)
    with cached_loader(tmp_path, cache="1700kB", cache_form="decoded", transform=[ps.Resize((190, 200))],
                       on_error="skip", max_skip=0.9) as loader:
        for _ in range(3):
            list(loader)
        assert loader.stats()["skipped"] == 30
        assert loader.stats()["cache"]["tiers"]["ram"]["entries"] == 10


def test_broken_pictures_are_never_kept(tmp_path):
    """As stored they may be: that they are broken is found out behind the cache."""
    open_source = write_folders(tmp_path)
    broken = break_some(tmp_path)
    with cached_loader(open_source(), cache=LARGE, cache_form="decoded", transform=[ps.Resize(64), ps.RandomCrop(48)],
                       on_error="skip", max_skip=0.9) as loader:
        for _ in range(3):
            list(loader)
        stats = loader.stats()
    assert stats["cache"]["tiers"]["ram"]["entries"] == SAMPLES - len(broken)


def damage(path):
    """In the last quarter of a JPEG, where its beginning decodes all the same."""
    data = bytearray(path.read_bytes())
    data[len(data) * 3 // 4:len(data) * 3 // 4 + 300] = b"\xfe" * 300
    path.write_bytes(data)


@pytest.mark.parametrize("form", FORMS)
def test_a_damaged_picture_whose_crop_is_whole_comes_with_the_cache_too(tmp_path, form):
    """Whether a sample can be delivered does not depend on the cache."""
    for i in range(8):
        damage(save_jpeg(tmp_path / f"{i}.jpg", detail(i, 300, 300)))
    options = {"transform": [ps.RandomCrop(40)], "on_error": "skip", "max_skip": 1.0, "fields": ["image", "key"]}
    with cached_loader(tmp_path, **options) as plain:
        expected = [[copied(b) for b in plain] for _ in range(3)]
        skipped = plain.stats()["skipped"]
    assert 0 < skipped < 24
    with cached_loader(tmp_path, cache=LARGE, cache_form=form, **options) as loader:
        got = [[copied(b) for b in loader] for _ in range(3)]
        assert loader.stats()["skipped"] == skipped
    assert_same_epochs(got, expected)


@pytest.mark.parametrize("form", FORMS)
def test_an_error_is_raised_as_without_a_cache(tmp_path, form):
    open_source = write_folders(tmp_path)
    (tmp_path / "a" / "04.jpg").write_bytes(b"no picture")
    said = []
    for options in ({}, {"cache": LARGE, "cache_form": form}):
        for _ in range(2):
            with cached_loader(open_source(), transform=CROP, **options) as loader, pytest.raises(ps.Error) as caught:
                list(loader)
            said.append((caught.value.code, caught.value.uri, caught.value.sample, str(caught.value)))
    assert len(set(said)) == 1 and said[0][1].endswith("04.jpg")


@pytest.mark.parametrize("form", FORMS)
def test_a_broken_chunk_is_an_error_with_and_without_a_cache(tmp_path, form):
    open_source = writes_zarr(compressors="auto")(tmp_path)
    (tmp_path / "z" / "c" / "3" / "0" / "0").write_bytes(b"no chunk")
    options = {"on_error": "skip", "max_skip": 0.9}
    with cached_loader(open_source(), **options) as plain:
        expected = [[copied(b) for b in plain] for _ in range(3)]
        without = plain.stats()
    with cached_loader(open_source(), cache=LARGE, cache_form=form, **options) as loader:
        assert_same_epochs([[copied(b) for b in loader] for _ in range(3)], expected)
        stats = loader.stats()
    assert stats["skipped"] == without["skipped"] == 12 and stats["errors"] == without["errors"]


@pytest.mark.parametrize("form", FORMS)
def test_a_picture_whose_mask_has_another_size(tmp_path, form):
    """Noticed in every epoch, whatever of the two is kept."""
    open_source = write_masked(tmp_path)
    save_png(tmp_path / "masks" / "07.png", detail(7, 100, 130)[:, :, 0])
    for fields in (["image", "mask", "key"], ["mask", "image", "key"]):
        options = {"transform": {"image": CROP, "mask": CROP}, "on_error": "skip", "max_skip": 0.9, "fields": fields}
        with cached_loader(open_source(), **options) as plain:
            expected = [[copied(b) for b in plain] for _ in range(3)]
            without = plain.stats()
        with cached_loader(open_source(), cache=LARGE, cache_form=form, **options) as loader:
            assert_same_epochs([[copied(b) for b in loader] for _ in range(3)], expected)
            stats = loader.stats()
        assert stats["skipped"] == without["skipped"] == (3 if fields[0] == "image" else 0)


def test_a_map_that_fails_keeps_nothing_wrong(pictures):
    calls = []

    def step(pixels):
        calls.append(1)
        if len(calls) % 7 == 0:
            raise ValueError("by chance")
        return pixels

    with cached_loader(pictures(), transform=[ps.Resize((32, 32)), ps.Map(step)], cache=LARGE, cache_form="decoded",
                       on_error="skip", max_skip=1.0) as loader:
        for _ in range(3):
            list(loader)
        assert loader.stats()["cache"]["hits"] == 2 * SAMPLES
    assert len(calls) >= 3 * SAMPLES  # it is asked anew in every epoch


# -- over HTTP --------------------------------------------------------------------------------------


class CountingServer:
    """How many requests came since the last look."""

    def __init__(self, server):
        self.server, self.requests = server, 0
        whole = server.fault_for

        def counted(*arguments):
            self.requests += 1
            return whole(*arguments)
        server.fault_for = counted

    def take(self):
        taken, self.requests = self.requests, 0
        return taken


@pytest.mark.parametrize("form", ["encoded", "decoded"])
@pytest.mark.parametrize("name", ["tar", "tar.gz", "tfrecord", "one .npy", "manifest", "zarr v3", "zarr v3 sharded", "zarr v3 plain",
                                  "random patches"])
def test_the_second_epoch_asks_a_server_for_nothing(stored, name, form):
    data = stored(name)
    options = data.options
    with serve(data.folder) as plain_server:
        url, server = plain_server.url, CountingServer(plain_server)
        open_source = {"tar": lambda: ps.Tar(f"{url}/s-{{0..1}}.tar"), "tar.gz": lambda: ps.Tar(f"{url}/s-{{0..1}}.tar.gz"),
                       "tfrecord": lambda: ps.TFRecord(f"{url}/r.tfrecord", kinds={"image": "image", "text": "text"}),
                       "one .npy": lambda: ps.Npy(f"{url}/big.npy"), "manifest": lambda: ps.Manifest(f"{url}/t.jsonl"),
                       "random patches": lambda: ps.Patches(f"{url}/v", (10, 20, 30), labels=f"{url}/l", per_epoch=SAMPLES,
                                                            min_foreground=0.3)}.get(name, lambda: ps.Zarr(f"{url}/z"))
        for size in (LARGE, SMALL) if form == "decoded" else (LARGE,):
            with cached_loader(open_source(), cache=size, cache_form=form, **options) as loader:
                got = [[copied(batch) for batch in loader]]
                assert server.take() > 0
                for _ in range(2):
                    got.append([copied(batch) for batch in loader])
                    later = server.take()
                    # A random patch may need a chunk that none before it did.
                    assert later == 0 or size == SMALL or name == "random patches", later
                assert_same_epochs(got, data.expected)
                assert_counts_agree(loader.stats())


def test_http_faults_in_the_first_epoch_leave_nothing_wrong_behind(tmp_path):
    write_table(tmp_path)
    expected = batches_of(ps.Manifest(tmp_path / "t.jsonl"), transform=CROP)
    with serve(tmp_path) as server:
        source = ps.Manifest(f"{server.url}/t.jsonl")
        server.fail("short body", times=3, path="p/")
        got = batches_of(source, transform=CROP, cache=LARGE, cache_form="decoded")
        assert server.faults_served == 3
    assert_same_epochs(got, expected)
