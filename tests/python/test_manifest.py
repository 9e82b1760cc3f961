"""Tables of samples: CSV, TSV and JSON lines."""

import json
import os

import numpy as np
import pytest

import penstock as ps
from pictures import save_png
from records import make_loader, plain, read_all, read_numbers, write_json_lines


@pytest.fixture
def table(tmp_path):
    """Four images and a table beside them: path, class, weight, caption, count."""
    for i in range(4):
        save_png(tmp_path / "img" / f"{i}.png", plain(i * 10))
    (tmp_path / "t.csv").write_text("path,class,weight,caption,count\n" + "".join(
        f'img/{i}.png,{"dog" if i % 2 else "cat"},{i / 4},"a, ""b"" {i}",{i - 2}\n' for i in range(4)))
    return tmp_path / "t.csv"


def rows_of(path):
    import csv

    with open(path, newline="") as file:
        return list(csv.DictReader(file))


# -- formats ------------------------------------------------------------------------------------------


def test_columns_become_fields_by_what_their_cells_are(table):
    source = ps.Manifest(table)
    assert source.fields == {"path": "image", "weight": "array", "class": "integer", "count": "integer", "caption": "text"}
    assert len(source) == 4 and source.classes == ["cat", "dog"] and source.key(2) == "img/2.png"


def test_keywords_choose_and_name_the_columns(table):
    with make_loader(ps.Manifest(table, image="path", label="class")) as loader:
        images, labels = next(iter(loader))
    assert images[:, 0, 0, 0].tolist() == [0, 10, 20, 30] and labels.tolist() == [0, 1, 0, 1]


def test_every_kind_of_cell_is_read(table):
    fields = ["caption", "weight", "count", "class", "path", "key"]
    got = read_all(ps.Manifest(table), fields)
    for (caption, weight, count, label, image, key), row in zip(got, rows_of(table)):
        assert caption == row["caption"] and weight == float(row["weight"]) and count == int(row["count"])
        assert ["cat", "dog"][label] == row["class"] and image.shape == (3, 8, 8) and key == row["path"]


def test_tsv_json_lines_and_csv_of_the_same_rows_are_the_same(table):
    rows = rows_of(table)
    tsv = table.with_suffix(".tsv")
    tsv.write_text("\t".join(rows[0]) + "\n" + "".join("\t".join(r[c].replace('"', "") for c in r) + "\n" for r in rows))
    for row in rows:
        row.update(weight=float(row["weight"]), count=int(row["count"]), caption=row["caption"].replace('"', ""))
    lines = write_json_lines(table.with_suffix(".jsonl"), rows)
    fields = ["path", "weight", "count", "class", "caption"]
    one, other = read_all(ps.Manifest(tsv), fields), read_all(ps.Manifest(lines), fields)
    assert len(one) == 4
    for a, b in zip(one, other):
        assert np.array_equal(a[0], b[0]) and a[1:] == b[1:]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_of_both_kinds_with_and_without_the_last_one(tmp_path, ending, last):
    text = ending.join(["y,t", "1,one", "2,two"]) + (ending if last else "")
    (tmp_path / "t.csv").write_bytes(text.encode())
    assert read_all(ps.Manifest(tmp_path / "t.csv"), ["y", "t"]) == [(1, "one"), (2, "two")]


