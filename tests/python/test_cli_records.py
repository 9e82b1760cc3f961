"""penstock verify and penstock statistics, and what inspect and bench say of shards and tables."""

import json
import struct

import numpy as np
import pytest
from PIL import Image

import records
from test_cli import cli, one_line, program  # noqa: F401  (fixtures)

COUNT = 30


def picture(i):
    return np.random.default_rng(i).integers(0, 256, (12 + i % 3, 16, 3), dtype=np.uint8)


def caption(i):
    return "ü" * i + "caption"


def write_tar(path, first=0, count=COUNT):
    files = []
    for i in range(first, first + count):
        files += [(f"{i:04}.png", records.png_bytes(picture(i))), (f"{i:04}.cls", str(i % 4).encode()),
                  (f"{i:04}.txt", caption(i).encode()), (f"{i:04}.npy", records.npy_bytes(array(i)))]
        if i % 3 == 0:
            files.append((f"{i:04}.json", b"{}"))
    return records.write_tar(path, files)


def write_tfrecord(path, first=0, count=COUNT):
    return records.write_tfrecord(path, [
        records.example(image=records.png_bytes(picture(i)), label=i % 4, text=caption(i),
                        vector=[float(i), float(i) / 3]) for i in range(first, first + count)])


def array(i):
    return np.random.default_rng(1000 + i).normal(5 + i, 2, (3, 4, 5)).astype(np.float32)


def write_folder(folder):
    for i in range(COUNT):
        path = folder / f"class{i % 4}" / f"{i:04}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture(i)).save(path)
    return folder


def write_manifest(folder):
    write_folder(folder)
    return records.write_json_lines(folder / "list.jsonl", [
        {"image": f"class{i % 4}/{i:04}.png", "label": i % 4, "text": caption(i), "score": i / 7}
        for i in range(COUNT)])


def write_npy(path):
    np.save(path, np.stack([array(i) for i in range(COUNT)]))
    return path


MAKERS = {
    "tar": lambda tmp: write_tar(tmp / "a.tar"),
    "tar.gz": lambda tmp: write_tar(tmp / "a.tar.gz"),
    "tfrecord": lambda tmp: write_tfrecord(tmp / "a.tfrecord"),
    "tfrecord.gz": lambda tmp: write_tfrecord(tmp / "a.tfrecord.gz"),
    "folder": lambda tmp: write_folder(tmp / "photos"),
    "manifest": lambda tmp: write_manifest(tmp / "photos"),
    "npy": lambda tmp: write_npy(tmp / "a.npy"),
}


@pytest.fixture(params=MAKERS)
def data(request, tmp_path):
    return MAKERS[request.param](tmp_path)


def verify(cli, uri, expect, *more):
    done = cli("verify", uri, "--json", *more, expect=expect)
    assert len(done.stdout.splitlines()) == 1
    verdicts = [line for line in done.stderr.splitlines() if "warning:" not in line]
    assert len(verdicts) == expect
    return json.loads(done.stdout)


def statistics(cli, uri, *more):
    found = json.loads(cli("statistics", uri, "--json", *more).stdout)
    return found, {field["name"]: field for field in found["fields"]}


def close_to(channel, values):
    assert channel["count"] == np.size(values)
    for key, value in (("mean", np.mean(values, dtype=np.float64)), ("std", np.std(values, dtype=np.float64)),
                       ("min", np.min(values)), ("max", np.max(values))):
        assert channel[key] == pytest.approx(float(value), rel=1e-6, abs=1e-12), key


# --- usage

@pytest.mark.parametrize("command", ["verify", "statistics"])
def test_help_has_an_example(cli, command):
    text = cli(command, "--help").stdout
    assert f"  penstock {command}" in text and "--json" in text and command in cli("--help").stdout


@pytest.mark.parametrize("command", ["verify", "statistics"])
def test_mistyped_path_is_exit_1_and_suggests(cli, tmp_path, command):
    path = write_tar(tmp_path / "train.tar")
    assert f"did you mean {path}?" in one_line(cli(command, tmp_path / "tarin.tar", expect=1))


@pytest.mark.parametrize("arguments", [
    ["verify"], ["statistics"], ["verify", "{}", "--limit", "some"], ["verify", "{}", "--threads", "0"],
    ["verify", "{}", "--kind", "zip"], ["verify", "{}", "--jsno"], ["statistics", "{}", "--filed", "png"],
    ["statistics", "{}", "--field", "pgn"],
])
def test_wrong_usage_is_exit_2_and_one_line(cli, tmp_path, arguments):
    path = str(write_tar(tmp_path / "a.tar"))
    one_line(cli(*[path if word == "{}" else word for word in arguments], expect=2))


