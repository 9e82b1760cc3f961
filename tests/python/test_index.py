"""The index of a folder: kept, reused while it fits, made anew when it does not."""

import logging
import os
import pathlib

import numpy as np
import pytest

import penstock as ps
from penstock import _core
from pictures import noise, save_png


def kept_files():
    return sorted(pathlib.Path(os.environ["PENSTOCK_CACHE_DIR"]).rglob("*.idx"))


def was_saved(source):
    return source._handle.index_was_saved()


def count(folder, **options):
    with ps.Loader(folder, batch_size=4, output="numpy", fields=["image"], **options) as loader:
        return sum(len(images) for images, in loader)


def test_an_index_is_kept_and_reused(classes):
    assert not was_saved(ps.ImageFolder(classes))
    assert len(kept_files()) == 1
    again = ps.ImageFolder(classes)
    assert was_saved(again) and again.classes == ["ant", "horse", "zebra"] and len(again) == 12
    assert count(classes) == 12


def test_the_order_is_the_same_with_a_kept_index(classes):
    def keys(source):
        return [source.key(i) for i in range(len(source))]

    assert keys(ps.ImageFolder(classes)) == keys(ps.ImageFolder(classes)) == keys(ps.ImageFolder(classes, keep_index=False))


def test_an_index_is_made_anew_after_a_file_was_added_or_removed(classes):
    ps.ImageFolder(classes)
    save_png(classes / "horse" / "new.png", noise((60, 80, 3)))
    assert len(ps.ImageFolder(classes)) == 13 and count(classes) == 13
    (classes / "ant" / "0.jpg").unlink()
    assert len(ps.ImageFolder(classes)) == 12 and count(classes) == 12
    (classes / "bee").mkdir()
    assert ps.ImageFolder(classes).classes == ["ant", "bee", "horse", "zebra"]


def test_a_file_rewritten_in_place_before_the_loader_opens_is_accepted(flat):
    ps.ImageFolder(flat)
    data = save_png(flat.parent / "other.png", noise((20, 24, 3))).read_bytes()
    with open(flat / "005.png", "r+b") as file:
        file.write(data)
        file.truncate(len(data))
    source = ps.ImageFolder(flat)
    assert was_saved(source) and count(source) == 12
    assert not was_saved(ps.ImageFolder(flat))


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "noise"])
def test_a_damaged_index_is_made_anew_with_a_warning(flat, caplog, damage):
    ps.ImageFolder(flat)
    index, = kept_files()
    content = index.read_bytes()
    index.write_bytes({"cut": content[:-9], "flipped": content[:40] + bytes([content[40] ^ 1]) + content[41:], "empty": b"",
                       "noise": os.urandom(300)}[damage])
    with caplog.at_level(logging.WARNING, "penstock"):
        source = ps.ImageFolder(flat)
    assert len(source) == 12 and not was_saved(source)
    assert "damaged" in caplog.text and "made anew" in caplog.text
    assert was_saved(ps.ImageFolder(flat))


def test_any_cut_and_any_flip_of_an_index_is_noticed(flat):
    ps.ImageFolder(flat)
    index, = kept_files()
    content = index.read_bytes()
    for place in range(0, len(content), 11):
        for damaged in (content[:place], content[:place] + bytes([content[place] ^ 0x40]) + content[place + 1:]):
            index.write_bytes(damaged)
            source = ps.ImageFolder(flat)
            assert not was_saved(source) and len(source) == 12


def test_a_cache_folder_that_cannot_be_written_is_fine(flat, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file" / "cache", "/proc/none"):
        monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(place))
        assert count(flat) == 12


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_cache_folder_is_fine(flat, monkeypatch, tmp_path):
    (tmp_path / "readonly").mkdir(mode=0o500)
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "readonly"))
    assert count(flat) == 12


def test_keep_index_false_leaves_nothing_behind(flat):
    ps.ImageFolder(flat, keep_index=False)
    assert kept_files() == []


