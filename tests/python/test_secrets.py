"""Passwords, tokens and signatures of URLs, headers and the environment: they reach the server, and nothing that people
see or files keep holds them, whatever goes wrong."""

import base64
import json
import logging
import os
import pathlib
import pickle
import socket
import stat
import subprocess
import sys
import traceback

import numpy as np
import pytest

import penstock as ps
from http_faults import Handler, running, serve
from pictures import save_png
from records import example, make_loader, number_samples, plain, write_tar, write_tfrecord
from zarr_writers import write_zarr

SAMPLES = 12
PASSWORD, SIGNATURE, TOKEN, ROW = "pw-3b9e71", "sig-77aa02c4", "tok-c0ffee91", "row-19d2f7"
ENVIRONMENT = "env-5a1d3c"
BASIC = base64.b64encode(f"user:{PASSWORD}".encode()).decode()
NEEDLES = (PASSWORD, SIGNATURE, TOKEN, ROW, ENVIRONMENT, BASIC)
# Parameters that sign, and one that nobody knows.
QUERY = f"X-Amz-Credential={SIGNATURE}&X-Amz-Signature={SIGNATURE}&sig={SIGNATURE}&token={SIGNATURE}&q={SIGNATURE}"
HEADERS = {"X-Api-Key": TOKEN}


def assert_clean(*texts):
    for text in texts:
        text = text if isinstance(text, bytes) else str(text).encode(errors="surrogateescape")
        for needle in NEEDLES:
            assert needle.encode() not in text, f"{needle} in {text[:2000]!r}"


def words_of(error):
    """Returns everything that an exception shows: its text, its attributes, and the exceptions that led to it."""
    seen = []
    while error is not None:
        seen += [str(error), repr(error), repr(error.args), repr(vars(error)), *traceback.format_exception_only(error)]
        error = error.__cause__ or error.__context__
    return "\n".join(seen)


def bytes_in(folder):
    return b"\n".join(str(file).encode() + file.read_bytes()
                      for file in pathlib.Path(folder).rglob("*") if file.is_file())


# -- sources -----------------------------------------------------------------------------------------


def write_tars(folder, ending=".tar"):
    write_tar(folder / f"part-0{ending}", number_samples(0, SAMPLES, pad=3000))
    return f"part-0{ending}"


def write_records(folder):
    write_tfrecord(folder / "part.tfrecord", [example(number=i, noise=bytes(500)) for i in range(SAMPLES)])
    return "part.tfrecord"


def write_npy(folder):
    np.save(folder / "array.npy", np.arange(SAMPLES * 300.0).reshape(SAMPLES, 300))
    return "array.npy"


def write_table(folder, cell="images/{}.png"):
    for i in range(SAMPLES):
        save_png(folder / "images" / f"{i}.png", plain(i))
    (folder / "table.csv").write_text("image,number\n" + "".join(f"{cell.format(i)},{i}\n" for i in range(SAMPLES)))
    return "table.csv"


def write_signed_table(folder):
    return write_table(folder, f"images/{{}}.png?X-Amz-Signature={ROW}//x&v={ROW}")


def write_chunks(folder, **keywords):
    data = np.arange(1, SAMPLES * 480 + 1, dtype=np.int32).reshape(SAMPLES, 20, 24)
    write_zarr(folder / "array.zarr", data, (2, 20, 24), **keywords)
    return "array.zarr"


def patches(uri, **keywords):
    return ps.Patches(uri, (10, 12), missing="error", **keywords)


def zarr(uri, **keywords):
    return ps.Zarr(uri, missing="error", **keywords)


