"""Tar shards by the WebDataset convention: what others wrote is read as webdataset itself reads it."""

import glob
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import tarfile

import numpy as np
import pytest

import penstock as ps
from pictures import jpeg_bytes, smooth
from records import (add_file, collect, flip_byte, make_loader, number_samples, npy_bytes, npz_bytes, plain, png_bytes,
                     read_all, read_numbers, tar_bytes, write_number_shards, write_tar)

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def as_webdataset_reads(paths):
    """Key and raw bytes by field, sample by sample."""
    wds = pytest.importorskip("webdataset")
    samples = []
    for sample in wds.WebDataset([str(p) for p in paths], shardshuffle=False, empty_check=False):
        samples.append((sample["__key__"], {k: v for k, v in sample.items() if not k.startswith("__")}))
    return samples


def as_penstock_reads(source):
    """The same, every field as bytes."""
    names = _endings_of(source)
    opened = ps.Tar(source, kinds={name: "bytes" for name in names}, keep_index=False)
    found = [(opened.key(i), {}) for i in range(len(opened))]
    for name in names:
        # Field by field: not every sample has each of them.
        for i in range(len(opened)):
            try:
                with make_loader(opened.subset([i]), 1, fields=[name], threads=1) as loader:
                    found[i][1][name] = collect(loader)[0][0]
            except ps.NotFoundError:
                pass
    return found


def _endings_of(source):
    names = set()
    paths = [str(source)] if os.path.isfile(source) else sorted(glob.glob(str(source)))
    for path in paths:
        with tarfile.open(path) as archive:
            for name in archive.getnames():
                base = name.rsplit("/", 1)[-1]
                if "." in base.strip(".") and not base.startswith("."):
                    names.add(base.split(".", 1)[1].lower())
    return sorted(names)


def assert_read_alike(path):
    ours, theirs = as_penstock_reads(path), as_webdataset_reads([path])
    assert [key for key, _ in ours] == [key for key, _ in theirs]
    for (key, mine), (_, its) in zip(ours, theirs):
        assert mine == its, key
    return len(ours)


ODD_FILES = [
    ("a/000.jpg", b"\xff\xd8 not a picture"), ("a/000.cls", b"1"),
    ("a/001.seg.png", b"png"), ("a/001.cls", b"2"), ("a/001.json", b"{}"),
    ("deep/er/" + "x" * 90 + "/" + "y" * 60 + ".txt", b"longer than a hundred"),
    ("gr\u00fc\u00dfe/\u96ea\u7403.txt", "\u96ea".encode()), ("gr\u00fc\u00dfe/\u96ea\u7403.bin", bytes(range(256)) * 3),
    ("b.with.many.dots.tar.txt", b"dots"),
    ("UPPER.TXT", b"upper"),
    ("empty.bin", b""),
    ("exact.bin", b"x" * 512), ("exact.more", b"y" * 1024),
    ("has space & 'quotes'.txt", b"fine"),
]
LONG_FILES = [
    ("f" * 230 + "/" + "g" * 240 + ".txt", b"longer than 256"),
    ("\u00e9" * 100 + "/" + "\u96ea" * 70 + ".txt", b"long and not ASCII"),
]

# -- archives that others wrote ---------------------------------------------------------------------


def test_what_webdataset_wrote_is_read_as_webdataset_reads_it(tmp_path):
    wds = pytest.importorskip("webdataset")
    with wds.TarWriter(str(tmp_path / "a.tar")) as out:
        for i in range(5):
            out.write({"__key__": f"sub/{i:04}", "jpg": smooth(20, 24, seed=i), "cls": i * 3, "json": {"n": [i, None, "\u96ea"]},
                       "npy": np.arange(i + 1), "txt": f"caption {i} \u00e9", "raw.bin": bytes([i] * i)})
    assert assert_read_alike(tmp_path / "a.tar") == 5


def test_values_are_those_that_webdataset_decodes(tmp_path):
    wds = pytest.importorskip("webdataset")
    with wds.TarWriter(str(tmp_path / "a.tar")) as out:
        for i in range(4):
            out.write({"__key__": f"{i}", "png": smooth(20, 24, seed=i), "cls": i * 3, "json": {"n": [i, None, "\u96ea"]},
                       "npy": np.arange(6, dtype=np.float32).reshape(2, 3) * i, "txt": f"caption {i} \u00e9"})
    ours = read_all(tmp_path / "a.tar", ["png", "cls", "json", "npy", "txt", "key"], layout="NHWC")
    theirs = list(wds.WebDataset(str(tmp_path / "a.tar"), shardshuffle=False).decode("rgb8"))
    assert len(ours) == len(theirs) == 4
    for (image, label, data, array, text, key), its in zip(ours, theirs):
        assert np.array_equal(image, its["png"]) and np.array_equal(array, its["npy"]) and array.dtype == its["npy"].dtype
        assert (label, data, text, key) == (its["cls"], its["json"], its["txt"], its["__key__"])


