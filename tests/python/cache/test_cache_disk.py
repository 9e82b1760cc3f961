"""The tier on disk: the next run finds what this one kept, whatever happened to the folder in between."""

import contextlib
import os
import pathlib
import random
import shutil
import subprocess
import textwrap
import time

import numpy as np
import pytest

import penstock as ps
from cached import Reader, assert_counts_agree, assert_same_epochs, batches_of, cached_loader, copied, small_disk
from cached_data import REPLACED, replaced_source, write_replaced
from cached_reader import expected_digests
from pictures import noise, save_png
from records import number_samples, write_tar
from zarr_writers import write_zarr

SAMPLES = 40
CROP = [["RandomCrop", 32]]
LARGE = "16MiB"
ENTRY = 70 * 70 * 3 + 128  # of a decoded picture, about


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache folder"


def files_of(folder):
    return folder / "penstock-cache-1"


def read(source, folder, size=LARGE, epochs=2, ram=None, form="decoded", steps=(ps.RandomCrop(32),), revalidate=True,
         **options):
    """A run of its own: the batches, and what stats() said."""
    with contextlib.closing(ps.Cache(ram=ram, disk=f"{folder}:{size}", revalidate=revalidate)) as cache, \
            cached_loader(source, cache=cache, cache_form=form, transform=list(steps) or None, **options) as loader:
        batches = [[copied(batch) for batch in loader] for _ in range(epochs)]
        return batches, loader.stats()


@pytest.fixture
def truth(noisy):
    return batches_of(noisy, 3, transform=[ps.RandomCrop(32)])


def hits(stats):
    return [epoch["cache"]["hits"] for epoch in stats["epochs"]]


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


# -- damage -----------------------------------------------------------------------------------------


def flip_bits(path, flips, seed):
    """At places of which something is written."""
    chance = random.Random(seed)
    with open(path, "r+b") as file:
        size = os.path.getsize(path)
        for _ in range(flips):
            place = chance.randrange(size)
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 1 << chance.randrange(8)]))


def test_flipped_bits_in_the_data_are_noticed_counted_and_mended(noisy, folder, truth):
    _, stats = read(noisy, folder)
    used = stats["cache"]["tiers"]["disk"]["used"] - (files_of(folder) / "index").stat().st_size
    with open(files_of(folder) / "data", "r+b") as file:
        for place in range(used // SAMPLES // 2, used, used // SAMPLES * 4):  # in every fourth entry
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 16]))
    batches, stats = read(noisy, folder)
    assert_same_epochs(batches, truth[:2])
    damaged = stats["cache"]["damaged"]
    assert damaged == stats["cache"]["tiers"]["disk"]["damaged"] and 9 <= damaged <= 11
    assert hits(stats) == [SAMPLES - damaged, SAMPLES]  # made again at once
    batches, stats = read(noisy, folder)
    assert_same_epochs(batches, truth[:2])
    assert hits(stats) == [SAMPLES, SAMPLES] and stats["cache"]["damaged"] == 0


@pytest.mark.parametrize("name", ["data", "index"])
@pytest.mark.parametrize("seed", range(6))
def test_flipped_bits_anywhere_never_show(noisy, folder, truth, name, seed):
    read(noisy, folder)
    for round in range(3):
        flip_bits(files_of(folder) / name, 3000 if seed % 2 else 30, seed * 10 + round)
        for _ in range(2):
            batches, stats = read(noisy, folder)
            assert_same_epochs(batches, truth[:2])
            assert_counts_agree(stats)


def test_flipped_bits_in_the_beginning_of_the_index_never_show(noisy, folder, truth):
    """Byte by byte: sizes, counts and the lock."""
    read(noisy, folder)
    kept = (files_of(folder) / "index").read_bytes()
    for place in range(0, 128, 3):
        changed = bytearray(kept)
        changed[place] ^= 0xFF
        (files_of(folder) / "index").write_bytes(changed)
        batches, _ = read(noisy, folder, epochs=1)
        assert_same_epochs(batches, truth[:1])


