"""Files and folders that are no samples: told once, never a class."""

import json
import logging
import pathlib
import struct
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from pictures import noise, save_png
from records import crc32c


def command(*arguments):
    program = pathlib.Path(sys.executable).parent / "penstock"
    return subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, timeout=60)


@pytest.fixture
def mixed(tmp_path):
    """Two classes with one image each, and nine files of other kinds."""
    folder = tmp_path / "mixed"
    save_png(folder / "cat" / "1.png", noise((4, 4, 3)))
    save_png(folder / "dog" / "2.png", noise((4, 4, 3)))
    for i in range(6):
        (folder / "cat" / f"{i}.xyz").touch()
    (folder / "dog" / "a.TXT").touch()
    (folder / "dog" / "b.txt").touch()
    (folder / "LICENSE").touch()
    return folder


def warnings_of(caplog, path, **options):
    caplog.clear()
    with caplog.at_level(logging.WARNING, "penstock"):
        source = ps.ImageFolder(path, **options)
    return source, [record.getMessage() for record in caplog.records]


def test_left_out_files_are_counted_and_named_in_one_warning(mixed, caplog):
    source, messages = warnings_of(caplog, mixed)
    assert len(source) == 2
    assert messages == [f"{mixed}: 9 files were left out: .xyz (6), .txt (2), no ending (1); for example LICENSE"]


def test_a_kept_index_tells_it_again(mixed, caplog):
    first = warnings_of(caplog, mixed)[1]
    source, again = warnings_of(caplog, mixed)
    assert source._handle.index_was_saved()
    assert again == first


def test_inspect_tells_it_in_both_forms(mixed):
    shown = command("inspect", mixed)
    assert shown.returncode == 0
    assert "left out   9 files were left out: .xyz (6), .txt (2), no ending (1); for example LICENSE" in shown.stdout
    found = json.loads(command("inspect", mixed, "--json").stdout)
    assert found["left_out"] == {"files": 9, "by_ending": {"": 1, "txt": 2, "xyz": 6}, "example": "LICENSE"}


def test_nothing_is_said_where_nothing_is_left_out(classes, caplog):
    assert warnings_of(caplog, classes)[1] == []
    assert json.loads(command("inspect", classes, "--json").stdout)["left_out"] is None


def test_hidden_folders_and_those_of_macos_are_no_classes(classes, caplog):
    for folder in ("__MACOSX", ".git", ".ipynb_checkpoints"):
        save_png(classes / folder / "1.png", noise((4, 4, 3)))
        (classes / folder / "notes.txt").touch()
    save_png(classes / "__MACOSX" / "ant" / "2.png", noise((4, 4, 3)))
    (classes / "ant" / "._0.jpg").write_bytes(b"resource fork")
    (classes / "ant" / ".DS_Store").write_bytes(b"x")
    source, messages = warnings_of(caplog, classes)
    assert source.classes == ["ant", "horse", "zebra"] and len(source) == 12
    assert messages == []


def test_a_folder_of_shards_may_have_a_hidden_folder_of_macos(tmp_path):
    from records import write_number_shards
    write_number_shards(tmp_path / "shards", 2, 3)
    (tmp_path / "shards" / "__MACOSX").mkdir()
    assert len(ps.open_source(tmp_path / "shards")) == 6


def test_an_empty_class_is_told_and_keeps_its_number(classes, caplog):
    (classes / "bee").mkdir()
    (classes / "wasp" / "deeper").mkdir(parents=True)
    source, messages = warnings_of(caplog, classes)
    assert source.classes == ["ant", "bee", "horse", "wasp", "zebra"]
    assert messages == [f"{classes}: 2 classes are without a sample, but counted among the labels: bee, wasp"]
    with ps.Loader(source, batch_size=12, output="numpy") as loader:
        (_, labels), = loader
    assert np.bincount(labels, minlength=5).tolist() == [4, 0, 3, 0, 5]


def test_an_index_of_an_older_version_is_made_anew_without_a_word(mixed, caplog, monkeypatch, tmp_path):
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "kept"))
    warnings_of(caplog, mixed)
    for file in (tmp_path / "kept").rglob("*"):
        if file.is_file() and file.read_bytes()[:7] == b"PENSTIX":
            older = b"PENSTIX1" + file.read_bytes()[8:-4]
            file.write_bytes(older + struct.pack("<I", crc32c(older)))
    source, messages = warnings_of(caplog, mixed)
    assert not source._handle.index_was_saved()
    assert len(messages) == 1 and "damaged" not in messages[0]
