"""What loaders make of damaged files: the same damage for all of them, and the page docs/damage.md.

    .bench/venv/bin/python bench/damage.py [--faults build/dev/tests/faults] [--penstock ENVIRONMENT]

The environments are those of `make bench`. Every reader runs in a process of its own, with a time limit.
--faults names the test program whose sweep of Penstock's own formats is run and quoted; --penstock an
environment that has Penstock already.
"""
import argparse
import collections
import hashlib
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

import damage_files
import places
import setup

LIMIT_S = 90  # without a line: it hangs
SMALLEST_OFFSET = 1000  # numbers below are counts and indexes
PAGE = places.ROOT / "docs" / "damage.md"
WRITERS = {"tar": "venv", "tfrecord": "venv", "mds": "venv-streaming", "array_record": "venv"}

Column = collections.namedtuple("Column", "title reader format environment package")
COLUMNS = [
    Column("WebDataset, tar", "webdataset", "tar", "venv", "webdataset"),
    Column("SPDL, tar", "spdl_tar", "tar", "venv", "spdl"),
    Column("DALI, tar", "dali_tar", "tar", "venv-dali", "nvidia-dali-cuda130"),
    Column("Penstock, tar", "penstock_new", "tar", "venv", "penstock"),
    Column("DALI, TFRecord", "dali_tfrecord", "tfrecord", "venv-dali", "nvidia-dali-cuda130"),
    Column("tf.data, TFRecord", "tfdata", "tfrecord", "venv-tf", "tensorflow-cpu"),
    Column("Penstock, TFRecord", "penstock_new", "tfrecord", "venv", "penstock"),
    Column("Penstock, TFRecord it has seen whole", "penstock_known", "tfrecord", "venv", "penstock"),
    Column("Streaming, MDS", "streaming_mds", "mds", "venv-streaming", "mosaicml-streaming"),
    Column("Grain, ArrayRecord", "grain_array_record", "array_record", "venv", "grain array_record"),
]


def next_line(process):
    """The next line of output, "" at its end, None where none comes in time."""
    lines = []
    reader = threading.Thread(target=lambda: lines.append(process.stdout.readline()), daemon=True)
    reader.start()
    reader.join(LIMIT_S)
    return lines[0] if lines else None


def read_all(column, python, paths):
    """Returns the answer of the reader per path: a dict, "crash" or "hang". After the last two, it is restarted."""
    results = {}
    while len(results) < len(paths):
        left = [path for path in paths if path not in results]
        process = subprocess.Popen([str(python), str(places.BENCH / "damage_readers.py"), column.reader],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True, start_new_session=True)
        process.stdin.write("\n".join(left))
        process.stdin.close()
        current = left[0]
        while current not in results or len(results) < len(paths):
            line = next_line(process)
            if not line:
                results[current] = "hang" if line is None else f"crash (signal {-process.wait()})"
                break
            if line.startswith("BEGIN "):
                current = line[len("BEGIN "):].strip()
            elif line.startswith("{"):
                results[current] = json.loads(line)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
    return results


def names_place(error, path, first, last):
    """(names the file, names an offset within what is damaged)"""
    text = error.replace(path, "")
    text = re.sub(r"\S+\.(cc|cpp|cu|h|py):\d+|0x[0-9a-f]+|\[frame.*|Stacktrace.*", "", text)
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    return Path(path).name in error, any(max(first, SMALLEST_OFFSET) <= number < last for number in numbers)


def outcome(result, path, first, last):
    if isinstance(result, str):
        return result
    originals = {hashlib.sha1(data + b":%d" % label).hexdigest() for data, label in damage_files.samples()}
    right = len(originals & set(result["found"]))
    wrong = any(found not in originals for found in result["found"])
    if result["error"]:
        names_file, names_offset = names_place(result["error"], path, first, last)
        said = {(True, True): "error, names file and offset", (True, False): "error, names file",
                (False, True): "error, names offset", (False, False): "error"}[names_file, names_offset]
        return said + (" (after wrong bytes)" if wrong else "")
    if wrong:
        return "**wrong bytes**"
    if right < damage_files.COUNT:
        return f"**silent: {right} of {damage_files.COUNT}**"
    return "all right" if len(result["found"]) == right else "**silent: a sample twice**"


def cell(outcomes):
    if not outcomes:
        return "-"
    delivered = [match[1] for said in outcomes if (match := re.fullmatch(r"\*\*silent: (\d+) of \d+\*\*", said))]
    silent = f"**silent: {', '.join(dict.fromkeys(delivered))} of {damage_files.COUNT}**"
    counted = collections.Counter(silent if said.startswith("**silent: ") and said[10].isdigit() else said
                                  for said in outcomes)
    if len(counted) == 1:
        return next(iter(counted))
    return "; ".join(f"{count}x {text}" for text, count in counted.most_common())


def run_column(column, folder, penstock):
    environment = penstock if column.package == "penstock" else setup.python_of(column.environment)
    cases = json.loads((folder / column.format / "cases.json").read_text())
    results = read_all(column, environment, [str(folder / column.format / "whole" / Path(cases[0][2]).name),
                                             *(case[2] for case in cases)])
    whole = results.pop(next(iter(results)))
    if isinstance(whole, str) or whole["error"] or len(whole["found"]) != damage_files.COUNT:
        return None, str(whole)[:300]
    by_kind = collections.defaultdict(list)
    for kind, n, path, first, last in cases:
        said = outcome(results[path], path, first, last)
        by_kind[kind].append(said)
        error = results[path] if isinstance(results[path], str) else results[path]["error"]
        print(f"{column.title:38} {kind:26} {n:3} {said:40} {(error or '')[:140]!r}", flush=True)
    return by_kind, None


