"""The shapes of batches that scripts rely on."""

import numpy as np
import pytest

import penstock as ps
from pictures import noise, save_png


def only_batch(*args, **options):
    with ps.Loader(*args, output="numpy", **options) as loader:
        batches = list(loader)
    assert len(batches) == 1
    return batches[0]


def test_class_folders_give_images_and_labels_sorted_by_class_name(classes):
    images, labels = only_batch(classes, batch_size=12)
    assert images.shape == (12, 3, 60, 80) and images.dtype == np.uint8
    assert labels.dtype == np.int64
    assert labels.tolist() == [0] * 4 + [1] * 3 + [2] * 5


def test_a_source_names_its_classes_fields_and_keys(classes):
    source = ps.ImageFolder(classes)
    assert source.classes == ["ant", "horse", "zebra"]
    assert source.fields == {"image": "image", "label": "integer"}
    assert source.kind == "image class folders"
    assert [source.key(i) for i in (0, 4, 11)] == ["ant/0.jpg", "horse/0.jpg", "zebra/4.jpg"]
    assert len(source) == 12
    assert source.stored_bytes == sum(path.stat().st_size for path in classes.rglob("*.jpg"))
    assert "12 samples" in repr(source) and "image, label" in repr(source)


def test_a_class_without_images_keeps_its_number(classes):
    (classes / "cat").mkdir()
    source = ps.ImageFolder(classes)
    assert source.classes == ["ant", "cat", "horse", "zebra"]
    _, labels = only_batch(source, batch_size=12)
    assert labels.tolist() == [0] * 4 + [2] * 3 + [3] * 5


def test_folders_below_a_class_folder_belong_to_the_class(tmp_path):
    for place in ("a/x", "a-b", "a/y/z", "b"):
        save_png(tmp_path / place / "1.png", noise((4, 4, 3)))
    source = ps.ImageFolder(tmp_path)
    assert source.classes == ["a", "a-b", "b"]
    keys, labels = only_batch(source, batch_size=4, fields=["key", "label"])
    assert dict(zip(keys, labels.tolist())) == {"a/x/1.png": 0, "a/y/z/1.png": 0, "a-b/1.png": 1, "b/1.png": 2}


def test_a_flat_folder_gives_the_bare_array_in_name_order(flat):
    images = only_batch(flat, batch_size=12)
    assert isinstance(images, np.ndarray) and images.shape == (12, 3, 20, 24)
    assert images[:, 0, 0, 0].tolist() == list(range(12))


def test_npy_files_are_one_a_sample(arrays):
    batch = only_batch(arrays, batch_size=10)
    expected = np.stack([np.load(path) for path in sorted(arrays.glob("*.npy"))])
    assert batch.dtype == np.float32
    assert np.array_equal(batch, expected)


def test_a_folder_with_one_npy_file_has_one_sample(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6.0).reshape(2, 3))
    assert only_batch(tmp_path).shape == (1, 2, 3)


def test_npy_class_folders_give_arrays_and_labels(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "0.npy", np.full(3, ord(name), np.int32))
    values, labels = only_batch(tmp_path, batch_size=2)
    assert values[:, 0].tolist() == [97, 98] and labels.tolist() == [0, 1]


def test_one_big_npy_is_a_sample_a_row(numbers):
    batch = only_batch(numbers, batch_size=23)
    assert np.array_equal(batch, np.load(numbers))


def test_one_big_npy_of_one_axis_gives_numbers(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(5, dtype=np.float64))
    batch = only_batch(tmp_path / "x.npy", batch_size=5)
    assert batch.shape == (5,) and batch.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("dtype", ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16",
                                   ">i4", ">f8", ">u2", ">c8"])
def test_npy_types_and_memory_orders_read_as_numpy_reads_them(tmp_path, dtype):
    values = noise((7, 3, 4)).astype(dtype)
    np.save(tmp_path / "big.npy", values)
    for order in "CF":
        (tmp_path / order).mkdir()
        for i in range(7):
            np.save(tmp_path / order / f"{i}.npy", np.asarray(values[i], order=order))
    for source in (tmp_path / "big.npy", tmp_path / "C", tmp_path / "F"):
        batch = only_batch(source, batch_size=7)
        assert batch.dtype == np.dtype(dtype).newbyteorder("=")
        assert np.array_equal(batch, values)


def test_files_of_different_memory_order_and_byte_order_mix(tmp_path):
    values = noise((4, 3, 5)).astype("f4")
    for i, (order, dtype) in enumerate([("C", "<f4"), ("F", "<f4"), ("C", ">f4"), ("F", ">f4")]):
        np.save(tmp_path / f"{i}.npy", np.asarray(values[i].astype(dtype), order=order))
    assert np.array_equal(only_batch(tmp_path, batch_size=4), values)


def test_one_big_npy_in_fortran_order_is_refused_with_advice(tmp_path):
    np.save(tmp_path / "x.npy", np.asfortranarray(np.zeros((7, 3))))
    with pytest.raises(ps.Error, match="ascontiguousarray"):
        ps.Npy(tmp_path / "x.npy")


def test_dates_come_as_their_integers(tmp_path):
    dates = np.array(["2024-01-01", "2024-01-02"], "<M8[D]")
    np.save(tmp_path / "x.npy", dates)
    assert np.array_equal(only_batch(tmp_path / "x.npy", batch_size=2), dates.astype(np.int64))


