"""Tar shards by the WebDataset convention: what others wrote is read as webdataset itself reads it."""

import glob
import os
import shutil
import subprocess
import tarfile

import numpy as np
import pytest

import penstock as ps
from pictures import smooth
from records import collect, make_loader, number_samples, read_all, read_numbers, write_number_shards, write_tar


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
