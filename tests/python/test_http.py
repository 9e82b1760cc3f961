"""Sources over HTTP: the same batches as from disk, through faults that pass; errors that name the place for others."""

import faulthandler

import numpy as np
import pytest

import penstock as ps
from http_faults import serve
from pictures import save_png
from records import example, make_loader, number_samples, plain, write_tar, write_tfrecord
from zarr_writers import write_zarr

SAMPLES = 24


def write_tars(folder, ending=".tar"):
    for shard in range(2):
        write_tar(folder / f"part-{shard}{ending}", number_samples(shard * 12, 12, pad=9000))
    return f"part-{{0..1}}{ending}"


def write_records(folder):
    records = [example(number=i, noise=np.random.default_rng(i).bytes(3000)) for i in range(SAMPLES)]
    write_tfrecord(folder / "part.tfrecord", records)
    return "part.tfrecord"


def write_npy(folder):
    np.save(folder / "array.npy", np.random.default_rng(0).random((SAMPLES, 40, 30)))
    return "array.npy"


def write_table(folder):
    for i in range(SAMPLES):
        save_png(folder / "images" / f"{i}.png", plain(i))
    rows = "".join(f"images/{i}.png,{i}\n" for i in range(SAMPLES))
    (folder / "table.csv").write_text("image,number\n" + rows)
    return "table.csv"


def write_chunks(folder, **keywords):
    data = np.random.default_rng(0).integers(1, 1000, (SAMPLES, 40, 30), dtype=np.int32)
    write_zarr(folder / "array.zarr", data, (2, 40, 30), **keywords)
    return "array.zarr"


def open_chunks(uri):
    return ps.Zarr(uri, missing="error")


# name: what writes it and gives the name of the whole, what opens it, fields, what paths of its data contain
SOURCES = {
    "tar": (write_tars, ps.Tar, ["cls", "bin"], "part-1.tar"),
    "tar.gz": (lambda folder: write_tars(folder, ".tar.gz"), ps.Tar, ["cls", "bin"], "part-1.tar.gz"),
    "tfrecord": (write_records, ps.TFRecord, ["number", "noise"], "part.tfrecord"),
    "npy": (write_npy, ps.Npy, ["array"], "array.npy"),
    "manifest": (write_table, ps.Manifest, ["image", "number"], "images/7.png"),
    "zarr": (write_chunks, open_chunks, ["array"], "c/3/"),
    "sharded zarr": (lambda folder: write_chunks(folder, shards=(6, 40, 30)), open_chunks, ["array"], "c/3/"),
}
WITH_RANGES = ("tar", "tfrecord", "npy", "sharded zarr")  # objects of others are read as a whole
WITH_VERSIONS = (*WITH_RANGES, "tar.gz")                  # objects of others are read once