def test_bits_flipped_while_it_is_read(noisy, folder, truth):
    with contextlib.closing(ps.Cache(disk=f"{folder}:{LARGE}")) as cache, \
            cached_loader(noisy, cache=cache, cache_form="decoded", transform=[ps.RandomCrop(32)]) as loader:
        assert_same_epochs([[copied(b) for b in loader]], truth[:1])
        flip_bits(files_of(folder) / "data", 100_000, 1)
        assert_same_epochs([[copied(b) for b in loader]], truth[1:2])
        assert loader.stats()["cache"]["damaged"] > 0


@pytest.mark.parametrize("what", ["empty data", "short data", "no data", "no index", "empty index", "short index", "zero index",
                                  "garbage index", "garbage data", "no contents", "garbage contents", "swapped", "folder for a file"])
def test_garbage_in_the_folder_never_shows(noisy, folder, truth, what, caplog):
    read(noisy, folder)
    own = files_of(folder)
    size = (own / "index").stat().st_size
    act = {
        "empty data": lambda: (own / "data").write_bytes(b""),
        "short data": lambda: os.truncate(own / "data", 100_000),
        "no data": lambda: (own / "data").unlink(),
        "no index": lambda: (own / "index").unlink(),
        "empty index": lambda: (own / "index").write_bytes(b""),
        "short index": lambda: os.truncate(own / "index", size // 2),
        "zero index": lambda: (own / "index").write_bytes(bytes(size)),
        "garbage index": lambda: (own / "index").write_bytes(noise((size,), 3).tobytes()),
        "garbage data": lambda: (own / "data").write_bytes(noise((900_000,), 3).tobytes()),
        "no contents": lambda: (own / "contents").unlink(missing_ok=True),
        "garbage contents": lambda: (own / "contents").write_bytes(noise((5000,), 3).tobytes()),
        "swapped": lambda: ((own / "data").rename(own / "x"), (own / "index").rename(own / "data"), (own / "x").rename(own / "index")),
        "folder for a file": lambda: ((own / "data").unlink(), (own / "data").mkdir()),
    }[what]
    act()
    for run in range(2):
        batches, stats = read(noisy, folder)
        assert_same_epochs(batches, truth[:2])
        assert_counts_agree(stats)
    if what == "folder for a file":
        assert any("goes on without the cache on disk" in record.getMessage() for record in caplog.records)
    else:
        assert hits(stats) == [SAMPLES, SAMPLES]


def test_a_file_in_place_of_the_folder(noisy, folder, truth, caplog):
    folder.write_text("not a folder")
    batches, stats = read(noisy, folder)
    assert_same_epochs(batches, truth[:2])
    said, = (record.getMessage() for record in caplog.records)
    assert "goes on without the cache on disk" in said and str(folder) in said
    assert "disk" not in stats["cache"]["tiers"] and folder.read_text() == "not a folder"


def test_a_folder_of_another_version_is_left_alone(noisy, folder, truth):
    other = folder / "penstock-cache-2"
    other.mkdir(parents=True)
    for name in ("index", "data", "notes"):
        (other / name).write_bytes(b"of another version")
    (folder / "mine.txt").write_text("the user's")
    for run in range(2):
        batches, stats = read(noisy, folder)
        assert_same_epochs(batches, truth[:2])
        assert hits(stats)[0] == (SAMPLES if run else 0)
    assert {path.name: path.read_bytes() for path in other.iterdir()} == dict.fromkeys(
        ("index", "data", "notes"), b"of another version")
    assert (folder / "mine.txt").read_text() == "the user's"


def test_links_in_place_of_the_files_are_not_followed(tmp_path, noisy, folder, truth):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    for name in ("index", "data"):
        shutil.rmtree(folder, ignore_errors=True)
        files_of(folder).mkdir(parents=True, mode=0o700)
        (files_of(folder) / name).symlink_to(victim)
        batches, _ = read(noisy, folder)
        assert_same_epochs(batches, truth[:2])
        assert victim.read_bytes() == b"precious"


# -- a folder that cannot be used -------------------------------------------------------------------


def test_a_folder_removed_while_it_is_used(noisy, folder, truth):
    with contextlib.closing(ps.Cache(disk=f"{folder}:{LARGE}")) as cache, \
            cached_loader(noisy, cache=cache, cache_form="decoded", transform=[ps.RandomCrop(32)]) as loader:
        assert_same_epochs([[copied(b) for b in loader]], truth[:1])
        shutil.rmtree(folder)
        assert_same_epochs([[copied(b) for b in loader] for _ in range(2)], truth[1:])
    batches, stats = read(noisy, folder)
    assert_same_epochs(batches, truth[:2])
    assert hits(stats)[1] == SAMPLES


def test_a_folder_removed_in_the_middle_of_filling(noisy, folder, truth):
    with contextlib.closing(ps.Cache(disk=f"{folder}:{LARGE}")) as cache, \
            cached_loader(noisy, cache=cache, cache_form="decoded", transform=[ps.RandomCrop(32)], prefetch=1) as loader:
        began = iter(loader)
        got = [copied(next(began))]
        shutil.rmtree(folder)
        got += [copied(b) for b in began]
        assert_same_epochs([got, [copied(b) for b in loader]], truth[:2])


def test_a_folder_removed_between_runs_is_made_again(noisy, folder, truth):
    read(noisy, folder)
    shutil.rmtree(folder)
    for run in range(2):
        batches, stats = read(noisy, folder / "deeper" / "still")
        assert_same_epochs(batches, truth[:2])
        assert hits(stats) == [SAMPLES if run else 0, SAMPLES]


def read_only(folder):
    """A command before the program: the folder is mounted so that nothing can be written, not even by root."""
    wrapper = ["unshare", "--mount", "sh", "-c", f'mount --bind -o ro "{folder}" "{folder}" && '
               f'mount -o remount,bind,ro "{folder}" && exec "$@"', "sh"]
    if subprocess.run([*wrapper, "true"], capture_output=True).returncode != 0:
        pytest.skip("may not mount a folder read-only")
    return wrapper


@pytest.mark.parametrize("is_filled", [False, True])
def test_a_read_only_folder_is_said_once_and_samples_are_right(noisy, folder, is_filled):
    folder.mkdir()
    if is_filled:
        read(noisy, folder)
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded", "cache_options": {"disk": f"{folder}:{LARGE}"}}
    expected = expected_digests(2, **own)
    with Reader(**own, wrapper=read_only(folder)) as reader:
        answers = [reader.epoch(), reader.epoch()]
        assert [answer["digests"] for answer in answers] == expected
        said, = answers[-1]["warnings"]
        assert "goes on without the cache on disk" in said and str(folder) in said and "ead-only" in said
        assert reader.end() == (0, "")
    if is_filled:
        _, stats = read(noisy, folder)
        assert hits(stats)[0] == SAMPLES


def test_a_disk_too_small_for_the_index_is_left_as_it_was(noisy, folder):
    """And what is asked of it afterwards is had."""
    prelude = textwrap.dedent(f"""
        import os, penstock as ps
        for size in ("200GiB", "8388600TiB"):
            with ps.Cache(disk="{folder}:" + size) as cache, ps.Loader("{noisy}", 5, cache=cache) as loader:
                assert len(list(loader)) == 8 and "disk" not in cache.tiers()
            status = os.statvfs("{folder}")
            assert (status.f_blocks - status.f_bfree) * status.f_frsize < 50_000
        """)
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded", "cache_options": {"disk": f"{folder}:2MiB"}}
    with Reader(**own, wrapper=small_disk(folder, "4m"), prelude=prelude) as reader:
        assert reader.epoch()["digests"] == expected_digests(1, **own)[0]
        assert reader.epoch()["hits"] == SAMPLES


def test_a_table_that_is_full_is_made_larger_with_the_cache(noisy, folder):
    read(noisy, folder, size="600kB")
    np.save(folder / "many.npy", np.arange(20_000 * 60).reshape(20_000, 60))
    for _ in range(2):  # the first fills the table of the small cache
        _, stats = read(ps.Npy(folder / "many.npy"), folder, size="64MiB", steps=(), batch_size=500)
    assert stats["epochs"][1]["cache"]["hit_ratio"] == 1


def test_a_disk_that_is_full_is_said_once_and_what_is_there_is_used(noisy, folder):
    """A disk of 4 MiB that is to hold 6 MiB."""
    for i in range(SAMPLES):
        save_png(noisy / f"{i:02}.png", noise((230, 230, 3), seed=i), compress_level=1)
    wrapper = small_disk(folder, "4m")
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded", "cache_options": {"disk": f"{folder}:{LARGE}"}}
    expected = expected_digests(3, **own)
    with Reader(**own, wrapper=wrapper) as reader:
        answers = [reader.epoch() for _ in range(3)]
        assert [answer["digests"] for answer in answers] == expected
        said, = answers[-1]["warnings"]
        assert "full" in said and str(folder) in said
        assert answers[-1]["hits"] == answers[-1]["tiers"]["disk"]["entries"]
        assert reader.end() == (0, "")


@pytest.mark.slow
def test_a_disk_that_fills_up_on_the_way_keeps_what_it_has(tmp_path, folder):
    """A disk of 80 MiB that is to hold 100 MB."""
    np.save(tmp_path / "d.npy", np.random.default_rng(0).random((100, 500, 500), np.float32))
    wrapper = small_disk(folder, "80m")
    own = {"source": tmp_path / "d.npy", "kind": "Npy", "cache_options": {"disk": f"{folder}:1GiB"}}
    expected = expected_digests(3, **own)
    with Reader(**own, wrapper=wrapper) as reader:
        answers = [reader.epoch() for _ in range(3)]
        assert [answer["digests"] for answer in answers] == expected
        said, = answers[-1]["warnings"]
        assert "full" in said and str(folder) in said and 50 < answers[-1]["hits"] < 100
        assert reader.end() == (0, "")


@pytest.mark.parametrize("limit", [1000, 100_000, 300_000])
def test_files_that_may_not_grow_are_said_once(noisy, folder, limit):
    prelude = (f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); "
               "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)")
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded", "cache_options": {"disk": f"{folder}:{LARGE}"}}
    expected = expected_digests(2, **own)
    with Reader(**own, prelude=prelude) as reader:
        answers = [reader.epoch(), reader.epoch()]
        assert [answer["digests"] for answer in answers] == expected
        assert len(answers[-1]["warnings"]) == 1 and str(folder) in answers[-1]["warnings"][0]
        assert reader.end() == (0, "")
    # The next run, which may, has all of it.
    with Reader(**own) as reader:
        assert [reader.epoch()["digests"] for _ in range(2)] == expected
        assert reader.epoch()["hits"] == SAMPLES


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