def test_what_a_shard_writer_spread_over_shards_is_read_whole_by_a_brace_pattern(tmp_path):
    wds = pytest.importorskip("webdataset")
    with wds.ShardWriter(str(tmp_path / "s-%04d.tar"), maxcount=4, verbose=0) as out:
        for i in range(10):
            out.write({"__key__": f"{i:03}", "cls": i})
    pattern = str(tmp_path / "s-{0000..0002}.tar")
    assert read_numbers(pattern) == list(range(10))
    assert [k for k, _ in as_webdataset_reads(sorted(tmp_path.glob("*.tar")))] == [ps.Tar(pattern).key(i) for i in range(10)]


@pytest.mark.parametrize("name", FORMATS)
def test_archives_of_python_are_read_alike_in_every_format(tmp_path, name):
    files = ODD_FILES + (LONG_FILES if name != "ustar" else [])
    write_tar(tmp_path / "a.tar", files, FORMATS[name])
    assert assert_read_alike(tmp_path / "a.tar") == (9 if name == "ustar" else 11)


def _spread(folder, files):
    for name, data in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return [name for name, _ in files]


@pytest.mark.parametrize("name", ["gnu", "oldgnu", "pax", "ustar", "v7"])
def test_archives_of_gnu_tar_are_read_alike_in_every_format(tmp_path, name):
    if not shutil.which("tar") or "GNU" not in subprocess.run(["tar", "--version"], capture_output=True, text=True).stdout:
        pytest.skip("no GNU tar")
    files = [f for f in ODD_FILES if len(f[0].encode()) < 100] if name == "v7" else ODD_FILES
    files = files + (LONG_FILES[:1] if name in ("gnu", "pax") else [])
    names = _spread(tmp_path / "in", files)
    subprocess.run(["tar", f"--format={name}", "-cf", str(tmp_path / "a.tar"), *names], cwd=tmp_path / "in", check=True)
    assert assert_read_alike(tmp_path / "a.tar") >= 8