def test_nothing_is_written_beside_the_data(flat):
    before = sorted(flat.iterdir())
    count(flat)
    assert sorted(flat.iterdir()) == before


def test_kinds_of_one_folder_have_indexes_of_their_own(flat):
    np.save(flat / "x.npy", np.zeros(3))
    for _ in range(2):
        assert len(ps.ImageFolder(flat)) == 12 and len(ps.Npy(flat)) == 1


def test_relative_and_absolute_names_share_an_index(flat, monkeypatch):
    ps.ImageFolder(flat)
    monkeypatch.chdir(flat.parent)
    assert was_saved(ps.ImageFolder("flat")) and was_saved(ps.ImageFolder("./flat/"))
    assert count("flat") == 12


def test_a_relative_source_survives_a_change_of_folder(flat, monkeypatch, tmp_path):
    monkeypatch.chdir(flat.parent)
    with ps.Loader("flat", batch_size=12, output="numpy") as loader:
        monkeypatch.chdir("/")
        assert sum(len(batch) for batch in loader) == 12


def test_a_relative_npy_survives_a_change_of_folder(numbers, monkeypatch):
    monkeypatch.chdir(numbers.parent)
    with ps.Loader(numbers.name, batch_size=12, output="numpy", threads=1) as loader:
        monkeypatch.chdir("/")
        assert sum(len(batch) for batch in loader) == 23


def test_masks_are_found_anew_with_a_kept_index(tmp_path):
    for name in "ab":
        save_png(tmp_path / "images" / f"{name}.png", noise((8, 8, 3)))
        save_png(tmp_path / "masks" / f"{name}.png", noise((8, 8)))
    for _ in range(2):
        assert len(ps.ImageFolder(tmp_path / "images", masks=tmp_path / "masks")) == 2
    (tmp_path / "masks" / "b.png").unlink()
    with pytest.raises(ps.NotFoundError):
        ps.ImageFolder(tmp_path / "images", masks=tmp_path / "masks")


def test_symbolic_links_to_files_and_folders_are_followed(flat, tmp_path):
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "one.png").symlink_to(flat / "001.png")
    assert count(tmp_path / "linked") == 1
    (tmp_path / "classes").mkdir()
    (tmp_path / "classes" / "a").symlink_to(flat)
    source = ps.ImageFolder(tmp_path / "classes")
    assert source.classes == ["a"] and len(source) == 12


def test_a_loop_of_links_is_an_error_not_a_hang(flat):
    (flat / "sub").mkdir()
    (flat / "sub" / "loop").symlink_to(flat)
    with pytest.raises(ps.Error, match="leads back to a folder that contains it.*flat/sub/loop"):
        ps.ImageFolder(flat)


@pytest.mark.slow
def test_ten_thousand_files_open(tmp_path):
    data = save_png(tmp_path / "one.png", noise((4, 4, 3))).read_bytes()
    for i in range(10_000):
        folder = tmp_path / "many" / f"{i % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i:05}.png").write_bytes(data)
    assert len(ps.ImageFolder(tmp_path / "many")) == 10_000
    assert was_saved(ps.ImageFolder(tmp_path / "many"))


@pytest.mark.slow
def test_a_hundred_thousand_files_open(tmp_path):
    for folder in range(100):
        (tmp_path / "data" / f"{folder:02}").mkdir(parents=True)
        for file in range(1000):
            (tmp_path / "data" / f"{folder:02}" / f"{file}.jpg").touch()
    seen = []
    handle = _core.open_source([os.fsencode(tmp_path / "data")], kind="", masks=b"", root=b"", columns=[], field_kinds={},
                               verify=True, keep_index=False, progress=seen.append)
    assert len(handle) == 100_000
    # A fast machine may be done before the first report, so their number is not tested here but in file_index_test.cpp.
    assert seen == sorted(seen) and all(count <= 100_000 for count in seen)