def make_files(folder):
    for name, environment in WRITERS.items():
        here = folder / name
        subprocess.run([str(setup.python_of(environment)), str(places.BENCH / "damage_files.py"), name,
                        str(here / "whole")], check=True, stdout=subprocess.DEVNULL)
        (here / "cases.json").write_text(json.dumps(damage_files.make_damaged(name, here / "whole", here)))


def own_sweep(program):
    """The lines that the test wrote: one a format."""
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder) / "summary"
        subprocess.run([program, "--gtest_filter=SlowDamageSweep.*", "--gtest_brief=1"],
                       env=dict(os.environ, PENSTOCK_DAMAGE="all", PENSTOCK_SWEEP_SUMMARY=str(summary)))
        return [json.loads(line) for line in summary.read_text().splitlines()] if summary.exists() else []


def version_of(python, package):
    program = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([str(python), "-c", program], capture_output=True, text=True).stdout.strip()


def page(columns, missing, versions, sweep):
    lines = ["# Damaged files", "",
             "`bench/damage.py` writes this page: it makes the files, damages them, runs the loaders and prints the",
             "results. Run `.bench/venv/bin/python bench/damage.py` after `make bench`.", "",
             f"Each file has {damage_files.COUNT} samples of {damage_files.PAYLOAD} random bytes and a number; "
             f"each damage is done at samples "
             f"{', '.join(map(str, damage_files.POSITIONS))}.",
             "Every loader has its defaults and reads the damaged file as it is (DALI's index is made from it). *Silent*: the",
             "epoch ended without an error and with fewer samples. *Wrong bytes*: the loader delivered a sample that was never",
             "written, or half of one. *All right*: all samples came, with their bytes. *Crash*: the process ended by a signal.",
             "An error *names the file and offset* if its message has the file's name and a number within the damaged",
             "stretch.", "", ", ".join(f"{name} {version}" for name, version in versions.items()) + ".", "",
             "| damage | " + " | ".join(column.title for column, _ in columns) + " |",
             "|---" * (len(columns) + 1) + "|"]
    for kind in damage_files.KINDS:
        lines.append(f"| {kind} | " + " | ".join(cell(results.get(kind, [])) for _, results in columns) + " |")
    total = [sum(len(outcomes) for outcomes in results.values()) for _, results in columns]
    silent = [sum(said.startswith("**") or "wrong bytes" in said for outcomes in results.values() for said in outcomes)
              for _, results in columns]
    lines.append("| **silent or wrong, of all** | " + " | ".join(f"{s} of {t}" for s, t in zip(silent, total)) + " |")
    lines += ["", "If a format has no checksum, no reader can detect a flipped bit in the data of a member. Penstock",
              "detects it in PNG and NPZ members, because these formats have checksums."]
    for column, why in missing:
        lines.append(f"\nLeft out: {column.title} ({why}).")
    if sweep:
        lines += ["", "## Penstock's own sweep", "",
                  "`PENSTOCK_DAMAGE=all faults --gtest_filter=SlowDamageSweep.*` makes cuts, flipped bits, zeroed and swapped pages all over a",
                  "file of 20 samples. Every case opens the file, loads an epoch and compares every byte. *Rot*: the file",
                  "changes under a kept index, and its size and time stay as they were.", "",
                  "Damage stays silent where no checksum covers it: data of plain tar members (PNG and NPZ carry their own), zeros that run",
                  "into a tar's end marker, letters and digits of tables and of Zarr metadata, numbers and the byte order of an .npy file,",
                  "and a table or (without an index from before) a TFRecord file that is cut between two samples.", "",
                  "| format | cases | noticed at open | noticed at a sample | harmless | silent |",
                  "|---|---|---|---|---|---|"]
        for row in sweep:
            lines.append("| {format} | {cases:,} | {open:,} | {sample:,} | {harmless:,} | {silent:,} |".format(**row))
        totals = {key: sum(row[key] for row in sweep) for key in ("cases", "open", "sample", "harmless", "silent")}
        lines.append("| **all** | {cases:,} | {open:,} | {sample:,} | {harmless:,} | {silent:,} |".format(**totals))
    return "\n".join(lines) + "\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--faults")
    arguments.add_argument("--penstock")
    arguments.add_argument("--page", type=Path, default=PAGE)
    wanted = arguments.parse_args()
    if not wanted.penstock:
        setup.install_penstock("venv")
    penstock = Path(wanted.penstock) / "bin" / "python" if wanted.penstock else setup.python_of("venv")
    columns, missing, versions = [], [], {}
    with tempfile.TemporaryDirectory() as temporary:
        make_files(Path(temporary))
        for column in COLUMNS:
            results, why = run_column(column, Path(temporary), penstock)
            if results is None:
                missing.append((column, why))
                continue
            columns.append((column, results))
            python = penstock if column.package == "penstock" else setup.python_of(column.environment)
            versions.update({package: version_of(python, package) for package in column.package.split()})
    sweep = own_sweep(wanted.faults) if wanted.faults else []
    wanted.page.write_text(page(columns, missing, versions, sweep))
    print(wanted.page.read_text())


if __name__ == "__main__":
    main()
