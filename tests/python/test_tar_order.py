"""The order of samples of tar shards: shuffling, windows, ranks, resuming."""

import json

import pytest

import penstock as ps
from records import make_loader, plain, png_bytes, read_numbers, write_number_shards, write_tar


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Six shards of 50 samples of 300 KiB: four to five units a shard."""
    return write_number_shards(tmp_path_factory.mktemp("many"), 6, 50, pad=300 << 10)


@pytest.mark.parametrize("shuffle", [False, True, "full", "window"])
def test_every_sample_comes_once_an_epoch(many, shuffle):
    numbers = read_numbers(many, shuffle=shuffle, epochs=2)
    assert sorted(numbers[:300]) == sorted(numbers[300:]) == list(range(300))
    assert (numbers[:300] == list(range(300))) == (shuffle is False)
    assert (numbers[:300] == numbers[300:]) == (shuffle is False)


@pytest.mark.parametrize("shuffle", [True, "window"])
def test_the_order_is_the_same_for_any_number_of_threads_and_batches(many, shuffle):
    orders = [read_numbers(many, shuffle=shuffle, threads=threads, batch_size=size, seed=9)
              for threads, size in ((1, 7), (2, 7), (5, 32))]
    assert orders[0] == orders[1] == orders[2] != read_numbers(many, shuffle=shuffle, seed=10)


@pytest.mark.parametrize("shuffle", [True, "window"])
@pytest.mark.parametrize("world", [2, 3])
def test_ranks_share_no_sample_and_leave_none_out(many, shuffle, world):
    parts = [read_numbers(many, shuffle=shuffle, rank=rank, world_size=world, batch_size=10) for rank in range(world)]
    assert sorted(sum(parts, [])) == list(range(300)) and len({len(p) for p in parts}) == 1


@pytest.mark.parametrize("shuffle", [True, "window"])
@pytest.mark.parametrize("worlds", [(1, 1), (2, 1), (1, 3), (2, 4)])
def test_a_run_goes_on_in_mid_epoch_on_other_ranks(many, shuffle, worlds):
    before, after = worlds
    seen, state = [], None
    for rank in range(before):
        with make_loader(many, 6, fields=["cls"], shuffle=shuffle, rank=rank, world_size=before, seed=4) as loader:
            batches = iter(loader)
            for _ in range(5):
                seen += next(batches)[0].tolist()
            state = loader.state_dict()
    rest, further = [], []
    for rank in range(after):
        with make_loader(many, 5, fields=["cls"], shuffle=shuffle, rank=rank, world_size=after, seed=4, threads=1) as loader:
            loader.load_state_dict(json.loads(json.dumps(state)))
            rest += [int(v) for (batch,) in loader for v in batch]
            further += [int(v) for (batch,) in loader for v in batch]
    # Where what is left does not divide by the ranks, the last step is filled up with repeats.
    assert set(seen) | set(rest) == set(range(300)) and not set(seen) & set(rest)
    assert len(rest) < 300 - len(seen) + after and set(further) == set(range(300))


def test_a_window_mixes_neighbours_and_only_them(many):
    numbers = read_numbers(many, shuffle="window", shuffle_window=2, epochs=1)
    # A window of two units holds some thirty samples of at most two runs.
    runs = sum(abs(a - b) > 30 for a, b in zip(sorted(numbers[:25]), sorted(numbers[:25])[1:]))
    assert runs <= 2 and sorted(numbers) == list(range(300)) and numbers[:10] != sorted(numbers[:10])


def test_images_of_a_shuffled_shard_belong_to_their_labels(tmp_path):
    files = []
    for i in range(60):
        files += [(f"{i}.png", png_bytes(plain(i))), (f"{i}.cls", str(i).encode()), (f"{i}.txt", str(i).encode())]
    write_tar(tmp_path / "a.tar", files)
    for shuffle in (True, "window"):
        with make_loader(tmp_path / "a.tar", 7, shuffle=shuffle, fields=["txt", "png", "cls", "key"], threads=4) as loader:
            for texts, images, labels, keys in loader:
                assert [int(t) for t in texts] == labels.tolist() == images[:, 0, 0, 0].tolist() == [int(k) for k in keys]


def test_subset_split_and_shuffle_go_together(many):
    source = ps.Tar(many)
    first, second = source.split(0.8, seed=3)
    parts = [read_numbers(part, shuffle="window") for part in (first, second)]
    assert sorted(parts[0] + parts[1]) == list(range(300)) and len(parts[0]) == 240
    assert read_numbers(source.subset([250, 3, 3, 120])) == [250, 3, 3, 120]