@pytest.mark.parametrize("name", ["pax", "ustar", "gnutar", "v7"])
def test_archives_of_bsdtar_are_read_alike_in_every_format(tmp_path, name):
    if not shutil.which("bsdtar"):
        pytest.skip("no bsdtar")
    files = [f for f in ODD_FILES if len(f[0].encode()) < 100 and f[0].isascii()] if name == "v7" else ODD_FILES
    names = _spread(tmp_path / "in", files)
    subprocess.run(["bsdtar", "--format", name, "-cf", str(tmp_path / "a.tar"), *names], cwd=tmp_path / "in", check=True,
                   env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert assert_read_alike(tmp_path / "a.tar") >= 7


def test_a_folder_packed_whole_is_read_and_its_folders_are_no_samples(tmp_path):
    if not shutil.which("tar"):
        pytest.skip("no tar")
    _spread(tmp_path / "in", [(f"class{c}/{i}.txt", b"x") for c in range(2) for i in range(3)])
    subprocess.run(["tar", "--sort=name", "-cf", str(tmp_path / "a.tar"), "."], cwd=tmp_path / "in", check=True)
    assert assert_read_alike(tmp_path / "a.tar") == 6


# -- fields -----------------------------------------------------------------------------------------


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


# -- what the pattern finds --------------------------------------------------------------------------


def test_pattern_glob_and_folder_find_the_same_shards_in_order(tmp_path):
    write_number_shards(tmp_path / "d", 3, 5)
    for path in (tmp_path / "d", tmp_path / "d" / "*.tar", tmp_path / "d" / "part-{000..002}.tar",
                 tmp_path / "d" / "part-{000,001,002}.tar"):
        source = ps.Tar(path)
        assert len(source) == 15 and read_numbers(source) == list(range(15))
        assert len(make_loader(path)) == 4  # also without saying what it is


def test_a_folder_may_hold_other_files_beside_its_shards(tmp_path):
    write_number_shards(tmp_path, 2, 3)
    (tmp_path / "README.md").write_text("hello")
    (tmp_path / ".hidden.tar").write_bytes(b"x")
    assert read_numbers(tmp_path) == list(range(6))


def test_an_empty_shard_among_others_is_no_trouble(tmp_path):
    write_tar(tmp_path / "a.tar", number_samples(0, 2))
    write_tar(tmp_path / "b.tar", [])
    write_tar(tmp_path / "c.tar", number_samples(2, 2))
    assert read_numbers(tmp_path / "*.tar") == [0, 1, 2, 3]


def test_a_name_may_be_used_again_in_another_shard(tmp_path):
    write_tar(tmp_path / "a.tar", [("0.cls", b"1")])
    write_tar(tmp_path / "b.tar", [("0.cls", b"2")])
    assert read_numbers(tmp_path / "*.tar") == [1, 2]


# -- archives that are wrong -------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", ["nope.tar", "nope-*.tar", "nope-{0..3}.tar", "dir/nope.tar"])
def test_a_wrong_path_is_not_found(tmp_path, name):
    with pytest.raises(ps.NotFoundError) as caught:
        ps.Tar(tmp_path / name)
    assert name.split("-")[0] in str(caught.value)


def test_a_pattern_one_of_whose_shards_is_missing_names_it(tmp_path):
    write_number_shards(tmp_path, 2, 3)
    with pytest.raises(ps.NotFoundError, match="part-002.tar"):
        ps.Tar(tmp_path / "part-{000..002}.tar")


# -- the kept index ----------------------------------------------------------------------------------


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


# -- order -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Six shards of 50 samples of 300 KiB: four to five units a shard."""
    return write_number_shards(tmp_path_factory.mktemp("many"), 6, 50, pad=300 << 10)


@pytest.mark.parametrize("shuffle", [False, True, "full", "window"])
def test_every_sample_comes_once_an_epoch(many, shuffle):
    numbers = read_numbers(many, shuffle=shuffle, epochs=2)
    assert sorted(numbers[:300]) == sorted(numbers[300:]) == list(range(300))
    assert (numbers[:300] == list(range(300))) == (shuffle is False)
    assert (numbers[:300] == numbers[300:]) == (shuffle is False)


@pytest.mark.parametrize("shuffle", [True, "window"])
def test_the_order_is_the_same_for_any_number_of_threads_and_batches(many, shuffle):
    orders = [read_numbers(many, shuffle=shuffle, threads=threads, batch_size=size, seed=9)
              for threads, size in ((1, 7), (2, 7), (5, 32))]
    assert orders[0] == orders[1] == orders[2] != read_numbers(many, shuffle=shuffle, seed=10)


@pytest.mark.parametrize("shuffle", [True, "window"])
@pytest.mark.parametrize("world", [2, 3])
def test_ranks_share_no_sample_and_leave_none_out(many, shuffle, world):
    parts = [read_numbers(many, shuffle=shuffle, rank=rank, world_size=world, batch_size=10) for rank in range(world)]
    assert sorted(sum(parts, [])) == list(range(300)) and len({len(p) for p in parts}) == 1


@pytest.mark.parametrize("shuffle", [True, "window"])
@pytest.mark.parametrize("worlds", [(1, 1), (2, 1), (1, 3), (2, 4)])
def test_a_run_goes_on_in_mid_epoch_on_other_ranks(many, shuffle, worlds):
    before, after = worlds
    seen, state = [], None
    for rank in range(before):
        with make_loader(many, 6, fields=["cls"], shuffle=shuffle, rank=rank, world_size=before, seed=4) as loader:
            batches = iter(loader)
            for _ in range(5):
                seen += next(batches)[0].tolist()
            state = loader.state_dict()
    rest, further = [], []
    for rank in range(after):
        with make_loader(many, 5, fields=["cls"], shuffle=shuffle, rank=rank, world_size=after, seed=4, threads=1) as loader:
            loader.load_state_dict(json.loads(json.dumps(state)))
            rest += [int(v) for (batch,) in loader for v in batch]
            further += [int(v) for (batch,) in loader for v in batch]
    # Where what is left does not divide by the ranks, the last step is filled up with repeats.
    assert set(seen) | set(rest) == set(range(300)) and not set(seen) & set(rest)
    assert len(rest) < 300 - len(seen) + after and set(further) == set(range(300))


def test_a_window_mixes_neighbours_and_only_them(many):
    numbers = read_numbers(many, shuffle="window", shuffle_window=2, epochs=1)
    # A window of two units holds some thirty samples of at most two runs.
    runs = sum(abs(a - b) > 30 for a, b in zip(sorted(numbers[:25]), sorted(numbers[:25])[1:]))
    assert runs <= 2 and sorted(numbers) == list(range(300)) and numbers[:10] != sorted(numbers[:10])


def test_images_of_a_shuffled_shard_belong_to_their_labels(tmp_path):
    files = []
    for i in range(60):
        files += [(f"{i}.png", png_bytes(plain(i))), (f"{i}.cls", str(i).encode()), (f"{i}.txt", str(i).encode())]
    write_tar(tmp_path / "a.tar", files)
    for shuffle in (True, "window"):
        with make_loader(tmp_path / "a.tar", 7, shuffle=shuffle, fields=["txt", "png", "cls", "key"], threads=4) as loader:
            for texts, images, labels, keys in loader:
                assert [int(t) for t in texts] == labels.tolist() == images[:, 0, 0, 0].tolist() == [int(k) for k in keys]


def test_subset_split_and_shuffle_go_together(many):
    source = ps.Tar(many)
    first, second = source.split(0.8, seed=3)
    parts = [read_numbers(part, shuffle="window") for part in (first, second)]
    assert sorted(parts[0] + parts[1]) == list(range(300)) and len(parts[0]) == 240
    assert read_numbers(source.subset([250, 3, 3, 120])) == [250, 3, 3, 120]
