"""Data sets of MosaicML Streaming: every value as Streaming reads it, orders, damage, and hashes that are always compared."""

import io
import json
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from http_faults import serve
from mds_sets import COLUMNS, read_streaming, sample, write_mds
from records import collect, make_loader, read_all

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "mds"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
SEVERAL = {"frames": 2, "list_png": 3, "list_pil": 1}  # columns that hold several images, and how many


def copy_of(name, tmp_path):
    return pathlib.Path(shutil.copytree(GOLDEN / name, tmp_path / name))


def flip(path, offset):
    data = bytearray(path.read_bytes())
    data[offset] ^= 0x10
    path.write_bytes(data)


def values_of(source):
    """A loader wants arrays of one type, and the samples of a column without a type have any; so one is read at a time."""
    names = list(source.fields)
    return [dict(zip(names, read_all(source.subset([i]), names, layout="NHWC")[0])) for i in range(len(source))]


def pixels_of_file(stored):
    return np.asarray(Image.open(io.BytesIO(stored)).convert("RGB"))


def as_rgb(pixels):
    """What a loader delivers of an image without colours, or with transparency."""
    pixels = np.asarray(pixels)
    return np.stack([pixels] * 3, -1) if pixels.ndim == 2 else pixels[..., :3]


def check_value(name, value, expected):
    """`expected`: as make_mds.py writes a value of Streaming."""
    if isinstance(expected, dict) and "elements" in expected:
        array = np.frombuffer(bytes.fromhex(expected["elements"]), expected["dtype"]).reshape(expected["shape"])
        assert value.dtype == array.dtype and np.array_equal(value, array), name
    elif isinstance(expected, dict) and "pixels" in expected:
        pixels = np.frombuffer(bytes.fromhex(expected["pixels"]), np.uint8).reshape(expected["shape"])
        assert np.array_equal(value, as_rgb(pixels)), name
    elif isinstance(expected, dict) and "jpeg" in expected:
        assert np.array_equal(value, pixels_of_file(bytes.fromhex(expected["jpeg"]))), name
    elif isinstance(expected, dict) and "bytes" in expected:
        assert value == bytes.fromhex(expected["bytes"]), name
    elif name == "meta":
        assert json.loads(value) == expected if isinstance(value, (str, bytes)) else value == expected
    else:
        assert value == expected, name


# -- values -------------------------------------------------------------------------------------------


def test_every_value_is_the_one_that_streaming_reads():
    source = ps.MDS(GOLDEN / "every")
    samples = values_of(source)
    assert len(samples) == len(EXPECTED) == len(source)
    for values, expected in zip(samples, EXPECTED):
        for name, value in expected.items():
            if name in SEVERAL:
                for i, one in enumerate(value):
                    check_value(f"{name}/{i}", values.pop(f"{name}/{i}"), one)
            else:
                check_value(name, values.pop(name), value)
        assert values == {}


def test_kinds_follow_from_the_encodings():
    fields = ps.MDS(GOLDEN / "every").fields
    assert {name for name, kind in fields.items() if kind == "integer"} == {
        "count", "digits", "int8", "int16", "int32", "int64", "label", "uint8", "uint32"}
    assert {name for name, kind in fields.items() if kind == "image"} == {
        "jpeg", "png", "pil", "frames/0", "frames/1", "list_png/0", "list_png/1", "list_png/2", "list_pil/0"}
    assert fields["text"] == fields["decimal"] == "text" and fields["meta"] == "json" and fields["blob"] == "bytes"
    assert fields["array"] == fields["real"] == fields["depth"] == "array"


def test_a_data_set_written_now_is_read_as_streaming_reads_it(tmp_path):
    write_mds(tmp_path / "a", map(sample, range(40)), size_limit=60_000, hashes=["sha1"])
    samples, read = values_of(ps.open_source(tmp_path / "a")), read_streaming(tmp_path / "a")
    assert len(samples) == len(read) == 40
    for mine, theirs in zip(samples, read):
        for name in COLUMNS:
            if name in SEVERAL:
                for i, image in enumerate(theirs[name]):
                    assert np.array_equal(mine[f"{name}/{i}"], np.asarray(image.convert("RGB")))
            elif name == "pil":
                pixels = theirs[name].convert("L") if theirs[name].mode == "1" else theirs[name]
                assert np.array_equal(mine[name], as_rgb(pixels))
            elif hasattr(theirs[name], "mode"):
                assert np.array_equal(mine[name], np.asarray(theirs[name].convert("RGB")))
            elif name == "decimal":
                assert mine[name] == str(theirs[name])
            elif name != "meta":
                assert np.array_equal(mine[name], theirs[name]), name
                assert getattr(mine[name], "dtype", None) == getattr(theirs[name], "dtype", None) \
                    or not isinstance(theirs[name], np.ndarray)