def test_quoted_commas_quotes_and_line_breaks_are_part_of_the_cell(tmp_path):
    cells = ["a,b", 'say "hi"', "two\nlines", " blank ", "\u96ea,\u7403"]
    import csv

    with open(tmp_path / "t.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["text", "n"])
        out.writerows([cell, i] for i, cell in enumerate(cells))
    assert [t for t, _ in read_all(ps.Manifest(tmp_path / "t.csv"), ["text", "n"])] == cells


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfy,t\n1,one\n")
    assert list(ps.Manifest(tmp_path / "t.csv").fields) == ["y", "t"]


def test_json_columns_are_parsed(tmp_path):
    rows = [{"y": 1, "boxes": [[1, 2.5], [3, 4]], "meta": {"a": None}}, {"boxes": [], "meta": {}, "y": 2}]
    write_json_lines(tmp_path / "t.jsonl", rows)
    source = ps.Manifest(tmp_path / "t.jsonl")
    assert source.fields["boxes"] == source.fields["meta"] == "json"
    assert read_all(source, ["y", "boxes", "meta"]) == [(r["y"], r["boxes"], r["meta"]) for r in rows]


def test_json_strings_that_look_like_numbers_stay_text(tmp_path):
    write_json_lines(tmp_path / "t.jsonl", [{"zip": "00123", "n": 1}, {"zip": "4", "n": 2.5}])
    assert read_all(ps.Manifest(tmp_path / "t.jsonl"), ["zip", "n"]) == [("00123", 1), ("4", 2.5)]


def test_a_csv_cell_of_json_is_parsed_where_kinds_say_so(tmp_path):
    (tmp_path / "t.csv").write_text('y,box\n1,"[1, 2]"\n2,"{""a"": 1}"\n')
    assert read_all(ps.Manifest(tmp_path / "t.csv", kinds={"box": "json"}), ["box"]) == [([1, 2],), ({"a": 1},)]


def test_a_csv_cell_that_is_no_json_is_an_error_of_ours_that_names_the_row(tmp_path):
    (tmp_path / "t.csv").write_text('y,box\n1,"[1, 2]"\n2,hello\n')
    with pytest.raises(ps.Error) as caught:
        read_all(ps.Manifest(tmp_path / "t.csv", kinds={"box": "json"}), ["box"])
    assert "t.csv" in str(caught.value)


def test_numbers_keep_their_value(tmp_path):
    numbers = ["0", "-1", str(2**63 - 1), str(-(2**63))]
    reals = ["0.1", "-1e10", "3", ".5"]
    (tmp_path / "t.csv").write_text("i,r\n" + "".join(f"{i},{r}\n" for i, r in zip(numbers, reals)))
    with make_loader(ps.Manifest(tmp_path / "t.csv"), fields=["i", "r"]) as loader:
        i, r = next(iter(loader))
    assert i.dtype == np.int64 and i.tolist() == [int(n) for n in numbers]
    assert r.dtype == np.float32 and np.array_equal(r, np.float32([float(x) for x in reals]))


def test_npy_columns_are_read(tmp_path):
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", np.full((2, 3), i, np.float32))
    (tmp_path / "t.csv").write_text("x\n0.npy\n1.npy\n2.npy\n")
    with make_loader(ps.Manifest(tmp_path / "t.csv"), 3) as loader:
        assert next(iter(loader))[:, 0, 0].tolist() == [0, 1, 2]


# -- paths --------------------------------------------------------------------------------------------


def test_paths_are_relative_to_the_table_wherever_one_stands(table, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert len(read_all(os.path.relpath(table), ["path"])) == 4


def test_a_table_opened_by_a_relative_path_survives_a_change_of_folder(table, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(table.parent)
    source = ps.Manifest("t.csv")
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert len(read_all(source, ["path"])) == 4


def test_root_is_what_paths_are_relative_to(table, tmp_path_factory):
    moved = tmp_path_factory.mktemp("lists") / "train.csv"
    moved.write_text(table.read_text())
    for root in (table.parent, str(table.parent) + "/"):
        assert len(read_all(ps.Manifest(moved, root=root), ["path"])) == 4
    with pytest.raises(ps.NotFoundError):
        read_all(ps.Manifest(moved), ["path"])


def test_absolute_paths_within_the_root_are_fine(table):
    moved = table.with_name("absolute.csv")
    moved.write_text("image\n" + "".join(f"{table.parent}/img/{i}.png\n" for i in range(4)))
    assert len(read_all(ps.Manifest(moved), ["image"])) == 4


@pytest.mark.parametrize("path", ["../out.png", "img/../../out.png", "/etc/out.png", "{root}x/out.png"])
def test_a_path_that_leaves_the_root_is_refused_with_its_row(tmp_path, path):
    save_png(tmp_path / "out.png", plain(1))
    root = tmp_path / "data"
    save_png(root / "img" / "0.png", plain(1))
    save_png(tmp_path / "datax" / "out.png", plain(1))
    (root / "t.csv").write_text(f"image\nimg/0.png\n{path.format(root=root)}\n")
    with make_loader(ps.Manifest(root / "t.csv"), 2) as loader, pytest.raises(ps.Error, match="out of the folder") as caught:
        list(loader)
    assert caught.value.sample == 1 and caught.value.uri.endswith("t.csv") and caught.value.offset == 16


def test_a_missing_file_is_named_with_its_sample(table):
    (table.parent / "img" / "2.png").unlink()
    with make_loader(table, 4, fields=["path"]) as loader, pytest.raises(ps.NotFoundError) as caught:
        list(loader)
    assert caught.value.sample == 2 and "img/2.png" in str(caught.value)


def test_missing_files_can_be_skipped(table):
    (table.parent / "img" / "2.png").unlink()
    with make_loader(table, 4, fields=["count", "path"], on_error="skip") as loader:
        (counts, images), = loader
    assert counts.tolist() == [-2, -1, 1] and images[:, 0, 0, 0].tolist() == [0, 10, 30]


def test_an_empty_cell_among_paths_names_its_row(table):
    table.write_text("image,y\nimg/0.png,0\n,1\nimg/2.png,2\n")
    with make_loader(ps.Manifest(table, kinds={"image": "image"}), 3) as loader, pytest.raises(ps.Error, match="empty") as caught:
        list(loader)
    assert caught.value.sample == 1 and caught.value.uri.endswith("t.csv") and caught.value.offset == len("image,y\nimg/0.png,0\n")


# -- images and masks ---------------------------------------------------------------------------------


@pytest.fixture
def pairs(tmp_path):
    """Images and masks whose values say where in the picture they are."""
    grid = (np.arange(30 * 40).reshape(30, 40) % 249).astype(np.uint8)
    for i in range(6):
        save_png(tmp_path / f"{i}.png", np.repeat((grid + i)[:, :, None], 3, 2))
        save_png(tmp_path / f"{i}_m.png", grid + i)
    return write_json_lines(tmp_path / "t.jsonl", [{"image": f"{i}.png", "mask": f"{i}_m.png", "label": f"c{i % 3}"} for i in range(6)])


def test_masks_stay_aligned_with_their_images_under_random_crops(pairs):
    source = ps.Manifest(pairs)
    assert source.fields == {"image": "image", "mask": "mask", "label": "integer"} and source.classes == ["c0", "c1", "c2"]
    steps = [ps.RandomCrop((12, 20)), ps.RandomHorizontalFlip(), ps.RandomVerticalFlip()]
    with make_loader(source, 3, shuffle=True, transform={"image": steps, "mask": steps}) as loader:
        batches = [(i.copy(), m.copy()) for _ in range(2) for i, m, _ in loader]
    for images, masks in batches:
        assert images.shape == (3, 3, 12, 20) and np.array_equal(images[:, 0], masks.reshape(3, 12, 20))
    assert not np.array_equal(batches[0][0], batches[2][0])


def test_columns_named_by_keywords_can_be_masks(pairs):
    source = ps.Manifest(pairs, picture="image", truth="mask", kinds={"truth": "mask"})
    assert source.fields == {"picture": "image", "truth": "mask"}


# -- classes ------------------------------------------------------------------------------------------


def test_names_of_classes_are_numbered_in_sorted_order(tmp_path):
    names = ["zebra", "ant", "Horse", "ant", "\u00e9mu", "zebra"]
    write_json_lines(tmp_path / "t.jsonl", [{"label": n} for n in names])
    source = ps.Manifest(tmp_path / "t.jsonl")
    assert source.classes == ["Horse", "ant", "zebra", "\u00e9mu"]
    assert [source.classes[i] for i in read_numbers(source, "label")] == names


def test_numbers_under_label_stay_what_they_are(tmp_path):
    (tmp_path / "t.csv").write_text("label\n7\n3\n7\n")
    source = ps.Manifest(tmp_path / "t.csv")
    assert read_numbers(source, "label") == [7, 3, 7] and source.classes == []


def test_a_class_column_is_text_where_kinds_say_so(table):
    source = ps.Manifest(table, kinds={"class": "text"})
    assert read_all(source, ["class"])[:2] == [("cat",), ("dog",)] and source.classes == []


def test_a_text_column_becomes_classes_where_kinds_say_so(tmp_path):
    (tmp_path / "t.csv").write_text("animal\ncow\nape\n")
    source = ps.Manifest(tmp_path / "t.csv", kinds={"animal": "integer"})
    assert source.classes == ["ape", "cow"] and read_numbers(source, "animal") == [1, 0]


def test_an_empty_class_is_not_silently_a_class(tmp_path):
    """A hole in a column of labels is far more often a mistake than a class without a name."""
    (tmp_path / "t.csv").write_text("y,label\n1,cat\n2,\n3,dog\n")
    try:
        source = ps.Manifest(tmp_path / "t.csv")
    except ps.Error as error:
        assert "label" in str(error)
    else:
        assert "" not in source.classes


# -- mistakes -----------------------------------------------------------------------------------------


def test_a_missing_column_is_answered_with_those_there_are(table):
    with pytest.raises(ps.UsageError) as caught:
        ps.Manifest(table, image="paht")
    assert '"paht"' in str(caught.value) and 'did you mean "path"' in str(caught.value)


@pytest.mark.parametrize("text, words", [
    ("a,b\n1,2\n3\n", "row|cells|columns|fields"), ("a,b\n1,2\n3,4,5\n", "row|cells|columns|fields"),
    ('a,b\n1,"2\n', "quote"), ("a,a\n1,2\n", "twice|same|name"), ("", "rows|empty"), ("a,b\n", "rows"),
])
def test_a_table_that_is_wrong_says_where(tmp_path, text, words):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ps.Error, match=words) as caught:
        ps.Manifest(tmp_path / "t.csv")
    assert "t.csv" in str(caught.value)


@pytest.mark.parametrize("text, words", [('{"a": 1}\n{"b": 2}\n', "'b'"), ('{"a": 1}\n[1]\n', "object"), ('{"a": 1}\n{"a": \n', "byte"),
                                         ('{"a": 1}\n{"a": 1, "c": 3}\n', "c"), ('{"a": 1, "a": 2}\n', "two columns")])
def test_json_lines_that_are_wrong_name_the_line(tmp_path, text, words):
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(ps.Error, match=words) as caught:
        ps.Manifest(tmp_path / "t.jsonl")
    assert "t.jsonl" in str(caught.value) and caught.value.offset == (0 if text.count("\n") == 1 else 9)


def test_text_that_is_not_utf8_is_an_error_that_says_so(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"t\nok\n\xff\xfe\n")
    with pytest.raises(ps.Error, match="UTF-8") as caught:
        read_all(ps.Manifest(tmp_path / "t.csv"), ["t"])
    assert "t.csv" in str(caught.value)


def test_kinds_that_the_cells_do_not_fit_are_refused(table):
    for kinds in ({"weight": "image"}, {"weight": "integer"}, {"count": "mask"}, {"path": "float32[3]"}):
        with pytest.raises(ps.UsageError) as caught:
            ps.Manifest(table, kinds=kinds)
        assert next(iter(kinds)) in str(caught.value)


def test_a_manifest_is_known_by_its_name(table):
    assert ps.Loader(table, 2).source.kind == "manifest"


def test_a_table_by_another_name_is_read_where_one_says_that_it_is_one(table):
    """.txt is not known; Manifest says what it is, so it must not be taken for JSON lines without a word."""
    other = table.with_suffix(".txt")
    other.write_text(table.read_text())
    with pytest.raises(ps.Error, match="csv|JSON|json"):
        ps.Manifest(other)


def test_upper_case_endings_are_the_same_format(table):
    other = table.with_suffix(".CSV")
    other.write_text(table.read_text())
    assert len(ps.Manifest(other)) == 4


# -- order --------------------------------------------------------------------------------------------


def test_rows_come_once_shuffled_on_ranks_and_resumed(tmp_path):
    (tmp_path / "t.csv").write_text("y\n" + "".join(f"{i}\n" for i in range(50)))
    source = ps.Manifest(tmp_path / "t.csv")
    whole = read_numbers(source, "y", shuffle=True, seed=1)
    assert sorted(whole) == list(range(50)) and whole != sorted(whole)
    ranks = [read_numbers(source, "y", shuffle=True, seed=1, rank=r, world_size=2, batch_size=5) for r in range(2)]
    assert sorted(ranks[0] + ranks[1]) == list(range(50))
    with make_loader(source, 4, shuffle=True, seed=1) as loader:
        batches = iter(loader)
        first = next(batches).tolist() + next(batches).tolist()
        state = json.loads(json.dumps(loader.state_dict()))
    with make_loader(source, 4, shuffle=True, seed=1) as loader:
        loader.load_state_dict(state)
        assert first + [int(v) for batch in loader for v in batch] == whole


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_table_of_more_columns_than_a_batch_has_fields_is_refused_at_once_unless_some_are_named(tmp_path, ending):
    names = [f"c{i}" for i in range(60_000)]
    path = tmp_path / f"wide.{ending}"
    if ending == "csv":
        path.write_text(",".join(names) + "\n" + ",".join("7" for _ in names) + "\n")
    else:
        path.write_text(json.dumps(dict.fromkeys(names, 7)) + "\n")
    with pytest.raises(ps.Error, match="60000 columns, of which at most 4096 can be fields"):
        ps.Manifest(path)
    assert ps.Manifest(path, x="c59999")[0]["x"] == 7
