"""The kept index of tar shards."""

import os
import pathlib

import pytest

import penstock as ps
from records import make_loader, number_samples, read_numbers, write_number_shards, write_tar


def index_files():
    return sorted(pathlib.Path(os.environ["PENSTOCK_CACHE_DIR"]).rglob("*.idx"))


def warnings(caplog):
    return [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]


def test_the_second_opening_uses_the_kept_index(tmp_path, caplog):
    pattern = write_number_shards(tmp_path, 2, 5)
    assert not ps.Tar(pattern)._handle.index_was_saved() and len(index_files()) == 1
    again = ps.Tar(pattern)
    assert again._handle.index_was_saved() and len(again) == 10 and again.key(7) == "000007"
    assert read_numbers(again) == list(range(10)) and warnings(caplog) == []


def test_no_index_is_kept_where_none_is_wanted(tmp_path):
    pattern = write_number_shards(tmp_path, 1, 5)
    ps.Tar(pattern, keep_index=False)
    assert index_files() == []


def test_a_changed_shard_is_indexed_anew_with_one_warning(tmp_path, caplog):
    pattern = write_number_shards(tmp_path, 2, 5)
    ps.Tar(pattern)
    write_tar(tmp_path / "part-001.tar", number_samples(50, 6))
    assert read_numbers(ps.Tar(pattern)) == [0, 1, 2, 3, 4, 50, 51, 52, 53, 54, 55]
    assert len(warnings(caplog)) == 1 and "changed" in warnings(caplog)[0]
    assert ps.Tar(pattern)._handle.index_was_saved() and len(warnings(caplog)) == 1


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "noise"])
def test_a_damaged_index_is_made_anew_with_one_warning(tmp_path, caplog, damage):
    pattern = write_number_shards(tmp_path, 2, 5)
    ps.Tar(pattern)
    (path,) = index_files()
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 1
    path.write_bytes({"flip": data, "cut": data[:-9], "empty": b"", "noise": os.urandom(300)}[damage])
    assert read_numbers(ps.Tar(pattern)) == list(range(10))
    assert len(warnings(caplog)) == 1 and "damaged" in warnings(caplog)[0]
    assert ps.Tar(pattern)._handle.index_was_saved() and len(warnings(caplog)) == 1


def test_an_added_and_a_removed_shard_are_noticed(tmp_path, caplog):
    pattern = write_number_shards(tmp_path, 2, 5)
    ps.Tar(pattern)
    write_tar(tmp_path / "part-002.tar", number_samples(10, 5))
    assert len(ps.Tar(pattern)) == 15 and len(warnings(caplog)) == 1
    (tmp_path / "part-000.tar").unlink()
    assert read_numbers(ps.Tar(pattern)) == list(range(5, 15)) and len(warnings(caplog)) == 2


def test_the_cache_folder_that_cannot_be_written_is_no_trouble(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "file" / "below"))
    pattern = write_number_shards(tmp_path, 1, 5)
    assert len(ps.Tar(pattern)) == 5 == len(ps.Tar(pattern))


def test_two_patterns_do_not_share_an_index(tmp_path):
    write_number_shards(tmp_path, 3, 5)
    assert len(ps.Tar(tmp_path / "part-{000..001}.tar")) == 10
    assert len(ps.Tar(tmp_path / "part-{001..002}.tar")) == 10
    assert ps.Tar(tmp_path / "part-{001..002}.tar").key(0) == "000005" and len(index_files()) == 2


def test_a_shard_cut_at_a_samples_end_is_not_taken_for_a_smaller_one(tmp_path):
    pattern = write_number_shards(tmp_path, 1, 5, pad=5000)
    ps.Tar(pattern)
    write_tar(tmp_path / "part-000.tar", number_samples(0, 3, pad=5000))
    with pytest.raises(ps.Error, match="cut") as caught:
        ps.Tar(pattern)
    assert caught.value.code == "truncated" and caught.value.uri.endswith("part-000.tar")


def test_a_shard_that_changes_under_a_loader_is_an_error_that_names_it(tmp_path):
    pattern = write_number_shards(tmp_path, 1, 50)
    with make_loader(pattern, 5, threads=1, prefetch=1) as loader:
        batches = iter(loader)
        next(batches)
        write_tar(tmp_path / "part-000.tar", number_samples(1000, 60))
        with pytest.raises(ps.Error) as caught:
            list(batches)
    assert caught.value.code == "changed" and "part-000.tar" in caught.value.uri
