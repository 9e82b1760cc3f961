"""The package's types, as mypy and pyright see them in a user's program."""

import pathlib
import re
import subprocess
import sys

import pytest

README = pathlib.Path(__file__).parents[2] / "README.md"

NAMES = """
from typing import Any

def train(images: Any, labels: Any) -> None: ...
def my_tokenizer(samples: list[Any]) -> Any: ...
"""

USAGE = """
import pathlib
import penstock as ps

source = ps.ImageFolder(pathlib.Path("data"), masks="masks")
train, test = source.split(0.9, seed=1, stratify="label")
pair: tuple[ps.Source, ps.Source] = source.split(0.5)
parts = source.split([0.8, 0.1, 0.1])
image, label = source[0]
names: list[str] = source.classes
number: int = source.class_to_idx["cat"] + source.targets[0] + len(parts[0])
step: ps.Resize = ps.Resize((24, 32), "bicubic", antialias=False)
crop = ps.RandomResizedCrop(224, scale=(0.25, 1), interpolation="bicubic")
width: float = crop.scale[0]
with ps.Loader(test.subset([1, 2, 3]), batch_size=4, weights="balanced", output="numpy", cache=ps.Cache(ram="1GiB"),
               transform={"image": [crop, ps.Map(lambda array: array)], "small": ps.Derive("image", [step])}) as loader:
    for batch in loader:
        print(batch)
    state = loader.state_dict()
    loader.load_state_dict(state)
    loader.set_epoch(3)
    steps: int = len(loader)
    stats: ps.LoaderStats = loader.stats()
    seconds: float = stats["stages"]["decode"]["seconds"] + stats["epochs"][0]["seconds"]
    epoch = iter(loader)
    epoch.close()
for sample in source:
    print(sample)
try:
    ps.open_source("nowhere")
except ps.NotFoundError as error:
    print(error.uri, error.offset)
"""

# Each line is a mistake that a checker must see: types that accept everything would pass the rest as well.
MISTAKES = """
import penstock as ps
ps.Resize("big")
ps.Resize(224, antialas=True)
ps.RandomResizedCrop(224, scale=0.5)
ps.ImageFolder()
ps.Loader(5)
ps.Loader("data", batch_size="4")
ps.Loader("data", num_workers=4)
ps.Loader("data", on_error="ignore")
ps.Loader("data", transform=[len])
ps.Loader("data").stats()["steges"]
ps.Loader("data").stats()["stages"]["decoding"]
ps.ImageFolder("data").splits(0.9)
ps.NoSuchTransform()
"""


def readme_program():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert len(blocks) >= 3
    # Where the README leaves arguments out by three dots.
    return NAMES + re.sub(r",\s*\.\.\.\)", ")", "\n".join(blocks))


@pytest.fixture
def programs(tmp_path):
    for name, text in (("readme", readme_program()), ("usage", USAGE), ("mistakes", MISTAKES)):
        (tmp_path / f"{name}.py").write_text(text)
        compile(text, name, "exec")
    return tmp_path


def check(found, programs):
    """`found`: pairs of file name and line number, one for each complaint."""
    assert {(name, line) for name, line in found if name != "mistakes.py"} == set()
    mistakes = {line for line, text in enumerate(MISTAKES.splitlines(), 1) if text.startswith("ps.")}
    assert {line for _, line in found} == mistakes


@pytest.mark.slow
def test_programs_pass_mypy_in_its_strict_mode(programs):
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(programs / "cache"), "readme.py", "usage.py",
                           "mistakes.py"], cwd=programs, capture_output=True, text=True, timeout=300)
    found = re.findall(r"^(?:.*/)?(\w+\.py):(\d+): error", done.stdout, re.M)
    assert done.returncode == 1, done.stdout + done.stderr
    check({(name, int(line)) for name, line in found}, programs)


@pytest.mark.slow
def test_programs_pass_pyright(programs):
    pytest.importorskip("pyright")
    # The package fetches the checker itself from the npm registry the first time.
    command = [sys.executable, "-m", "pyright"]
    try:
        version = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=200)
    except subprocess.TimeoutExpired:
        pytest.skip("pyright cannot be fetched")
    if version.returncode != 0:
        pytest.skip(f"pyright does not run: {(version.stdout + version.stderr)[-200:]}")
    done = subprocess.run([*command, "--pythonpath", sys.executable, "readme.py", "usage.py", "mistakes.py"], cwd=programs,
                          capture_output=True, text=True, timeout=300)
    found = re.findall(r"/(\w+\.py):(\d+):\d+ - error", done.stdout)
    assert found, done.stdout + done.stderr
    check({(name, int(line)) for name, line in found}, programs)