def test_mistyped_option_command_and_field_suggest_the_nearest(cli, tmp_path):
    path = write_tar(tmp_path / "a.tar")
    assert "did you mean --limit?" in one_line(cli("verify", path, "--limt", "3", expect=2))
    assert "did you mean verify?" in one_line(cli("verfy", path, expect=2))
    assert 'did you mean "png"?' in one_line(cli("statistics", path, "--field", "pgn", expect=2))


# --- verify

def test_all_is_well(cli, data):
    done = cli("verify", data)
    assert "all is well" in done.stdout and "30 good, 0 bad" in done.stdout and done.stderr == ""
    for threads in (1, 3):
        report = verify(cli, data, 0, "--threads", threads)
        assert (report["samples"], report["good"], report["bad"], report["bad_shards"]) == (30, 30, 0, 0)
        assert report["errors"] == [] and report["bytes"] > 1000 and report["threads"] == threads


def test_verify_names_file_offset_length_sample_key_and_field(cli, tmp_path):
    path = write_tar(tmp_path / "a.tar")
    data = path.read_bytes()
    png, text = records.png_bytes(picture(7)), caption(29).encode()
    broken = data.replace(png, png[:60] + b"\0" * 20 + png[80:]).replace(text, b"\xff" * len(text))
    path.write_bytes(broken)
    report = verify(cli, path, 1)
    assert (report["samples"], report["good"], report["bad"]) == (30, 28, 2)
    first, second = report["errors"]
    assert (first["file"], first["sample"], first["key"], first["field"]) == (str(path), 7, "0007", "png")
    assert (first["offset"], first["length"]) == (data.index(png), len(png))
    assert (second["sample"], second["field"], second["offset"]) == (29, "txt", data.index(text))
    done = cli("verify", path, expect=1)
    for words in ("28 good, 2 bad", "what is wrong", "0007", str(data.index(png)), str(len(png))):
        assert words in done.stdout
    assert "2 of 30 samples are bad" in done.stderr


def test_both_bad_fields_of_one_sample_are_listed(cli, tmp_path):
    path = records.write_tar(tmp_path / "a.tar", [("a.png", b"no picture"), ("a.json", b"{"), ("a.cls", b"1")])
    report = verify(cli, path, 1)
    assert (report["samples"], report["bad"]) == (1, 1)
    assert {error["field"] for error in report["errors"]} == {"png", "json"}


def test_verify_finds_a_flipped_bit_in_any_record(cli, tmp_path):
    path = write_tfrecord(tmp_path / "a.tfrecord")
    whole, frames, at = path.read_bytes(), [], 0
    while at < len(whole):
        frames.append(at)
        at += 16 + struct.unpack_from("<Q", whole, at)[0]
    records.flip_byte(path, frames[3] + 40)
    records.flip_byte(path, frames[20] + 300)
    report = verify(cli, path, 1)
    assert [error["sample"] for error in report["errors"]] == [3, 20]
    assert all("checksum" in error["message"] and error["field"] is None for error in report["errors"])
    assert report["errors"][0]["key"] == "a.tfrecord:3"


def test_a_broken_shard_hides_no_other(cli, tmp_path):
    cut, length, good = (write_tfrecord(tmp_path / f"{name}.tfrecord", first, 10)
                         for name, first in (("a", 0), ("b", 10), ("c", 20)))
    cut.write_bytes(cut.read_bytes()[:-5])
    records.flip_byte(length, 0)
    report = verify(cli, tmp_path / "*.tfrecord", 1)
    assert report["bad_shards"] == 2 and report["bad"] == 0 and report["samples"] == 9 + 10
    assert [error["file"] for error in report["errors"]] == [str(cut), str(length)]
    assert "2 shards cannot be read to their end" in cli("verify", tmp_path / "*.tfrecord", expect=1).stderr


@pytest.mark.parametrize("ending", [".tar", ".tar.gz"])
def test_a_cut_archive_is_reported_and_the_rest_is_verified(cli, tmp_path, ending):
    cut = write_tar(tmp_path / f"a{ending}", 0, 10)
    write_tar(tmp_path / f"b{ending}", 10, 10)
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    report = verify(cli, tmp_path, 1)
    assert report["bad_shards"] == 1 and 10 <= report["good"] < 20
    assert all(error["file"] == str(cut) for error in report["errors"])


