"""Which part of a parallel job a loader finds itself to be."""

import logging

import numpy as np
import pytest

import penstock as ps


@pytest.fixture
def find(numbers, monkeypatch):
    """find(VARIABLE=value...): (rank, world_size, local_ranks, found_by) of a loader made under these variables."""

    def look(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))
        with ps.Loader(numbers, output="numpy", batch_size=2) as loader:
            found = loader.stats()["rank"]
            assert f"rank {found['rank']} of {found['world_size']} ({found['found_by']})" in repr(loader)
            share = sum(len(batch) for batch in loader)
            assert share <= -(-23 // found["world_size"]) + 2
        return found["rank"], found["world_size"], found["local_ranks"], found["found_by"]

    return look


def test_without_any_variables_there_is_one_rank(find):
    assert find() == (0, 1, 1, "none")


def test_torchruns_variables(find):
    assert find(RANK=3, WORLD_SIZE=8, LOCAL_RANK=3, LOCAL_WORLD_SIZE=4) == (3, 8, 4, "torchrun")


def test_an_srun_step(find):
    assert find(SLURM_PROCID=5, SLURM_STEP_NUM_TASKS=6, SLURM_STEP_TASKS_PER_NODE="2(x3)", SLURM_NTASKS=6) == (
        5, 6, 2, "srun step")


def test_a_slurm_allocation_without_a_step_is_one_process(find):
    assert find(SLURM_JOB_ID=1, SLURM_NTASKS=8, SLURM_PROCID=0) == (0, 1, 1, "none")


def test_torchrun_inside_slurm_counts_before_the_step(find):
    assert find(RANK=1, WORLD_SIZE=2, SLURM_PROCID=0, SLURM_STEP_NUM_TASKS=1)[:2] == (1, 2)


def test_open_mpi(find):
    assert find(OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=4, OMPI_COMM_WORLD_LOCAL_SIZE=2) == (1, 4, 2, "mpi")


def test_mpich(find):
    assert find(PMI_RANK=2, PMI_SIZE=3)[:2] == (2, 3)


@pytest.mark.parametrize("variables", [{"RANK": "x", "WORLD_SIZE": "2"}, {"RANK": "1"}, {"RANK": "2", "WORLD_SIZE": "2"},
                                       {"RANK": "-1", "WORLD_SIZE": "2"}, {"RANK": "", "WORLD_SIZE": ""}])
def test_variables_that_make_no_sense_are_left_aside(find, variables):
    assert find(**variables) == (0, 1, 1, "none")


def test_what_is_given_wins(numbers, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with ps.Loader(numbers, rank=2, world_size=3, output="numpy", batch_size=1) as loader:
        assert "rank 2 of 3 (given)" in repr(loader)
        assert next(iter(loader))[0, 0] == 2


def test_the_rank_is_logged(numbers, monkeypatch, caplog):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with caplog.at_level(logging.INFO, "penstock"), ps.Loader(numbers, output="numpy"):
        pass
    assert "rank 1 of 2 (torchrun)" in caplog.text


def test_rank_without_world_size_is_a_value_error(numbers):
    with pytest.raises(ValueError, match="together"):
        ps.Loader(numbers, rank=0)
    with pytest.raises(ValueError):
        ps.Loader(numbers, rank=2, world_size=2)
    with pytest.raises(ValueError):
        ps.Loader(numbers, rank=-1, world_size=2)
    with pytest.raises(ValueError):
        ps.Loader(numbers, rank=0, world_size=0)


def test_torch_distributed_counts_before_all_variables(numbers, monkeypatch, tmp_path):
    distributed = pytest.importorskip("torch.distributed")
    monkeypatch.setenv("SLURM_PROCID", "3")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    try:
        with ps.Loader(numbers, batch_size=30, output="numpy") as loader:
            assert "rank 0 of 1 (torch.distributed)" in repr(loader)
            assert np.array_equal(next(iter(loader)), np.load(numbers))
    finally:
        distributed.destroy_process_group()


def test_local_ranks_share_the_threads(numbers, monkeypatch):
    import os
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "64")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "64")
    with ps.Loader(numbers, output="numpy") as loader:
        assert loader.stats()["tuning"]["threads"] == max(1, len(os.sched_getaffinity(0)) // 64)


def test_penstock_threads_sets_the_threads(numbers, monkeypatch):
    monkeypatch.setenv("PENSTOCK_THREADS", "3")
    with ps.Loader(numbers, output="numpy") as loader:
        assert loader.stats()["tuning"]["threads"] == 3
    with ps.Loader(numbers, output="numpy", threads=2) as loader:
        assert loader.stats()["tuning"]["threads"] == 2
    monkeypatch.setenv("PENSTOCK_THREADS", "many")
    with pytest.raises(ValueError, match="PENSTOCK_THREADS"):
        ps.Loader(numbers)