# -- several at one folder --------------------------------------------------------------------------


def test_two_pipelines_in_one_folder_do_not_mix_up_their_samples(tmp_path, noisy, folder):
    for i in range(SAMPLES):
        save_png(tmp_path / "other" / f"{i:02}.png", noise((70, 70, 3), seed=100 + i), compress_level=1)
    pipelines = [(noisy, [ps.RandomCrop(32)]), (noisy, [ps.Resize(50), ps.RandomCrop(32)]),
                 (noisy, [ps.Decode("L"), ps.RandomCrop(32)]), (tmp_path / "other", [ps.RandomCrop(32)])]
    truth = [batches_of(source, 2, transform=steps) for source, steps in pipelines]
    for run in range(2):
        for (source, steps), expected in zip(pipelines, truth):
            for form in ("encoded", "decoded"):
                batches, stats = read(source, folder, steps=steps, form=form)
                assert_same_epochs(batches, expected)
                assert hits(stats)[1] == SAMPLES and (not run or hits(stats)[0] == SAMPLES)


def test_runs_that_read_a_field_as_different_kinds_do_not_mix_it_up(tmp_path, folder):
    write_tar(tmp_path / "d.tar", [(f"{i}.bin", np.full(12, i, np.float32).tobytes()) for i in range(20)])
    for kind in ("bytes", "float32[12]", "int32[3,4]", "bytes"):
        source = ps.Tar(tmp_path / "d.tar", kinds={"bin": kind})
        assert_same_epochs(read(source, folder, steps=())[0], batches_of(source, 2))