def test_nothing_left_of_the_only_shard_is_a_report_too(cli, tmp_path):
    path = write_tar(tmp_path / "a.tar")
    path.write_bytes(path.read_bytes()[:300])
    report = verify(cli, path, 1)
    assert report["samples"] == 0 and report["bad_shards"] == 1 and report["errors"][0]["file"] == str(path)
    assert "none could be found" in cli("verify", path, expect=1).stdout


def test_a_shard_that_lost_its_tail_since_an_earlier_run_is_noticed(cli, tmp_path):
    path = write_tfrecord(tmp_path / "a.tfrecord")
    verify(cli, path, 0)
    whole = path.read_bytes()
    path.write_bytes(whole[: 16 + struct.unpack_from("<Q", whole)[0]])  # a whole record: nothing else would tell
    report = verify(cli, path, 1)
    assert report["samples"] == 1 and "30" in report["errors"][0]["message"]


def test_each_sample_of_a_block_that_cannot_be_decompressed_is_bad_once(cli, tmp_path):
    path = records.write_tar(tmp_path / "a.tar.gz", records.number_samples(0, 20, pad=1 << 19))
    data = bytearray(path.read_bytes())
    data[-8] ^= 1  # the checksum: what stands in the last block cannot be trusted
    path.write_bytes(data)
    report = verify(cli, path, 1)
    bad = [error["sample"] for error in report["errors"] if error["sample"] is not None]
    assert bad == list(range(20 - len(bad), 20)) and report["bad"] == len(bad) and report["bad_shards"] == 1


def test_a_checksum_at_the_end_of_a_compressed_shard_is_verified(cli, tmp_path):
    path = write_tar(tmp_path / "a.tar.gz")
    verify(cli, path, 0)
    records.flip_byte(path, path.stat().st_size - 6)
    assert verify(cli, path, 1)["bad_shards"] == 1


@pytest.mark.parametrize("maker", ["folder", "manifest"])
def test_broken_empty_and_missing_files(cli, tmp_path, maker):
    data = MAKERS[maker](tmp_path)
    folder = tmp_path / "photos"
    (folder / "class1" / "0001.png").write_bytes(b"")
    (folder / "class2" / "0002.png").write_bytes((folder / "class2" / "0002.png").read_bytes()[:-30])
    if maker == "manifest":
        (folder / "class3" / "0003.png").unlink()
    report = verify(cli, data, 1)
    names = {"0001.png", "0002.png"} | ({"0003.png"} if maker == "manifest" else set())
    assert {error["file"].rsplit("/", 1)[1] for error in report["errors"]} == names
    assert report["bad"] == len(names)


def test_a_cut_npy_is_a_report(cli, tmp_path):
    path = write_npy(tmp_path / "a.npy")
    path.write_bytes(path.read_bytes()[:-1])
    report = verify(cli, path, 1)
    assert report["samples"] == 0 and report["errors"][0]["file"] == str(path)


def test_limit_shortens_the_table_and_not_the_json(cli, tmp_path):
    files = [(f"{i:03}.png", b"no picture") for i in range(80)] + [("x.png", records.png_bytes(picture(0)))]
    path = records.write_tar(tmp_path / "a.tar", files)
    assert cli("verify", path, expect=1).stdout.count("png  ") >= 50
    assert "and 30 more" in cli("verify", path, expect=1).stdout
    assert "and 77 more" in cli("verify", path, "--limit", 3, expect=1).stdout
    assert len(verify(cli, path, 1, "--limit", 3)["errors"]) == 80


def test_keys_cannot_move_the_cursor(cli, tmp_path):
    path = records.write_tar(tmp_path / "a.tar", [("a\x1b[2J\nb.png", b"no picture"), ("b.png", records.png_bytes(picture(0)))])
    done = cli("verify", path, expect=1)
    assert "\x1b" not in done.stdout and "a?[2J?b" in done.stdout


# --- statistics

