"""Every example runs on the tiny data that it makes, and learns it."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
NEEDS = {"train_jax.py": "jax"}


def run(tmp_path, script, *arguments):
    """Returns what the script prints. Its data go to the folder of the test."""
    library = NEEDS.get(script, "torch")
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    environment = dict(os.environ, TMPDIR=str(tmp_path), OMP_NUM_THREADS="1")
    done = subprocess.run([sys.executable, EXAMPLES / script, *map(str, arguments)], env=environment, timeout=300,
                          cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


def losses(printed):
    return [float(loss) for loss in re.findall(r"^epoch \d+: loss ([0-9.]+)", printed, re.MULTILINE)]


def samples(printed):
    return [line for line in printed.splitlines() if " samples: " in line]


def check_that_it_learns(printed, epochs):
    fallen = losses(printed)
    assert len(fallen) == epochs and fallen[-1] < fallen[0], printed
    assert len(re.findall(r" \d+ (images|windows|patches)/s$", printed, re.MULTILINE)) == epochs, printed
    assert re.search(r"^waited for: \w+", printed, re.MULTILINE), printed


@pytest.mark.slow
@pytest.mark.parametrize("script", ["segment.py", "captions.py", "train_jax.py", "mix_sources.py", "forecast.py"])
def test_an_example_learns_its_data(tmp_path, script):
    check_that_it_learns(run(tmp_path, script, "--epochs", 3), epochs=3)


@pytest.mark.slow
def test_patches_are_learnt_and_put_together_again(tmp_path):
    printed = run(tmp_path, "segment_volume.py", "--epochs", 6, "--patches", 128, "--output", "found.npy")
    check_that_it_learns(printed, epochs=6)
    visits = re.search(r"each place in (\d+) to (\d+), dice ([0-9.]+)$", printed, re.MULTILINE)
    assert visits and int(visits[1]) == 1 and int(visits[2]) == 8 and float(visits[3]) > 0.5, printed
    assert np.load(tmp_path / "found.npy").shape == (48, 96, 96)


@pytest.mark.slow
def test_a_cache_for_half_of_the_photos_answers_half_of_the_second_epoch_and_changes_no_pixel(tmp_path):
    printed = run(tmp_path, "super_resolution.py")
    check_that_it_learns(printed, epochs=4)
    assert losses(printed)[:2] == losses(printed)[2:], printed
    hits = re.search(r"it answered (\d+) of 144 look-ups \(by epoch: 0%, (\d+)%\)", printed)
    assert hits and 28 <= int(hits[1]) <= 36 and 40 <= int(hits[2]) <= 50, printed
    assert len(re.findall(r"^(?:no cache|\d+ MiB) +[0-9.]+ +[0-9.]+$", printed, re.MULTILINE)) == 2, printed


@pytest.mark.slow
def test_images_train_alike_from_a_folder_tar_and_tfrecord_shards(tmp_path):
    printed = [run(tmp_path, "train_images.py", "--epochs", 2, "--from", format)
               for format in ("folder", "tar", "tfrecord")]
    for text in printed:
        check_that_it_learns(text, epochs=2)
        assert losses(text) == pytest.approx(losses(printed[0]), abs=1e-3)


@pytest.mark.slow
def test_a_training_run_that_was_stopped_goes_on_with_the_samples_it_would_have_had(tmp_path):
    sys.path.insert(0, str(EXAMPLES))
    try:
        import tiny_data
    finally:
        sys.path.remove(str(EXAMPLES))
    arguments = [tiny_data.write_folder(tmp_path / "pictures", count=60), "--epochs", 3, "--batch-size", 8,
                 "--show-samples"]
    straight = samples(run(tmp_path, "train_images.py", *arguments))
    stopped = samples(run(tmp_path, "train_images.py", *arguments, "--checkpoint", "run.pt", "--stop-after", 9))
    printed = run(tmp_path, "train_images.py", *arguments, "--checkpoint", "run.pt")
    assert "goes on in epoch 1 after 24 samples" in printed
    assert len(straight) == 18 and len(stopped) == 9
    assert stopped + samples(printed) == straight


def test_every_example_is_tested():
    tested = set(re.findall(r"\w+\.py", pathlib.Path(__file__).read_text()))
    assert {path.name for path in EXAMPLES.glob("*.py")} - {"tiny_data.py", "tiny_arrays.py"} <= tested
