"""Mixtures whose parts are in different stores: on disk, on a server, behind other headers or signatures."""

import faulthandler

import numpy as np
import pytest

import penstock as ps
from http_faults import serve
from pictures import save_png
from records import example, make_loader, number_samples, plain, write_tar, write_tfrecord
from zarr_writers import write_zarr

SAMPLES = 12


@pytest.fixture(autouse=True)
def hangs_are_failures():
    faulthandler.dump_traceback_later(60, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    with serve(folder) as server:
        yield server


def write_tar_part(folder, first):
    write_tar(folder / f"{first}.tar", number_samples(first, SAMPLES, pad=5000))
    return f"{first}.tar"


def write_records_part(folder, first):
    write_tfrecord(folder / f"{first}.tfrecord", [example(number=first + i, noise=np.random.default_rng(first + i).bytes(3000))
                                                  for i in range(SAMPLES)])
    return f"{first}.tfrecord"


def write_npy_part(folder, first):
    np.save(folder / f"{first}.npy", np.random.default_rng(first).random((SAMPLES, 30, 20)))
    return f"{first}.npy"


def write_zarr_part(folder, first, **options):
    data = np.random.default_rng(first).integers(1, 1000, (SAMPLES, 30, 20), dtype=np.int32)
    write_zarr(folder / f"{first}.zarr", data, (2, 30, 20), **options)
    return f"{first}.zarr"


def write_table_part(folder, first):
    for i in range(first, first + SAMPLES):
        save_png(folder / f"images-{first}" / f"{i}.png", plain(i))
    rows = "".join(f"images-{first}/{i}.png,{i}\n" for i in range(first, first + SAMPLES))
    (folder / f"{first}.csv").write_text("image,number\n" + rows)
    return f"{first}.csv"


# name: what writes a part, what opens it, fields
PARTS = {
    "tar": (write_tar_part, ps.Tar, ["cls", "bin"]),
    "tfrecord": (write_records_part, ps.TFRecord, ["number", "noise"]),
    "npy": (write_npy_part, ps.Npy, ["array"]),
    "zarr": (write_zarr_part, ps.Zarr, ["array"]),
    "sharded zarr": (lambda folder, first: write_zarr_part(folder, first, shards=(6, 30, 20)), ps.Zarr, ["array"]),
    "table": (write_table_part, ps.Manifest, ["image", "number"]),
}


def samples_of(source, fields, **options):
    with make_loader(source, 5, fields=fields, **options) as loader:
        return [sample for batch in loader for sample in zip(*batch)]


def check_mixture(parts, fields, **options):
    """One part after another, and shuffled: the samples of the parts by themselves, each once."""
    alone = [sample for part in parts for sample in samples_of(part, fields)]
    together = samples_of(ps.Mix(parts), fields, **options)
    assert len(together) == len(alone)
    for got, expected in zip(together, alone):
        for mine, its in zip(got, expected):
            np.testing.assert_array_equal(mine, its)
    shuffled = samples_of(ps.Mix(parts), fields, shuffle=True, seed=5, **options)

    def as_bytes(samples):
        return sorted(tuple(value if isinstance(value, bytes) else np.asarray(value).tobytes() for value in sample)
                      for sample in samples)

    assert as_bytes(shuffled) == as_bytes(alone)


@pytest.mark.parametrize("order", [("disk", "server"), ("server", "disk"), ("disk", "server", "disk", "server")], ids="-".join)
@pytest.mark.parametrize("kind", PARTS)
def test_parts_on_disk_and_on_a_server(tmp_path, server, kind, order):
    write, open_part, fields = PARTS[kind]
    parts = []
    for number, where in enumerate(order):
        name = write(server.folder if where == "server" else tmp_path, number * 100)
        parts.append(open_part(f"{server.url}/{name}" if where == "server" else str(tmp_path / name)))
    check_mixture(parts, fields)


@pytest.mark.parametrize("kind", ["tar", "zarr", "table"])
def test_a_cache_answers_for_parts_in_both_places(tmp_path, server, kind):
    write, open_part, fields = PARTS[kind]
    parts = [open_part(str(tmp_path / write(tmp_path, 0))), open_part(f"{server.url}/{write(server.folder, 100)}")]
    cache = ps.Cache(ram="32MiB")
    for _ in range(2):
        check_mixture(parts, fields, cache=cache)


def test_a_folder_and_a_table_of_urls(tmp_path, server):
    for i in range(SAMPLES):
        save_png(tmp_path / "photos" / f"{i:02}.png", plain(i))
        save_png(server.folder / f"{i}.png", plain(100 + i))
    (server.folder / "table.csv").write_text("image\n" + "".join(f"{server.url}/{i}.png\n" for i in range(SAMPLES)))
    table = ps.Manifest(f"{server.url}/table.csv")
    check_mixture([ps.ImageFolder(str(tmp_path / "photos")), table], ["image"])
    check_mixture([table, ps.ImageFolder(str(tmp_path / "photos"))], ["image"])


def test_each_part_sends_its_own_headers(server):
    names = [write_tar_part(server.folder, first) for first in (0, 100)]
    parts = [ps.Tar(f"{server.url}/{name}", headers={"X-Part": f"part {number}"}) for number, name in enumerate(names)]
    check_mixture(parts, ["cls", "bin"])
    assert {(path, headers["X-Part"]) for path, _, headers in server.requests} == {
        (name + ending, f"part {number}") for number, name in enumerate(names) for ending in ("", ".index")}


def test_each_url_of_a_list_sends_its_own_signature(server):
    names = [write_tar_part(server.folder, first) for first in (0, 100)]
    urls = [f"{server.url}/{name}?X-Amz-Signature={number}" for number, name in enumerate(names)]
    alone = [sample for url in urls for sample in samples_of(ps.Tar(url), ["cls", "bin"])]
    server.requests.clear()
    assert samples_of(ps.Tar(urls), ["cls", "bin"]) == alone
    assert {(path, query) for path, query, _ in server.requests} == {
        (name + ending, f"X-Amz-Signature={number}") for number, name in enumerate(names) for ending in ("", ".index")}


def test_a_part_that_goes_away_is_named(tmp_path, server):
    local, distant = write_tar_part(tmp_path, 0), write_tar_part(server.folder, 100)
    mixed = ps.Mix([ps.Tar(str(tmp_path / local)), ps.Tar(f"{server.url}/{distant}")])
    server.fail("404", path=distant)
    with pytest.raises(ps.Error, match=distant):
        samples_of(mixed, ["cls"])
