"""Fields of tar shards: kinds, names, masks, arrays, and what is never unpickled."""

import json
import os
import pickle
import tarfile

import numpy as np
import pytest

import penstock as ps
from pictures import jpeg_bytes
from records import make_loader, npy_bytes, npz_bytes, plain, png_bytes, read_all, read_numbers, tar_bytes, write_tar


@pytest.fixture
def pairs(tmp_path):
    """Four samples: image, class, caption, JSON, bytes."""
    files = []
    for i in range(4):
        files += [(f"k{i}.png", png_bytes(plain(i))), (f"k{i}.cls", str(i * 10).encode()), (f"k{i}.txt", f"text {i}".encode()),
                  (f"k{i}.json", json.dumps({"i": i}).encode()), (f"k{i}.dat", bytes([i, 0, 255]))]
    return write_tar(tmp_path / "pairs.tar", files)


def test_kinds_are_told_by_the_endings(pairs):
    assert ps.Tar(pairs).fields == {"png": "image", "cls": "integer", "txt": "text", "json": "json", "dat": "bytes"}


def test_all_fields_come_without_being_asked_for_images_first(pairs):
    with make_loader(pairs) as loader:
        images, labels, texts, data, raw = next(iter(loader))
    assert images.shape == (4, 3, 8, 8) and images[:, 0, 0, 0].tolist() == [0, 1, 2, 3]
    assert labels.tolist() == [0, 10, 20, 30] and texts == ["text 0", "text 1", "text 2", "text 3"]
    assert data == [{"i": i} for i in range(4)] and raw == [bytes([i, 0, 255]) for i in range(4)]


def test_a_list_of_fields_chooses_and_orders(pairs):
    with make_loader(pairs, fields=["txt", "key", "cls"]) as loader:
        texts, keys, labels = next(iter(loader))
    assert texts[1] == "text 1" and keys == ["k0", "k1", "k2", "k3"] and labels[3] == 30


def test_a_dict_of_fields_renames(pairs):
    with make_loader(pairs, fields={"caption": "txt", "y": "cls", "name": "key"}) as loader:
        batch = next(iter(loader))
    assert list(batch) == ["caption", "y", "name"]
    assert batch["caption"][2] == "text 2" and batch["y"].tolist() == [0, 10, 20, 30] and batch["name"][0] == "k0"


def test_a_transform_goes_to_the_image_and_names_go_with_renamed_fields(pairs):
    with make_loader(pairs, fields={"x": "png", "y": "cls"}, transform={"x": [ps.Resize(4)]}) as loader:
        assert next(iter(loader))["x"].shape == (4, 3, 4, 4)
    with make_loader(pairs, transform=[ps.Resize((5, 6))]) as loader:
        assert next(iter(loader))[0].shape == (4, 3, 5, 6)


def test_jpg_and_png_together_are_one_field_image(tmp_path):
    files = []
    for i in range(6):
        data = png_bytes(plain(i * 20)) if i % 2 else jpeg_bytes(plain(i * 20))
        files += [(f"{i}.{'png' if i % 2 else 'jpg'}", data), (f"{i}.cls", str(i).encode())]
    write_tar(tmp_path / "a.tar", files)
    assert list(ps.Tar(tmp_path / "a.tar").fields) == ["image", "cls"]
    with make_loader(tmp_path / "a.tar", 6) as loader:
        images, labels = next(iter(loader))
    assert np.abs(images[:, 0, 4, 4].astype(int) - np.arange(6) * 20).max() <= 1 and labels.tolist() == list(range(6))


def test_jpg_and_png_of_one_sample_stay_two_fields(tmp_path):
    write_tar(tmp_path / "a.tar", [("0.jpg", jpeg_bytes(plain(7))), ("0.png", png_bytes(plain(9)))])
    assert list(ps.Tar(tmp_path / "a.tar").fields) == ["jpg", "png"]