@contextlib.contextmanager
def read_together(epochs, **own):
    """Two processes that go through the same epochs at the same time, and their answers to each."""
    expected = [expected_digests(epochs, **own, seed=seed) for seed in range(2)]
    with Reader(**own, seed=0) as one, Reader(**own, seed=1) as two:
        answers = []
        for epoch in range(epochs):
            one.tell("epoch"), two.tell("epoch")
            answers.append([one.answer(), two.answer()])
            assert [answer["digests"] for answer in answers[-1]] == [truth[epoch] for truth in expected]
        yield one, two, answers


def test_two_processes_fill_one_folder_together(noisy, folder):
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded", "cache_options": {"disk": f"{folder}:{LARGE}"}}
    with read_together(3, **own) as (one, two, answers):
        assert all(max(answer["tiers"]["disk"]["entries"] for answer in both) == SAMPLES for both in answers)
        assert [answer["hits"] for both in answers[1:] for answer in both] == [SAMPLES] * 4
        assert [reader.end() for reader in (one, two)] == [(0, "")] * 2
    _, stats = read(noisy, folder)
    assert hits(stats)[0] == SAMPLES


def test_two_processes_with_memory_and_disk(noisy, folder):
    own = {"source": noisy, "steps": [["Resize", 100], *CROP], "cache_form": "decoded",
           "cache_options": {"ram": "1MiB", "disk": f"{folder}:{LARGE}"}}
    with read_together(3, **own) as (_, two, _):
        tiers = two.epoch()["tiers"]
        in_memory = tiers["ram"]["entries"]
        # Each sample went to one of the tiers. Those in memory are copied to disk afterwards.
        assert in_memory > 5 and SAMPLES - in_memory <= tiers["disk"]["entries"] <= SAMPLES


