"""Measures Penstock beside other loaders and writes docs/benchmarks.md. `make bench` starts this.

Sets up its own environments and data under .bench/ (the first run downloads about 5 GB, and makes 20 GB
of data), then runs every case in a process of its own, in rounds, in an order shuffled anew for each
round, so that a drift of the machine hits all cases alike.

usage: run.py [--only w1aa,w1plain,first,start,w2,scheduler,rss,w1rec,crc,open,cold,
                      w3,w3chunks,w3same,w3long,million,w3http,w3httpfirst,w4,w4same,
                      cacheratio,cachetime,cachebudget,cacheshared,cachedisk] [--repeats 5] [--cases penstock,DALI]
"""
import argparse
import json
import random
import time

import case_process
import data_sets
import hardware
import page_cache
import places
import report
import setup
from workloads import WORKLOADS


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(WORKLOADS), help="workloads, by comma")
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    parser.add_argument("--cases", default="", help="beginnings of case names, by comma; such a partial run is "
                                                    "printed but not put into docs/benchmarks.md")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    unknown = [key for key in arguments.only if key not in WORKLOADS]
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    return arguments


def chosen_workloads(keys):
    """Cold ones last: the others want the data in the page cache."""
    workloads = sorted((WORKLOADS[key] for key in keys), key=lambda workload: workload.cold)
    if page_cache.can_drop():
        return workloads
    for workload in workloads:
        if workload.cold:
            print(f"without {workload.key}: the page cache cannot be dropped here ({page_cache.DROP} is not writable)")
    return [workload for workload in workloads if not workload.cold]


def what_is_needed(workloads):
    """The Python environments and the data sets. All of them, unless every workload names the data sets it reads."""
    if any(workload.data_sets is None for workload in workloads):
        return list(setup.REQUIRED), set(data_sets.DATA_SETS)
    environments = {"venv"} | {setup.environment_of(case.peer) for workload in workloads for case in workload.cases}
    return sorted(environments), {name for workload in workloads for name in workload.data_sets}


def chosen_cases(workload, prefixes, missing):
    cases = [case for case in workload.cases if setup.NEEDS.get(case.peer) not in missing]
    return [case for case in cases if case.name.startswith(prefixes)]


class Run:
    """One call of this script: what all of its results have in common, and where they go."""

    def __init__(self, partial, repeats, environments, missing, penstock_sources):
        self.started = time.strftime("%Y-%m-%dT%H:%M:%S")
        self.partial, self.repeats = partial, repeats
        self.hardware = hardware.describe()
        self.versions = {name: setup.versions(name, missing) for name in environments}
        if penstock_sources:
            self.versions["venv"]["penstock sources"] = penstock_sources

    def record(self, workload, case, number, **outcome):
        row = {"run": self.started, "partial": self.partial, "workload": workload.key, "case": case.name,
               "peer": case.peer, "options": case.options, "round": number, **outcome,
               "hardware": self.hardware, "versions": self.versions[setup.environment_of(case.peer)]}
        with open(places.RESULTS, "a") as results:
            results.write(json.dumps(row) + "\n")
        return row

    def measure(self, workload, cases):
        """All rounds of one workload. A case that fails is recorded once and left out from then on."""
        rows = []
        rounds = range(-1 if workload.warm_up else 0, self.repeats)
        for number in rounds:
            for case in random.Random(number).sample(cases, len(cases)):
                label = f"{workload.key} {'warm-up' if number < 0 else f'{number + 1}/{self.repeats}'} {case.name}"
                settings = ", ".join(f"{key}={value}" for key, value in case.options.items())
                print(f"{label:45s} {settings:35s}", end=" ", flush=True)
                if workload.cold:
                    page_cache.drop()
                try:
                    values = case_process.run_case(workload, case)
                except case_process.CaseFailed as failure:
                    print("FAILED", failure, flush=True)
                    rows.append(self.record(workload, case, number, error=str(failure)))
                    cases = [other for other in cases if other is not case]
                    continue
                print(" ".join(f"{key}={value:.5g}" for key, value in values.items()), flush=True)
                if number >= 0:
                    rows.append(self.record(workload, case, number, values=values))
        return rows


def main():
    arguments = parse_arguments()
    workloads = chosen_workloads(arguments.only)
    environments, wanted_data = what_is_needed(workloads)
    missing = setup.prepare_environments(environments)
    setup.prepare_data(wanted_data, missing)
    prefixes = tuple(arguments.cases.split(","))
    plan = [(workload, chosen_cases(workload, prefixes, missing)) for workload in workloads]
    needs_penstock = any(case.is_penstock for _, cases in plan for case in cases)
    penstock_sources = setup.install_penstock("venv") if needs_penstock else None
    page_cache.fill(places.DATA, without=places.MANY_CHUNKS_FOLDER)  # opening a million files takes its time
    run = Run(bool(arguments.cases), arguments.repeats, environments, missing, penstock_sources)
    rows = [row for workload, cases in plan for row in run.measure(workload, cases)]
    print("\n" + report.tables(rows))
    if not run.partial:
        report.write()


if __name__ == "__main__":
    main()