@pytest.fixture(autouse=True)
def hangs_are_failures():
    faulthandler.dump_traceback_later(60, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


class Case:
    """A source on disk and behind a server."""

    def __init__(self, name, folder, server):
        write, self.open, self.fields, self.data_path = SOURCES[name]
        self.folder, self.server, self.name = folder, server, write(folder)
        # The place of a whole object, or of its end, is not known before there was an answer.
        self.knows_places = name in ("tar", "tar.gz", "tfrecord", "npy")

    def opened(self):
        return self.open(f"{self.server.url}/{self.name}")

    def read_once(self, source):
        """Zarr meets the index of a shard only then."""
        with self.loader(source) as loader:
            assert sum(len(batch[0]) for batch in loader) == SAMPLES

    def begin(self, fault):
        """A fault of its data that stays."""
        if fault == "changed":
            self.server.version += 1
        else:
            self.server.fail(fault, path=self.data_path)

    def loader(self, source, **options):
        return make_loader(source, 5, fields=[*self.fields, "key"], **options)

    def local_batches(self, **options):
        with self.loader(self.open(f"{self.folder}/{self.name}"), **options) as loader:
            return [batch for _ in range(2) for batch in loader]


@pytest.fixture
def server(tmp_path):
    with serve(tmp_path) as server:
        yield server


@pytest.fixture
def case(request, tmp_path, server):
    return Case(request.param, tmp_path, server)


def of(names):
    return pytest.mark.parametrize("case", names, indirect=True)


def assert_same_batches(got, expected):
    assert len(got) == len(expected)
    for ours, theirs in zip(got, expected):
        for mine, its in zip(ours, theirs):
            np.testing.assert_array_equal(mine, its)


def assert_accounts(stats):
    assert stats["planned"] == stats["delivered"] + stats["skipped"] + stats["failed"]
    for epoch in stats["epochs"]:
        assert epoch["planned"] == epoch["delivered"] + epoch["skipped"] + epoch["failed"]


# -- without faults, and through faults that pass ----------------------------------------------------


@of(SOURCES)
def test_batches_are_those_from_disk(case):
    options = {"shuffle": True, "seed": 3}
    with case.loader(case.opened(), **options) as loader:
        got = [batch for _ in range(2) for batch in loader]
        stats = loader.stats()
    assert_same_batches(got, case.local_batches(**options))
    assert stats["delivered"] == 2 * SAMPLES


PASSING = ("short body", "surplus body", "500", "503", "reset")
OF_RANGES = ("200 for a range", "other range")
SLOW = ("429", "stall", "stall in the body")  # the engine waits, so not everywhere
BEFALL = ([(name, fault, ("opening", "reading")) for name in SOURCES for fault in PASSING] +
          [(name, fault, ("opening", "reading")) for name in WITH_RANGES for fault in OF_RANGES] +
          [("tar", fault, ("opening",)) for fault in SLOW] +
          [(name, fault, ("reading",)) for name in ("tar", "tar.gz", "manifest", "zarr") for fault in SLOW])


@pytest.mark.parametrize("case, fault, when", BEFALL, indirect=["case"])
def test_a_fault_that_passes_changes_nothing(case, fault, when):
    if "opening" in when:
        case.server.fail(fault, times=1)
    source = case.opened()
    served = case.server.faults_served
    if "reading" in when:
        case.server.fail(fault, times=1)
    with case.loader(source) as loader:
        got = [batch for _ in range(2) for batch in loader]
        stats = loader.stats()
    assert served + case.server.faults_served > 0
    assert_same_batches(got, case.local_batches())
    assert (stats["delivered"], stats["skipped"], stats["failed"]) == (2 * SAMPLES, 0, 0)


# -- faults that stay --------------------------------------------------------------------------------


@pytest.mark.parametrize("fault, code", [("403", "no_access"), ("404", "not_found")])
@of(SOURCES)
def test_a_refused_source_is_an_error_at_opening_that_names_it(case, fault, code):
    case.server.fail(fault)
    with pytest.raises(ps.Error) as caught:
        case.opened()
    assert caught.value.code == code and caught.value.uri.startswith(case.server.url)
    assert caught.value.uri in str(caught.value)


STAYING = {"403": "no_access", "404": "not_found", "200 for a range": "unsupported", "other range": "corrupt",
           "changed": "changed"}


@pytest.mark.parametrize("case, fault", [(name, fault) for name in SOURCES for fault in STAYING
                                         if fault in ("403", "404") or name in WITH_RANGES or
                                         fault == "changed" and name in WITH_VERSIONS], indirect=["case"])
def test_a_fault_that_stays_is_an_error_that_names_object_place_and_sample(case, fault):
    source = case.opened()
    if fault in OF_RANGES:
        source = source.subset([20])  # odd answers are asked for again, and all reads share a budget of that
    if fault == "changed":
        case.read_once(source)
    case.begin(fault)
    with case.loader(source) as loader:
        with pytest.raises(ps.Error) as caught:
            list(loader)
        stats = loader.stats()
    error = caught.value
    assert error.code == STAYING[fault]
    assert error.uri.startswith(case.server.url) and (fault == "changed" or case.data_path in error.uri)
    assert error.sample is not None
    if case.knows_places:
        assert error.offset is not None and error.length is not None
    assert error.uri in str(error) and f"sample {error.sample}" in str(error)
    assert_accounts(stats)
    assert stats["failed"] > 0


@pytest.mark.parametrize("fault", ["403", "404", "changed"])
@of(WITH_VERSIONS)
def test_samples_with_a_fault_that_stays_are_skipped_and_counted(case, fault):
    source = case.opened()
    if fault == "changed":
        case.read_once(source)
    case.begin(fault)
    with case.loader(source, on_error="skip", max_skip=1.0) as loader:
        delivered = sum(len(batch[0]) for batch in loader)
        stats = loader.stats()
    assert stats["planned"] == SAMPLES and stats["delivered"] == delivered and stats["failed"] == 0
    assert_accounts(stats)
    assert len({error["sample"] for error in stats["errors"]}) == stats["skipped"] > 0
    assert all(error["uri"].startswith(case.server.url) for error in stats["errors"])


# -- what only some sources do ---------------------------------------------------------------------


@pytest.mark.parametrize("missing", [None, "error"])
@of(["zarr", "sharded zarr"])
def test_one_wrong_404_does_not_make_a_chunk_missing(case, missing):
    expected = case.local_batches()
    source = ps.Zarr(f"{case.server.url}/{case.name}", missing=missing)
    case.server.fail("404", times=1, path=case.data_path)
    with case.loader(source) as loader:
        got = [batch for _ in range(2) for batch in loader]
        stats = loader.stats()
    assert case.server.faults_served == 1 and stats["chunks"]["missing"] == 0
    assert_same_batches(got, expected)


@of(["zarr", "sharded zarr"])
def test_chunks_that_stay_missing_are_asked_for_twice_filled_and_counted(case):
    requests = {}
    for missing in (None, "fill"):
        source = ps.Zarr(f"{case.server.url}/{case.name}", missing=missing)
        case.server.fail("404", path=case.data_path)
        with case.loader(source) as loader:
            values = np.concatenate([batch[0] for batch in loader])
            assert loader.stats()["chunks"]["missing"] > 0
        assert (values == 0).all((1, 2)).any() and not (values == 0).all()
        requests[missing] = case.server.faults_served
    assert requests[None] == 2 * requests["fill"]


@pytest.mark.parametrize("fault, times", [("403", 1 << 30), ("500", 1), ("reset", 1)])
@of(["zarr", "sharded zarr"])
def test_only_a_chunk_that_is_said_not_to_exist_becomes_the_fill_value(case, fault, times):
    def read():
        source = ps.Zarr(f"{case.server.url}/{case.name}", missing="fill")
        with case.loader(source, on_error="skip", max_skip=1.0) as loader:
            return np.concatenate([batch[0] for batch in loader]), loader.stats()

    case.server.fail("404", path=case.data_path)
    values, stats = read()
    assert stats["chunks"]["missing"] > 0 and len(values) == SAMPLES
    assert (values == 0).all((1, 2)).any() and not (values == 0).all()
    case.server.fail(fault, times, case.data_path)
    values, stats = read()
    assert case.server.faults_served > 0 and (values > 0).all()
    assert (stats["skipped"] > 0) == (fault == "403")
    assert_accounts(stats)


@of(["tar", "tfrecord"])
def test_a_shard_that_changed_is_indexed_anew_when_it_is_opened_again(case):
    case.opened()
    case.server.version = 2
    with case.loader(case.opened()) as loader:
        got = [batch for _ in range(2) for batch in loader]
    assert_same_batches(got, case.local_batches())


@of(SOURCES)
def test_a_loader_of_a_server_that_says_nothing_can_be_closed(case):
    with case.loader(case.opened()) as loader:
        case.server.fail("stall")
        iter(loader)
    assert_accounts(loader.stats())
