"""The module beside other libraries of the process: neither takes the other's symbols for its own.

A library that is loaded globally (torch loads several) may define C++ symbols that the module has too. On
some machines the module then used theirs and crashed. Here it is looked at with readelf, and it runs after a
library that defines the two symbols that did the harm.
"""

import ctypes.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import penstock
import penstock._core as core

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(penstock.__file__).parent
MODULE = pathlib.Path(core.__file__)

# std::_Sp_make_shared_tag::_S_ti()::__tag and std::piecewise_construct, with other contents.
NEIGHBOUR = """
char tag[64] __asm__("_ZZNSt19_Sp_make_shared_tag5_S_tiEvE5__tag") = "another library's";
char piecewise[64] __asm__("_ZSt19piecewise_construct") = "another library's";
"""

LOAD_A_BATCH = """
import ctypes, os, sys
folder, neighbour, first = sys.argv[1:]
if neighbour: ctypes.CDLL(neighbour, mode=ctypes.RTLD_GLOBAL)
if first == "torch": import torch
import penstock
if first == "penstock": import torch
loader = penstock.Loader(folder, batch_size=4, shuffle=False, threads=2)
image = next(iter(loader))
print(os.path.realpath(penstock._core.__file__), len(loader.source), int(image.sum()))
"""


def dynamic_symbols(module):
    """(name, is defined) of each symbol that the loader binds by name; names carry their version."""
    listed = subprocess.run(["readelf", "--dyn-syms", "--wide", module], check=True, capture_output=True,
                            text=True).stdout
    rows = [line.split() for line in listed.splitlines() if line.strip()[:1].isdigit()]
    return [(row[7], row[6] != "UND") for row in rows if len(row) > 7]


def load_a_batch(folder, *, package=PACKAGE, neighbour="", first="", **environment):
    """Opens the folder, which has no kept index, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", LOAD_A_BATCH, folder, neighbour, first], capture_output=True, text=True,
                          timeout=120,
                          env={**os.environ, "PYTHONPATH": str(package.parent), **environment})
    assert done.returncode == 0, done.stderr[-2000:]
    module, size, total = done.stdout.split()
    assert pathlib.Path(module).is_relative_to(package.resolve()) or package == PACKAGE
    assert size == "12" and int(total) == 20 * 24 * 3 * (0 + 1 + 2 + 3)


@pytest.fixture(scope="module")
def neighbour(tmp_path_factory):
    folder = tmp_path_factory.mktemp("neighbour")
    (folder / "neighbour.c").write_text(NEIGHBOUR)
    library = folder / "libneighbour.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, folder / "neighbour.c"], check=True)
    return str(library)


@pytest.fixture(scope="module")
def static_package(tmp_path_factory):
    """The package with a module that has the standard library inside, linked from the same object files."""
    builds = [cache.parent for cache in REPOSITORY.glob("build/*/CMakeCache.txt")
              if (cache.parent / "python" / "CMakeFiles" / "core_static_libstdcxx.dir").is_dir()]
    if not builds:
        pytest.skip("no build folder of the module below build/: run `make build`")
    build = max(builds, key=lambda folder: (folder / ".ninja_log").stat().st_mtime)
    made = subprocess.run(["cmake", "--build", build, "--target", "core_static_libstdcxx"], capture_output=True,
                          text=True)
    assert made.returncode == 0, (made.stdout + made.stderr)[-2000:]
    package = tmp_path_factory.mktemp("static") / "penstock"
    shutil.copytree(REPOSITORY / "python" / "penstock", package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(build / "python" / "static_libstdcxx" / "_core.so", package / "_core.so")
    return package


def test_the_module_exports_its_init_function_and_nothing_else():
    assert [name for name, is_defined in dynamic_symbols(MODULE) if is_defined] == ["PyInit__core"]


def test_the_module_takes_no_cxx_symbol_from_others_but_those_of_the_standard_library():
    taken = [name for name, is_defined in dynamic_symbols(MODULE) if not is_defined and name.startswith("_Z")]
    # A symbol of libstdc++.so carries its version; one of a template or of another library does not.
    assert [name for name in taken if "@GLIBCXX_" not in name and "@CXXABI_" not in name] == []
    assert not any("_Sp_make_shared_tag" in name or "piecewise_construct" in name for name in taken)


def test_a_folder_opens_after_a_library_with_the_same_symbols(flat, neighbour):
    load_a_batch(flat, neighbour=neighbour)


@pytest.mark.slow
@pytest.mark.parametrize("first", ["torch", "penstock"])
def test_a_folder_opens_beside_torch_whichever_comes_first(flat, neighbour, first):
    pytest.importorskip("torch")
    load_a_batch(flat, neighbour=neighbour, first=first)


@pytest.mark.slow
def test_with_the_standard_library_inside_no_cxx_symbol_is_bound_by_name(static_package):
    symbols = dynamic_symbols(static_package / "_core.so")
    assert [name for name, is_defined in symbols if is_defined] == ["PyInit__core"]
    assert [name for name, is_defined in symbols if not is_defined and name.startswith("_Z")] == []


@pytest.mark.slow
def test_with_the_standard_library_inside_a_folder_opens_after_such_a_library(flat, neighbour, static_package):
    load_a_batch(flat, package=static_package, neighbour=neighbour)


@pytest.mark.slow
@pytest.mark.parametrize("is_static", [False, True], ids=["shared", "static"])
def test_an_allocator_that_is_preloaded_serves_the_module_too(flat, neighbour, is_static, request):
    allocator = ctypes.util.find_library("jemalloc")
    if allocator is None:
        pytest.skip("jemalloc is not installed (Debian: libjemalloc2)")
    package = request.getfixturevalue("static_package") if is_static else PACKAGE
    load_a_batch(flat, package=package, neighbour=neighbour, LD_PRELOAD=allocator)
