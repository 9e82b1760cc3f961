"""Bearer headers and signed URLs: they reach the server that they are meant for, and nothing else holds them."""

import logging
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from http_faults import Handler, serve
from pictures import save_png
from records import example, number_samples, plain, write_tar, write_tfrecord
from zarr_writers import write_zarr

SECRET = "S3CRET-5e1f"
SIGNED = f"X-Amz-Credential={SECRET}&X-Amz-Signature={SECRET}%2Fx"
BEARER = {"Authorization": f"Bearer {SECRET}"}


@pytest.fixture
def guarded(tmp_path, monkeypatch):
    """A server that answers only those who show `server.wants`, and notes what others were sent."""
    folder = tmp_path / "served"
    folder.mkdir()
    seen = []

    def answer(self, plain_answer=Handler.answer):
        path, _, query = self.path.partition("?")
        shown = {"query": query, "bearer": self.headers.get("Authorization", "")}
        seen.append((self.server.url, shown))
        self.path = path
        if all(shown[name] == value for name, value in self.server.wants.items()):
            return plain_answer(self)
        self.send(403, b"")

    monkeypatch.setattr(Handler, "answer", answer)
    with serve(folder) as server:
        server.wants, server.seen = {}, seen
        yield server


def write_tars(folder):
    for shard in range(2):
        write_tar(folder / f"part-{shard}.tar", number_samples(shard * 6, 6))
    return "part-{0..1}.tar"


def write_records(folder):
    write_tfrecord(folder / "part.tfrecord", [example(number=i) for i in range(12)])
    return "part.tfrecord"


def write_npy(folder):
    np.save(folder / "array.npy", np.arange(36.0).reshape(12, 3))
    return "array.npy"


def write_table(folder):
    for i in range(12):
        save_png(folder / "images" / f"{i}.png", plain(i))
    (folder / "table.csv").write_text("image,number\n" + "".join(f"images/{i}.png,{i}\n" for i in range(12)))
    return "table.csv"


def write_chunks(folder):
    write_zarr(folder / "array.zarr", np.arange(12 * 8 * 6, dtype=np.int32).reshape(12, 8, 6), (2, 8, 6))
    return "array.zarr"


def patches(uri, **keywords):
    return ps.Patches(uri, (8, 6), **keywords)


SOURCES = {"tar": (write_tars, ps.Tar), "tfrecord": (write_records, ps.TFRecord), "npy": (write_npy, ps.Npy),
           "table": (write_table, ps.Manifest), "zarr": (write_chunks, ps.Zarr), "patches": (write_chunks, patches),
           "found out": (write_tars, ps.open_source)}


def everything(source):
    loader = ps.Loader(source, batch_size=4, shuffle=False, threads=2, output="numpy")
    batches = [batch if isinstance(batch, (tuple, list)) else [batch] for batch in loader]
    return [[np.asarray(field).tolist() for field in batch] for batch in batches]


def everything_kept(folder):
    return b"".join(file.read_bytes() + str(file).encode() for file in pathlib.Path(folder).rglob("*") if file.is_file())


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("way", ["bearer", "query"])
def test_every_request_shows_it_and_nothing_else_holds_it(guarded, name, way, monkeypatch, tmp_path, caplog):
    caplog.set_level(logging.DEBUG, "penstock")
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "kept"))
    write, make = SOURCES[name]
    uri = f"{guarded.url}/{write(guarded.folder)}"
    expected = everything(make(uri))
    guarded.seen.clear()
    guarded.wants = {"bearer": BEARER["Authorization"]} if way == "bearer" else {"query": SIGNED}
    source = make(uri, headers=BEARER) if way == "bearer" else make(f"{uri}?{SIGNED}")
    assert everything(source) == expected
    assert len(guarded.seen) > 0
    assert SECRET not in repr(source) + source.key(0) + caplog.text
    assert SECRET.encode() not in everything_kept(tmp_path / "kept")


@pytest.mark.parametrize("name", ["tar", "npy", "zarr", "patches"])
def test_messages_name_the_object_and_hide_the_rest(guarded, name):
    write, make = SOURCES[name]
    uri = f"{guarded.url}/{write(guarded.folder)}"
    guarded.wants = {"query": "another"}
    with pytest.raises(ps.Error) as raised:
        make(f"{uri.replace('http://', f'http://user:{SECRET}@')}?{SIGNED}", headers={"X-Token": SECRET})
    assert SECRET not in str(raised.value) + repr(raised.value)
    assert guarded.url.partition("//")[2] in str(raised.value)


def test_another_server_is_shown_nothing(guarded):
    """A table on one server is read with a header; its root is on another one."""
    name = write_table(guarded.folder)
    with serve(guarded.folder) as other:
        other.wants = {}
        source = ps.Manifest(f"{guarded.url}/{name}?{SIGNED}", root=other.url, headers=BEARER)
        assert len(everything(source)) == 3
    everything_shown = {"query": SIGNED, "bearer": BEARER["Authorization"]}
    expected = {guarded.url: everything_shown, other.url: {"query": "", "bearer": ""}}
    assert {url for url, _ in guarded.seen} == set(expected)
    assert all(shown == expected[url] for url, shown in guarded.seen)


@pytest.mark.parametrize("headers, message", [
    ({"Authorization": f"{SECRET}\r\nX: y"}, "line break"), ({"Range": SECRET}, "range"), ({"a b": SECRET}, "name"),
    ({"": SECRET}, "name")])
def test_headers_that_cannot_be_sent_are_refused_without_their_values(guarded, headers, message):
    with pytest.raises(ps.Error, match=message) as raised:
        ps.Tar(f"{guarded.url}/x.tar", headers=headers)
    assert SECRET not in str(raised.value) and guarded.seen == []


@pytest.mark.parametrize("headers", [f"Authorization: {SECRET}", [("Authorization", SECRET)], {"Authorization": 5}])
def test_headers_of_another_type_say_what_to_write(headers):
    with pytest.raises(TypeError, match="headers") as raised:
        ps.Tar("http://127.0.0.1:1/x.tar", headers=headers)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("way", ["option", "environment", "query"])
def test_the_command_line_shows_it_to_the_server_alone(guarded, way, tmp_path, monkeypatch):
    uri = f"{guarded.url}/{write_npy(guarded.folder)}"
    guarded.wants = {"query": SIGNED} if way == "query" else {"bearer": BEARER["Authorization"]}
    line = f"Authorization: Bearer {SECRET}"
    if way == "environment":
        monkeypatch.setenv("PENSTOCK_HTTP_HEADER", line)
    more = ["--header", line] if way == "option" else []
    program = pathlib.Path(sys.executable).parent / "penstock"
    for command in (["inspect"], ["inspect", "--json"], ["verify"]):
        done = subprocess.run([program, *command, f"{uri}?{SIGNED}" if way == "query" else uri, *more],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert SECRET not in done.stdout + done.stderr and uri in done.stdout