def test_a_folder_that_is_in_use_by_another_size_still_gives_right_samples(noisy, folder):
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded"}
    expected = expected_digests(2, **own)
    with Reader(**own, cache_options={"disk": f"{folder}:16MiB"}) as one:
        assert one.epoch()["digests"] == expected[0]
        for size in ("300kB", "64MiB"):
            with Reader(**own, cache_options={"disk": f"{folder}:{size}"}) as two:
                assert [two.epoch()["digests"] for _ in range(2)] == expected
        assert one.epoch()["digests"] == expected[1]


# -- who is killed ----------------------------------------------------------------------------------


def kill_while_filling(noisy, folder, kills, seed):
    own = {"source": noisy, "steps": CROP, "cache_form": "decoded", "threads": 2,
           "cache_options": {"disk": f"{folder}:{LARGE}"}}
    expected = expected_digests(2, **own)
    chance = random.Random(seed)
    for _ in range(kills):
        if chance.random() < 0.3:
            shutil.rmtree(folder, ignore_errors=True)
        with Reader(**own) as reader:
            reader.tell("epoch")
            time.sleep(chance.random() * 0.02)
            reader.kill()
        with Reader(**own) as reader:
            answers = [reader.epoch(), reader.epoch()]
            assert [answer["digests"] for answer in answers] == expected
            assert answers[1]["hits"] == SAMPLES and answers[1]["damaged"] == 0
            assert answers[1]["tiers"]["disk"]["used"] < 2 * SAMPLES * ENTRY
            assert reader.end() == (0, "")


def test_a_run_killed_while_filling_leaves_a_folder_that_is_right(noisy, folder):
    kill_while_filling(noisy, folder, 4, seed=1)


@pytest.mark.slow
def test_50_runs_killed_while_filling_leave_a_folder_that_is_right(noisy, folder):
    kill_while_filling(noisy, folder, 50, seed=2)


@pytest.mark.slow
def test_processes_are_killed_while_others_use_the_folder(noisy, folder):
    own = {"source": noisy, "shuffle": False, "steps": [["Resize", 100]], "cache_form": "decoded",
           "cache_options": {"disk": f"{folder}:{LARGE}"}}
    expected = expected_digests(1, **own)[0]
    chance = random.Random(5)
    with Reader(**own) as stays:
        for _ in range(40):
            with Reader(**own) as victim:
                stays.tell("epoch"), victim.tell("epoch")
                time.sleep(chance.random() * 0.02)
                victim.kill()
            assert stays.answer()["digests"] == expected
        assert stays.epoch()["hits"] == SAMPLES


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