def test_masks_are_cropped_with_their_image(tmp_path):
    files = []
    for i in range(3):
        grid = np.arange(40 * 50).reshape(40, 50) % 251
        files += [(f"{i}.png", png_bytes(np.repeat(grid[:, :, None], 3, 2).astype(np.uint8))),
                  (f"{i}.seg.png", png_bytes(grid.astype(np.uint8)))]
    write_tar(tmp_path / "a.tar", files)
    source = ps.Tar(tmp_path / "a.tar")
    assert source.fields == {"png": "image", "seg.png": "mask"}
    steps = [ps.RandomCrop(16), ps.RandomHorizontalFlip()]
    with make_loader(source, 3, transform={"png": steps, "seg.png": steps}) as loader:
        images, masks = next(iter(loader))
    assert np.array_equal(images[:, 0], masks.reshape(images[:, 0].shape)) and len(np.unique(masks)) > 16


@pytest.mark.parametrize("compressed", [False, True])
def test_an_npz_is_a_field_an_array(tmp_path, compressed):
    arrays = [{"weights": np.arange(6, dtype=np.float32).reshape(2, 3) + i, "id": np.int64(i)} for i in range(4)]
    write_tar(tmp_path / "a.tar", [(f"{i}.npz", npz_bytes(compressed, **a)) for i, a in enumerate(arrays)])
    assert ps.Tar(tmp_path / "a.tar").fields == {"npz/weights": "array", "npz/id": "array"}
    with make_loader(tmp_path / "a.tar", fields={"w": "npz/weights", "i": "npz/id"}) as loader:
        batch = next(iter(loader))
    assert np.array_equal(batch["w"], np.stack([a["weights"] for a in arrays])) and batch["i"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("array", [np.arange(24, dtype=">i4").reshape(2, 3, 4), np.asfortranarray(np.arange(6.0).reshape(2, 3)),
                                   np.array(5, np.uint16), np.zeros((3, 0), np.float32), np.array([True, False])])
def test_arrays_of_odd_layouts_come_as_numpy_has_them(tmp_path, array):
    write_tar(tmp_path / "a.tar", [("0.npy", npy_bytes(array)), ("1.npy", npy_bytes(array))])
    with make_loader(tmp_path / "a.tar", 2) as loader:
        batch = next(iter(loader))
    assert np.array_equal(batch, np.stack([array, array])) and batch.dtype == array.dtype.newbyteorder("=")


def test_raw_elements_are_an_array_where_kinds_say_so(tmp_path):
    arrays = [np.arange(12, dtype=np.float32).reshape(3, 4) * i for i in range(3)]
    write_tar(tmp_path / "a.tar", [(f"{i}.bin", a.tobytes()) for i, a in enumerate(arrays)])
    with make_loader(ps.Tar(tmp_path / "a.tar", kinds={"bin": "float32[3,4]"}), 3) as loader:
        batch = next(iter(loader))
    assert batch.dtype == np.float32 and np.array_equal(batch, np.stack(arrays))


def test_raw_elements_of_another_size_name_the_sample(tmp_path):
    write_tar(tmp_path / "a.tar", [("0.bin", bytes(8)), ("1.bin", bytes(12))])
    with make_loader(ps.Tar(tmp_path / "a.tar", kinds={"bin": "float32[2]"}), 2) as loader, pytest.raises(ps.Error) as caught:
        list(loader)
    assert caught.value.sample == 1 and caught.value.uri.endswith("a.tar") and "12 bytes" in str(caught.value)


def test_kinds_make_a_text_of_numbers_integers_and_bytes_of_an_image(pairs, tmp_path):
    write_tar(tmp_path / "b.tar", [("0.txt", b"17\n"), ("1.txt", b" -4 ")])
    assert read_numbers(ps.Tar(tmp_path / "b.tar", kinds={"txt": "integer"}), "txt") == [17, -4]
    (raw,) = read_all(ps.Tar(pairs, kinds={"png": "bytes"}), ["png"])[1]
    assert raw == png_bytes(plain(1))


class _Trap:
    def __reduce__(self):
        return os.mkdir, (os.environ["TRAP_PATH"],)


@pytest.mark.parametrize("ending", ["pickle", "pkl", "pyd", "pth"])
def test_a_pickle_is_handed_over_and_never_run(tmp_path, monkeypatch, ending):
    monkeypatch.setenv("TRAP_PATH", str(tmp_path / "trap"))
    data = pickle.dumps(_Trap())
    write_tar(tmp_path / "a.tar", [(f"0.{ending}", data), (f"1.{ending}", data)])
    with make_loader(tmp_path / "a.tar") as loader:
        assert list(loader) == [[data, data]]
    assert not (tmp_path / "trap").exists()
    pickle.loads(data)
    assert (tmp_path / "trap").exists()  # it would have


def test_an_array_of_objects_is_refused_and_not_unpickled(tmp_path, monkeypatch):
    monkeypatch.setenv("TRAP_PATH", str(tmp_path / "trap"))
    write_tar(tmp_path / "a.tar", [("0.npy", npy_bytes(np.array([_Trap()], object)))])
    with pytest.raises(ps.Error, match="(?i)object|type|dtype"):
        with make_loader(tmp_path / "a.tar") as loader:
            list(loader)
    assert not (tmp_path / "trap").exists()


def test_fields_that_only_some_samples_have_come_when_asked_for(tmp_path):
    write_tar(tmp_path / "a.tar", [("0.cls", b"0"), ("1.cls", b"1"), ("1.txt", b"one"), ("2.cls", b"2"), ("2.txt", b"two")])
    source = ps.Tar(tmp_path / "a.tar")
    with make_loader(source, 3) as loader:
        assert next(iter(loader)).tolist() == [0, 1, 2]
    assert read_all(source.subset([1, 2]), ["txt"]) == [("one",), ("two",)]
    with make_loader(source, 3, fields=["cls", "txt"]) as loader, pytest.raises(ps.NotFoundError) as caught:
        list(loader)
    assert caught.value.sample == 0 and caught.value.uri.endswith("a.tar") and '"txt"' in str(caught.value)


def test_samples_that_lack_a_field_can_be_skipped(tmp_path):
    write_tar(tmp_path / "a.tar", [("0.cls", b"0"), ("1.cls", b"1"), ("1.txt", b"one"), ("2.cls", b"2"), ("2.txt", b"two")])
    with make_loader(tmp_path / "a.tar", 3, fields=["cls", "txt"], on_error="skip") as loader:
        (labels, texts), = loader
        skipped = loader.stats()["skipped"]
    assert labels.tolist() == [1, 2] and texts == ["one", "two"] and skipped == 1


@pytest.mark.parametrize("ending", ["foo", "fooX"])
def test_keys_need_not_be_utf8_but_endings_must(tmp_path, ending):
    """Keys are as os.fsdecode() has them; an ending is the name of a field."""
    data = tar_bytes([("aXb.cls", b"7"), ("aXb." + ending, b"8")], tarfile.USTAR_FORMAT)
    out = bytearray(data)
    for start in (0, 1024):
        header = bytearray(data[start:start + 512].replace(b"X", b"\xe9"))
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        out[start:start + 512] = header
    (tmp_path / "a.tar").write_bytes(out)
    if ending == "fooX":
        with pytest.raises(ps.Error, match="UTF-8") as caught:
            ps.Tar(tmp_path / "a.tar")
        assert caught.value.offset == 1024
        return
    source = ps.Tar(tmp_path / "a.tar")
    assert source.key(0) == "a\udce9b" and read_all(source, ["key", "cls"]) == [("a\udce9b", 7)]


@pytest.mark.parametrize("give, words", [
    (dict(kinds={"jpgg": "image"}), 'no field "jpgg"'), (dict(kinds={"cls": "int"}), '"int"'),
    (dict(kinds={"cls": "float33[3]"}), "float33"), (dict(kinds={"cls": "float32[-1]"}), "float32"),
])
def test_wrong_kinds_are_named(pairs, give, words):
    with pytest.raises(ps.UsageError) as caught:
        ps.Tar(pairs, **give)
    assert words in str(caught.value)


def test_a_wrong_field_is_answered_with_those_there_are(pairs):
    with pytest.raises(ps.UsageError) as caught:
        make_loader(pairs, fields=["jpg", "cls"])
    assert 'no field "jpg"' in str(caught.value) and "png, cls, txt, json, dat, key" in str(caught.value)
    with pytest.raises(ps.UsageError, match='did you mean "cls"'):
        make_loader(pairs, fields=["cl"])
