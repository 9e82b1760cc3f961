"""Do the documents name files that exist?

A path in a document is written in `backquotes` or is the target of a link. It may be short for a longer one: `loader.h`
and `memory/ledger.h` hold if any file or folder of the checkout ends with them. Decision records are not checked,
because they tell of the tree as it was.
"""

import pathlib
import re

DOCUMENTS = ("*.md", "docs/*.md", "fuzz/*.md", "bench/*.md")
SUFFIXES = (".h", ".cpp", ".inl", ".cu", ".py", ".pyi", ".md", ".sh", ".cmake")
_QUOTED = re.compile(r"`([\w./-]+)`")
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def _parts(root):
    """The names along the path of each file and folder, hidden and built ones left out."""
    for top in root.iterdir():
        if top.name.startswith(".") or top.name in ("build", "dist"):
            continue
        yield (top.name,)
        if top.is_dir():
            yield from (path.relative_to(root).parts for path in top.rglob("*"))


def _looks_like_a_path(word, folders):
    if word.startswith(("/", "-", ".")):
        return False
    return word.endswith(SUFFIXES) or "/" in word and word.split("/")[0] in folders


def _is_made(word, root):
    """Whether .gitignore names it: a folder that a command makes."""
    ignored = root / ".gitignore"
    names = ignored.read_text().split() if ignored.exists() else []
    return any(word.strip("/") == name.strip("/") for name in names)


def check(root):
    """Yields a line for each path that a document names and that does not exist."""
    root = pathlib.Path(root)
    tails = set()
    for parts in _parts(root):
        tails.update(parts[first:] for first in range(len(parts)))
    folders = {path.name for path in root.iterdir() if path.is_dir()}
    for document in sorted(path for pattern in DOCUMENTS for path in root.glob(pattern)):
        for number, line in enumerate(document.read_text().splitlines(), 1):
            where = f"{document.relative_to(root)}:{number}"
            for word in _QUOTED.findall(line):
                if not _looks_like_a_path(word, folders) or _is_made(word, root):
                    continue
                if tuple(word.strip("/").split("/")) not in tails:
                    yield f"{where}: names {word}, which does not exist"
            for target in _LINK.findall(line):
                if ":" not in target and not (document.parent / target).exists():
                    yield f"{where}: links to {target}, which does not exist"
