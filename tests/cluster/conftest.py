"""What the tests with real servers share with the others: own folders for caches, no ranks from outside."""

import importlib.util
import pathlib
import sys

PYTHON_TESTS = pathlib.Path(__file__).resolve().parent.parent / "python"
sys.path.insert(0, str(PYTHON_TESTS))

# Both files have the same name, so the other one is loaded by its path.
_spec = importlib.util.spec_from_file_location("python_tests_conftest", PYTHON_TESTS / "conftest.py")
_shared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shared)
own_surroundings, pytest_unconfigure = _shared.own_surroundings, _shared.pytest_unconfigure
