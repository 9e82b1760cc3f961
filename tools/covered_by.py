"""Which test covers which source file.

tests/unit mirrors src: the test of src/a/b.cpp is tests/unit/a/b_test.cpp, and a test of one side of it is
tests/unit/a/b_side_test.cpp. A source file without such a test stands in tests/unit/covered_by.txt, with the test that
covers it and a word that both have, by which a reader finds the place in the test.
"""

import collections
import dataclasses
import math
import pathlib
import re

TABLE = "tests/unit/covered_by.txt"
HEADING = """\
# Source files without a unit test of their own: the test that covers each of them, and a word of both that tells where.
# tools/check_includes.py checks this table. tools/check_includes.py --write-covered-by follows files that were moved,
# removes lines that are no longer needed, and guesses a line for each new file: look at the guess, and write a better
# one where it is wrong. Lines that hold are kept.
"""
TEST_FOLDERS = ("tests/unit", "tests/conformance", "tests/property", "tests/faults")
_SHORTEST_WORD = 3


@dataclasses.dataclass(frozen=True)
class Line:
    source: str
    test: str
    word: str

    def __str__(self):
        return f"{self.source} {self.test} {self.word}"


class Tree:
    """The sources and tests of a checkout, and the words in them."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        src = self.root / "src"
        self.sources = sorted(src.rglob("*.cpp"))
        self.tests = [path for folder in TEST_FOLDERS for path in sorted((self.root / folder).rglob("*_test.cpp"))]
        self.tests += sorted((self.root / "tests" / "python").rglob("test_*.py"))
        self.stems = collections.defaultdict(set)  # folder of src: names of its files
        for path in src.rglob("*.*"):
            self.stems[path.parent].add(path.stem)
        self._words = {}

    def relative(self, path):
        return path.relative_to(self.root).as_posix()

    def words(self, path):
        """The words in a test, or in a source file and its header."""
        if path not in self._words:
            header = path.with_suffix(".h")
            text = path.read_text() + (header.read_text() if path.suffix == ".cpp" and header.exists() else "")
            self._words[path] = {word for word in re.findall(r"[A-Za-z]\w+", text) if len(word) >= _SHORTEST_WORD}
        return self._words[path]

    def own_test(self, source):
        """The test in the same folder of the mirror whose name begins with the file's; None where there is none."""
        folder = self.root / "tests" / "unit" / source.parent.relative_to(self.root / "src")
        if (folder / f"{source.stem}_test.cpp").exists():
            return folder / f"{source.stem}_test.cpp"
        # A name that a longer file name continues as well belongs to that file.
        longer = [stem for stem in self.stems[source.parent] if stem.startswith(f"{source.stem}_")]
        sides = [path for path in sorted(folder.glob(f"{source.stem}_*_test.cpp"))
                 if not any(path.name.startswith(f"{stem}_") for stem in longer)]
        return sides[0] if sides else None


def read_table(root):
    path = pathlib.Path(root) / TABLE
    lines = path.read_text().splitlines() if path.exists() else []
    return [Line(*line.split()) for line in lines if line and not line.startswith("#")]


def check(tree):
    """Says what is wrong, in one sentence each."""
    for test in sorted((tree.root / "tests" / "unit").rglob("*_test.cpp")):
        folder = tree.root / "src" / test.parent.relative_to(tree.root / "tests" / "unit")
        name = test.name.removesuffix("_test.cpp")
        if not any(name == stem or name.startswith(f"{stem}_") for stem in tree.stems[folder]):
            yield (f"{tree.relative(test)}: {tree.relative(folder)} has no file {name}.cpp or {name}.h, and none whose "
                   "name this one continues")
    table = read_table(tree.root)
    listed = {line.source for line in table}
    for source in tree.sources:
        if tree.own_test(source) is None and tree.relative(source) not in listed:
            yield (f"{tree.relative(source)}: has no unit test of its own, and {TABLE} does not say which test covers it "
                   "(tools/check_includes.py --write-covered-by)")
    for line in table:
        yield from check_line(tree, line)


def check_line(tree, line):
    source, test = tree.root / line.source, tree.root / line.test
    missing = [path for path in (source, test) if not path.is_file()]
    if missing:
        yield from (f"{TABLE}: {tree.relative(path)} does not exist" for path in missing)
    elif tree.own_test(source) is not None:
        yield f"{TABLE}: {line.source} has a unit test of its own now, {tree.relative(tree.own_test(source))}"
    elif len(line.word) < _SHORTEST_WORD:
        yield f"{TABLE}: {line.source}: {line.word} is too short a word to find anything by"
    else:
        for path in (source, test):
            if line.word not in tree.words(path):
                yield f"{TABLE}: {tree.relative(path)} does not have the word {line.word}"


def guess_line(tree, source):
    """The test that shares the rarest words with a file, tests of the same folder and stage first."""
    sources_with = collections.Counter(word for path in tree.sources for word in tree.words(path))
    tests_with = collections.Counter(word for path in tree.tests for word in tree.words(path))
    stage = source.relative_to(tree.root / "src").parts[0]
    best = (0.0, None)
    for test in tree.tests:
        shared = {word: math.log(len(tree.sources) / sources_with[word]) * math.log(len(tree.tests) / tests_with[word])
                  for word in tree.words(source) & tree.words(test)}
        likeness = sum(shared.values()) / math.sqrt(len(tree.words(test)))
        if tree.relative(test).startswith(f"tests/unit/{stage}/"):
            likeness *= 2
        if shared and likeness > best[0]:
            word = max(shared, key=lambda word: (shared[word], word))
            best = (likeness, Line(tree.relative(source), tree.relative(test), word))
    return best[1]


def write_table(tree):
    """Brings the table up to date, and returns the lines that are guesses."""
    test_by_name = {path.name: tree.relative(path) for path in tree.tests}
    known = {pathlib.Path(line.source).name: line for line in read_table(tree.root)}  # a file that is moved keeps its name
    lines, guesses = [], []
    for source in tree.sources:
        if tree.own_test(source) is not None:
            continue
        old = known.get(source.name)
        line = old and Line(tree.relative(source), test_by_name.get(pathlib.Path(old.test).name, old.test), old.word)
        if line is None or any(check_line(tree, line)):
            line = guess_line(tree, source)
            guesses += [line] if line else []
        lines.append(line)
    (tree.root / TABLE).write_text(HEADING + "".join(f"{line}\n" for line in lines if line))
    return guesses
