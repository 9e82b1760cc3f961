"""Compressed shards, which can only be read forward."""

import gzip
import json
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import penstock as ps
from records import (compress, example, flip_byte, make_loader, number_samples, read_all, read_numbers, tar_bytes, write_number_shards,
                     write_tar, write_tfrecord)

TAR_ENDINGS = [".tar.gz", pytest.param(".tar.zst", marks=pytest.mark.skipif(not shutil.which("zstd"), reason="no zstd"))]


def write_shards(folder, ending, shards, samples, pad=0):
    """Sample i is class (feature) i."""
    if "tar" in ending:
        return write_number_shards(folder, shards, samples, ending, pad), "cls"
    for shard in range(shards):
        write_tfrecord(folder / f"part-{shard:03}{ending}",
                       [example(y=i, **({"bin": np.random.default_rng(i).bytes(pad)} if pad else {}))
                        for i in range(shard * samples, (shard + 1) * samples)])
    return folder / f"part-*{ending}", "y"


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """Four compressed shards of 40 samples of 300 KiB: three blocks a shard."""
    return write_number_shards(tmp_path_factory.mktemp("wide"), 4, 40, ".tar.gz", pad=300 << 10)


# -- order --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [*TAR_ENDINGS, ".tgz", ".tfrecord.gz"])
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True, "window"])
def test_every_sample_comes_once_an_epoch(tmp_path, ending, shards, shuffle):
    if ending == ".tgz":
        for shard in range(shards):
            (tmp_path / f"part-{shard:03}.tgz").write_bytes(compress(tar_bytes(number_samples(shard * 30, 30)), ".gz"))
        pattern, field = tmp_path / "part-*.tgz", "cls"
    else:
        pattern, field = write_shards(tmp_path, ending, shards, 30)
    numbers = read_numbers(pattern, field, shuffle=shuffle, epochs=2)
    one, two = numbers[:30 * shards], numbers[30 * shards:]
    assert sorted(one) == sorted(two) == list(range(30 * shards))
    assert (one == sorted(one)) == (shuffle is False) and (one == two) == (shuffle is False)


def test_blocks_of_several_shards_are_mixed(wide):
    numbers = read_numbers(wide, shuffle=True)
    assert sorted(numbers) == list(range(160)) and {n // 40 for n in numbers[:40]} == {0, 1, 2, 3}


@pytest.mark.parametrize("shuffle", [False, True])
def test_the_order_is_the_same_for_any_number_of_threads_and_batches(wide, shuffle):
    orders = [read_numbers(wide, shuffle=shuffle, seed=3, threads=t, batch_size=b) for t, b in ((1, 7), (2, 16), (4, 5))]
    assert orders[0] == orders[1] == orders[2]
    assert (orders[0] == read_numbers(wide, shuffle=shuffle, seed=4)) == (shuffle is False)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_a_run_goes_on_in_mid_epoch_on_other_ranks(wide, shuffle, world):
    with make_loader(wide, 8, fields=["cls"], shuffle=shuffle, seed=5) as loader:
        batches = iter(loader)
        seen = [int(v) for _ in range(9) for v in next(batches)[0]]
        state = json.loads(json.dumps(loader.state_dict()))
    rest = []
    for rank in range(world):
        with make_loader(wide, 4, fields=["cls"], shuffle=shuffle, seed=5, rank=rank, world_size=world, threads=1) as loader:
            loader.load_state_dict(state)
            rest += [int(v) for (labels,) in loader for v in labels]
    assert set(seen) | set(rest) == set(range(160)) and not set(seen) & set(rest) and len(rest) < 88 + world


def test_bytes_of_shuffled_samples_are_their_own(wide):
    with make_loader(wide, 16, fields=["bin", "cls"], shuffle=True, threads=3) as loader:
        for data, labels in loader:
            assert all(d == np.random.default_rng(label).bytes(300 << 10) for d, label in zip(data, labels.tolist()))


@pytest.mark.parametrize("window", [1, 2, 64])
def test_windows_of_any_width(wide, window):
    assert sorted(read_numbers(wide, shuffle=True, shuffle_window=window)) == list(range(160))


def test_epoch_size_subset_split_and_filter(wide):
    source = ps.Tar(wide)
    numbers = read_numbers(source, shuffle=True, epoch_size=100, epochs=8, batch_size=10)
    assert sorted(numbers[:160]) == list(range(160)) == sorted(numbers[160:320])
    first, second = source.split(0.5, seed=2)
    assert sorted(read_numbers(first, shuffle=True) + read_numbers(second, shuffle=True)) == list(range(160))
    assert read_numbers(source.subset([2, 80, 150])) == [2, 80, 150]
    with pytest.raises(ps.Error, match="ascending"):
        source.subset([150, 2, 80])
    assert read_numbers(source.filter("cls", lambda label: label % 50 == 0)) == [0, 50, 100, 150]


def test_plain_and_compressed_shards_together_are_read_as_streams(tmp_path):
    write_tar(tmp_path / "a.tar", number_samples(0, 10))
    write_tar(tmp_path / "b.tar.gz", number_samples(10, 10))
    source = ps.Tar(tmp_path)
    assert read_numbers(source) == list(range(20)) and sorted(read_numbers(source, shuffle=True)) == list(range(20))


def test_members_of_a_gzip_file_one_after_another_are_read_on(tmp_path):
    data = tar_bytes(number_samples(0, 30))
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(data[:7000]) + gzip.compress(data[7000:]))
    assert read_numbers(tmp_path / "a.tar.gz") == list(range(30))


