"""Ranks that come into being after the loader was made."""

import logging
import os
import socket

import numpy as np
import pytest

import penstock as ps

RANK_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


@pytest.fixture
def torchrun(monkeypatch):
    """torchrun(rank, world): sets its variables, as a launcher does after the script made its loader."""

    def set_variables(rank, world, local=None):
        values = (rank, world, rank, local or world)
        for name, value in zip(RANK_VARIABLES, values):
            monkeypatch.setenv(name, str(value))

    for name in RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return set_variables


@pytest.fixture
def numbers(tmp_path):
    np.save(tmp_path / "numbers.npy", np.arange(101))
    return tmp_path / "numbers.npy"


def values(loader):
    return [int(n) for batch in loader for n in batch]


def test_ranks_set_after_construction_count_from_the_next_epoch_on(numbers, torchrun, caplog):
    keywords = dict(batch_size=5, shuffle=True, output="numpy")
    loader = ps.Loader(numbers, **keywords)
    assert len(loader) == 21
    assert len(values(loader)) == 101
    torchrun(1, 3)
    with caplog.at_level(logging.INFO, "penstock"):
        assert len(loader) == 7
        late = values(loader)
        assert len(values(loader)) == len(late)
    told = [record for record in caplog.records if "rank 1 of 3" in record.message]
    assert len(told) == 1 and told[0].levelno == logging.WARNING
    with ps.Loader(numbers, **keywords) as early:
        assert early.stats()["rank"]["world_size"] == 3
        early.set_epoch(1)
        assert values(early) == late
    assert loader.stats()["rank"] == {"rank": 1, "world_size": 3, "local_ranks": 3, "found_by": "torchrun"}
    assert "rank 1 of 3 (torchrun)" in repr(loader)
    stats = loader.stats()
    assert stats["planned"] == stats["delivered"] + stats["skipped"] + stats["failed"]
    assert stats["delivered"] == 101 + 2 * len(late)


def test_every_sample_comes_once_over_all_ranks(numbers, torchrun):
    loaders = [ps.Loader(numbers, batch_size=4, shuffle=True, output="numpy", drop_last=False) for _ in range(2)]
    seen = []
    for rank, loader in enumerate(loaders):
        torchrun(rank, 2)
        seen += values(loader)
    assert sorted(set(seen)) == list(range(101))
    assert len(seen) <= 102


def test_threads_and_memory_are_divided_anew_unless_they_were_given(numbers, torchrun):
    found = ps.Loader(numbers, batch_size=4, output="numpy")
    given = ps.Loader(numbers, batch_size=4, output="numpy", threads=3, memory="32MiB")
    before = found.stats()
    torchrun(0, 4)
    next(iter(found)), next(iter(given))
    after = found.stats()
    assert after["tuning"]["threads"] == max(1, before["tuning"]["threads"] // 4)
    assert after["memory"]["budget"] < before["memory"]["budget"] / 2
    assert given.stats()["tuning"]["threads"] == 3
    assert given.stats()["memory"]["budget"] == 32 << 20


def test_given_ranks_win(numbers, torchrun):
    loader = ps.Loader(numbers, batch_size=4, output="numpy", rank=0, world_size=1)
    torchrun(1, 2)
    assert len(values(loader)) == 101
    assert loader.stats()["rank"]["found_by"] == "given"


def test_len_keeps_to_the_epoch_that_runs(numbers, torchrun):
    loader = ps.Loader(numbers, batch_size=5, output="numpy")
    running = iter(loader)
    next(running)
    torchrun(0, 2)
    assert len(loader) == 21
    newer = iter(loader)
    assert len(loader) == 11
    with pytest.raises(ps.Error, match="rank 0 of 2"):
        next(running)
    assert sum(1 for _ in newer) == 11


def test_a_state_is_kept_across_the_change(numbers, torchrun):
    keywords = dict(batch_size=5, shuffle=True, output="numpy")
    loader = ps.Loader(numbers, **keywords)
    iterator = iter(loader)
    first = [int(n) for _ in range(4) for n in next(iterator)]
    state = loader.state_dict()
    rest = []
    for rank in range(2):
        torchrun(rank, 2)
        other = ps.Loader(numbers, **keywords) if rank else loader
        other.load_state_dict(state)
        rest += values(other)
    assert sorted(set(first + rest)) == list(range(101))
    assert not set(first) & set(rest)


def test_a_sampler_that_draws_anew_is_refused_on_several_ranks(numbers, torchrun):
    torch = pytest.importorskip("torch")
    loader = ps.Loader(numbers, batch_size=5, output="numpy", sampler=torch.utils.data.RandomSampler(range(101)))
    torchrun(0, 2)
    with pytest.raises(ps.Error, match="DistributedSampler"):
        iter(loader)


def _train(rank, world, port, path, folder):
    import torch.distributed as dist
    loader = ps.Loader(path, batch_size=5, shuffle=True, output="numpy", threads=1)  # before the group exists
    before = len(loader)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=world)
    seen = values(loader)
    found = loader.stats()["rank"]
    np.savez(os.path.join(folder, f"{rank}.npz"), seen=seen, lengths=[before, len(loader)],
             rank=[found["rank"], found["world_size"], found["local_ranks"]])
    assert found["found_by"] == "torch.distributed"
    dist.destroy_process_group()
    assert len(loader) == before
    loader.close()


@pytest.mark.slow
def test_a_process_group_that_is_made_after_the_loader(numbers, tmp_path, torchrun):
    multiprocessing = pytest.importorskip("torch").multiprocessing
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    multiprocessing.spawn(_train, args=(2, port, str(numbers), str(tmp_path)), nprocs=2)
    ranks = [np.load(tmp_path / f"{rank}.npz") for rank in range(2)]
    assert [list(each["rank"]) for each in ranks] == [[0, 2, 2], [1, 2, 2]]
    assert [list(each["lengths"]) for each in ranks] == [[21, 11], [21, 11]]
    seen = np.concatenate([each["seen"] for each in ranks])
    assert sorted(set(seen)) == list(range(101))
    assert len(seen) <= 102
