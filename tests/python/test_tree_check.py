"""tools/check_includes.py: the order of folders, the mirror of src in tests/unit, and the table of what tests cover."""

import pathlib
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "check_includes.py"


@pytest.fixture
def tree(tmp_path):
    """A checkout in which all is well: one file has a test of its own, one a test of one side of it, one a line."""
    files = {
        "include/penstock/loader.h": "",
        "src/base/ledger.h": "class Ledger {};", "src/base/ledger.cpp": '#include "base/ledger.h"',
        "src/base/clock.cpp": "int ticks;", "src/store/file_store.cpp": '#include "base/ledger.h"\n',
        "tests/unit/base/ledger_test.cpp": "", "tests/unit/store/file_store_faults_test.cpp": "Clock ticks",
        "tests/unit/covered_by.txt": "# table\nsrc/base/clock.cpp tests/unit/store/file_store_faults_test.cpp ticks\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(tree, *options):
    done = subprocess.run([sys.executable, TOOL, *options, tree], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def check_faults(tree, *said):
    code, out = run(tree)
    assert code == 1 and all(words in out for words in said), out


def test_a_tree_in_order_passes(tree):
    assert run(tree) == (0, "")


def test_a_folder_includes_nothing_that_comes_later(tree):
    (tree / "src/base/clock.cpp").write_text('#include "store/file_store.h"\nticks')
    (tree / "src/store/file_store.h").touch()
    check_faults(tree, "src/base/clock.cpp:1: base includes store/file_store.h")


def test_a_test_without_a_file_that_it_is_named_for(tree):
    (tree / "tests/unit/base/arena_test.cpp").touch()
    check_faults(tree, "tests/unit/base/arena_test.cpp: src/base has no file arena.cpp")


def test_a_file_that_no_test_covers(tree):
    (tree / "src/base/arena.cpp").touch()
    check_faults(tree, "src/base/arena.cpp: has no unit test of its own")


@pytest.mark.parametrize("line, said", [
    ("src/base/gone.cpp tests/unit/base/ledger_test.cpp ticks", "src/base/gone.cpp does not exist"),
    ("src/base/clock.cpp tests/unit/base/gone_test.cpp ticks", "tests/unit/base/gone_test.cpp does not exist"),
    ("src/base/clock.cpp tests/unit/store/file_store_faults_test.cpp Clock", "src/base/clock.cpp does not have the word Clock"),
    ("src/base/clock.cpp tests/unit/base/ledger_test.cpp ticks", "ledger_test.cpp does not have the word ticks"),
    ("src/base/ledger.cpp tests/unit/base/ledger_test.cpp Ledger", "src/base/ledger.cpp has a unit test of its own now")])
def test_lines_of_the_table_that_do_not_hold(tree, line, said):
    with open(tree / "tests/unit/covered_by.txt", "a") as table:
        table.write(line + "\n")
    check_faults(tree, said)


def test_the_table_follows_files_that_are_moved(tree):
    (tree / "src/base/time").mkdir()
    (tree / "src/base/clock.cpp").rename(tree / "src/base/time/clock.cpp")
    (tree / "tests/unit/store/file_store_faults_test.cpp").rename(tree / "tests/unit/store/file_store_damage_test.cpp")
    (tree / "src/base/ledger_part.cpp").write_text("Ledger")
    (tree / "tests/unit/base/ledger_test.cpp").write_text("Ledger")
    check_faults(tree, "src/base/clock.cpp does not exist")
    code, out = run(tree, "--write-covered-by")
    assert code == 0 and "a guess" in out, out
    assert [line for line in (tree / "tests/unit/covered_by.txt").read_text().splitlines() if not line.startswith("#")] == [
        "src/base/ledger_part.cpp tests/unit/base/ledger_test.cpp Ledger",
        "src/base/time/clock.cpp tests/unit/store/file_store_damage_test.cpp ticks"]


def test_documents_name_files_that_exist(tree):
    (tree / "docs").mkdir()
    (tree / "docs/cache.md").write_text("Start at `base/ledger.h`, `src/store` or [here](../README.md); `a.npy` is data.\n")
    (tree / "README.md").write_text("`ledger.h` counts, `src/base/gone.cpp` left.\nSee [the cache](docs/tiers.md).\n")
    check_faults(tree, "README.md:1: names src/base/gone.cpp", "README.md:2: links to docs/tiers.md", "2 faults of the tree")


def test_large_folders_and_files_are_warned_of(tree):
    (tree / "src/base/ledger.h").write_text("class Ledger {};\n" * 501)
    for number in range(25):
        (tree / f"src/store/{number}.h").touch()
    code, out = run(tree)
    assert code == 0
    assert "warning: src/base/ledger.h: 501 lines" in out and "warning: src/store: 26 files" in out
