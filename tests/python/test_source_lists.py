"""Sources by list: shards, folders, files with labels; and fields under other names."""

import pathlib

import numpy as np
import pytest
import torch

import penstock as ps
from pictures import noise, save_png
from records import example, read_numbers, write_number_shards, write_tar, write_tfrecord


def labels_of(source, field="label"):
    with ps.Loader(source, batch_size=100, fields=[field], output="numpy") as loader:
        (values,), = loader
    return values.tolist() if hasattr(values, "tolist") else values


def shards(folder, count, samples):
    write_number_shards(folder, count, samples)
    return sorted(folder.glob("*.tar"))


# -- several paths --------------------------------------------------------------------------------------


def test_tar_shards_come_in_the_order_of_the_list(tmp_path):
    paths = shards(tmp_path, 3, 4)
    one = [read_numbers(ps.Tar(path)) for path in paths]
    assert read_numbers(ps.Tar([paths[2], str(paths[0])])) == one[2] + one[0]
    assert read_numbers(ps.open_source([paths[1], paths[0]])) == one[1] + one[0]
    assert len(ps.Loader([str(path) for path in paths])) == 12
    assert len(ps.Tar((paths[0],))) == 4


def test_lists_may_have_patterns_and_folders_of_shards(tmp_path):
    write_number_shards(tmp_path / "a", 2, 3)
    write_number_shards(tmp_path / "b", 3, 3)
    first, second = read_numbers(ps.Tar(tmp_path / "a")), read_numbers(ps.Tar(str(tmp_path / "b" / "*.tar")))
    assert read_numbers(ps.Tar([str(tmp_path / "b" / "*.tar"), tmp_path / "a"])) == second + first


def test_an_index_of_a_list_is_kept_for_that_order_only(tmp_path):
    paths = shards(tmp_path, 2, 3)
    assert not ps.Tar(paths)._handle.index_was_saved()
    assert ps.Tar(paths)._handle.index_was_saved()
    assert read_numbers(ps.Tar(paths[::-1])) != read_numbers(ps.Tar(paths))


def test_tfrecords_by_list(tmp_path):
    for shard in range(3):
        write_tfrecord(tmp_path / f"{shard}.tfrecord", [example(label=[10 * shard + i]) for i in range(2)])
    source = ps.TFRecord([tmp_path / "2.tfrecord", tmp_path / "0.tfrecord"])
    assert labels_of(source) == [20, 21, 0, 1]


def test_npy_files_by_list_are_samples(tmp_path):
    for i in range(3):
        np.save(tmp_path / f"{i}.npy", np.full(2, i))
    with ps.Loader(ps.Npy([tmp_path / "2.npy", tmp_path / "0.npy"]), batch_size=2, output="numpy") as loader:
        assert next(iter(loader)).tolist() == [[2, 2], [0, 0]]


def test_a_list_of_one_is_a_list(tmp_path):
    """The number of files in a list does not change what each of them is."""
    np.save(tmp_path / "a.npy", np.arange(6).reshape(2, 3))
    np.save(tmp_path / "b.npy", np.arange(6).reshape(2, 3))
    for opened in (ps.Npy, ps.Files, ps.open_source):
        for names in (["a"], ["a", "b"]):
            source = opened([tmp_path / f"{name}.npy" for name in names])
            assert len(source) == len(names) and np.array_equal(source[0], np.arange(6).reshape(2, 3))
    assert len(ps.Npy(str(tmp_path / "a*.npy"))) == 1
    assert len(ps.Npy(tmp_path / "a.npy")) == 2  # alone: each entry of its first axis is a sample