# name: what writes it, what opens it, what paths of its data contain
SOURCES = {
    "tar": (write_tars, ps.Tar, "part-0"),
    "tar.gz": (lambda folder: write_tars(folder, ".tar.gz"), ps.Tar, "part-0"),
    "tfrecord": (write_records, ps.TFRecord, "part"),
    "npy": (write_npy, ps.Npy, "array.npy"),
    "table": (write_table, ps.Manifest, "images/7"),
    "table of signed rows": (write_signed_table, ps.Manifest, "images/7"),
    "zarr": (write_chunks, zarr, "/c/3"),
    "sharded zarr": (lambda folder: write_chunks(folder, shards=(4, 20, 24)), zarr, "/c/1"),
    "patches": (write_chunks, patches, "/c/3"),
    "found out": (write_tars, ps.open_source, "part-0"),
}
SOME = ("tar", "table of signed rows", "zarr")


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", ENVIRONMENT)
    monkeypatch.setenv("https_proxy", f"http://user:{ENVIRONMENT}@127.0.0.1:1")


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server that does not mind queries, and notes what it is shown."""
    folder = tmp_path / "served"
    folder.mkdir()
    seen = []

    def answer(self, plain_answer=Handler.answer):
        path, _, query = self.path.partition("?")
        seen.append((path, query, self.headers.get("Authorization"), self.headers.get("X-Api-Key")))
        self.path = path
        plain_answer(self)

    monkeypatch.setattr(Handler, "answer", answer)
    with serve(folder) as server:
        server.seen = seen
        yield server


def address(server, name):
    return f"{server.url.replace('://', f'://user:{PASSWORD}@')}/{name}?{QUERY}"


def damage(folder, data_path):
    for file in folder.rglob("*"):
        if file.is_file() and data_path in str(file):
            data = bytearray(file.read_bytes())
            data[len(data) // 2:] = b"\xa5" * (len(data) - len(data) // 2)
            file.write_bytes(data)


def cut(folder, data_path):
    for file in folder.rglob("*"):
        if file.is_file() and (data_path in str(file) or file.suffix in (".json", ".csv")):
            file.write_bytes(file.read_bytes()[:20])


# -- the sweep ---------------------------------------------------------------------------------------

FAULTS = ("401", "403", "404", "416", "other range", "200 for a range", "changed", "redirect", "no server", "damaged",
          "cut")


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", SOURCES)
def test_no_error_log_or_file_holds_a_secret(server, name, fault, tmp_path, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    kept = tmp_path / "kept"
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(kept))
    write, make, data_path = SOURCES[name]
    uri = address(server, write(server.folder))
    shown, errors = [], []

    def read():
        try:
            source = make(uri, headers=HEADERS)
            shown.extend([repr(source), str(source), source.uri, source.key(0)])
            with make_loader(source, 4, on_error="skip", max_skip=1.0) as loader:
                list(loader)
                shown.extend([repr(loader), repr(loader.stats()), json.dumps(loader.state_dict())])
            with make_loader(source, 4) as loader:
                try:
                    list(loader)
                finally:
                    shown.extend([repr(loader), repr(loader.stats())])
        except ps.Error as error:
            errors.append(error)

    if fault in ("changed", "damaged"):
        read()
        assert not errors
    before = len(server.seen)
    if fault == "changed":
        server.version += 1
        damage(server.folder, data_path)
    elif fault in ("damaged", "cut"):
        (damage if fault == "damaged" else cut)(server.folder, data_path)
    elif fault == "no server":
        with socket.create_server(("127.0.0.1", 0)) as closed:
            uri = uri.replace(server.url.rpartition(":")[2], str(closed.getsockname()[1]))
    else:
        server.fail(fault, path="" if fault == "redirect" else data_path)
    read()
    assert_clean(*shown, *map(words_of, errors), caplog.text, bytes_in(kept))
    if fault in ("401", "403", "404", "redirect", "no server", "cut"):
        assert errors
    assert all("127.0.0.1" in str(error) for error in errors)
    if fault != "no server":
        assert len(server.seen) > before
        assert all(query and bearer == TOKEN for _, query, _, bearer in server.seen)


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize("name", SOURCES)
def test_files_that_are_written_hold_no_secret_and_are_the_owners_alone(server, name, tmp_path, monkeypatch, open_umask):
    kept, disk = tmp_path / "kept", tmp_path / "disk"
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(kept))
    write, make, _ = SOURCES[name]
    source = make(address(server, write(server.folder)), headers=HEADERS)
    with ps.Cache(disk=f"{disk}:16MiB") as cache, make_loader(source, 4, cache=cache) as loader:
        assert sum(len(batch[0] if isinstance(batch, tuple) else batch) for batch in loader) == len(source)
        assert_clean(repr(loader.stats()), repr(cache), json.dumps(loader.state_dict()))
    assert_clean(bytes_in(kept), bytes_in(disk))
    files = [file for folder in (kept, disk) for file in folder.rglob("*") if file.is_file()]
    assert files
    assert [file for file in files if stat.S_IMODE(file.stat().st_mode) & 0o077] == []


def test_the_server_is_shown_everything(server):
    """Or the tests above would pass where nothing is sent."""
    write, make, _ = SOURCES["tar"]
    make(address(server, write(server.folder)), headers=HEADERS)
    # The shard, and the question whether an index lies beside it.
    assert set(server.seen) == {(path, QUERY, f"Basic {BASIC}", TOKEN) for path in ("/part-0.tar", "/part-0.tar.index")}


def test_rows_go_with_their_own_signature(server):
    source = ps.Manifest(address(server, write_signed_table(server.folder)), headers=HEADERS)
    with make_loader(source, 4) as loader:
        images = np.concatenate([batch[0] for batch in loader])
    assert [int(image.min()) for image in images] == list(range(SAMPLES))
    rows = {query for path, query, _, _ in server.seen if path.startswith("/images")}
    assert rows == {f"X-Amz-Signature={ROW}//x&v={ROW}"}
    assert source.key(3) == "images/3.png"


# -- arguments, objects, pickles ---------------------------------------------------------------------

URL = f"http://user:{PASSWORD}@127.0.0.1:1/x.tar?{QUERY}"


@pytest.mark.parametrize("call", [
    lambda: ps.Files(URL), lambda: ps.Files([URL, "b.jpg"]), lambda: ps.Files([(URL, 0.5)]),
    lambda: ps.Files([(URL, 1)]), lambda: ps.Mix(URL), lambda: ps.Zarr([URL, URL]), lambda: ps.Tar([URL, "local.tar"]),
    lambda: ps.ImageFolder(URL), lambda: ps.open_source(URL.replace("http", "s3")), lambda: ps.Loader(URL, batch_size=0),
    lambda: ps.Patches(URL, size=(0, 0)), lambda: ps.Patches(URL, (4, 4), labels=3),
    lambda: ps.Manifest(URL.replace(".tar", ".csv"), delimiter=URL), lambda: ps.Tar(URL, headers={"bad name": TOKEN}),
    lambda: ps.Loader([URL, 3]), lambda: ps.Tar(URL, unknown=URL), lambda: ps.Tar(URL.replace("127", "1 27")),
    lambda: ps.Tar(URL.replace(PASSWORD, f"{PASSWORD}/x")), lambda: ps.Zarr(URL, variables=[URL, 3])])
def test_arguments_that_are_refused_are_shown_without_secrets(call):
    with pytest.raises((ps.Error, TypeError, ValueError)) as raised:
        call()
    assert_clean(words_of(raised.value))


def test_sources_show_how_they_were_made_and_no_secret(server):
    uri = address(server, write_tars(server.folder))
    source = ps.Tar(uri, headers=HEADERS)
    for made in (source, source.subset([1, 2]), ps.Mix([source, source]), ps.Mix([uri.replace("user", "other")] * 2),
                 *source.split([0.5, 0.5])):
        assert_clean(repr(made), str(made), made.uri, repr(vars(made)), repr(made._recipe))


def test_a_pickle_holds_what_opens_the_source_again(server):
    source = ps.Tar(address(server, write_tars(server.folder)), headers=HEADERS)
    pickled = pickle.dumps(source)
    assert PASSWORD.encode() in pickled  # as the documentation says
    again = pickle.loads(pickled)
    assert len(again) == SAMPLES
    assert_clean(repr(again))


# -- what a query selects ----------------------------------------------------------------------------


@pytest.fixture
def versions(tmp_path, monkeypatch):
    """A server whose objects depend on ?version=, under one ETag."""
    for version in "12":
        folder = tmp_path / version
        folder.mkdir()
        write_tar(folder / "x.tar", number_samples(10 * int(version), 4))
        np.save(folder / "x.npy", np.full((4, 3), int(version)))
        write_zarr(folder / "x.zarr", np.full((4, 3), int(version)), (1, 3))

    def answer(self, plain_answer=Handler.answer):
        path, _, query = self.path.partition("?")
        self.path = f"/{dict(pair.split('=') for pair in query.split('&'))['version']}{path}"
        plain_answer(self)

    def send(self, status, body, headers={}, fault=None, plain_send=Handler.send):
        plain_send(self, status, body, {**headers, "ETag": '"same"'}, fault)

    monkeypatch.setattr(Handler, "answer", answer)
    monkeypatch.setattr(Handler, "send", send)
    with serve(tmp_path) as server:
        yield server


@pytest.mark.parametrize("name, make", [("x.npy", ps.Npy), ("x.tar", ps.Tar), ("x.zarr", ps.Zarr)])
def test_queries_that_select_content_are_told_apart_and_signatures_are_not(versions, name, make, tmp_path):
    def values(version, signature, cache):
        source = make(f"{versions.url}/{name}?version={version}&X-Amz-Signature={signature}")
        with make_loader(source, 4, threads=1, cache=cache) as loader:
            state = loader.state_dict()
            values = [np.asarray(field).tolist() for batch in loader for field in batch]
            return values, state, loader.stats()

    with ps.Cache(disk=f"{tmp_path / 'disk'}:16MiB") as cache:
        first, state, _ = values(1, "a", cache)
        other, _, _ = values(2, "a", cache)
        again, same_state, stats = values(1, "b", cache)
    assert first == again and first != other
    assert state == same_state
    assert stats["cache"]["hits"] > 0


# -- the command line --------------------------------------------------------------------------------

PROGRAM = pathlib.Path(sys.executable).parent / "penstock"


def run(*arguments, **environment):
    surroundings = {**os.environ, "PENSTOCK_LOG": "debug", "PENSTOCK_HTTP_HEADER": f"X-Api-Key: {TOKEN}", **environment}
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, env=surroundings, timeout=120)


@pytest.mark.parametrize("name", SOME)
def test_no_command_shows_a_secret(server, name, tmp_path):
    write, make, data_path = SOURCES[name]
    uri = address(server, write(server.folder))
    disk = tmp_path / "disk"
    surroundings = {"PENSTOCK_CACHE_DIR": str(tmp_path / "kept")}
    bench = ["bench", uri, "--batch", "4", "--transform", "none", "--limit-batches", "1"]
    for command in (["inspect", uri], ["inspect", uri, "--json"], ["verify", uri], ["verify", uri, "--json"],
                    ["statistics", uri], bench, [*bench, "--json"]):
        done = run(*command, **surroundings)
        assert done.returncode == 0, done.stderr
        assert_clean(done.stdout, done.stderr)
    with ps.Cache(disk=f"{disk}:16MiB") as cache, make_loader(make(uri, headers=HEADERS), 4, cache=cache) as loader:
        list(loader)
    for command in (["cache", "ls", disk], ["cache", "ls", disk, "--json"]):
        done = run(*command, **surroundings)
        assert done.returncode == 0 and "127.0.0.1" in done.stdout, done.stderr
        assert_clean(done.stdout, done.stderr)
    server.fail("403", path=data_path)
    for command in (["inspect", uri], ["verify", uri], ["verify", uri, "--json"], ["statistics", uri], bench):
        assert_clean(*(lambda done: (done.stdout, done.stderr))(run(*command, **surroundings)))
    server.fail(None, times=0)
    damage(server.folder, data_path)
    for command in (["verify", uri], ["verify", uri, "--json"], ["inspect", uri, "--json"]):
        assert_clean(*(lambda done: (done.stdout, done.stderr))(run(*command, **surroundings)))
    assert_clean(bytes_in(tmp_path / "kept"), bytes_in(disk))


def test_a_proxy_with_a_password_is_not_shown():
    proxy = f"http://user:{ENVIRONMENT}@127.0.0.1:1"
    for uri in (f"https://user:{PASSWORD}@a.example/x.tar?{QUERY}", f"http://user:{PASSWORD}@a.example/x.tar?{QUERY}"):
        done = run("inspect", uri, http_proxy=proxy, https_proxy=proxy)
        assert done.returncode == 1 and "a.example/x.tar" in done.stderr
        assert_clean(done.stdout, done.stderr)


# -- tables ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", ["%2e%2e/x.png", "a/%2E%2e/..%2fx.png", "%252e%252e/x.png", "..%5cx.png",
                                  "{url}/set/%2e%2e/x.png", "{url}/set/../x.png", "/x.png", "{url}/other/x.png"])
def test_no_cell_leads_out_of_the_folder_of_its_table(server, cell):
    for folder in ("set", "other", "."):
        save_png(server.folder / folder / "x.png", plain(1))
    (server.folder / "set" / "table.csv").write_text(f"image\n{cell.format(url=server.url)}?sig={ROW}\n")
    source = ps.Manifest(address(server, "set/table.csv"), headers=HEADERS)
    with pytest.raises(ps.Error, match="leads out of the folder") as raised:
        list(make_loader(source, 1))
    assert raised.value.code == "no_access" and raised.value.sample == 0
    assert_clean(words_of(raised.value))
    assert {path for path, *_ in server.seen} == {"/set/table.csv"}


def test_a_table_of_files_may_not_name_urls(tmp_path):
    (tmp_path / "table.csv").write_text(f"image\nhttp://user:{PASSWORD}@127.0.0.1:1/x.png?sig={ROW}\n")
    with pytest.raises(ps.Error, match="URL in a table of files") as raised:
        list(make_loader(ps.Manifest(tmp_path / "table.csv", kinds={"image": "image"}), 1))
    assert_clean(words_of(raised.value))


def test_memory_grows_with_the_bytes_that_arrive_and_not_with_what_the_server_tells(tmp_path):
    """A table of 3 GiB, by the server's word, of which a megabyte comes."""
    program = """
import sys, pathlib
import penstock as ps
def peak():
    return int(next(line for line in pathlib.Path("/proc/self/status").read_text().splitlines()
                    if line.startswith("VmHWM")).split()[1])
before = peak()
try:
    ps.Manifest(sys.argv[1])
except ps.Error as error:
    print(error.code, (peak() - before) // 1024)
"""
    import http.server

    class Liar(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_HEAD(self):
            self.send_response(200)
            self.send_header("Content-Length", str(3 << 30))
            self.end_headers()

        def do_GET(self):
            self.send_response(404 if self.server.is_over else 206)
            self.server.is_over = True
            first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
            self.send_header("Content-Range", f"bytes {first}-{last}/{3 << 30}")
            self.send_header("Content-Length", str(last - first + 1))
            self.end_headers()
            self.wfile.write(b"a,b\n" * (1 << 16))
            self.close_connection = True

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    server.is_over = False
    with running(server):
        done = subprocess.run([sys.executable, "-c", program, f"http://127.0.0.1:{server.server_address[1]}/t.csv"],
                              capture_output=True, text=True, timeout=120)
    assert done.stdout, done.stderr
    code, mebibytes = done.stdout.split()
    assert code in ("io", "not_found", "corrupt") and int(mebibytes) < 200
