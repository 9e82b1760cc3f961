"""The command line, as a user or a script meets it: screens, JSON, exit codes, one-line errors."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import penstock


@pytest.fixture(scope="session")
def program():
    path = shutil.which("penstock", path=os.path.dirname(sys.executable))
    assert path, f"there is no penstock beside {sys.executable}: install the package first"
    return path


@pytest.fixture
def cli(program, tmp_path):
    """Runs the program with a cache folder of its own."""
    def run(*arguments, expect=0):
        environment = {**os.environ, "PENSTOCK_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True,
                              env=environment, timeout=300)
        assert done.returncode == expect, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done
    return run


def one_line(done):
    """The only line on stderr; nothing went to stdout."""
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("penstock: "), done.stderr
    return lines[0]


@pytest.fixture
def photos(tmp_path):
    """Class folders: 6 cats of 48x64, 3 dogs of 64x48 (height x width)."""
    random = np.random.default_rng(0)
    folder = tmp_path / "photos"
    for name, count, shape in (("cat", 6, (48, 64, 3)), ("dog", 3, (64, 48, 3))):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            Image.fromarray(random.integers(0, 256, shape, dtype=np.uint8)).save(folder / name / f"{i}.jpg")
    return folder


@pytest.fixture
def array(tmp_path):
    path = tmp_path / "big.npy"
    np.save(path, np.arange(100 * 8 * 4, dtype=np.float32).reshape(100, 8, 4))
    return path


# --- the program itself

def test_version_is_the_python_modules(cli):
    assert cli("--version").stdout.strip() == f"penstock {penstock.__version__}"


def test_help_names_every_command(cli):
    text = cli("--help").stdout
    for command in ("demo", "inspect", "bench"):
        assert command in text


@pytest.mark.parametrize("command", ["demo", "inspect", "bench"])
def test_help_of_each_command_has_an_example(cli, command):
    text = cli(command, "--help").stdout
    assert "Example" in text and f"  penstock {command}" in text and "--json" in text


def test_no_command_prints_the_help_as_wrong_usage(cli):
    done = cli(expect=2)
    assert done.stdout == "" and "penstock demo" in done.stderr


@pytest.mark.parametrize("typed, meant", [("inspct", "inspect"), ("bnech", "bench"), ("dmo", "demo")])
def test_unknown_command_suggests_the_nearest(cli, typed, meant):
    line = one_line(cli(typed, "x", expect=2))
    assert typed in line and f"did you mean {meant}?" in line


def test_unknown_command_far_from_all_lists_them(cli):
    line = one_line(cli("xyzzy", expect=2))
    assert "demo, inspect, bench" in line


def test_unknown_option_suggests_the_nearest(cli, photos):
    assert "did you mean --batch?" in one_line(cli("bench", photos, "--bacth", "4", expect=2))


@pytest.mark.parametrize("arguments", [
    ["bench"], ["inspect"], ["bench", "{}", "more"],
    ["bench", "{}", "--batch", "0"], ["bench", "{}", "--batch", "-3"], ["bench", "{}", "--batch", "many"],
    ["bench", "{}", "--threads", "0"], ["bench", "{}", "--transform", "trian"],
    ["bench", "{}", "--dtype", "flaot32"], ["bench", "{}", "--layout", "CHWN"],
    ["bench", "{}", "--sleep", "-1"], ["bench", "{}", "--memory", "8Gi"], ["bench", "{}", "--memory", "0"],
    ["bench", "{}", "--shuffle", "--no-shuffle"],
    ["inspect", "{}", "--kind", "zip"], ["demo", "--images", "0"],
])
def test_wrong_usage_is_exit_2_and_one_line(cli, photos, arguments):
    one_line(cli(*[str(photos) if word == "{}" else word for word in arguments], expect=2))


@pytest.mark.parametrize("command", ["inspect", "bench"])
def test_mistyped_path_is_exit_1_and_suggests(cli, photos, command):
    typed = photos.parent / "photo"
    line = one_line(cli(command, typed, expect=1))
    assert str(typed) in line and f"did you mean {photos}?" in line


def test_empty_folder_is_exit_1_and_named(cli, tmp_path):
    (tmp_path / "nothing").mkdir()
    assert str(tmp_path / "nothing") in one_line(cli("inspect", tmp_path / "nothing", expect=1))


# --- demo

def test_demo_screen_says_what_was_measured(cli, tmp_path):
    done = cli("demo", "--folder", tmp_path / "demo", "--images", 24, "--batch", 8, "--threads", 2)
    assert done.stderr == ""  # no progress bar where there is no terminal
    for words in ("24 JPEGs", "made in", "images/s", "first batch", "decode", "bottleneck", "of a budget of",
                  "import penstock as ps", "ps.RandomResizedCrop(224"):
        assert words in done.stdout
    again = cli("demo", "--folder", tmp_path / "demo", "--images", 24, "--batch", 8)
    assert "found from an earlier run" in again.stdout


def test_demo_json(cli, tmp_path):
    done = cli("demo", "--folder", tmp_path / "demo", "--images", 20, "--batch", 8, "--epochs", 3, "--memory", "256MiB", "--json")
    assert len(done.stdout.splitlines()) == 1
    result = json.loads(done.stdout)
    assert result["images"] == 20 and result["made"] is True
    assert [epoch["samples"] for epoch in result["epochs"]] == [20] * 3
    assert all(epoch["throughput"] > 0 for epoch in result["epochs"])
    assert 0 < result["memory"]["peak"] <= result["memory"]["budget"] == 256 * 2**20
    assert result["stages"]["decode"]["items"] == 60


def test_demo_images_are_the_same_every_time_and_look_like_photographs(cli, tmp_path):
    for name, threads in (("a", 1), ("b", 3)):
        cli("demo", "--folder", tmp_path / name, "--images", 20, "--epochs", 1, "--threads", threads, "--json")
    first = sorted((tmp_path / "a").glob("*/*.jpg"))
    assert len(first) == 20 and len({path.parent.name for path in first}) == 10
    for path in first:
        assert path.read_bytes() == (tmp_path / "b" / path.parent.name / path.name).read_bytes()
        with Image.open(path) as image:
            assert 200 <= min(image.size) and max(image.size) <= 600
    assert 40_000 < sum(path.stat().st_size for path in first) / 20 < 160_000


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"x")], ids=["lost", "cut"])
def test_demo_mends_a_folder_with_a_file_lost_or_cut(cli, tmp_path, damage):
    arguments = ("demo", "--folder", tmp_path / "demo", "--images", 20, "--epochs", 1, "--json")
    cli(*arguments)
    damage(next((tmp_path / "demo").glob("*/*.jpg")))
    assert json.loads(cli(*arguments).stdout)["made"] is True
    assert json.loads(cli(*arguments).stdout)["made"] is False


def test_demo_leaves_a_folder_of_others_alone(cli, photos):
    before = sorted(photos.rglob("*"))
    assert str(photos) in one_line(cli("demo", "--folder", photos, "--images", 10, expect=2))
    assert sorted(photos.rglob("*")) == before


# --- inspect

def test_inspect_class_folders(cli, photos):
    screen = cli("inspect", photos).stdout
    for words in ("image class folders", "cat, dog", "smallest dog (3), largest cat (6)", "48x64x3 uint8", "K "):
        assert words in screen
    found = json.loads(cli("inspect", photos, "--json", "--memory", "40kB").stdout)
    stored = sum(path.stat().st_size for path in photos.rglob("*.jpg"))
    assert found["samples"] == 9 and found["stored_bytes"] == stored
    assert found["classes"]["samples"] == {"cat": 6, "dog": 3}
    assert (found["classes"]["smallest"], found["classes"]["largest"]) == ("dog", "cat")
    assert found["sampled"]["shapes"] == [
        {"field": "image", "shape": [48, 64, 3], "dtype": "uint8", "samples": 6},
        {"field": "image", "shape": [64, 48, 3], "dtype": "uint8", "samples": 3}]
    assert found["decoded_bytes"] == 9 * 48 * 64 * 3
    assert found["k"] == pytest.approx(found["decoded_bytes"] / stored)
    assert found["memory"]["holds_decoded"] == pytest.approx(40_000 / (9 * 48 * 64 * 3))
    assert found["memory"]["holds_stored"] == pytest.approx(min(1, 40_000 / stored))


def test_inspect_one_big_array(cli, array):
    found = json.loads(cli("inspect", array, "--json").stdout)
    assert found["samples"] == 100 and found["classes"] is None
    assert found["sampled"]["samples"] == 64 and found["sampled"]["broken"] == []
    assert found["sampled"]["shapes"] == [{"field": found["fields"][0]["name"], "shape": [8, 4], "dtype": "float32", "samples": 64}]
    assert found["decoded_bytes"] == 100 * 8 * 4 * 4
    assert found["memory"]["holds_decoded"] == 1


def test_inspect_lists_broken_files_and_goes_on(cli, photos):
    cli("inspect", photos)  # what an earlier run saw must not hide what is there now
    bad = photos / "dog" / "1.jpg"
    bad.write_bytes(bad.read_bytes()[:300])
    done = cli("inspect", photos)
    assert "1 of 9 sampled" in done.stdout and str(bad) in done.stdout
    found = json.loads(cli("inspect", photos, "--json").stdout)
    assert [error["uri"] for error in found["sampled"]["broken"]] == [str(bad)]
    assert found["sampled"]["broken"][0]["sample"] == 7
    assert found["decoded_bytes"] == 9 * 48 * 64 * 3


# --- bench

KEYS = {"config", "hardware", "versions", "throughput", "first_batch_seconds", "wait_p50", "wait_p99", "stall",
        "rss_bytes", "cpu_seconds", "stages", "bottleneck"}


def bench(cli, *arguments):
    done = cli("bench", *arguments, "--json")
    assert len(done.stdout.splitlines()) == 1 and done.stderr == ""
    return json.loads(done.stdout)


def test_bench_json_has_what_scripts_rely_on(cli, photos):
    result = bench(cli, photos, "--batch", 4, "--threads", 2, "--size", 32, "--epochs", 3, "--memory", "128MiB", "--seed", 7)
    assert KEYS <= result.keys()
    config = result["config"]
    assert config["uri"] == str(photos) and config["samples"] == 9
    assert (config["batch"], config["threads"], config["epochs"], config["seed"]) == (4, 2, 3, 7)
    assert (config["transform"], config["size"], config["shape"], config["dtype"]) == ("train", 32, [3, 32, 32], "float32")
    assert config["shuffle"] is True and config["memory_bytes"] == 128 * 2**20
    assert result["hardware"]["usable_cores"] >= 1 and result["hardware"]["memory_bytes"] > 0 and result["hardware"]["cpu"]
    assert result["versions"]["penstock"] == penstock.__version__
    assert result["throughput"] > 0 and result["first_batch_seconds"] > 0
    assert 0 <= result["wait_p50"] <= result["wait_p99"]
    assert 0 <= result["stall"] <= 1
    assert result["rss_bytes"] > 2**20 and result["cpu_seconds"] > 0
    assert [epoch["batches"] for epoch in result["epochs"]] == [3, 3, 3]
    assert result["stages"]["decode"]["items"] == 18  # the later two epochs
    later = result["epochs"][1:]
    assert result["throughput"] == pytest.approx(sum(e["samples"] for e in later) / sum(e["seconds"] for e in later))


def test_bench_of_an_array_transforms_nothing(cli, array):
    result = bench(cli, array, "--batch", 10, "--no-shuffle", "--limit-batches", 3)
    assert result["config"]["transform"] == "none" and result["config"]["shape"] == [8, 4]
    assert result["config"]["shuffle"] is False
    assert [epoch["samples"] for epoch in result["epochs"]] == [30, 30]


def test_bench_takes_pipeline_options(cli, photos):
    result = bench(cli, photos, "--transform", "eval", "--size", 16, "--no-antialias", "--dtype", "float16", "--layout", "NHWC",
                   "--epochs", 1, "--batch", 4)
    config = result["config"]
    assert (config["transform"], config["antialias"], config["dtype"], config["layout"]) == ("eval", False, "float16", "NHWC")
    assert config["shape"] == [16, 16, 3]


def test_bench_counts_sleep_as_the_consumers_time(cli, array):
    result = bench(cli, array, "--batch", 25, "--sleep", 0.05)
    assert all(epoch["seconds"] >= 4 * 0.05 for epoch in result["epochs"])


def test_bench_screen(cli, photos):
    screen = cli("bench", photos, "--size", 32, "--batch", 4).stdout
    for words in ("throughput", "samples/s", "first epoch", "first batch", "p50", "p99", "stall", "rss", "cpu", "decode", "bottleneck"):
        assert words in screen


def test_bench_of_broken_data_is_exit_1_and_names_the_file(cli, photos):
    bad = photos / "cat" / "2.jpg"
    bad.write_bytes(b"not a picture at all")
    assert str(bad) in one_line(cli("bench", photos, "--size", 32, expect=1))


def test_bench_with_a_budget_too_small_says_how_much_is_needed(cli, photos):
    line = one_line(cli("bench", photos, "--memory", "1MiB", "--batch", 64, expect=1))
    assert "too small" in line and "at least" in line


def test_bench_of_an_array_with_an_image_transform_is_wrong_usage(cli, array):
    assert str(array) in one_line(cli("bench", array, "--transform", "train", expect=2))
