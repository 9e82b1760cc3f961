"""az:// against Azurite, Microsoft's own emulator: signatures, listings, reads and writes that it accepts.

Skipped with one line where node or npm is missing. Requests besides those of Penstock are signed here, by hand.
"""

import base64
import datetime
import hashlib
import hmac
import io
import os
import pathlib
import socket
import subprocess
import tarfile
import urllib.parse
import urllib.request

import pytest

import penstock as ps
from programs import built_test

HERE = pathlib.Path(__file__).parent


def free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


class Account:
    def __init__(self, connection):
        parts = dict(part.split("=", 1) for part in connection.split(";"))
        self.connection, self.name, self.endpoint = connection, parts["AccountName"], parts["BlobEndpoint"]
        self.key = base64.b64decode(parts["AccountKey"])

    def request(self, method, path, body=b"", query="", **headers):
        headers |= {"x-ms-date": datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S GMT"),
                    "x-ms-version": "2021-08-06"}
        url = urllib.parse.urlsplit(f"{self.endpoint}/{urllib.parse.quote(path)}")
        length = str(len(body)) if body else ""
        kind = "application/octet-stream" if body else ""
        own = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        parameters = "".join(f"\n{name}:{value}" for name, value in sorted(urllib.parse.parse_qsl(query)))
        text = f"{method}\n\n\n{length}\n\n{kind}\n\n\n\n\n\n\n{own}/{self.name}{url.path}{parameters}"
        signature = base64.b64encode(hmac.new(self.key, text.encode(), hashlib.sha256).digest()).decode()
        headers["Authorization"] = f"SharedKey {self.name}:{signature}"
        if body:
            headers["Content-Type"] = kind
        whole = f"{url.geturl()}?{query}" if query else url.geturl()
        request = urllib.request.Request(whole, data=body or None, headers=headers, method=method)
        with urllib.request.urlopen(request) as answer:
            return answer.read()

    def token(self):
        """A shared access signature of the account that may read and list blobs, for an hour."""
        end = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        text = f"{self.name}\nrl\nb\nsco\n\n{end}\n\nhttps,http\n2021-08-06\n\n"
        signature = base64.b64encode(hmac.new(self.key, text.encode(), hashlib.sha256).digest()).decode()
        return urllib.parse.urlencode({"sv": "2021-08-06", "ss": "b", "srt": "sco", "sp": "rl", "se": end, "spr": "https,http",
                                       "sig": signature})


@pytest.fixture(scope="module")
def account(tmp_path_factory):
    folder = tmp_path_factory.mktemp("azurite")
    try:
        started = subprocess.run([HERE / "azurite-up", folder, free_port()], capture_output=True, text=True)
        if started.returncode == 77:
            pytest.skip(started.stderr.strip())
        assert started.returncode == 0, started.stderr
        account = Account(started.stdout.strip())
        account.request("PUT", "container", query="restype=container")
        yield account
    finally:
        subprocess.run([HERE / "azurite-up", folder, "stop"], check=True)


@pytest.fixture
def shards(account):
    """Two tar shards of four samples each, written past Penstock."""
    for shard in range(2):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for i in range(4):
                for ending, data in (("cls", str(4 * shard + i)), ("txt", f"é {i}")):
                    info = tarfile.TarInfo(f"{shard}-{i}.{ending}")
                    info.size = len(data.encode())
                    archive.addfile(info, io.BytesIO(data.encode()))
        account.request("PUT", f"container/sets/a b/train-{shard}.tar", out.getvalue(), **{"x-ms-blob-type": "BlockBlob"})
    return "az://container/sets/a b"


def labels(source):
    with ps.Loader(source, 4, fields=["cls"], output="numpy") as loader:
        return [label for batch in loader for label in batch[0].tolist()]


def test_shards_are_found_and_read_by_key_and_by_token(account, shards, monkeypatch):
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", account.connection)
    for name in (shards, f"{shards}/train-*.tar", f"{shards}/train-{{0..1}}.tar"):
        assert labels(ps.open_source(name)) == list(range(8)), name
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", account.name)
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", account.endpoint)
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", account.token())
    assert labels(ps.open_source(shards)) == list(range(8))


def test_mistakes_are_one_line_without_a_secret(account, shards, monkeypatch):
    wrong = base64.b64encode(b"wrong").decode()
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", account.connection)
    with pytest.raises(ps.Error, match="no such container"):
        ps.open_source("az://nowhere/x.tar")
    with pytest.raises(ps.NotFoundError):
        ps.open_source(f"{shards}/nothing.tar")
    monkeypatch.setenv("AZURE_STORAGE_KEY", wrong)
    with pytest.raises(ps.Error, match="HTTP 403") as caught:
        ps.open_source(shards)
    assert wrong not in str(caught.value) and "\n" not in str(caught.value)


def test_the_store_writes_lists_and_reads(account):
    ran = subprocess.run([built_test("unit_store"), "--gtest_filter=Azurite*"], capture_output=True, text=True,
                         env=os.environ | {"PENSTOCK_TEST_AZURE": account.connection})
    assert ran.returncode == 0 and "[  PASSED  ] 1 test" in ran.stdout, ran.stdout
    assert len(account.request("GET", "container/written/b/ä.bin")) == (20 << 20) + 7
