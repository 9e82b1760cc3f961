"""Numbers of tables keep all the digits that were written: float64, as pandas and csv read them."""

import csv
import json

import numpy as np
import pytest

import penstock as ps

VALUES = ["1700000001.5", "0.1", "16777217.25", "-3", "1e300", "123456789.123456789", ".5"]


def numbers(source, **options):
    with ps.Loader(source, batch_size=len(VALUES), output="numpy", fields=["x"], **options) as loader:
        return next(iter(loader))[0]


@pytest.fixture(params=["csv", "jsonl"])
def table(request, tmp_path):
    path = tmp_path / f"t.{request.param}"
    if request.param == "csv":
        path.write_text("x,n\n" + "".join(f"{value},{i}\n" for i, value in enumerate(VALUES)))
    else:
        path.write_text("".join(f'{{"x": {json.dumps(float(value))}, "n": {i}}}\n' for i, value in enumerate(VALUES)))
    return path


def test_numbers_with_decimals_are_float64(table):
    got = numbers(ps.Manifest(table))
    assert got.dtype == np.float64 and got.tolist() == [float(value) for value in VALUES]
    if table.suffix == ".csv":
        with open(table, newline="") as file:
            assert got.tolist() == [float(row["x"]) for row in csv.DictReader(file)]
        pandas = pytest.importorskip("pandas")
        assert got.tolist() == pandas.read_csv(table)["x"].tolist()


def test_torch_gets_float64_too(table):
    torch = pytest.importorskip("torch")
    with ps.Loader(ps.Manifest(table), batch_size=len(VALUES), fields=["x"]) as loader:
        (got,) = next(iter(loader))
    assert got.dtype == torch.float64 and got[0].item() == 1700000001.5


def test_one_sample_has_the_same_digits(table):
    assert float(dict(zip(ps.Manifest(table).fields, ps.Manifest(table)[0]))["x"]) == 1700000001.5


def test_kinds_choose_float32(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,n\n0.1,1\n2.5,16777217\n")
    with ps.Loader(ps.Manifest(path, kinds={"x": "float32", "n": "float32"}), batch_size=2, output="numpy",
                   fields=["x", "n"]) as loader:
        x, n = next(iter(loader))
    assert x.dtype == n.dtype == np.float32
    assert x.tolist() == [np.float32(0.1), 2.5] and n.tolist() == [1, 16777216]
    whole = ps.Manifest(path, kinds={"n": "float64"})
    with ps.Loader(whole, batch_size=2, output="numpy", fields=["n"]) as loader:
        (n,) = next(iter(loader))
    assert n.dtype == np.float64 and n.tolist() == [1, 16777217]


def test_dtype_of_the_loader_is_for_images_and_arrays(table):
    assert numbers(ps.Manifest(table), dtype="float16").tolist() == numbers(ps.Manifest(table)).tolist()


def test_what_float32_cannot_hold_is_said(table):
    with pytest.raises(ps.UsageError, match=r'1e\+?300 in column "x" is too large for float32') as caught:
        ps.Manifest(table, kinds={"x": "float32"})
    assert caught.value.sample == 4


@pytest.mark.parametrize("kind", ["int32", "uint8", "complex64"])
def test_other_types_are_refused(table, kind):
    with pytest.raises(ps.UsageError, match="column \"x\" cannot be"):
        ps.Manifest(table, kinds={"x": kind})


def test_a_column_of_text_is_no_number(tmp_path):
    (tmp_path / "t.csv").write_text("x\nhello\n")
    with pytest.raises(ps.UsageError, match="column \"x\" cannot be \"float32\""):
        ps.Manifest(tmp_path / "t.csv", kinds={"x": "float32"})
