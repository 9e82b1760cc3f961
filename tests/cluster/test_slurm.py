"""The examples for Slurm on a real Slurm of two nodes (slurm-up), which needs root."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

import penstock as ps
from pictures import save_jpeg, smooth
from programs import ROOT, penstock_programs

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = ROOT / "examples" / "slurm"

PROGRAMS = ("slurmctld", "slurmd", "srun", "munged")


def penstock_program():
    """The folder of the program, where it has the commands that the examples run; or why not."""
    why_not = "no program penstock"
    for candidate in penstock_programs():
        listed = subprocess.run([candidate, "--help"], capture_output=True, text=True).stdout
        missing = [name for name in ("pack", "stage") if not re.search(rf"^\s*{name}\b", listed, re.MULTILINE)]
        if not missing:
            return pathlib.Path(candidate).parent, None
        why_not = f"no penstock {missing[0]}"
    return None, why_not


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """The environment in which srun and sbatch find the cluster."""
    missing = [name for name in PROGRAMS if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    if os.geteuid() != 0:
        pytest.skip("Slurm's daemons need root")
    if missing:
        pytest.skip(f"{missing[0]} is not installed (slurmctld slurmd slurm-client munge)")
    folder, why_not = penstock_program()
    if why_not:
        pytest.skip(why_not)
    state = tmp_path_factory.mktemp("slurm")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    environment.update(SLURM_CONF=str(state / "slurm.conf"), PYTHON=sys.executable, OMP_NUM_THREADS="1",
                       PATH=f"{folder}:{environment['PATH']}:/usr/sbin:/sbin")
    # Jobs import the package that this test runs with.
    python_path = [str(pathlib.Path(ps.__file__).parent.parent), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, python_path))
    try:
        up = subprocess.run([HERE / "slurm-up", state], env=environment, capture_output=True, text=True)
        if up.returncode == 77:
            pytest.skip(up.stderr.strip().splitlines()[-1])
        assert up.returncode == 0, up.stdout + up.stderr
        yield environment
    finally:
        subprocess.run([HERE / "slurm-up", state, "stop"], env=environment)


@pytest.fixture
def images(tmp_path):
    for number in range(120):
        name = ("cat", "dog", "owl")[number % 3]
        save_jpeg(tmp_path / "images" / name / f"{number:03}.jpg", smooth(48, 64, seed=number))
    return tmp_path / "images"


def run(command, environment, folder, **options):
    done = subprocess.run([str(part) for part in command], env=environment | options, cwd=folder, timeout=240,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    logs = "".join(path.read_text() for path in sorted(folder.glob("*.log")))
    assert done.returncode == 0, done.stdout + logs
    return done.stdout


def wait_until_idle(environment, seconds=120):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not subprocess.run(["squeue", "-h"], env=environment, capture_output=True, text=True).stdout.strip():
            return
        time.sleep(0.3)
    raise AssertionError("jobs did not end")


def digest(folder):
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")}


def packed_whole(images, folder, environment):
    run(["penstock", "pack", images, folder, "--shard-size", "40KiB"], environment, folder.parent)
    return digest(folder)


def test_an_array_job_packs_parts_and_a_job_after_it_finishes(slurm, images, tmp_path):
    run([EXAMPLES / "pack_array.sh", images, tmp_path / "shards", 3, "--shard-size", "40KiB"], slurm, tmp_path)
    wait_until_idle(slurm)
    logs = "".join(path.read_text() for path in sorted(tmp_path.glob("*.log")))
    assert digest(tmp_path / "shards") == packed_whole(images, tmp_path / "whole", slurm), logs


def test_arrays_may_count_from_1_and_single_parts_can_be_repeated(slurm, images, tmp_path):
    script = EXAMPLES / "pack_array.sh"
    arguments = [images, tmp_path / "shards", 3, "--shard-size", "40KiB"]
    run(["sbatch", "--wait", "--array=1-3", script, *arguments], slurm, tmp_path)
    expected = packed_whole(images, tmp_path / "whole", slurm)
    lost = sorted(path for path in (tmp_path / "shards").iterdir() if path.suffix == ".tar")[-1]
    lost.unlink()
    refused = subprocess.run(["penstock", "pack", "--finish", tmp_path / "shards"], env=slurm, capture_output=True,
                             text=True)
    assert refused.returncode == 1, "finished without a shard"
    run(["sbatch", "--wait", "--array=3", script, *arguments], slurm, tmp_path, PENSTOCK_PARTS="3",
        PENSTOCK_FIRST_TASK="1")
    run(["penstock", "pack", "--finish", tmp_path / "shards"], slurm, tmp_path)
    assert digest(tmp_path / "shards") == expected


def test_a_job_stages_and_trains_on_two_nodes(slurm, images, tmp_path):
    pytest.importorskip("torch")
    packed_whole(images, tmp_path / "shards", slurm)
    run(["sbatch", "--wait", EXAMPLES / "train_staged.sh", tmp_path / "shards", "--epochs", 2], slurm, tmp_path)
    (log,) = tmp_path.glob("train-*.log")
    printed = log.read_text()
    losses = [float(loss) for loss in re.findall(r"^epoch \d: loss ([0-9.]+), 120 images on 2 nodes", printed, re.M)]
    assert len(losses) == 2 and losses[1] < losses[0], printed
    job = log.stem.split("-")[1]
    assert not pathlib.Path("/tmp", job).exists(), "the staged copy was left behind"


def test_slurm_tmpdir_is_where_each_node_stages(slurm, images, tmp_path):
    pytest.importorskip("torch")
    packed_whole(images, tmp_path / "shards", slurm)
    local = tmp_path / "local"
    local.mkdir()
    run(["sbatch", "--wait", EXAMPLES / "train_staged.sh", tmp_path / "shards", "--epochs", 1], slurm, tmp_path,
        SLURM_TMPDIR=str(local))
    staged, shards = digest(local / "shards"), digest(tmp_path / "shards")
    assert {name: staged.get(name) for name in shards} == shards
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(local)
