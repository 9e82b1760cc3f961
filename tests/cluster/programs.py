"""Where the programs of this project are, built or installed."""

import pathlib
import shutil
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def built_test(name: str) -> str:
    """The C++ test program that was built last; without one the test is skipped."""
    programs = sorted(ROOT.glob(f"build/*/tests/{name}"), key=lambda program: program.stat().st_mtime)
    if not programs:
        pytest.skip(f"the test program {name} is not built")
    return str(programs[-1])


def penstock_programs() -> list[str]:
    """The program penstock: on the PATH, beside this Python, or in the build folder of developers."""
    beside = pathlib.Path(sys.executable).parent / "penstock"
    candidates = [shutil.which("penstock"), beside, ROOT / "build" / "dev" / "cli" / "penstock"]
    return [str(one) for one in candidates if one and pathlib.Path(one).exists()]
