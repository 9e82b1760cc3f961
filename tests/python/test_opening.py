"""Opening a source takes no more memory than it may, whatever a small file claims to hold."""

import io
import json
import struct
import subprocess
import sys
import tarfile
import textwrap
import zipfile
import zlib

import numpy as np
import pytest

import penstock as ps
from records import _message, example, masked_crc, varint, write_tar, write_tfrecord
from zarr_writers import write_raw_v3

MIB = 1 << 20

# -- files ------------------------------------------------------------------------------------------


class GzipFile:
    """Written piece by piece, so that a large content takes no memory here."""

    def __init__(self, path):
        self._out = open(path, "wb")
        self._packer = zlib.compressobj(6, zlib.DEFLATED, 31)

    def write(self, data, times=1):
        for _ in range(times):
            self._out.write(self._packer.compress(data))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._out.write(self._packer.flush())
        self._out.close()


def zeros(file, size):
    file.write(bytes(MIB), size // MIB)
    file.write(bytes(size % MIB))


def tar_header(name, size, kind=tarfile.REGTYPE):
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.USTAR_FORMAT)


def long_names(path):
    """A tar.gz of empty files that have names of 64 KB each."""
    with GzipFile(path) as file:
        for i in range(4000):
            name = f"path={'a' * 64_000}{i:08}.txt\n"
            record = f"{len(name) + 6} {name}".encode()
            file.write(tar_header("pax", len(record), tarfile.XHDTYPE))
            file.write(record + bytes(-len(record) % 512) + tar_header("x", 0))
        file.write(bytes(1024))


def many_records(path):
    """A .tfrecord.gz of empty records: sixteen bytes each, nearly none of them compressed."""
    length = struct.pack("<Q", 0)
    record = length + struct.pack("<I", masked_crc(length)) + struct.pack("<I", masked_crc(b""))
    with GzipFile(path) as file:
        file.write(record * 100_000, 50)


def large_record(path):
    """A .tfrecord.gz of one record of 200 MB."""
    length = struct.pack("<Q", 200 * MIB)
    with GzipFile(path) as file:
        file.write(length + struct.pack("<I", masked_crc(length)))
        zeros(file, 200 * MIB)
        file.write(bytes(4))


def large_npz(path):
    """A tar.gz with an .npz of 200 MB."""
    with GzipFile(path) as file:
        file.write(tar_header("a.npz", 200 * MIB))
        zeros(file, 200 * MIB + 1024)


