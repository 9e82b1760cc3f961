"""Small files that ask for much: a generator for each parser, and the process that opens them.

A bomb is a file (or folder) under 1 MB that claims, or decompresses to, far more than `memory=` allows, or that
takes far more work than an honest file. Opening it must end in data or in an error that names it, within the
budget and in little time.
"""

import dataclasses
import pathlib

MAX_BYTES = 1_000_000


@dataclasses.dataclass
class Bomb:
    parser: str
    name: str
    path: pathlib.Path  # what an error must name
    source: str  # an expression; `path` is the path as a string
    options: dict = dataclasses.field(default_factory=dict)  # of the Loader
    environment: dict = dataclasses.field(default_factory=dict)


class Maker:
    """Writes the files of one parser into a folder of their own, and remembers how they are opened."""

    def __init__(self, parser: str, folder: pathlib.Path):
        self.parser = parser
        self.folder = folder / parser
        self.folder.mkdir(parents=True)
        self.bombs = []

    def add(self, name, data, ending, source, **options):
        path = self.folder / f"{len(self.bombs):03}-{name}{ending}"
        assert len(data) <= MAX_BYTES, f"{path.name}: {len(data)} bytes"
        path.write_bytes(data)
        self.note(name, path, source, **options)

    def note(self, name, path, source, environment=None, **options):
        self.bombs.append(Bomb(self.parser, name, path, source, options, environment or {}))