@pytest.mark.parametrize("ending", [*TAR_ENDINGS, pytest.param(".tfrecord.gz", marks=pytest.mark.slow)])
def test_samples_larger_than_a_block(tmp_path, ending):
    pattern, field = write_shards(tmp_path, ending, 2, 3, pad=5 << 20)
    for shuffle in (False, True):
        with make_loader(pattern, 2, fields=[field, "bin"], shuffle=shuffle, memory="512MiB") as loader:
            seen = []
            for labels, data in loader:
                assert all(d == np.random.default_rng(label).bytes(5 << 20) for d, label in zip(data, labels.tolist()))
                seen += labels.tolist()
        assert sorted(seen) == list(range(6))


# -- refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"shuffle": "full"}, {"sampler": [3, 1, 2]}, {"weights": [1.0] * 160}, {"bucket_by": "bin"},
                                     {"bucket_by": [1] * 160}])
def test_what_needs_reading_anywhere_is_refused_with_the_reason(wide, options):
    with pytest.raises(ps.Error, match="forward") as caught:
        make_loader(wide, fields=["cls"], **options)
    assert "part-" in str(caught.value)


def test_a_mixture_of_streams_is_refused_with_the_reason(wide):
    with pytest.raises(ps.Error, match="forward"):
        ps.Mix([wide, wide], weights=[1, 2])


def test_the_kind_tells_that_it_is_compressed(wide):
    assert ps.Tar(wide).kind == "compressed tar shards"


# -- damage -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [*TAR_ENDINGS, ".tfrecord.gz"])
@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_a_cut_stream_names_the_file(tmp_path, ending, keep):
    write_shards(tmp_path, ending, 2, 20, pad=2000)
    path = tmp_path / f"part-001{ending}"
    data = path.read_bytes()
    path.write_bytes(data[:int(len(data) * keep)])
    with pytest.raises(ps.Error) as caught:
        read_numbers(str(tmp_path / f"part-*{ending}"), "y" if "tf" in ending else "cls")
    assert caught.value.uri == str(path) and caught.value.code in ("truncated", "corrupt") and caught.value.offset is not None


@pytest.mark.parametrize("ending", [*TAR_ENDINGS, ".tfrecord.gz"])
@pytest.mark.parametrize("place", [0.0, 0.2, 0.7])
def test_a_flipped_byte_in_a_stream_names_the_file(tmp_path, ending, place):
    write_shards(tmp_path, ending, 1, 20, pad=2000)
    path = tmp_path / f"part-000{ending}"
    flip_byte(path, int(path.stat().st_size * place))
    with pytest.raises(ps.Error) as caught:
        read_numbers(path, "y" if "tf" in ending else "cls")
    assert caught.value.uri == str(path)


def test_damage_that_came_after_indexing_is_noticed_at_the_next_opening(tmp_path):
    pattern, _ = write_shards(tmp_path, ".tar.gz", 2, 20, pad=2000)
    ps.Tar(pattern)
    flip_byte(tmp_path / "part-001.tar.gz", 20_000)
    with pytest.raises(ps.Error) as caught:
        read_numbers(pattern)
    assert caught.value.uri.endswith("part-001.tar.gz")


def test_a_shard_that_changes_under_a_loader_is_an_error_that_names_it(tmp_path):
    pattern, _ = write_shards(tmp_path, ".tar.gz", 2, 40, pad=1000)
    with make_loader(pattern, 4, fields=["cls"], threads=1, prefetch=1) as loader:
        batches = iter(loader)
        next(batches)
        write_tar(tmp_path / "part-001.tar.gz", number_samples(0, 50))
        with pytest.raises(ps.Error) as caught:
            list(batches)
    assert caught.value.code == "changed" and caught.value.uri.endswith("part-001.tar.gz") and caught.value.sample is not None


def bad_samples(folder, ending):
    files = [(n, b"x" if n in ("000005.cls", "000042.cls") else d) for n, d in number_samples(0, 60)]
    return write_tar(folder / f"a{ending}", files)


@pytest.mark.parametrize("shuffle", [False, True])
def test_bad_samples_of_a_stream_are_skipped(tmp_path, shuffle):
    path = bad_samples(tmp_path, ".tar.gz")
    numbers = read_numbers(path, on_error="skip", max_skip=0.1, shuffle=shuffle)
    assert sorted(numbers) == [i for i in range(60) if i not in (5, 42)]