@pytest.mark.parametrize("name", ["zstd", "gz", "merged"])
def test_compressed_and_merged_data_sets_hold_the_same_samples(name):
    samples = values_of(ps.MDS(GOLDEN / name))
    assert len(samples) == len(EXPECTED)
    for values, expected in zip(samples, EXPECTED):
        assert values["label"] == expected["label"] and values["text"] == expected["text"]
        check_value("array_float", values["array_float"], expected["array_float"])


def test_keys_name_the_shard_as_the_index_does():
    assert ps.MDS(GOLDEN / "merged").key(5) == "part1/shard.00000.mds:0"
    assert ps.MDS(GOLDEN / "zstd").key(1) == "shard.00000.mds:1"


def test_kinds_say_what_bytes_are(tmp_path):
    arrays = [np.arange(6, dtype=np.float32) + i for i in range(3)]
    npy = [io.BytesIO() for _ in arrays]
    for file, array in zip(npy, arrays):
        np.save(file, array)
    samples = [{"raw": a.tobytes(), "file": f.getvalue(), "mask": sample(1)["png"].convert("L"), "n": i}
               for i, (a, f) in enumerate(zip(arrays, npy))]
    write_mds(tmp_path / "a", samples, {"raw": "bytes", "file": "bytes", "mask": "png", "n": "int"})
    source = ps.MDS(tmp_path / "a", kinds={"raw": "float32[2,3]", "file": "npy", "mask": "mask"})
    for values, array in zip(values_of(source), arrays):
        assert np.array_equal(values["raw"], array.reshape(2, 3)) and np.array_equal(values["file"], array)
    assert source.fields["mask"] == "mask"
    with pytest.raises(ps.UsageError, match="column \"n\" has the encoding int"):
        ps.MDS(tmp_path / "a", kinds={"n": "image"})
    with pytest.raises(ps.UsageError, match="did you mean"):
        ps.MDS(tmp_path / "a", kinds={"fil": "npy"})


def test_pickles_are_left_out_by_name_and_never_run(caplog):
    source = ps.MDS(GOLDEN / "pickled")
    assert source.fields == {"label": "integer"} and read_all(source, ["label"]) == [(0,), (1,), (2,)]
    assert '"object" is left out: it holds pickles, which are never run' in caplog.text
    unread = ps.MDS(GOLDEN / "pickled", kinds={"object": "bytes"})
    import pickle

    assert [pickle.loads(value) for (value,) in read_all(unread, ["object"])] == [{"i": i} for i in range(3)]


def test_other_compressions_are_refused_by_name():
    with pytest.raises(ps.Error, match='compression "br:1"; zstd and gz are read'):
        ps.MDS(GOLDEN / "br")


# -- opening ------------------------------------------------------------------------------------------


def test_a_folder_its_index_and_the_kind_all_open_it(tmp_path):
    folder = copy_of("every", tmp_path)
    for name in (folder, str(folder) + "/", folder / "index.json"):
        assert len(ps.open_source(name)) == 13
    assert len(ps.open_source(folder, kind="mds")) == 13
    assert len(ps.Mix([ps.MDS(folder), ps.MDS(folder)])) == 26
    with pytest.raises(ps.NotFoundError, match="index.json"):
        ps.MDS(tmp_path)


def test_the_second_opening_reads_no_shard(tmp_path):
    folder = copy_of("merged", tmp_path)
    with serve(folder) as server:
        first = values_of(ps.MDS(server.url))
        server.requests.clear()
        source = ps.MDS(server.url)
        assert {path.rpartition("/")[2] for path, _, headers in server.requests if "Range" in headers} <= {"index.json"}
        assert len(source) == len(first) == 13


