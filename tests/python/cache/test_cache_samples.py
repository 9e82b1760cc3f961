"""Samples never depend on the cache."""

import contextlib
import gc
import os

import numpy as np
import pytest

import penstock as ps
from cached import assert_counts_agree, assert_same_epochs, batches_of, cached_loader, copied, mapped_files, same
from cached_data import (CROP, DATA, FORMS, LARGE, REPLACED, SAMPLES, SMALL, detail, replaced_source, volume,
                         write_replaced, write_two_folders)
from cached_reader import digests, open_loader
from pictures import save_jpeg, save_png, smooth
from records import example, write_tar, write_tfrecord
from zarr_writers import write_zarr


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
    """One loader reads the entry of another as its own kind of field; a kind that does not fit stays an error."""
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
@pytest.mark.parametrize("kind", REPLACED)
def test_data_replaced_between_two_loaders_of_one_cache(tmp_path, policy, kind):
    def read(cache=None):
        with open_loader(replaced_source(tmp_path, kind) | {"cache": cache, "cache_form": "decoded"}) as loader:
            return digests(loader)

    write_replaced(tmp_path, kind, 0)
    first = read()
    with contextlib.closing(ps.Cache(LARGE, policy=policy)) as cache:
        assert read(cache) == first
        write_replaced(tmp_path, kind, 1)
        second = read()
        assert set(first).isdisjoint(second)
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
