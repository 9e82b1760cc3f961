"""slow_open and slow_link slow down what they should, and change nothing else. A wait cannot end early, so lower bounds are
safe to test on a busy machine."""

import functools
import http.server
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

import slow_link

HERE = pathlib.Path(__file__).resolve().parent
OPENS = 30


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    built = tmp_path_factory.mktemp("slow_open") / "slow_open.so"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", built, HERE / "slow_open.c", "-ldl"],
                   check=True)
    return built


@pytest.fixture
def files(tmp_path):
    for number in range(OPENS):
        (tmp_path / "data" / f"{number:03}").parent.mkdir(exist_ok=True)
        (tmp_path / "data" / f"{number:03}").write_bytes(b"x" * number)
    return tmp_path / "data"


READ_ALL = "import pathlib, sys; print(sum(len(p.read_bytes()) for p in pathlib.Path(sys.argv[1]).iterdir()))"
PROGRAMS = {"tar": ["tar", "cf", "-", "-C"], "cat": ["sh", "-c", 'cat "$0"/*'], "python": [sys.executable, "-S", "-c", READ_ALL]}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_open_below_the_folder_waits(library, files, program):
    command = [*PROGRAMS[program], str(files)] + (["."] if program == "tar" else [])

    def run(milliseconds, below):
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, check=True,
                              env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": str(library), "SLOW_OPEN_MS": str(milliseconds),
                                   "SLOW_OPEN_BELOW": str(below)})
        return time.monotonic() - began, done.stdout

    slow, output = run(20, files)
    assert slow >= OPENS * 0.020
    assert run(20, "/nothing/here")[1] == run(0, files)[1] == output


def test_the_link_limits_all_connections_together_and_delays_each_request(tmp_path):
    content = bytes(range(256)) * 2000  # 512 KB
    (tmp_path / "a").write_bytes(content)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with slow_link.started(f"127.0.0.1:{server.server_port}", delay_ms=100, mb_per_s=2) as port:
            url = f"http://127.0.0.1:{port}/a"
            got = []
            began = time.monotonic()
            crew = [threading.Thread(target=lambda: got.append(urllib.request.urlopen(url).read())) for _ in range(2)]
            for one in crew:
                one.start()
            for one in crew:
                one.join()
            seconds = time.monotonic() - began
        # The last piece of each answer may arrive early by one piece.
        assert got == [content, content] and seconds >= 0.1 + (2 * len(content) - 2 * slow_link.PIECE_BYTES) / 2e6
    finally:
        server.shutdown()