def test_opening_reads_tables_and_not_the_data(tmp_path):
    rows = [{"blob": bytes([i]) * 300_000, "n": i} for i in range(20)]
    write_mds(tmp_path / "a", rows, {"blob": "bytes", "n": "int"}, size_limit=2_000_000, hashes=["xxh64"])
    with serve(tmp_path / "a") as server:
        source = ps.MDS(server.url)
        assert len(source) == 20
        ranges = [headers["Range"] for path, _, headers in server.requests if "Range" in headers and ".mds" in path]
        asked = sum(int(r.split("-")[1]) - int(r.split("=")[1].split("-")[0]) + 1 for r in ranges)
        assert asked <= 4 * 70_000, ranges
        values = values_of(source)
    assert [v["n"] for v in values] == list(range(20)) and all(v["blob"] == bytes([i]) * 300_000 for i, v in enumerate(values))


@pytest.mark.parametrize("name", ["every", "zstd", "gz", "merged"])
def test_over_http_it_is_the_same(name):
    here = ps.MDS(GOLDEN / name)
    with serve(GOLDEN / name) as server:
        there = ps.open_source(server.url, kind="mds")
        assert there.fields == here.fields and len(there) == len(here)
        fields = ["label", "text"]
        assert read_all(there, fields) == read_all(here, fields)
        assert len(ps.open_source(server.url + "/index.json")) == len(here)


def test_columns_that_some_shards_lack_are_fields_that_some_samples_have(tmp_path):
    write_mds(tmp_path / "a" / "0", [{"n": 1, "x": "a"}], {"n": "int", "x": "str"})
    write_mds(tmp_path / "a" / "1", [{"n": 2}], {"n": "int"})
    shards = []
    for part in ("0", "1"):
        for shard in json.loads((tmp_path / "a" / part / "index.json").read_text())["shards"]:
            shard["raw_data"]["basename"] = f"{part}/{shard['raw_data']['basename']}"
            shards.append(shard)
    (tmp_path / "a" / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))
    source = ps.MDS(tmp_path / "a")
    assert read_all(source, ["n"]) == [(1,), (2,)]
    assert len(read_all(source.subset([0]), ["x"])) == 1
    with pytest.raises(ps.NotFoundError, match='no column "x"'):
        read_all(source.subset([1]), ["x"])


# -- orders -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["every", "zstd", "merged"])
def test_shuffling_resuming_and_subsets_work_as_everywhere(name):
    source = ps.MDS(GOLDEN / name)
    with make_loader(source, 2, fields=["key"], shuffle=True, seed=3, drop_last=False) as loader:
        keys = [key for (key,) in collect(loader)]
        assert sorted(keys) == sorted(source.key(i) for i in range(13)) and keys != sorted(keys)
    with make_loader(source, 2, fields=["key"], shuffle=True, seed=3, drop_last=False) as loader:
        batches = iter(loader)
        head = [key for _ in range(2) for key in next(batches)[0]]
        state = loader.state_dict()
    with make_loader(source, 2, fields=["key"], shuffle=True, seed=3, drop_last=False) as loader:
        loader.load_state_dict(state)
        assert head + [key for (key,) in collect(loader)] == keys
    assert read_all(source.subset([0, 7, 12]), ["label"]) == [(EXPECTED[i]["label"],) for i in (0, 7, 12)]


# -- damage -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["every", "zstd", "gz"])
def test_a_flipped_byte_is_found_in_every_run(kind, tmp_path):
    folder = copy_of(kind, tmp_path)
    path = sorted(folder.glob("shard.00001*"))[0]
    flip(path, path.stat().st_size - 30)
    for run in range(3):
        for epoch in range(2):
            with pytest.raises(ps.Error) as caught:  # a stream that cannot be decompressed is found at once
                source = ps.MDS(folder) if epoch == 0 else source
                read_all(source, ["label"])
            assert "shard.00001" in str(caught.value)
            if kind == "gz":
                break
    if kind == "gz":
        return
    before = [i for i in range(13) if source.key(i).startswith("shard.00000")]
    assert len(read_all(source.subset(before), ["label"])) == len(before) > 2


def test_every_byte_of_a_shard_is_covered_by_its_hash(tmp_path):
    folder = copy_of("every", tmp_path)
    path = folder / "shard.00002.mds"
    whole = path.read_bytes()
    first = next(i for i in range(13) if ps.MDS(folder).key(i).startswith("shard.00002"))
    for offset in range(0, len(whole), 97):
        flip(path, offset)
        with pytest.raises(ps.Error):
            read_all(ps.MDS(folder, keep_index=False).subset([first]), ["label"])
        path.write_bytes(whole)
    assert len(read_all(ps.MDS(folder).subset([first]), ["label"])) == 1


