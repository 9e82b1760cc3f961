"""The tier on disk: the next run finds what this one kept."""

import contextlib
import pathlib

import numpy as np
import pytest

import penstock as ps
from cached import Reader, assert_counts_agree, assert_same_epochs, batches_of, cached_loader
from cached_data import REPLACED, replaced_source, write_replaced
from cached_reader import expected_digests
from disk_runs import CROP, ENTRY, LARGE, SAMPLES, files_of, hits, read
from pictures import noise, save_png
from records import number_samples, write_tar
from zarr_writers import write_zarr


# -- a second run starts warm -----------------------------------------------------------------------


@pytest.mark.parametrize("form", ["encoded", "decoded"])
def test_a_second_run_starts_warm(noisy, folder, truth, form, caplog):
    for run in range(3):
        batches, stats = read(noisy, folder, form=form)
        assert_same_epochs(batches, truth[:2])
        assert_counts_agree(stats)
        assert hits(stats) == [SAMPLES if run else 0, SAMPLES]
        tier = stats["cache"]["tiers"]["disk"]
        assert (tier["entries"], tier["damaged"], stats["cache"]["damaged"]) == (SAMPLES, 0, 0)
        assert tier["capacity"] == 16 << 20 and SAMPLES * 10_000 < tier["used"] <= 16 << 20
    assert caplog.records == []
    assert {path.name for path in files_of(folder).iterdir()} >= {"index", "data"}
    assert files_of(folder).stat().st_mode & 0o777 == 0o700


def test_another_process_starts_warm_with_what_fitted(noisy, folder):
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded", "cache_options": {"disk": f"{folder}:{ENTRY * 25}"}}
    expected = expected_digests(3, **own)
    with Reader(**own) as reader:
        answers = [reader.epoch() for _ in range(3)]
        assert [answer["digests"] for answer in answers] == expected
        kept = answers[-1]["tiers"]["disk"]["entries"]
        assert 20 <= kept <= 25 and answers[-1]["hits"] == kept
        assert reader.end() == (0, "")
    with Reader(**own) as reader:
        answer = reader.epoch()
        assert (answer["hits"], answer["misses"], answer["digests"]) == (kept, SAMPLES - kept, expected[0])
        assert answer["tiers"]["disk"]["entries"] == kept


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "npy", "zarr", "sharded zarr", "patches"])
def test_a_second_run_of_other_data_starts_warm(tmp_path, folder, kind):
    data = np.random.default_rng(0).integers(0, 999, (24, 40, 50), dtype=np.int32)
    if kind.startswith("tar"):
        path = write_tar(tmp_path / f"d.{kind}", number_samples(0, 24, pad=5000))
    elif kind == "npy":
        np.save(path := tmp_path / "d.npy", data)
    else:
        path = write_zarr(tmp_path / "d", data, (2, 20, 50), **({"shards": (6, 40, 50)} if kind == "sharded zarr" else {}))

    def opened():
        return ps.Zarr(path) if "zarr" in kind else ps.Patches(path, (4, 10, 10)) if kind == "patches" else ps.open_source(path)

    expected = batches_of(opened(), 2)
    for form in ("encoded", "decoded"):
        for run in range(2):
            batches, stats = read(opened(), folder, form=form, steps=())
            assert_same_epochs(batches, expected)
            assert_counts_agree(stats)
        if form == "decoded" or "zarr" not in kind and kind != "patches":
            assert stats["cache"]["misses"] == 0 and stats["cache"]["hits"] > 0


def test_a_larger_folder_keeps_what_is_there_and_takes_more(noisy, folder, truth):
    _, stats = read(noisy, folder, size=ENTRY * 15)
    few = stats["cache"]["tiers"]["disk"]["entries"]
    batches, stats = read(noisy, folder)
    assert_same_epochs(batches, truth[:2])
    assert hits(stats) == [few, SAMPLES]


def test_a_smaller_folder_is_made_anew_and_said(noisy, folder, truth, caplog):
    read(noisy, folder)
    batches, stats = read(noisy, folder, size=ENTRY * 15)
    assert_same_epochs(batches, truth[:2])
    assert hits(stats)[0] == 0 and hits(stats)[1] > 5
    assert len(caplog.records) == 1 and "made anew" in caplog.records[0].getMessage()
    assert (files_of(folder) / "data").stat().st_size <= ENTRY * 15


# -- memory and disk together -----------------------------------------------------------------------


