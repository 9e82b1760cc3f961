"""The package as a whole: its version, its metadata, its docstrings, its stub, the options that the engine takes."""

import ast
import importlib.metadata
import inspect
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import penstock as ps
from penstock import _core

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = shutil.which("penstock", path=pathlib.Path(sys.executable).parent) or shutil.which("penstock")

SECTION = re.compile(r"^(Args|Returns|Raises|Example|Attributes):$", re.M)


def public_objects():
    """Pairs of a name and a class or function: what the module exports, and the public methods of its classes."""
    for name in ps.__all__:
        if name == "__version__":
            continue
        made = getattr(ps, name)
        yield name, made
        if isinstance(made, type):
            for method, member in vars(made).items():
                if inspect.isfunction(member) and not method.startswith("_"):
                    yield f"{name}.{method}", member


PUBLIC = dict(public_objects())


# -- the version ------------------------------------------------------------------------------------


def test_the_version_is_that_of_cmake_everywhere():
    version = re.search(r"project\(penstock VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert ps.__version__ == version
    assert importlib.metadata.version("penstock") == version
    printed = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == f"penstock {version}"


def test_the_version_is_written_in_cmake_alone():
    tomllib = pytest.importorskip("tomllib")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in settings["project"] and "version" in settings["project"]["dynamic"]
    rule = settings["tool"]["scikit-build"]["metadata"]["version"]
    found = re.search(rule["regex"], (ROOT / rule["input"]).read_text())
    assert found["value"] == ps.__version__


def test_the_metadata_names_authors_and_addresses():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["authors"] and project["keywords"] and "Typing :: Typed" in project["classifiers"]
    assert {"Homepage", "Documentation", "Issues"} <= set(project["urls"])


# -- docstrings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings_begin_with_a_sentence(name):
    doc = inspect.getdoc(PUBLIC[name])
    assert doc, name
    first = doc.splitlines()[0]
    assert first[0].isupper() and first.endswith("."), first


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings_describe_every_parameter(name):
    made = PUBLIC[name]
    not_called = (BaseException, dict, ps.Source, ps.Statistics, ps.FieldStatistics, ps.PackReport, ps.StageReport)
    if isinstance(made, type) and issubclass(made, not_called):
        return  # users do not call them
    parameters = [parameter for parameter in inspect.signature(made).parameters if parameter != "self"]
    assert documented(inspect.getdoc(made)) == parameters


def documented(doc):
    """The names under "Args:", in order."""
    parts = SECTION.split(doc)
    if "Args" not in parts:
        return []
    return [name for name in re.findall(r"^    \*{0,2}(\w+): [A-Z\"`(]", parts[parts.index("Args") + 1], re.M)]


def test_keywords_are_spelled_out():
    for name, made in PUBLIC.items():
        if not inspect.isfunction(made) or name == "Manifest":  # whose keywords are columns
            continue
        kinds = {parameter.kind for parameter in inspect.signature(made).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, name


# -- the engine -------------------------------------------------------------------------------------


def test_the_stub_has_every_name_of_the_module():
    stub = ast.parse((pathlib.Path(ps.__file__).parent / "_core.pyi").read_text())
    declared = {node.name: node for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    names = {name for name in dir(_core) if not name.startswith("__")}
    assert names == set(declared) | {"version"}
    for name, node in declared.items():
        if isinstance(node, ast.ClassDef):
            members = {one.name for one in node.body if isinstance(one, ast.FunctionDef)} - {"__init__", "__len__"}
            assert members == {one for one in vars(getattr(_core, name)) if not one.startswith("__")}, name


def test_loader_options_are_attributes_with_the_defaults_of_the_engine():
    options = _core.LoaderOptions()
    assert (options.batch_size, options.shuffle, options.collate, options.layout) == (1, "off", "stack", "NCHW")
    assert options.sampler is None and options.dtype is None
    options.sampler = [3, 1]
    options.dtype = "float16"
    options.on_error = "skip"
    assert (options.sampler, options.dtype, options.on_error) == ([3, 1], "float16", "skip")
    options.sampler = options.dtype = None
    assert options.sampler is None and options.dtype is None
    with pytest.raises(AttributeError):
        options.bach_size = 3
    with pytest.raises(ps.UsageError, match='on_error="ignore": wants one of "raise", "skip", "replace"'):
        options.on_error = "ignore"
    with pytest.raises(TypeError):
        options.batch_size = "many"
