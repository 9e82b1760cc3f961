"""Compares the working tree with another revision of Penstock: did a redesign cost speed?

Builds both into folders of their own under .bench/builds and runs Penstock's cases of the chosen workloads with
each, in one run: in every round the two builds of a case follow each other directly, in an order drawn anew. The
ratio of a round is new over old (inverted where less is better, so that above 1 is faster); what counts is the
median of these ratios and its 95 % interval by bootstrap.

usage: compare_builds.py REVISION [--only w1aa,w2,...] [--all-cases] [--rounds 5] [--json results.json]
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from statistics import median

import case_process
import page_cache
import places
import setup
from workloads import WORKLOADS

# The workloads compared unless others are asked for, and which of their cases: one for each way through the engine.
CASES = {"w1aa": {}, "w1plain": {}, "w2": {"batch": 128}, "w1rec": {"antialias": False}, "w3": {"batch": 16},
         "w4": {"batch": 4}, "cachetime": {}}
DATA_SETS = {"d1", "d2", "d1tar", "d1tfrecord", "d3", "d4"}
RESAMPLES = 4000


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="the revision of git to compare with")
    parser.add_argument("--only", default=",".join(CASES), help="workloads, by comma")
    parser.add_argument("--all-cases", action="store_true", help="every batch size and option, which takes hours")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="where to write the ratios of all rounds")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    unknown = [key for key in arguments.only if key not in WORKLOADS]
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    return arguments


def install(sources, name):
    """Builds the sources into .bench/builds/NAME unless they are there; returns that folder."""
    target = places.STATE / "builds" / name
    if not target.exists():
        print(f"set-up: building penstock into {target}", flush=True)
        partial = target.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        if setup.pip_install("venv", "--no-deps", "--target", str(partial), str(sources)).returncode != 0:
            sys.exit(f"{sources} does not build")
        partial.rename(target)
    return target


def install_revision(revision):
    commit = subprocess.run(["git", "rev-parse", "--verify", f"{revision}^{{commit}}"], cwd=places.ROOT, check=True,
                            capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory() as sources:
        archive = subprocess.run(["git", "archive", commit], cwd=places.ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", sources], input=archive, check=True)
        return install(sources, commit[:12])


@contextmanager
def module_from(folder):
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def cases_of(workload, all_cases):
    wanted = {} if all_cases else CASES.get(workload.key, {})
    return [case for case in workload.cases
            if case.is_penstock and all(case.options[name] == value for name, value in wanted.items())]


def measure(workload, case, folder):
    with module_from(folder):
        return case_process.run_case(workload, case)


def compare(workload, case, builds, rounds):
    """{column: ratios of all rounds}"""
    ratios = {column.value: [] for column in workload.columns}
    for number in range(-1, rounds):  # the first round warms up
        order = random.Random(f"{number} {case.name} {case.options}").sample(["old", "new"], 2)
        values = {name: measure(workload, case, builds[name]) for name in order}
        if number < 0:
            continue
        for column in workload.columns:
            old, new = (values[name].get(column.value) for name in ("old", "new"))
            if old and new:
                ratios[column.value].append(new / old if column.higher_is_better else old / new)
    return ratios


def interval(ratios):
    """95 % of the medians of resampled rounds lie in it."""
    draw = random.Random(0)
    medians = sorted(median(draw.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]


def main():
    arguments = parse_arguments()
    missing = setup.prepare_environments(["venv"])
    setup.prepare_data(DATA_SETS, missing)
    builds = {"old": install_revision(arguments.revision), "new": install(places.ROOT, setup.source_hash())}
    page_cache.fill(places.DATA, without=places.MANY_CHUNKS_FOLDER)
    rows = []
    for key in arguments.only:
        workload = WORKLOADS[key]
        for case in cases_of(workload, arguments.all_cases):
            settings = " ".join(f"{name}={value}" for name, value in case.options.items())
            for column, ratios in compare(workload, case, builds, arguments.rounds).items():
                if ratios:
                    low, high = interval(ratios)
                    rows.append({"workload": key, "case": case.name, "options": case.options, "value": column,
                                 "median": median(ratios), "low": low, "high": high, "ratios": ratios})
                    print(f"{key:10s} {case.name:24s} {settings:44s} {column:24s} "
                          f"{median(ratios):.3f} [{low:.3f}, {high:.3f}]", flush=True)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
