"""Wrong arguments, broken samples and servers that fail: the cache changes nothing of it."""

import os

import pytest

import penstock as ps
from cached import assert_counts_agree, assert_same_epochs, batches_of, cached_loader, copied
from cached_data import (CROP, FORMS, LARGE, SAMPLES, SMALL, detail, write_folders, write_masked, write_table,
                         writes_zarr)
from http_faults import serve
from pictures import save_jpeg, save_png
from records import flip_byte


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
    ({"disk": "/a:1KiB"}, ps.UsageError, ["disk", "64 KiB"]), ({"disk": "/a\0b:4MiB"}, ValueError, ["disk=", "folder"]),
], ids=str)
def test_wrong_arguments_of_a_cache_are_said(options, kind, words):
    with pytest.raises(kind) as caught:
        ps.Cache(**options)
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value) and "incompatible function arguments" not in str(caught.value)


def test_a_folder_whose_name_is_no_text_serves(tmp_path, pictures):
    folder = os.fsdecode(bytes(tmp_path) + b"/\xff")
    with ps.Cache(disk=f"{folder}:4MiB") as cache:
        batches_of(pictures(), 1, cache=cache, transform=CROP)
        assert os.listdir(folder) == ["penstock-cache-1"] and "disk" in repr(cache)
    assert "closed" in repr(cache)


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
    """Writes a file that is no picture, a cut JPEG, a cut PNG and an empty file; returns the paths."""
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
    """All whole samples fit, and memory is left."""
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


def skipped_with_and_without(open_source, form, **options):
    """Returns stats() of both loaders, which deliver the same batches."""
    options |= {"on_error": "skip", "max_skip": 0.9}
    with cached_loader(open_source(), **options) as plain:
        expected = [[copied(b) for b in plain] for _ in range(3)]
        without = plain.stats()
    with cached_loader(open_source(), cache=LARGE, cache_form=form, **options) as loader:
        assert_same_epochs([[copied(b) for b in loader] for _ in range(3)], expected)
        return loader.stats(), without


@pytest.mark.parametrize("form", FORMS)
def test_a_broken_chunk_is_an_error_with_and_without_a_cache(tmp_path, form):
    open_source = writes_zarr(compressors="auto")(tmp_path)
    (tmp_path / "z" / "c" / "3" / "0" / "0").write_bytes(b"no chunk")
    stats, without = skipped_with_and_without(open_source, form)
    assert stats["skipped"] == without["skipped"] == 12 and stats["errors"] == without["errors"]


@pytest.mark.parametrize("form", FORMS)
def test_a_picture_whose_mask_has_another_size(tmp_path, form):
    """Noticed in every epoch, whatever of the two is kept."""
    open_source = write_masked(tmp_path)
    save_png(tmp_path / "masks" / "07.png", detail(7, 100, 130)[:, :, 0])
    for fields in (["image", "mask", "key"], ["mask", "image", "key"]):
        stats, without = skipped_with_and_without(open_source, form, transform={"image": CROP, "mask": CROP}, fields=fields)
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
    """Returns the number of requests since the last call."""

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
