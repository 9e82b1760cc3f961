#!/usr/bin/env python3
"""Checks that the tree is the flow.

A folder of src/ includes only itself and what stands above it in ORDER, and public headers (include/penstock) from
anywhere. tests/unit mirrors src/, file by file (see covered_by.py). Exits 1 and says where it is not so. Folders and
files that have grown large are named too; they are no faults.

    tools/check_includes.py [--write-covered-by] [ROOT]

--write-covered-by brings the table of tests that cover several files up to date first.
"""

import argparse
import pathlib
import re
import sys

import covered_by

ORDER = [
    "base", "store", "decode", "source", "order", "transform", "plan", "batch", "cache", "stage", "fetch", "sample",
    "device", "model", "worker", "pipeline", "statistics", "pack", "advise",
]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SUFFIXES = {".h", ".cpp", ".inl", ".cu"}
MAX_FILES_PER_FOLDER = 25
MAX_LINES_PER_FILE = 500


def sources(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES)


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := INCLUDE.match(line):
            yield number, found.group(1)


def check_flow(root):
    src = root / "src"
    for folder in sorted(path for path in src.iterdir() if path.is_dir()):
        if folder.name not in ORDER:
            yield f"src/{folder.name}: not a stage of the flow ({', '.join(ORDER)})"
            continue
        place = ORDER.index(folder.name)
        for path in sources(folder):
            for number, name in includes(path):
                where = f"{path.relative_to(root)}:{number}"
                stage = name.split("/")[0]
                if stage == "penstock":
                    if not (root / "include" / name).exists():
                        yield f"{where}: no public header {name}"
                elif stage not in ORDER or not (src / name).exists():
                    yield f"{where}: \"{name}\" is no header below src/"
                elif ORDER.index(stage) > place:
                    yield f"{where}: {folder.name} includes {name}, but {stage} stands below {folder.name} in the flow"
    for path in sources(root / "include"):
        for number, name in includes(path):
            if not name.startswith("penstock/"):
                yield f"{path.relative_to(root)}:{number}: a public header includes {name}, which is private"


def check_mirror(root):
    stages = {path.name for path in (root / "src").iterdir() if path.is_dir()}
    tests = {path.name for path in (root / "tests" / "unit").iterdir() if path.is_dir()}
    for name in sorted(tests - stages):
        yield f"tests/unit/{name}: there is no src/{name}"
    yield from covered_by.check(covered_by.Tree(root))


def large_folders_and_files(root):
    src = root / "src"
    for folder in sorted([src, *(path for path in src.rglob("*") if path.is_dir())]):
        files = sum(path.is_file() for path in folder.iterdir())
        if files > MAX_FILES_PER_FOLDER:
            yield f"{folder.relative_to(root)}: {files} files in one folder, more than {MAX_FILES_PER_FOLDER}"
    for part in ("src", "include", "cli", "python", "tests", "fuzz"):
        for path in sorted((root / part).rglob("*")):
            if path.suffix in SUFFIXES | {".py"}:
                lines = len(path.read_text().splitlines())
                if lines > MAX_LINES_PER_FILE:
                    yield f"{path.relative_to(root)}: {lines} lines, more than {MAX_LINES_PER_FILE}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write-covered-by", action="store_true", help=f"bring {covered_by.TABLE} up to date first")
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    wanted = parser.parse_args()
    root = wanted.root.resolve()
    if wanted.write_covered_by:
        for guess in covered_by.write_table(covered_by.Tree(root)):
            print(f"a guess, to be looked at: {guess}")
    for warning in large_folders_and_files(root):
        print(f"warning: {warning}", file=sys.stderr)
    troubles = [*check_flow(root), *check_mirror(root)]
    for trouble in troubles:
        print(trouble, file=sys.stderr)
    if troubles:
        print(f"{len(troubles)} faults of the tree", file=sys.stderr)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
