"""Writes docs/benchmarks.md: for each workload its latest whole run, from .bench/results.jsonl or, where that has none,
from bench/results.jsonl.

Also copies the numbers behind the page to bench/results.jsonl, and renders bench/scaling.json (kept
by hand: {"hardware": text, "rows": [{"threads": n, "images_per_second": x}]}) if it is there.

usage: report.py
"""
import json
from statistics import median

import places
from bars import bars
from workloads import WORKLOADS

PAGE = places.ROOT / "docs" / "benchmarks.md"
NUMBERS = places.BENCH / "results.jsonl"
SCALING = places.BENCH / "scaling.json"

INTRODUCTION = """# Benchmarks

`make bench` sets up the other loaders, makes the data, measures everything on your machine and rewrites this page.
Every case runs in a process of its own, in rounds whose order is shuffled, with the files in the page cache
unless a section says otherwise; tables give the median (min-max, number of rounds). Ratios are Penstock's median
against the other's: above 1 means that Penstock is faster. Machines are noisy: compare ratios, not rates.
*Hand-written* rows are not loaders that one can install: they are the code that a patient user would write for
exactly this data.
"""


class Medians:
    """Medians of values over the rounds, by workload, case and the option that splits the tables."""

    def __init__(self, rows):
        self.lists = {}
        for row in rows:
            if "values" not in row:
                continue
            workload = WORKLOADS[row["workload"]]
            group = workload.group_of(row["options"])
            for key, value in row["values"].items():
                self.lists.setdefault((row["workload"], group, row["case"], key), []).append(value)

    def list_of(self, workload, case, key, group=None):
        return self.lists.get((workload, group, case, key), [])

    def value(self, workload, case, key, group=None):
        values = self.list_of(workload, case, key, group)
        return median(values) if values else None

    def has(self, workload, key, group):
        return any((workload, group, case, key) in self.lists for case in self.cases(workload))

    def groups(self, workload):
        """The groups that have results, in the order of the workload's cases."""
        measured = {group for key, group, _, _ in self.lists if key == workload}
        ordered = dict.fromkeys(WORKLOADS[workload].group_of(case.options) for case in WORKLOADS[workload].cases)
        return [group for group in ordered if group in measured]

    def cases(self, workload):
        return list(dict.fromkeys(case.name for case in WORKLOADS[workload].cases))

    def best_released(self, workload, key, best, group=None):
        """(name, value) of the best loader that is neither Penstock nor hand-written."""
        return self.best_other(workload, key, best, group, hand_written=False)

    def best_other(self, workload, key, best, group=None, hand_written=True):
        """(name, value) of the best loader that is not Penstock; hand-written ones count if so said."""
        names = {case.name for case in WORKLOADS[workload].cases
                 if not case.is_penstock and (hand_written or not case.hand_written)}
        values = {name: self.value(workload, name, key, group) for name in names}
        values = {name: value for name, value in values.items() if value}
        if not values:
            return None, None
        name = best(values, key=values.get)
        return name, values[name]


def cell(values, digits):
    if not values:
        return "-"
    show = lambda value: f"{value:,.{digits}f}"
    return f"{show(median(values))} ({show(min(values))}-{show(max(values))}, {len(values)})"


def ratio(ours, theirs, column):
    if not ours or not theirs:
        return "-"
    return f"{ours / theirs if column.higher_is_better else theirs / ours:.2f}"


def table(workload, medians, group):
    """One Markdown table: the cases of one group, best first by the first column."""
    columns = [column for column in workload.columns if medians.has(workload.key, column.value, group)]
    compare = any(not case.is_penstock for case in workload.cases)
    header = ["loader"] + [part for column in columns
                           for part in ([column.label, "penstock / it"] if compare else [column.label])]
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    cases = {case.name: case for case in workload.cases
             if medians.list_of(workload.key, case.name, columns[0].value, group)}
    sign = -1 if columns[0].higher_is_better else 1
    for name in sorted(cases, key=lambda name: sign * medians.value(workload.key, name, columns[0].value, group)):
        cells = [name + (" (hand-written)" if cases[name].hand_written else "")]
        for column in columns:
            cells.append(cell(medians.list_of(workload.key, name, column.value, group), column.digits))
            if compare:
                ours = medians.value(workload.key, cases[name].against, column.value, group)
                theirs = medians.value(workload.key, name, column.value, group)
                cells.append("" if cases[name].is_penstock else ratio(ours, theirs, column))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


GROUP_TITLES = {"antialias": lambda value: "antialiased" if value else "plain bilinear",
                "batch": lambda value: f"batch {value}", "store": lambda value: f"store {value}",
                "requests": lambda value: f"{value} requests"}


