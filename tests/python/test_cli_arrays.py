"""The commands inspect, verify, statistics and bench with Zarr arrays and groups, on disk and on a server."""

import functools
import http.server
import json

import numpy as np
import pytest

from http_faults import running
from test_cli import cli, one_line, program  # noqa: F401  (fixtures)

STEPS, LAT = 400, np.linspace(75, -75, 16, dtype="f4")


def write_array(folder, values, chunks, dimensions=(), **attributes):
    """Zarr version 2, uncompressed."""
    folder.mkdir(parents=True)
    about = {"zarr_format": 2, "shape": values.shape, "chunks": chunks, "dtype": values.dtype.str, "order": "C",
             "compressor": None, "filters": None, "fill_value": None}
    (folder / ".zarray").write_text(json.dumps(about))
    (folder / ".zattrs").write_text(json.dumps({"_ARRAY_DIMENSIONS": list(dimensions), **attributes}))
    for place in np.ndindex(*(size // chunk for size, chunk in zip(values.shape, chunks))):
        part = values[tuple(slice(p * c, (p + 1) * c) for p, c in zip(place, chunks))]
        (folder / ".".join(map(str, place))).write_bytes(part.tobytes())
    return folder


def values(name):
    dice = np.random.default_rng(len(name))
    if name == "msl":
        return dice.integers(-3000, 3000, (STEPS, 16, 8)).astype("<i2")
    if name == "z":
        return (dice.normal(50, 5, (STEPS, 40, 16, 48)) + np.arange(40)[:, None, None]).astype("<f4")
    return dice.normal(280, 10, (STEPS, 16, 8)).astype("<f4")


@pytest.fixture(scope="module")
def group(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zarr") / "weather.zarr"
    over = ("time", "lat", "lon")
    write_array(folder / "t2m", values("t2m"), (20, 16, 8), over)
    write_array(folder / "msl", values("msl"), (20, 16, 8), over, scale_factor=0.5, add_offset=100000.0)
    write_array(folder / "z", values("z"), (20, 40, 16, 48), ("time", "level", "lat", "x"))
    write_array(folder / "time", 24 * np.arange(STEPS, dtype="<i8"), (STEPS,), ("time",), units="hours since 2018-12-01")
    write_array(folder / "lat", LAT, LAT.shape, ("lat",))
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    metadata = {str(path.relative_to(folder)): json.loads(path.read_text()) for path in folder.rglob(".z*")}
    (folder / ".zmetadata").write_text(json.dumps({"zarr_consolidated_format": 1, "metadata": metadata}))
    return folder


@pytest.fixture(scope="module")
def server(group):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 64

    with running(Server(("127.0.0.1", 0), functools.partial(Quiet, directory=group.parent))) as server:
        yield f"http://127.0.0.1:{server.server_address[1]}"


def answer(cli, *arguments):
    return json.loads(cli(*arguments, "--json").stdout)


def test_inspect_shows_chunks_and_codecs(cli, group):
    shown = cli("inspect", group, "--variables", "t2m,msl", "--sample-dim", "time").stdout
    assert "kind       zarr v2" in shown and "samples    400" in shown and "shards" not in shown
    assert "t2m        array, 16x8 float32" in shown
    assert "of 400x16x8 float32, 20 chunks of 20x16x8, uncompressed" in shown
    assert "of 400x16x8 int16, 20 chunks of 20x16x8, uncompressed" in shown
    assert "K          1.33 = decoded / stored" in shown  # packed numbers are half as long
    report = answer(cli, "inspect", group, "--variables", "t2m")
    assert report["arrays"]["t2m"]["chunk_shape"] == [20, 16, 8] and report["stored_bytes"] == values("t2m").nbytes


def test_chunks_that_are_not_there_are_told(cli, tmp_path):
    folder = write_array(tmp_path / "a.zarr", np.ones((8, 4, 4), "f4"), (1, 4, 4))
    (folder / "3.0.0").unlink()
    assert "1 of 8 looked for are not there" in cli("inspect", folder).stdout
    shown = cli("bench", folder, "--batch", 4, "--epochs", 1).stdout
    assert "7 decoded" in shown and "1 missing (replaced by the fill value)" in shown


@pytest.mark.parametrize("patch", [(), ("--patch", "1,2,2")])
def test_verify_reports_chunks_that_are_missing_unless_they_are_meant_to_be(cli, tmp_path, patch):
    folder = write_array(tmp_path / "array", np.ones((8, 2, 2), "<f4"), (1, 2, 2))
    assert "all is well" in cli("verify", folder, *patch).stdout
    (folder / "3.0.0").unlink()
    shown = cli("verify", folder, *patch, expect=1).stdout
    assert "chunk 3.0.0 is missing" in shown and "1 bad" in shown
    report = json.loads(cli("verify", folder, *patch, "--json", expect=1).stdout)
    assert report["bad"] == 1 and report["errors"][0]["file"].endswith("3.0.0")
    accepted = cli("verify", folder, *patch, "--missing", "fill").stdout
    assert "all is well" in accepted and "1 not there" in accepted
    cli("verify", folder, *patch, "--missing", "error", expect=1)
    assert "is not one of fill, error" in one_line(cli("verify", folder, *patch, "--missing", "zero", expect=2))


@pytest.mark.parametrize("select, expected", [
    ("time=2019-01-01:2019-06-30", 181), ("time=2019-02", 28), ("time=2019", 365), ("time=:2018", 31),
    ("time=2019-01-01T00:00:2019-01-02T00:00", 2), ("time=2019-01:2019-02:7", 9), ("time=2019-01-05,2018-12-31", 2),
    ("time=2019-01-01T00:00", 1),
])
def test_a_selection_of_times(cli, group, select, expected):
    report = answer(cli, "inspect", group, "--variables", "t2m", "--sample-dim", "time", "--select", select)
    assert report["samples"] == expected


@pytest.mark.parametrize("isel, expected", [("time=0:100:2", 50), ("time=-1", 1), ("time=7,3", 2), ("time=::", 400)])
def test_a_selection_of_positions(cli, group, isel, expected):
    report = answer(cli, "inspect", group, "--variables", "t2m", "--sample-dim", "time", "--isel", isel)
    assert report["samples"] == expected


@pytest.mark.parametrize("select, expected", [
    ("lat=30:60", [3, 8]), ("lat=-30:30", [6, 8]), ("lat=30:-30", [6, 8]), ("lat=-60:", [2, 8]), ("lat=:60", [2, 8]),
    ("lat=5", [8]), ("lat=5,-5", [2, 8]), ("lat=75:-75:5", [4, 8])])
def test_a_selection_of_coordinates(cli, group, select, expected):
    report = answer(cli, "inspect", group, "--variables", "t2m", "--sample-dim", "time", "--select", select)
    assert report["sampled"]["shapes"][0]["shape"] == expected


def test_statistics_of_each_variable_and_level(cli, group):
    report = answer(cli, "statistics", group, "--sample-dim", "time", "--select", "lat=30:60",
                    "--isel", "time=0:40")
    fields = {field["name"]: field for field in report["fields"]}
    chosen = (LAT >= 30) & (LAT <= 60)
    msl = values("msl")[:40, chosen].astype("f8") * 0.5 + 100_000
    assert not fields["msl"]["per_channel"]
    assert fields["msl"]["normalize"]["mean"][0] == pytest.approx(msl.mean(), rel=1e-6)
    assert fields["msl"]["normalize"]["std"][0] == pytest.approx(msl.std(), rel=1e-4)
    z = values("z")[:40, :, chosen].astype("f8")
    assert fields["z"]["per_channel"] and len(fields["z"]["channels"]) == 40
    assert fields["z"]["normalize"]["mean"] == pytest.approx(z.mean((0, 2, 3)).tolist(), rel=1e-5)
    assert [level["max"] for level in fields["z"]["channels"]] == pytest.approx(z.max((0, 2, 3)).tolist())


def test_verify_names_the_chunk_that_is_bad(cli, group, tmp_path):
    assert "all is well" in cli("verify", group, "--sample-dim", "time").stdout
    folder = write_array(tmp_path / "a.zarr", np.ones((8, 4, 4), "f4"), (2, 4, 4))
    (folder / "1.0.0").write_bytes(b"short")
    done = cli("verify", folder, expect=1)
    assert "8: 6 good, 2 bad" in done.stdout and "1.0.0" in done.stdout


def test_a_group_on_a_server_is_the_same(cli, group, server):
    options = ("--sample-dim", "time", "--variables", "t2m,msl", "--select", "time=2019-01")
    here, there = (answer(cli, "statistics", uri, *options, "--threads", 1) for uri in (group, f"{server}/weather.zarr"))
    assert here["fields"] == there["fields"] and there["samples"] == 31
    assert "all is well" in cli("verify", f"{server}/weather.zarr/t2m").stdout
    assert "20 chunks of 20x16x8" in cli("inspect", f"{server}/weather.zarr/t2m").stdout
    assert answer(cli, "bench", f"{server}/weather.zarr/t2m", "--batch", 16)["chunks"]["decoded"] == 20


@pytest.mark.parametrize("arguments, code, words", [
    (("--variables", "t2n"), 1, 'did you mean "t2m"?'),
    (("--sample-dim", "time", "--select", "latt=3:4"), 2, 'did you mean "lat"?'),
    (("--select", "lat"), 2, '"lat" selects nothing: wants lat=30:60'),
    (("--select", "lat=3-4"), 2, "selects nothing"),
    (("--select", "time=[0:100]"), 2, "--isel time=0:100 selects by position"),
    (("--sample-dim", "time", "--isel", "time=500:"), 2, "nothing is left"),
    (("--sample-dim", "time", "--isel", "time=x"), 2, '"time=x" selects nothing: wants time=0:100'),
    (("--sample-dim", "time", "--select", "time=2019-13:2019-14"), 2, "months are 1 to 12"),
    (("--sample-dim", "time", "--window", "0,0"), 2, "--window 0,0 has no steps"),
    (("--kind", "tar", "--sample-dim", "time"), 2, "are for Zarr, and --kind says tar"),
])
def test_mistyped_options_are_one_line(cli, group, arguments, code, words):
    assert words in one_line(cli("inspect", group, *arguments, expect=code))


def test_options_of_zarr_for_something_else(cli, tmp_path):
    np.save(tmp_path / "a.npy", np.ones((4, 3)))
    words = one_line(cli("inspect", tmp_path / "a.npy", "--sample-dim", 0, expect=2))
    assert "are for Zarr; this is: npy array" in words


def test_a_server_without_it(cli, server):
    assert "nothing there that is known" in one_line(cli("inspect", f"{server}/wether.zarr", expect=1))
    assert "no such object" in one_line(cli("inspect", f"{server}/nothing.tar", expect=1))
