"""Tar archives and patterns that are wrong: the error names file, offset and sample."""

import tarfile

import numpy as np
import pytest

import penstock as ps
from records import (add_file, flip_byte, make_loader, npy_bytes, npz_bytes, number_samples, plain, png_bytes,
                     read_all, read_numbers, tar_bytes, write_number_shards, write_tar)


@pytest.mark.parametrize("files, words", [
    ([("0.cls", b"1"), ("0.cls", b"2")], 'two members "cls" in sample "0"'),
    ([("0.cls", b"1"), ("0.CLS", b"2")], 'two members "cls"'),
    ([("0.cls", b"1"), ("1.cls", b"2"), ("0.txt", b"3")], '"0" begins a second time'),
])
def test_members_that_belong_nowhere_name_the_header(tmp_path, files, words):
    write_tar(tmp_path / "a.tar", files)
    with pytest.raises(ps.Error) as caught:
        ps.Tar(tmp_path / "a.tar")
    assert words in str(caught.value) and caught.value.uri.endswith("a.tar")
    assert caught.value.offset == 1024 * (len(files) - 1)


def test_links_devices_and_folders_are_left_out_with_one_warning(tmp_path, caplog):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, kind in (("d", tarfile.DIRTYPE), ("0.txt", tarfile.SYMTYPE), ("1.txt", tarfile.LNKTYPE),
                           ("2.txt", tarfile.CHRTYPE), ("3.txt", tarfile.FIFOTYPE), ("4.txt", tarfile.BLKTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        add_file(archive, "5.txt", b"five")
    assert read_all(tmp_path / "a.tar", ["key", "txt"]) == [("5", "five")]
    assert [r.getMessage() for r in caplog.records if r.levelname == "WARNING"] == [
        f"{tmp_path / 'a.tar'}: 2 links in the archives are left out"]


def test_files_without_a_dot_hidden_ones_and_metadata_are_no_samples(tmp_path):
    write_tar(tmp_path / "a.tar", [("README", b"x"), (".DS_Store", b"x"), ("__meta__", b"x"), ("._0.cls", b"x"), ("0.cls", b"4")])
    assert read_numbers(tmp_path / "a.tar") == [4]


@pytest.mark.parametrize("cut, words", [(100, "header"), (700, "inside '000000.cls'"), (1024, "end-of-archive"),
                                        (1536 - 12, "header"), (2048 + 512, "end-of-archive")])
def test_a_cut_archive_names_where(tmp_path, cut, words):
    path = tmp_path / "a.tar"
    whole = tar_bytes(number_samples(0, 2))
    path.write_bytes(whole[:cut])
    with pytest.raises(ps.Error) as caught:
        ps.Tar(path)
    assert caught.value.code == "truncated" and caught.value.uri == str(path) and words in str(caught.value)
    assert 0 <= caught.value.offset <= cut and str(cut) in str(caught.value)


def test_an_archive_cut_anywhere_is_refused_or_whole(tmp_path):
    whole = tar_bytes(number_samples(0, 3))
    for cut in range(0, len(whole), 256):
        path = tmp_path / f"{cut}.tar"
        path.write_bytes(whole[:cut])
        if cut >= 3 * 1024 + 1024:
            assert read_numbers(path) == [0, 1, 2]
        else:
            with pytest.raises(ps.Error):
                ps.Tar(path)


def test_a_file_that_is_no_archive_says_so(tmp_path):
    (tmp_path / "a.tar").write_bytes(b"hello, " * 1000)
    with pytest.raises(ps.Error, match="not a tar archive") as caught:
        ps.Tar(tmp_path / "a.tar")
    assert caught.value.offset == 0


def test_a_flipped_bit_in_a_header_names_its_offset(tmp_path):
    path = write_tar(tmp_path / "a.tar", number_samples(0, 3))
    flip_byte(path, 1024 + 3)
    with pytest.raises(ps.Error, match="checksum") as caught:
        ps.Tar(path)
    assert caught.value.offset == 1024 and caught.value.uri == str(path)


@pytest.mark.parametrize("ending, data, words", [("cls", b"seven", "whole number"), ("cls", b"", "whole number"),
                                                 ("txt", b"ab\xff", "UTF-8"), ("json", b'{"a": }', "JSON"),
                                                 ("png", b"\x89PNG\r\n\x1a\nxx", "(?i)png"), ("npy", b"nothing", "npy"), ("npz", b"PK", "npz")])
def test_a_bad_value_names_file_offset_and_sample(tmp_path, ending, data, words):
    good = {"cls": b"1", "txt": b"x", "json": b"1", "png": png_bytes(plain(1)), "npy": npy_bytes(np.zeros(2)),
            "npz": npz_bytes(a=np.zeros(2))}[ending]
    write_tar(tmp_path / "a.tar", [(f"0.{ending}", good), (f"1.{ending}", data)])
    start = (tmp_path / "a.tar").read_bytes().index(f"1.{ending}\0".encode()) + 512
    with make_loader(tmp_path / "a.tar", 2, threads=1) as loader, pytest.raises(ps.Error, match=words) as caught:
        list(loader)
    assert caught.value.sample == 1 and caught.value.uri.endswith("a.tar")
    assert start <= caught.value.offset <= start + len(data)


@pytest.mark.parametrize("name", ["nope.tar", "nope-*.tar", "nope-{0..3}.tar", "dir/nope.tar"])
def test_a_wrong_path_is_not_found(tmp_path, name):
    with pytest.raises(ps.NotFoundError) as caught:
        ps.Tar(tmp_path / name)
    assert name.split("-")[0] in str(caught.value)


def test_a_pattern_one_of_whose_shards_is_missing_names_it(tmp_path):
    write_number_shards(tmp_path, 2, 3)
    with pytest.raises(ps.NotFoundError, match="part-002.tar"):
        ps.Tar(tmp_path / "part-{000..002}.tar")
