"""The statistics of the cache are true, and it stays within the memory given."""

import contextlib

import pytest

import penstock as ps
from cached import assert_counts_agree, assert_same_epochs, batches_of, cached_loader, copied
from cached_data import CROP, FORMS, LARGE, SAMPLES, SMALL
from pictures import noise, save_jpeg, save_png, smooth


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
    for i in range(50):
        save_png(tmp_path / f"{i:02}.png", noise((80, 100, 3), seed=i))
    needed = 1_400_000  # a little more than it takes
    for size in (None, 0, -30_000):
        with cached_loader(tmp_path, cache=needed + (size or 0), cache_form="decoded") as loader:
            for _ in range(3):
                list(loader)
            stats = loader.stats()
        tier = stats["cache"]["tiers"]["ram"]
        assert tier["entries"] == 50 if size != -30_000 else 47 < tier["entries"] < 50
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
    """A note that a loader leaves for others does not count as a sample."""
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
    """The next loader is charged for the memory that the first would have been charged for."""
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
        # Nobody does now: the next one has to.
        with pytest.raises(ps.Error, match="smaller cache"):
            cached_loader(pictures(), transform=CROP, cache=cache, memory="30MiB")


def test_a_picture_larger_than_the_cache_is_not_kept_and_comes_all_the_same(tmp_path):
    for i in range(4):
        save_jpeg(tmp_path / f"{i}.jpg", smooth(800, 900, seed=i))
    expected = batches_of(tmp_path, transform=CROP)
    with cached_loader(tmp_path, transform=CROP, cache=SMALL, cache_form="decoded") as loader:
        assert_same_epochs([[copied(b) for b in loader] for _ in range(3)], expected)
        assert loader.stats()["cache"]["tiers"]["ram"]["entries"] == 0
