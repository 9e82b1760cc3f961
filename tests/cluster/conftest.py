"""What the tests with real servers share with the others: own folders for caches, no ranks from outside."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from conftest import own_surroundings, pytest_unconfigure  # noqa: E402, F401
