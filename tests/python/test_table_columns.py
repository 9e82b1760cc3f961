"""Tables: which column counts the classes, and what stands between the cells."""

import csv
import json
import pathlib
import subprocess
import sys

import numpy as np
import pandas
import pytest

import penstock as ps
from pictures import noise, save_png

ROWS = [("a.png", 7, "cat", 0.5), ("b.png", 7, "dog", 1.5), ("c.png", 8, "dog", 2.5), ("d.png", 9, "dog", 3.5)]
NAMES = ("path", "camera", "label", "score")


def command(*arguments):
    program = pathlib.Path(sys.executable).parent / "penstock"
    done = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(path, delimiter=",", rows=ROWS, names=NAMES, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    for row in rows:
        save_png(path.parent / row[0], noise((4, 4, 3)))
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, **options)
        writer.writerow(names)
        writer.writerows(rows)
    return path


def read(source, *fields):
    with ps.Loader(source, batch_size=10, fields=list(fields), output="numpy") as loader:
        (values), = loader
    return [value.tolist() if hasattr(value, "tolist") else value for value in values]


# -- classes ------------------------------------------------------------------------------------------


def test_inspect_counts_classes_over_the_column_of_their_names(tmp_path):
    path = write(tmp_path / "train.csv")
    found = json.loads(command("inspect", path, "--json"))["classes"]
    assert found["samples"] == {"cat": 1, "dog": 3} == pandas.read_csv(path)["label"].value_counts().to_dict()
    assert (found["smallest"], found["largest"]) == ("cat", "dog")
    assert "smallest cat (1), largest dog (3)" in command("inspect", path)


def test_statistics_name_classes_only_in_their_own_column(tmp_path):
    path = write(tmp_path / "train.csv", rows=[(name, number % 2, label, score) for name, number, label, score in ROWS])
    fields = {field["name"]: field for field in json.loads(command("statistics", path, "--json"))["fields"]}
    assert fields["label"]["classes"] == ["cat", "dog"] and fields["label"]["counts"] == {"0": 1, "1": 3}
    assert "classes" not in fields["camera"] and fields["camera"]["counts"] == {"0": 1, "1": 3}
    shown = command("statistics", path)
    camera = shown[shown.index("camera (integer)"):shown.index("label (integer)")]
    assert "dog" not in camera and "dog" in shown[shown.index("label (integer)"):]


def test_class_folders_are_counted_as_before(classes):
    assert json.loads(command("inspect", classes, "--json"))["classes"]["samples"] == {"ant": 4, "horse": 3, "zebra": 5}


# -- between the cells ----------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [";", "\t", ","])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_the_delimiter_of_a_csv_is_found(tmp_path, delimiter, quoting):
    rows = [("a.png", 7, "cat, big; \"old\"\tone", 0.5), ("b.png", 7, "dog", 1.5)]
    path = write(tmp_path / "train.csv", delimiter, rows, quoting=quoting)
    source = ps.Manifest(path)
    assert list(source.fields) == ["path", "score", "camera", "label"]
    expected = pandas.read_csv(path, sep=delimiter)
    camera, label, score = read(source, "camera", "label", "score")
    assert camera == expected["camera"].tolist() and score == expected["score"].tolist()
    assert [source.classes[i] for i in label] == expected["label"].tolist()
    assert len(ps.Loader(str(path))) == 2


def test_semicolons_with_a_byte_order_mark_and_line_ends_of_windows(tmp_path):
    path = write(tmp_path / "train.csv", ";")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n").replace(b"\r\r", b"\r"))
    assert read(ps.Manifest(path, image="path", label="label"), "label") == [[0, 1, 1, 1]]


def test_commas_within_the_cells_of_a_semicolon_table(tmp_path):
    path = write(tmp_path / "train.csv", ";", rows=[("a.png", 7, "cat", "0,5"), ("b.png", 7, "dog", "1,5")])
    assert read(ps.Manifest(path), "score") == [["0,5", "1,5"]]


def test_a_header_with_commas_is_read_by_commas(tmp_path):
    path = write(tmp_path / "train.csv", ",", names=("path", "camera;x", "label", "score"))
    assert list(ps.Manifest(path).fields) == ["path", "score", "camera;x", "label"]


def test_rows_that_do_not_agree_say_what_to_write(tmp_path):
    path = tmp_path / "train.csv"
    path.write_text("path;label\na.png\nb.png\n")
    with pytest.raises(ps.Error, match=r'write delimiter=";" or delimiter=","') as caught:
        ps.Manifest(path)
    assert str(path) in str(caught.value)
    save_png(tmp_path / "a.png", noise((4, 4, 3)))
    save_png(tmp_path / "b.png", noise((4, 4, 3)))
    assert list(ps.Manifest(path, delimiter=",").fields) == ["path;label"]


def test_a_delimiter_can_be_given(tmp_path):
    path = write(tmp_path / "train.csv", "|")
    assert read(ps.Manifest(path, delimiter="|"), "camera") == [[7, 7, 8, 9]]
    for wrong in ("||", "", "\n", '"', 3):
        with pytest.raises((ValueError, ps.Error)):
            ps.Manifest(path, delimiter=wrong)


def test_one_column_needs_no_delimiter(tmp_path):
    path = write(tmp_path / "train.csv", rows=[("a.png",), ("b.png",)], names=("path",))
    assert ps.Manifest(path).fields == {"path": "image"}


def test_a_renamed_table_still_knows_its_classes(tmp_path):
    source = ps.Manifest(write(tmp_path / "train.csv")).rename({"path": "image", "label": "target"})
    assert source.classes == ["cat", "dog"]
    assert np.bincount(read(source, "target")[0]).tolist() == [1, 3]