@pytest.mark.parametrize("shuffle", [False, True])
def test_bad_samples_of_a_stream_are_replaced_the_same_way_every_time(tmp_path, shuffle):
    path = bad_samples(tmp_path, ".tar.gz")
    one, two = (read_numbers(path, on_error="replace", max_skip=0.1, shuffle=shuffle, threads=t) for t in (1, 3))
    assert len(one) == 60 and one == two and not {5, 42} & set(one)


def test_a_bad_sample_of_a_stream_names_file_sample_and_place(tmp_path):
    path = bad_samples(tmp_path, ".tar.gz")
    with pytest.raises(ps.Error, match="whole number") as caught:
        read_numbers(path)
    assert caught.value.uri == str(path) and caught.value.sample == 5 and caught.value.offset == 5 * 1024 + 512


# -- memory -------------------------------------------------------------------------------------------


def test_a_budget_too_small_for_a_window_says_what_would_do(wide):
    import re

    with pytest.raises(ps.MemoryBudgetError, match="shuffle_window") as caught:
        make_loader(wide, fields=["cls"], shuffle=True, memory="64MiB")
    enough = int(re.search(r"at least (\d+) MiB", str(caught.value)).group(1))
    assert sorted(read_numbers(wide, shuffle=True, memory=enough << 20)) == list(range(160))


def test_a_smaller_window_fits_a_small_budget(wide):
    assert sorted(read_numbers(wide, shuffle=True, shuffle_window=2, memory="64MiB")) == list(range(160))
    assert read_numbers(wide, memory="64MiB") == list(range(160))


def test_a_budget_below_one_block_says_what_would_do(wide):
    with pytest.raises(ps.MemoryBudgetError, match=r"memory=.*at least \d+ MiB|at least \d+ MiB"):
        make_loader(wide, fields=["cls"], memory="3MiB")


@pytest.mark.slow
@pytest.mark.parametrize("megabytes, memory, options", [(0.3, 96, {"shuffle": True, "shuffle_window": 3, "threads": 2}),
                                                        (20, 512, {"threads": 2}), (20, 512, {"threads": 8})])
def test_the_process_stays_within_the_budget_with_streams(tmp_path, megabytes, memory, options):
    shards, samples = 4, round(60 / megabytes)
    for shard in range(shards):
        (tmp_path / f"{shard}.tar.gz").write_bytes(
            gzip.compress(tar_bytes(number_samples(shard * samples, samples, round(megabytes * 1e6))), 0))
    program = textwrap.dedent("""
        import resource, sys
        import penstock as ps
        def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        source = ps.Tar(sys.argv[1], keep_index=False)
        before = peak()
        with ps.Loader(source, 4, fields=["cls"], output="numpy", **eval(sys.argv[2])) as loader:
            seen = sum(len(b[0]) for _ in range(2) for b in loader)
        print(peak() - before, seen)
    """)
    run = subprocess.run([sys.executable, "-c", program, str(tmp_path), repr(options | {"memory": memory << 20})], capture_output=True, text=True, check=True)
    grown, seen = map(int, run.stdout.split())
    assert seen == 2 * shards * samples and grown < memory + 24


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    """Forty compressed shards of one block each, four samples."""
    folder = tmp_path_factory.mktemp("blocks")
    for shard in range(40):
        files = [(name.replace("bin", "zeros"), data) for name, data in number_samples(shard * 4, 4, pad=1)]
        write_tar(folder / f"{shard:02}.tar.gz", [(n, bytes(1 << 20) if n.endswith("zeros") else d) for n, d in files])
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"shuffle": True, "shuffle_window": 1}])
def test_many_workers_never_run_out_of_memory_for_blocks(blocks, options):
    """A block that one worker has just read may be given up for another's before it is used: never an error."""
    with make_loader(blocks, 4, fields=["cls"], threads=16, memory="64MiB", **options) as loader:
        for _ in range(8):
            assert sorted(int(v) for (labels,) in loader for v in labels) == list(range(160))


@pytest.mark.slow
def test_many_workers_skip_no_sample_for_lack_of_a_block(blocks):
    with make_loader(blocks, 4, fields=["cls"], threads=16, memory="64MiB", on_error="skip", max_skip=0.9) as loader:
        for _ in range(12):
            assert sorted(int(v) for (labels,) in loader for v in labels) == list(range(160))


def bytes_read():
    with open("/proc/self/io") as file:
        return int(next(line for line in file if line.startswith("rchar")).split()[1])


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("options", [{}, {"shuffle": True, "shuffle_window": 2}, {"shuffle": True, "memory": "1GiB"}])
def test_a_compressed_shard_is_read_about_once_an_epoch(tmp_path, options, threads):
    """Going back means decompressing from the beginning again: time that grows with the square of a shard."""
    path = write_tar(tmp_path / "a.tar", number_samples(0, 300, pad=200 << 10))
    packed = path.with_suffix(".tar.gz")
    packed.write_bytes(gzip.compress(path.read_bytes(), 0))
    with make_loader(packed, 16, threads=threads, **options) as loader:
        before = bytes_read()
        assert sum(len(labels) for labels, _ in loader) == 300
        read = bytes_read() - before
    assert read < 1.5 * packed.stat().st_size