def test_verify_false_reads_what_is_stored(tmp_path):
    folder = copy_of("every", tmp_path)
    flip(folder / "shard.00000.mds", 23_600)  # in the last value of the last sample
    assert len(read_all(ps.MDS(folder, verify=False), ["label"])) == 13


def test_a_flip_after_the_hash_was_verified_is_found_as_well(tmp_path):
    import os

    folder = copy_of("every", tmp_path)
    path = folder / "shard.00000.mds"
    source = ps.MDS(folder)
    assert len(read_all(source, ["label"])) == 13
    times = path.stat()
    flip(path, 5000)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(ps.Error, match="not those that the hash"):
        read_all(source, ["label"])


def test_swapped_shards_are_found(tmp_path):
    rows = [{"n": i, "blob": bytes([i]) * 100} for i in range(8)]
    write_mds(tmp_path / "a", rows, {"n": "int", "blob": "bytes"}, size_limit=500, hashes=["sha256"])
    one, two = tmp_path / "a" / "shard.00000.mds", tmp_path / "a" / "shard.00001.mds"
    assert one.stat().st_size == two.stat().st_size
    first = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(first)
    with pytest.raises(ps.Error, match="sha256"):
        read_all(ps.MDS(tmp_path / "a"), ["n"])


def test_truncated_shards_are_named_when_the_set_is_opened(tmp_path):
    for kind in ("merged", "zstd"):
        folder = copy_of(kind, tmp_path)
        path = sorted(folder.rglob("shard.00001*"))[0]
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(ps.Error, match="shard of .* bytes, its index says") as caught:
            ps.MDS(folder)
        assert "shard.00001" in caught.value.uri
    path.unlink()
    with pytest.raises(ps.NotFoundError, match="shard.00001"):
        ps.MDS(folder)


def test_an_index_that_does_not_fit_its_shards_is_refused(tmp_path):
    folder = copy_of("every", tmp_path)
    index = json.loads((folder / "index.json").read_text())

    def refused(change, message):
        changed = json.loads(json.dumps(index))
        change(changed)
        (folder / "index.json").write_text(json.dumps(changed))
        with pytest.raises(ps.Error, match=message):
            ps.MDS(folder)

    def first(key, value):
        return lambda changed: changed["shards"][0].__setitem__(key, value)

    assert len(ps.MDS(folder)) == 13
    refused(first("samples", 5), "5")
    refused(lambda changed: changed.__setitem__("version", 3), "version 3")
    refused(first("format", "json"), 'format "json"')
    refused(lambda changed: changed["shards"][0]["raw_data"].__setitem__("basename", "../x.mds"), "may lead out")
    refused(lambda changed: changed["shards"][0]["raw_data"].__setitem__("bytes", -1), "bytes -1")
    refused(lambda changed: changed["shards"][0]["column_names"].pop(), "different length")
    refused(lambda changed: changed["shards"][0]["column_encodings"].__setitem__(0, "str"), "some shards")
    refused(lambda changed: changed["shards"][1]["raw_data"].__setitem__("basename", "shard.00000.mds"), "twice")
    refused(lambda changed: changed["shards"][0]["raw_data"].__setitem__("hashes", {"crc7": "00"}), "crc7")
    (folder / "index.json").write_text(json.dumps(index))
    assert len(ps.MDS(folder)) == 13


def test_the_command_line_inspects_and_verifies_it(tmp_path):
    folder = copy_of("every", tmp_path)
    shown = subprocess.run(["penstock", "inspect", str(folder)], capture_output=True, text=True)
    assert shown.returncode == 0 and "MDS shards" in shown.stdout and "frames/1" in shown.stdout, shown.stdout + shown.stderr
    assert subprocess.run(["penstock", "verify", str(folder)], capture_output=True).returncode == 0
    flip(folder / "shard.00001.mds", 9000)
    verified = subprocess.run(["penstock", "verify", str(folder)], capture_output=True, text=True)
    assert verified.returncode != 0 and "shard.00001" in verified.stdout + verified.stderr