def test_statistics_are_numpys(cli, data):
    found, fields = statistics(cli, data, "--threads", 3)
    assert found["samples"] == 30 and found["bad"] == 0 and found["errors"] == []
    for name in ("png", "image"):
        if name not in fields:
            continue
        pixels = np.concatenate([picture(i).reshape(-1, 3) for i in range(COUNT)]) / 255
        assert len(fields[name]["channels"]) == 3 and fields[name]["per_channel"]
        for c, channel in enumerate(fields[name]["channels"]):
            close_to(channel, pixels[:, c])
        assert fields[name]["normalize"]["std"] == pytest.approx(pixels.std(0), rel=1e-6)
    for name in ("npy", "array"):
        if name in fields:
            arrays = np.stack([array(i) for i in range(COUNT)])
            for c, channel in enumerate(fields[name]["channels"]):
                close_to(channel, arrays[:, c])
    for name in ("cls", "label"):
        if name in fields:
            assert fields[name]["counts"] == {"0": 8, "1": 8, "2": 7, "3": 7}
            close_to(fields[name]["values"], [i % 4 for i in range(COUNT)])
    for name in ("txt", "text"):
        if name in fields:
            assert fields[name]["unit"] == "characters"
            close_to(fields[name]["lengths"], [len(caption(i)) for i in range(COUNT)])
    if "vector" in fields:
        close_to(fields["vector"]["channels"][0], np.float32([[i, i / 3] for i in range(COUNT)]))
    if "score" in fields:
        close_to(fields["score"]["channels"][0], np.float32([i / 7 for i in range(COUNT)]))
    if "json" in fields:
        assert fields["json"]["samples"] == 10 and fields["json"]["unit"] == "bytes"


def test_one_field_and_the_line_to_paste(cli, tmp_path):
    path = write_tar(tmp_path / "a.tar")
    found, fields = statistics(cli, path, "--field", "png")
    assert list(fields) == ["png"]
    screen = cli("statistics", path, "--field", "png").stdout
    line = next(line.strip() for line in screen.splitlines() if "Normalize" in line)
    import penstock as ps
    normalize = eval(line)  # what the user pastes
    assert isinstance(normalize, ps.Normalize) and "cls" not in screen


def test_class_names_stand_beside_their_counts(cli, tmp_path):
    folder = write_folder(tmp_path / "photos")
    assert "class3" in cli("statistics", folder, "--field", "label").stdout
    assert statistics(cli, folder)[1]["label"]["classes"] == [f"class{i}" for i in range(4)]


@pytest.mark.parametrize("dtype", ["float16", "float64", ">f4", "int8", "uint8", "int64", "bool"])
def test_arrays_of_any_type_and_order(cli, tmp_path, dtype):
    folder, arrays = tmp_path / "arrays", []
    folder.mkdir()
    for i in range(5):
        values = (np.random.default_rng(i).normal(20, 9, (40, 300, 2)) % 100).astype(dtype)
        np.save(folder / f"{i}.npy", np.asfortranarray(values) if i % 2 else values)
        arrays.append(values.astype(np.float64))
    field = statistics(cli, folder)[1]["array"]
    assert not field["per_channel"]
    close_to(field["channels"][0], np.stack(arrays))
    if dtype == "uint8":  # Normalize divides those by 255 before anything else
        assert field["normalize"]["mean"][0] == pytest.approx(np.mean(arrays) / 255, rel=1e-6)


def test_a_small_deviation_far_from_zero_keeps_its_digits(cli, tmp_path):
    values = 1e8 + np.random.default_rng(0).normal(0, 1e-2, (50, 10_000))
    np.save(tmp_path / "a.npy", values)
    channel = statistics(cli, tmp_path / "a.npy")[1]["array"]["channels"][0]
    assert channel["std"] == pytest.approx(values.std(), rel=1e-6)


def test_nan_and_infinities_are_counted_apart(cli, tmp_path):
    values = np.arange(60, dtype=np.float32).reshape(10, 6)
    values[2, 1], values[3, 3], values[9, 5] = np.nan, np.inf, -np.inf
    np.save(tmp_path / "a.npy", values)
    field = statistics(cli, tmp_path / "a.npy")[1]["array"]
    assert (field["nan"], field["infinite"]) == (1, 2)
    close_to(field["channels"][0], values[np.isfinite(values)])
    assert "1 NaN left out, 2 infinite left out" in cli("statistics", tmp_path / "a.npy").stdout


def test_samples_that_disagree_about_channels_are_taken_as_one(cli, tmp_path):
    arrays = [np.random.default_rng(i).normal(i, 1, (3 + i % 2, 4, 4)) for i in range(8)]
    for i, values in enumerate(arrays):
        np.save(tmp_path / f"{i}.npy", values)
    field = statistics(cli, tmp_path / "*.npy", "--threads", 4)[1]["array"]
    assert not field["per_channel"]
    close_to(field["channels"][0], np.concatenate([values.ravel() for values in arrays]))


def test_a_constant_channel_has_no_normalize(cli, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((4, 5)))
    assert statistics(cli, tmp_path / "a.npy")[1]["array"]["normalize"] is None
    assert "no Normalize" in cli("statistics", tmp_path / "a.npy").stdout