@pytest.mark.parametrize("form", ["encoded", "decoded"])
def test_memory_and_disk_together_hold_every_sample(tmp_path, folder, form):
    for i in range(60):
        save_png(tmp_path / "p" / f"{i:02}.png", noise((100, 100, 3), seed=i), compress_level=1)
    expected = batches_of(tmp_path / "p", 3, transform=[ps.RandomCrop(32)])
    batches, stats = read(tmp_path / "p", folder, ram="1MiB", form=form, epochs=3)
    assert_same_epochs(batches, expected)
    assert_counts_agree(stats)
    tiers = stats["cache"]["tiers"]
    in_memory = tiers["ram"]["entries"]
    assert 20 < in_memory < 40
    # Each sample went to one of them. Those in memory are copied to disk afterwards, as far as the run lasts.
    assert 60 - in_memory <= tiers["disk"]["entries"] <= 60
    assert hits(stats) == [0, 60, 60]
    assert tiers["ram"]["hits"] == 2 * in_memory and tiers["disk"]["hits"] == 2 * (60 - in_memory)
    # What was in memory is gone, what was on disk is there.
    batches, again = read(tmp_path / "p", folder, ram="1MiB", form=form, epochs=3)
    assert_same_epochs(batches, expected)
    assert tiers["disk"]["entries"] <= hits(again)[0] <= 60 and hits(again)[1:] == [60, 60]
    after = again["cache"]["tiers"]
    assert after["ram"]["entries"] + hits(again)[0] == 60 and after["disk"]["entries"] >= hits(again)[0]


def test_all_of_it_stays_within_the_memory_given(noisy, folder):
    for ram in (None, "1MiB"):
        _, stats = read(noisy, folder, ram=ram, memory="32MiB", threads=4)
        assert stats["memory"]["peak"] <= 32 << 20


# -- data that changes ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", REPLACED)
@pytest.mark.parametrize("form", ["encoded", "decoded"])
def test_data_replaced_between_runs_is_read_anew(tmp_path, folder, kind, form):
    """Same sizes, other content; a kept index does not hide it."""
    def opened():
        own = replaced_source(tmp_path, kind)
        return getattr(ps, own.get("kind", "ImageFolder"))(own["source"], **own.get("kind_options", {}))

    write_replaced(tmp_path, kind, 0)
    first = batches_of(opened(), 2)
    assert_same_epochs(read(opened(), folder, form=form, steps=())[0], first)
    write_replaced(tmp_path, kind, 1)
    second = batches_of(opened(), 2)
    with pytest.raises(AssertionError):
        assert_same_epochs(second, first)
    for run in range(2):
        batches, stats = read(opened(), folder, form=form, steps=())
        assert_same_epochs(batches, second)
        ratio = stats["epochs"][0]["cache"]["hit_ratio"]
        shares_chunks = kind in ("zarr", "npy volume")
        assert ratio == 1 if run else ratio == 0 or (shares_chunks and ratio < 1)


# -- what people do with it -------------------------------------------------------------------------


def test_a_folder_may_have_colons_spaces_and_a_home(tmp_path, noisy, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("a:b", "with space", "\u96ea"):
        read(noisy, tmp_path / name, epochs=1)
        assert files_of(tmp_path / name).is_dir()
    ps_cache = ps.Cache(disk=f"~/at home:{LARGE}")
    with contextlib.closing(ps_cache), cached_loader(noisy, cache=ps_cache) as loader:
        next(iter(loader))
    assert files_of(pathlib.Path(tmp_path) / "at home").is_dir()


def test_nothing_is_made_before_the_first_loader(folder):
    with contextlib.closing(ps.Cache(disk=f"{folder}:{LARGE}")) as cache:
        assert cache.tiers() == {}
    assert not folder.exists()


def test_a_second_run_over_http_asks_for_no_samples_without_revalidation(tmp_path, folder):
    from http_faults import serve

    for i in range(20):
        save_png(tmp_path / "d" / f"{i:02}.png", noise((30, 30, 3), seed=i))
    (tmp_path / "d.csv").write_text("image\n" + "".join(f"d/{i:02}.png\n" for i in range(20)))
    expected = batches_of(ps.Manifest(tmp_path / "d.csv"), 2, transform=[ps.CenterCrop(20)])
    with serve(tmp_path) as server:
        for run in range(2):
            batches, stats = read(ps.Manifest(f"{server.url}/d.csv"), folder, steps=[ps.CenterCrop(20)],
                                  revalidate=False)
            assert_same_epochs(batches, expected)
            assert hits(stats) == [20 * run, 20]
            server.fail("404", path=".png")  # they are not needed any more
