"""Writes configurations.json: the hashes of what every configuration in tests/python/configurations delivers.

Run with a Python that has penstock and the packages of its tests:
    python tests/golden/make_configurations.py
The hashes are those of version 0.1.0 before its inside was redesigned. Run this for a new configuration, and see in
the difference that no old hash changed. Where one has changed on purpose, say why in the commit, and in
docs/correctness_issues.md if what was delivered before was wrong.
"""
import json
import os
import pathlib
import sys
import tempfile

golden = pathlib.Path(__file__).parent
sys.path.insert(0, str(golden.parent / "python"))

from configurations import CONFIGURATIONS, delivered, make_data  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    os.environ["PENSTOCK_CACHE_DIR"] = f"{folder}/indexes"
    data = make_data(f"{folder}/data")
    hashes = {name: delivered(make, data, threads=2)[0] for name, make in CONFIGURATIONS.items()}
(golden / "configurations.json").write_text(json.dumps(hashes, indent=1) + "\n")