def test_the_last_batch_is_shorter_and_drop_last_drops_it(numbers):
    with ps.Loader(numbers, batch_size=10, output="numpy") as loader:
        assert len(loader) == 3
        assert [len(batch) for batch in loader] == [10, 10, 3]
    with ps.Loader(numbers, batch_size=10, drop_last=True, output="numpy") as loader:
        assert len(loader) == 2
        assert [len(batch) for batch in loader] == [10, 10]


def test_a_list_of_fields_chooses_and_orders(classes):
    batch = only_batch(classes, batch_size=12, fields=["key", "label", "image"])
    assert isinstance(batch, tuple) and len(batch) == 3
    keys, labels, images = batch
    assert isinstance(keys, list) and keys[0] == "ant/0.jpg" and all(type(key) is str for key in keys)
    assert labels.shape == (12,) and images.shape == (12, 3, 60, 80)


def test_one_field_asked_for_by_a_list_is_still_a_tuple(classes):
    batch = only_batch(classes, batch_size=12, fields=["label"])
    assert isinstance(batch, tuple) and len(batch) == 1
    keys, = only_batch(classes, batch_size=12, fields=["key"])
    assert len(keys) == 12


def test_a_dict_of_fields_renames(classes):
    batch = only_batch(classes, batch_size=12, fields={"x": "image", "y": "label", "name": "key"})
    assert list(batch) == ["x", "y", "name"]
    assert batch["x"].shape == (12, 3, 60, 80) and batch["y"].sum() == 13 and batch["name"][11] == "zebra/4.jpg"


def test_a_transform_list_goes_to_the_renamed_image(classes):
    batch = only_batch(classes, batch_size=12, fields={"y": "label", "x": "image"}, transform=[ps.CenterCrop(8)])
    assert batch["x"].shape == (12, 3, 8, 8)
    batch = only_batch(classes, batch_size=12, fields={"x": "image"}, transform={"x": [ps.CenterCrop(8)]})
    assert batch["x"].shape == (12, 3, 8, 8)


def test_one_transform_needs_no_list(flat):
    assert only_batch(flat, batch_size=12, transform=ps.CenterCrop(8)).shape == (12, 3, 8, 8)


def test_keys_that_are_not_ascii_come_as_they_are(tmp_path):
    for name in ("é.png", "日本.png", "a b.png"):
        save_png(tmp_path / name, noise((4, 4, 3)))
    keys, = only_batch(tmp_path, batch_size=3, fields=["key"])
    assert sorted(keys) == sorted(["é.png", "日本.png", "a b.png"])


def test_a_glob_and_a_brace_pattern_choose_files(flat):
    assert len(ps.ImageFolder(str(flat / "00*.png"))) == 10
    images = only_batch(str(flat / "{003..005}.png"), batch_size=9)
    assert images[:, 0, 0, 0].tolist() == [3, 4, 5]
    assert len(ps.ImageFolder(str(flat / "0{01,11}.png"))) == 2


def test_one_image_file_is_a_source_of_one_sample(flat):
    assert only_batch(flat / "007.png")[0, 0, 0, 0] == 7


def test_a_path_may_be_text_or_a_path_object_and_end_with_a_slash(flat):
    assert len(ps.ImageFolder(str(flat) + "/")) == len(ps.ImageFolder(flat)) == 12


def test_hidden_files_and_other_endings_are_left_out(flat):
    (flat / ".hidden.png").write_bytes(b"x")
    (flat / "notes.txt").write_text("x")
    (flat / ".git").mkdir()
    assert len(ps.ImageFolder(flat)) == 12


def test_upper_case_endings_count(tmp_path):
    save_png(tmp_path / "A.PNG", noise((4, 4, 3)))
    assert len(ps.ImageFolder(tmp_path)) == 1


def test_subset_takes_indices_slices_of_them_and_fractions(flat):
    source = ps.ImageFolder(flat)
    images = only_batch(source.subset([11, 0, -2]), batch_size=3)
    assert images[:, 0, 0, 0].tolist() == [11, 0, 10]
    assert len(source.subset(0.25)) == 3 and len(source.subset(range(5))) == 5
    assert only_batch(source.subset(np.array([4, 4])), batch_size=2)[:, 0, 0, 0].tolist() == [4, 4]
    assert source.subset([3]).key(0) == "003.png"
    assert source.subset(range(2, 8)).subset([1]).key(0) == "003.png"


@pytest.mark.parametrize("wrong", [[12], [-13], 0.0, 1.5, []])
def test_a_subset_that_makes_no_sense_is_a_value_error(flat, wrong):
    with pytest.raises(ValueError):
        ps.ImageFolder(flat).subset(wrong)


def test_split_divides_without_overlap_and_by_the_seed(flat):
    source = ps.ImageFolder(flat)

    def keys(part):
        return [part.key(i) for i in range(len(part))]

    train, test = source.split(0.75, seed=1)
    assert len(train) == 9 and len(test) == 3
    assert sorted(keys(train) + keys(test)) == keys(source)
    assert keys(source.split(0.75, seed=1)[1]) == keys(test)
    assert any(keys(source.split(0.75, seed=s)[1]) != keys(test) for s in range(2, 6))
    for fraction in (0, 1, -0.1, 1.1, float("nan")):
        with pytest.raises(ValueError):
            source.split(fraction)


def test_repr_tells_what_the_loader_does(classes):
    with ps.Loader(classes, batch_size=4, output="numpy") as loader:
        text = repr(loader)
    for part in ("image class folders", "12 samples", "batch 4", "image uint8 [3, 60, 80]", "label int64", "rank 0 of 1",
                 "numpy"):
        assert part in text