def empty_strings(path):
    """A .tfrecord.gz of one record: a list of ten million empty texts, two bytes each."""
    count = 10_000_000
    texts = varint(1 << 3 | 2) + varint(2 * count)
    entry = _message(1, b"texts") + varint(2 << 3 | 2) + varint(len(texts) + 2 * count) + texts
    features = varint(1 << 3 | 2) + varint(len(entry) + 2 * count) + entry
    record = varint(1 << 3 | 2) + varint(len(features) + 2 * count) + features
    length = struct.pack("<Q", len(record) + 2 * count)
    with GzipFile(path) as file:
        file.write(length + struct.pack("<I", masked_crc(length)) + record)
        file.write(b"\x0a\0" * 100_000, count // 100_000)
        file.write(bytes(4))


def long_coordinate(path):
    """A Zarr group whose coordinate has 90 million entries, none of which is stored."""
    count = 90_000_000
    path.mkdir()
    (path / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))
    for name, chunks in (("value", 1000), ("x", count // 10)):
        write_raw_v3(path / name, (count,), (chunks,), "float64", dimension_names=["x"], fill_value=1.0)


def vast_labels(path):
    """Labels of 5000 x 5000 x 5000 voxels, none of which is stored."""
    write_raw_v3(path, (5000,) * 3, (100,) * 3, "uint8", fill_value=0)


BOMBS = {
    "names.tar.gz": (long_names, "ps.Loader(path, memory=memory)"),
    "records.tfrecord.gz": (many_records, "ps.Loader(path, memory=memory)"),
    "record.tfrecord.gz": (large_record, "ps.Loader(path, memory=memory)"),
    "npz.tar.gz": (large_npz, "ps.Loader(path, memory=memory)"),
    "strings.tfrecord.gz": (empty_strings,
                            "list(ps.Loader(ps.TFRecord(path, verify=False, memory=memory), memory=memory, output='numpy'))"),
    "coordinate.zarr": (long_coordinate, "ps.Zarr(path, select={'x': (0, 1)}, memory=memory)"),
    "labels.zarr": (vast_labels,
                    "ps.Patches(path, (8, 8, 8), 10, labels=path, min_foreground=0.5, memory=memory)"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_small_file_cannot_take_more_memory_than_it_may(tmp_path, name):
    make, call = BOMBS[name]
    path = tmp_path / name
    make(path)
    assert path.is_dir() or path.stat().st_size < MIB
    program = """
        import re, sys
        import numpy
        import penstock as ps

        def status(name):
            return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read()).group(1)) * 1024

        path, memory = sys.argv[1], 64 << 20
        before = status("VmRSS")
        try:
            CALL
            print("opened")
        except ps.Error as error:
            print(error)
        grown = status("VmHWM") - before
        assert grown <= 1.1 * memory, (grown, memory)
    """
    program = textwrap.dedent(program).replace("CALL", call)
    run = subprocess.run([sys.executable, "-c", program, str(path)], text=True, capture_output=True)
    assert run.returncode == 0, run.stderr
    assert "memory=" in run.stdout, run.stdout


# -- what is refused, and what is not -----------------------------------------------------------------


def test_an_error_names_the_place_and_what_it_takes(tmp_path):
    path = tmp_path / "record.tfrecord.gz"
    large_record(path)
    with pytest.raises(ps.Error) as caught:
        ps.TFRecord(path, memory="64MiB")
    assert caught.value.code == "no_memory" and caught.value.uri == str(path)
    assert (caught.value.offset, caught.value.length) == (0, 200 * MIB + 16)
    assert "memory=" in str(caught.value) and str(64 * MIB) in str(caught.value)


def test_more_memory_opens_what_little_refuses(tmp_path):
    path = tmp_path / "records.tfrecord.gz"
    write_tfrecord(path, [example(label=i, text="x" * 3) for i in range(2000)] + [example(label=1, text="y" * MIB)] * 2)
    assert len(ps.TFRecord(path, memory="16MiB", keep_index=False)) == 2002


def test_the_index_of_usual_data_is_not_limited(tmp_path):
    """A hundred thousand samples of a few bytes, in plain shards: an index of several MB, with a budget of one."""
    record = example(label=1)
    write_tfrecord(tmp_path / "a.tfrecord", [record])
    data = (tmp_path / "a.tfrecord").read_bytes()
    (tmp_path / "a.tfrecord").write_bytes(data * 100_000)
    assert len(ps.TFRecord(tmp_path / "a.tfrecord", memory="4MiB", keep_index=False)) == 100_000


@pytest.mark.parametrize("wrong", ["much", 0, -1, 1.5])
def test_wrong_sizes_of_memory_are_told(tmp_path, wrong):
    np.save(tmp_path / "x.npy", np.zeros((4, 2)))
    for call in (lambda: ps.Tar("x.tar", memory=wrong), lambda: ps.TFRecord("x", memory=wrong),
                 lambda: ps.Zarr("x", memory=wrong), lambda: ps.Patches("x", (8, 8), memory=wrong),
                 lambda: ps.open_source(tmp_path / "x.npy", memory=wrong)):
        with pytest.raises((TypeError, ValueError), match="memory="):
            call()


# -- many arrays, many links -------------------------------------------------------------------------


def npz_of_many_arrays(count):
    """As NumPy stores one, of the least array there is."""
    out, one = io.BytesIO(), io.BytesIO()
    np.save(one, np.uint8(7))
    with zipfile.ZipFile(out, "w") as archive:
        for i in range(count):
            archive.writestr(f"a{i}.npy", one.getvalue())
    return out.getvalue()


def test_the_directory_of_an_npz_is_read_once_for_all_its_arrays(tmp_path):
    """If the directory were read once per array, this would take minutes."""
    count = 6000
    write_tar(tmp_path / "x.tar", [(f"{i}.npz", npz_of_many_arrays(count)) for i in range(4)])
    source = ps.Tar(tmp_path / "x.tar", keep_index=False)
    assert len(source.fields) == count
    with ps.Loader(source, batch_size=4, output="numpy") as loader:
        arrays = next(iter(loader))
    assert len(arrays) == count and all(array.tolist() == [7] * 4 for array in arrays)


def test_folders_with_links_to_many_others_are_refused(tmp_path):
    """Each has links to all folders after it: there is no loop, but each further folder doubles the number of paths."""
    folders = [tmp_path / "forest" / f"{i:02}" for i in range(14)]  # 30 would take weeks, and not fail, without a limit
    for i, folder in enumerate(folders):
        folder.mkdir(parents=True)
        (folder / "x.png").write_bytes(b"")
        for other in folders[i + 1:]:
            (folder / f"to{other.name}").symlink_to(other)
    with pytest.raises(ps.Error, match="more than 64 paths") as caught:
        ps.ImageFolder(tmp_path / "forest")
    assert caught.value.code == "too_large" and str(tmp_path / "forest") in caught.value.uri


def test_one_folder_may_be_several_classes(tmp_path, flat):
    root = tmp_path / "root"
    root.mkdir()
    for name in ("cats", "dogs"):
        (root / name).symlink_to(flat)
    source = ps.ImageFolder(root)
    assert source.classes == ["cats", "dogs"] and len(source) == 24


# -- Map ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [None, ["array"]])
def test_what_a_map_returns_counts_as_memory_of_the_sample(numbers, fields):
    """The array comes from Python, before anybody can say no; it is not kept, nor copied."""
    large = np.zeros((256, MIB), np.float32)

    def grow(row):
        return large if row[0] == 5 else row

    with ps.Loader(numbers, batch_size=1, collate="list", transform=[ps.Map(grow, fields=fields)], memory="64MiB",
                   output="numpy", threads=1) as loader:
        with pytest.raises(ps.Error, match="Map returned 1073741824 bytes") as caught:
            list(loader)
    assert caught.value.code == "no_memory" and caught.value.sample == 5
