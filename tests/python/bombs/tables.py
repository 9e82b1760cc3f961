"""Bombs for tables: CSV and JSON lines."""

import json

from . import MAX_BYTES, Maker


def csv_bombs(folder, random):
    maker = Maker("csv", folder)

    def add(name, text, ending=".csv"):
        data = text if isinstance(text, bytes) else text.encode()
        if len(data) <= MAX_BYTES:
            maker.add(name, data, ending, "ps.Manifest(path)")

    for columns in (10, 1000, 20_000, 60_000, 120_000):
        names = ",".join(f"c{i}" for i in range(columns))
        add(f"columns-{columns}", names + "\n" + "1," * (columns - 1) + "1\n")
        add(f"short-row-{columns}", names + "\n1\n")
        add(f"empty-names-{columns}", "," * columns + "\n" + "," * columns + "\n")
        add(f"same-names-{columns}", "a," * columns + "a\n")
        add(f"semicolons-{columns}", "a;" * columns + "\n" + "1;" * columns)
        add(f"tabs-{columns}", "\t".join(["b"] * columns) + "\n", ".tsv")
    for rows in (1000, 100_000, 400_000):
        add(f"rows-{rows}", "x\n" + "1\n" * rows)
        add(f"empty-rows-{rows}", "x,y\n" + ",\n" * rows)
        add(f"blank-{rows}", "x\n" + "\n" * rows + "1\n")
        add(f"carriage-{rows}", "x\r" + "1\r" * rows)
        add(f"classes-{rows}", "label\n" + "".join(f"{i:x}\n" for i in range(rows // 4)))
        add(f"paths-{rows}", "image\n" + "".join(f"{i}.jpg\n" for i in range(rows // 5)))
    for length in (1000, 500_000, 990_000):
        add(f"cell-{length}", "x\n" + "a" * length + "\n")
        add(f"quoted-{length}", 'x\n"' + "a\n" * (length // 2) + '"\n')
        add(f"open-quote-{length}", 'x\n"' + "a" * length)
        add(f"quotes-{length}", 'x\n"' + '""' * (length // 2 - 10) + '"\n')
        add(f"name-{length}", "n" * length + "\n1\n")
        add(f"digits-{length}", "x\n" + "1" * length + "\n")
        add(f"zeros-{length}", b"x\n" + bytes(length))
    return maker.bombs


def json_lines_bombs(folder, random):
    maker = Maker("json_lines", folder)

    def add(name, text):
        if len(text) <= MAX_BYTES:
            maker.add(name, text.encode(), ".jsonl", "ps.Manifest(path)")

    for depth in (10, 255, 256, 257, 10_000, 400_000):
        add(f"lists-{depth}", '{"x": ' + "[" * depth + "]" * depth + "}\n")
        add(f"objects-{depth}", '{"x": ' + '{"a": ' * depth + "1" + "}" * depth + "}\n")
        add(f"open-{depth}", '{"x": ' + "[" * depth + "\n")
    for keys in (10, 1000, 20_000, 60_000):
        add(f"keys-{keys}", json.dumps({f"k{i}": i for i in range(keys)}) + "\n")
        add(f"same-keys-{keys}", "{" + ", ".join(['"a": 1'] * keys) + "}\n")
        add(f"other-keys-{keys}", '{"a": 1}\n' + json.dumps({f"k{i}": i for i in range(keys)}) + "\n")
        add(f"values-{keys}", json.dumps({"x": [[]] * keys}) + "\n")
        add(f"nulls-{keys}", json.dumps({"x": [None] * keys}) + "\n")
    for rows in (1000, 90_000, 300_000):
        add(f"rows-{rows}", '{"x": 1}\n' * rows)
        add(f"blank-{rows}", "\n" * rows + '{"x": 1}\n')
        add(f"empty-{rows}", "{}\n" * rows)
        add(f"lists-of-{rows}", '{"x":[]}\n' * rows)
    for length in (1000, 500_000, 980_000):
        add(f"text-{length}", json.dumps({"x": "a" * length}) + "\n")
        add(f"escapes-{length}", '{"x": "' + "\\u0041" * (length // 6) + '"}\n')
        add(f"surrogates-{length}", '{"x": "' + "\\ud83d" * (length // 6) + '"}\n')
        add(f"number-{length}", '{"x": ' + "9" * length + "}\n")
        add(f"exponent-{length}", '{"x": 1e' + "9" * length + "}\n")
        add(f"fraction-{length}", '{"x": 0.' + "3" * length + "}\n")
        add(f"spaces-{length}", '{"x":' + " " * length + "1}\n")
        add(f"key-{length}", '{"' + "k" * length + '": 1}\n')
    return maker.bombs