def group_title(workload, group):
    options, values = workload.group_by, group
    if not isinstance(options, tuple):
        options, values = (options,), (group,)
    title = ", ".join(GROUP_TITLES[option](value) for option, value in zip(options, values))
    return title[0].upper() + title[1:]


def tables(rows):
    """Every workload that has results, as Markdown sections."""
    medians = Medians(rows)
    parts = []
    for workload in WORKLOADS.values():
        groups = medians.groups(workload.key)
        errors = [row for row in rows if row["workload"] == workload.key and "error" in row]
        if not groups and not errors:
            continue
        parts.append(f"## {workload.title}\n\n{workload.text}{measured_with(rows, workload)}")
        for group in groups:
            if workload.group_by:
                parts.append(f"### {group_title(workload, group)}")
            parts.append(table(workload, medians, group))
        parts += [f"Failed: {row['case']} {json.dumps(row['options'])}: `{row['error'][:200]}`" for row in errors]
    return "\n\n".join(parts) + "\n"


def measured_with(rows, workload):
    """Which Penstock a section is of: a run of some workloads leaves the others as they were."""
    own = [row for row in rows if row["workload"] == workload.key]
    sources = {row["versions"]["penstock sources"] for row in own if "penstock sources" in row["versions"]}
    return f" (Penstock sources {', '.join(sorted(sources))}, {own[0]['run'][:16].replace('T', ' ')}.)" if sources else ""


def bar_table(rows):
    lines = ["| bar | needed | reached | |", "|---|---|---|---|"]
    lines += [f"| {bar.text} | {bar.needed} | {bar.reached} | {'met' if bar.met else '**not met**'} |"
              for bar in bars(Medians(rows))]
    return "\n".join(lines)


def machine(rows):
    rows = sorted(rows, key=lambda row: row["run"])
    hardware = rows[-1]["hardware"]
    versions = {}
    for row in rows:
        versions.update({name: version for name, version in row["versions"].items() if name != "penstock sources"})
    listed = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (f"{hardware['cores']} cores of {hardware['cpu']}, {hardware['memory_gib']:g} GiB, {hardware['system']}, "
            f"Linux {hardware['kernel']}. Measured {', '.join(sorted({row['run'][:10] for row in rows}))}.\n\n{listed}.")


def scaling():
    if not SCALING.exists():
        return ""
    content = json.loads(SCALING.read_text())
    lines = ["| threads | images/s | times one thread | all of it cached, images/s | times one thread |", "|---|---|---|---|---|"]
    rows = sorted(content["rows"], key=lambda row: row["threads"])
    for row in rows:
        cells = [str(row["threads"])]
        for way in ("images_per_second", "cached_images_per_second"):
            cells += [f"{row[way]:,.0f}", f"{row[way] / rows[0][way] * rows[0]['threads']:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return f"\n## Thread scaling\n\n{content['hardware']}\n\n" + "\n".join(lines) + "\n"


def kept_rows():
    """Returns the rows that earlier calls of write_numbers saved, perhaps on another machine."""
    lines = [json.loads(line) for line in NUMBERS.read_text().splitlines()] if NUMBERS.exists() else []
    runs = {line["run"]: line for line in lines if "workload" not in line}
    return [{**runs[line["run"]], **line} for line in lines if "workload" in line]


def latest_rows():
    """Returns the rows of the latest run with all cases, per workload."""
    rows = [json.loads(line) for line in places.RESULTS.read_text().splitlines()] if places.RESULTS.exists() else []
    rows = kept_rows() + [row for row in rows if not row["partial"]]
    latest = {}
    for row in rows:
        latest[row["workload"]] = max(row["run"], latest.get(row["workload"], ""))
    unique = {json.dumps([row[key] for key in ("run", "workload", "case", "options", "round")]): row for row in rows}
    return [row for row in unique.values() if row["run"] == latest[row["workload"]]]


def write_numbers(rows):
    """One line for each run, with what all its measurements have in common, and one for each measurement."""
    runs = {}
    for row in rows:
        run = runs.setdefault(row["run"], {"run": row["run"], "hardware": row["hardware"], "versions": {}})
        run["versions"].update(row["versions"])
    keep = ("run", "workload", "case", "options", "round", "values", "error")
    lines = [*runs.values(), *({key: row[key] for key in keep if key in row} for row in rows)]
    NUMBERS.write_text("\n".join(map(json.dumps, lines)) + "\n")


def write():
    rows = latest_rows()
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(f"{INTRODUCTION}\n## Machine\n\n{machine(rows)}\n\n## Bars\n\n{bar_table(rows)}\n\n"
                    f"{tables(rows)}{scaling()}\nThe numbers of every round are in `bench/results.jsonl`.\n")
    write_numbers(rows)
    print(f"wrote {PAGE.relative_to(places.ROOT)}")


if __name__ == "__main__":
    write()
