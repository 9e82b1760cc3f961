#!/usr/bin/env python3
"""Checks that the tree is the flow.

A folder of src/ includes only itself and what stands above it in ORDER, and public headers
(include/penstock) from anywhere; tests/unit mirrors the folders of src/. Exits 1 and says where it
is not so.
"""

import pathlib
import re
import sys

ORDER = [
    "base", "store", "decode", "source", "order", "transform", "plan", "batch", "cache", "fetch", "sample",
    "device", "model", "worker", "pipeline", "statistics", "pack", "advise",
]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SUFFIXES = {".h", ".cpp", ".inl", ".cu"}


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
    for name in sorted(stages - tests):
        yield f"tests/unit/{name}: missing, src/{name} has no unit tests"
    for name in sorted(tests - stages):
        yield f"tests/unit/{name}: there is no src/{name}"
    for name in sorted(stages & tests):
        if not list((root / "tests" / "unit" / name).glob("*_test.cpp")):
            yield f"tests/unit/{name}: no *_test.cpp"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    root = root if root.is_dir() else root.parent.parent
    troubles = [*check_flow(root), *check_mirror(root)]
    for trouble in troubles:
        print(trouble, file=sys.stderr)
    if troubles:
        print(f"include order: {len(troubles)} faults", file=sys.stderr)
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