def test_masks_are_counted_by_pixel(cli, tmp_path):
    masks = [np.random.default_rng(i).integers(0, 3, (6, 7), dtype=np.uint8) for i in range(4)]
    path = records.write_tar(tmp_path / "a.tar", [
        file for i, mask in enumerate(masks)
        for file in ((f"{i}.png", records.png_bytes(picture(0)[:6, :7])), (f"{i}.seg.png", records.png_bytes(mask)))])
    field = statistics(cli, path)[1]["seg.png"]
    assert field["kind"] == "mask"
    assert field["counts"] == {str(v): sum(int((mask == v).sum()) for mask in masks) for v in range(3)}


def test_bad_samples_are_left_out_counted_and_listed(cli, tmp_path):
    folder = write_folder(tmp_path / "photos")
    bad = folder / "class1" / "0005.png"
    bad.write_bytes(b"no picture")
    found, fields = statistics(cli, folder)
    assert found["bad"] == 1 and [error["file"] for error in found["errors"]] == [str(bad)]
    pixels = np.concatenate([picture(i).reshape(-1, 3) for i in range(COUNT) if i != 5]) / 255
    close_to(fields["image"]["channels"][1], pixels[:, 1])
    assert fields["label"]["samples"] == 30
    screen = cli("statistics", folder).stdout
    assert "1 sample is bad" in screen and "0005.png" in screen


def test_broken_shards_are_listed_and_the_others_measured(cli, tmp_path):
    write_tfrecord(tmp_path / "a.tfrecord")
    records.flip_byte(write_tfrecord(tmp_path / "b.tfrecord"), 0)
    found, fields = statistics(cli, tmp_path / "*.tfrecord")
    assert fields["label"]["samples"] == 30 and len(found["errors"]) == 1


def test_nothing_that_can_be_read_is_exit_1(cli, tmp_path):
    folder = write_folder(tmp_path / "photos")
    for path in folder.glob("*/*.png"):
        path.write_bytes(b"no picture")
    assert ".png" in one_line(cli("statistics", folder, expect=1))


# --- inspect and bench

def test_inspect_of_shards(cli, tmp_path):
    for ending, compressed in ((".tar", False), (".tar.gz", True)):
        folder = tmp_path / ending.strip(".")
        for shard in range(3):
            write_tar(folder / f"{shard}{ending}", shard * 10, 10)
        found = json.loads(cli("inspect", folder, "--json").stdout)
        assert found["shards"] == {"count": 3, "compressed": compressed, "broken": []} and found["samples"] == 30
        kinds = {field["name"]: (field["kind"], field["is_everywhere"]) for field in found["fields"]}
        assert kinds == {"png": ("image", True), "cls": ("integer", True), "txt": ("text", True),
                         "npy": ("array", True), "json": ("json", False)}
        shapes = {(shape["field"], tuple(shape["shape"])): shape["samples"] for shape in found["sampled"]["shapes"]}
        assert shapes == {("npy", (3, 4, 5)): 30} | {("png", (12 + i, 16, 3)): 10 for i in range(3)}
        screen = cli("inspect", folder).stdout
        assert ("compressed" in screen) == compressed and "in 10 of 30 sampled" in screen and "text" in screen


def test_inspect_goes_on_past_a_broken_shard_and_names_it(cli, tmp_path):
    write_tfrecord(tmp_path / "a.tfrecord")
    broken = write_tfrecord(tmp_path / "b.tfrecord")
    broken.write_bytes(broken.read_bytes()[:-5])
    done = cli("inspect", tmp_path / "*.tfrecord")
    assert "59" in done.stdout and "1 shard" in done.stdout and str(broken) in done.stdout
    found = json.loads(cli("inspect", tmp_path / "*.tfrecord", "--json").stdout)
    assert [error["uri"] for error in found["shards"]["broken"]] == [str(broken)]


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tfrecord", "tfrecord.gz", "manifest"])
def test_bench_of_records(cli, tmp_path, kind):
    data = MAKERS[kind](tmp_path)
    result = json.loads(cli("bench", data, "--batch", 8, "--size", 16, "--json").stdout)
    assert result["config"]["transform"] == "train" and result["config"]["shape"] == [3, 16, 16]
    assert [epoch["samples"] for epoch in result["epochs"]] == [30, 30]
    assert "samples/s" in cli("bench", data, "--batch", 8, "--size", 16).stdout


def test_bench_of_shards_without_pictures(cli, tmp_path):
    pattern = records.write_number_shards(tmp_path / "numbers", 2, 10)
    result = json.loads(cli("bench", pattern, "--batch", 4, "--json").stdout)
    assert result["config"]["transform"] == "none" and [epoch["samples"] for epoch in result["epochs"]] == [20, 20]