def test_tiff_files_of_several_pages_are_volumes_wherever_they_are_named(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    pages = noise((4, 8, 9))
    for name in "ab":
        tifffile.imwrite(tmp_path / f"{name}.tif", pages, photometric="minisblack")
        tifffile.imwrite(tmp_path / f"one-{name}.tif", pages[0])
    for named in (tmp_path / "a.tif", [tmp_path / "a.tif"], [tmp_path / "a.tif", tmp_path / "b.tif"],
                  str(tmp_path / "[ab].tif"), str(tmp_path / "{a,b}.tif"), [str(tmp_path / "[ab].tif")]):
        with pytest.raises(ps.Error, match=r"volume of shape \[4, 8, 9\].*ps.Patches.*kind=\"images\""):
            ps.Loader(named)
        with pytest.raises(ps.Error, match="ps.Patches"):
            ps.Files(named) if isinstance(named, list) else ps.open_source(named)
        # Said to be images, each file is its first page; so it is where the files have labels or are those of a folder.
        images = ps.open_source(named, kind="images")
        assert np.array_equal(np.asarray(images[0])[0], tifffile.imread(tmp_path / "a.tif", key=0))
    assert len(ps.Files([(tmp_path / "a.tif", 0)])) == 1 and len(ps.ImageFolder([tmp_path / "a.tif"])) == 1
    assert len(ps.ImageFolder(tmp_path)) == 4
    assert len(ps.Files([tmp_path / "one-a.tif"])) == 1 and len(ps.Files([tmp_path / "one-a.tif", tmp_path / "one-b.tif"])) == 2


def test_folders_with_the_same_classes_are_joined(tmp_path):
    for part in ("x", "y"):
        for name in ("ant", "bee"):
            save_png(tmp_path / part / name / f"{part}.png", noise((4, 4, 3)))
    source = ps.ImageFolder([tmp_path / "y", tmp_path / "x"])
    assert source.classes == ["ant", "bee"] and labels_of(source) == [0, 1, 0, 1]
    assert [source.key(i) for i in range(4)] == ["ant/y.png", "bee/y.png", "ant/x.png", "bee/x.png"]
    (tmp_path / "y" / "cow").mkdir()
    with pytest.raises(ps.Error, match="other classes"):
        ps.ImageFolder([tmp_path / "y", tmp_path / "x"])


def test_image_files_by_list_keep_their_order(tmp_path, monkeypatch):
    for i in range(3):
        save_png(tmp_path / f"{i}.png", np.full((4, 4, 3), i, np.uint8))
    monkeypatch.chdir(tmp_path)
    source = ps.Files(["2.png", str(tmp_path / "0.png"), pathlib.Path("1.png")])
    monkeypatch.chdir("/")
    with ps.Loader(source, batch_size=3, output="numpy") as loader:
        assert next(iter(loader))[:, 0, 0, 0].tolist() == [2, 0, 1]
    assert [source.key(i) for i in range(3)] == ["2.png", str(tmp_path / "0.png"), "1.png"]


@pytest.mark.parametrize("wrong, message", [
    ([], "empty list"), (["nowhere.tar", "x.tar"], "no such file"), ([3], "not int"), ([b"x"], "not bytes"),
    ([("a.jpg", 0), "b.jpg"], "not both"), ([("a.jpg", 0, 1)], "pair of a path and a label"), ([(0, "a.jpg")], "pair of"),
    ([("a.jpg", 0), ("b.jpg", "cat")], "all whole numbers or all names"), ([("a.jpg", 0.5)], "Manifest"),
], ids=str)
def test_lists_that_are_none_say_what_is_wrong(wrong, message):
    with pytest.raises((TypeError, ValueError, ps.Error), match=message):
        ps.Loader(wrong)


def test_files_wants_a_list():
    for wrong in ("a.jpg", 7):
        with pytest.raises(TypeError, match="wants a list"):
            ps.Files(wrong)


# -- pairs ----------------------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path):
    return [save_png(tmp_path / f"{i}.png", np.full((4, 4, 3), i, np.uint8)) for i in range(3)]


@pytest.mark.parametrize("as_label", [int, np.int64, torch.tensor], ids=["int", "numpy", "torch"])
def test_pairs_of_paths_and_numbers(three, as_label):
    pairs = [(three[2], as_label(5)), (str(three[0]), as_label(-1)), (three[2], as_label(7))]
    with ps.Loader(pairs, batch_size=3) as loader:
        (images, labels), = loader
    assert images[:, 0, 0, 0].tolist() == [2, 0, 2]
    assert labels.dtype == torch.int64 and labels.tolist() == [5, -1, 7]
    source = ps.Files(pairs)
    assert source.fields == {"image": "image", "label": "integer"} and source.classes == []
    assert source.kind == "image files" and len(source) == 3


def test_pairs_with_names_of_classes(three):
    source = ps.Files(list(zip(three, ["dog", "ant", "dog"])))
    assert source.classes == ["ant", "dog"] and labels_of(source) == [1, 0, 1]
    assert labels_of(source.subset([0, 2])) == [1, 1]


def test_pairs_of_arrays(tmp_path):
    for i in range(2):
        np.save(tmp_path / f"{i}.npy", np.full(2, i))
    with ps.Loader([(tmp_path / "1.npy", 3), (tmp_path / "0.npy", 4)], batch_size=2, output="numpy") as loader:
        (arrays, labels), = loader
    assert arrays.tolist() == [[1, 1], [0, 0]] and labels.tolist() == [3, 4]


def test_a_pair_whose_file_is_missing_names_it(three, tmp_path):
    with pytest.raises(ps.NotFoundError, match="gone.png"):
        ps.Files([(three[0], 0), (tmp_path / "gone.png", 1)])


def test_other_labels_are_another_data_set(three):
    one, other = (ps.Files([(path, label) for path in three]) for label in (0, 1))
    assert one._handle.fingerprint() != other._handle.fingerprint()


# -- other names ------------------------------------------------------------------------------------------


def test_fields_under_other_names(tmp_path):
    write_tar(tmp_path / "x.tar", [(f"{i}.{ending}", data) for i in range(3)
                                   for ending, data in (("cls", str(i).encode()), ("txt", b"text"))])
    source = ps.Tar(tmp_path / "x.tar").rename({"cls": "label"})
    assert source.fields == {"label": "integer", "txt": "text"}
    assert labels_of(source) == [0, 1, 2] and labels_of(source, "txt") == ["text"] * 3
    swapped = source.rename({"label": "txt", "txt": "label"})
    assert labels_of(swapped, "txt") == [0, 1, 2]
    assert labels_of(source.subset([2, 0])) == [2, 0]
    with ps.Loader(source, batch_size=3, fields=["label"], transform={"label": [ps.OneHot(3)]}, output="numpy") as loader:
        (one_hot,), = loader
    np.testing.assert_array_equal(one_hot, np.eye(3))


def test_renamed_sources_split_mix_and_go_on_from_a_state(classes):
    source = ps.open_source(classes).rename({"image": "x", "label": "y"})
    assert source.classes == ["ant", "horse", "zebra"]
    first, second = source.split(0.5)
    assert set(first.fields) == {"x", "y"} and len(first) + len(second) == 12
    assert len(ps.Mix([first, second])) == 12
    state = ps.Loader(classes, batch_size=2).state_dict()
    ps.Loader(source, batch_size=2).load_state_dict(state)


@pytest.mark.parametrize("names, message", [
    ({"imag": "x"}, 'no field "imag", did you mean "image"'), ({"image": "label"}, 'two fields would be named "label"'),
    ({"image": ""}, "empty name")])
def test_names_that_do_not_fit_say_so(classes, names, message):
    with pytest.raises(ps.Error, match=message):
        ps.open_source(classes).rename(names)


@pytest.mark.parametrize("wrong", ["image", {"image": 3}, [("image", "x")]], ids=str)
def test_rename_wants_a_mapping(classes, wrong):
    with pytest.raises(TypeError, match="old name"):
        ps.open_source(classes).rename(wrong)
