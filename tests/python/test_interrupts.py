"""Ctrl-C and close() take effect within a second, at any moment, whatever is read.

A program opens and goes through a source again and again. At a random moment it gets SIGINT, or another of its threads
closes the loader; it says when that took effect. PENSTOCK_INTERRUPTS=200 in the environment makes that many moments
instead of a few, and prints how long they took.
"""

import contextlib
import gzip
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import penstock as ps
from http_faults import serve
from pictures import noise, save_jpeg, smooth
from records import example, npy_bytes, number_samples, write_json_lines, write_number_shards, write_tar, write_tfrecord
from zarr_writers import write_raw_v3

MOMENTS = int(os.environ.get("PENSTOCK_INTERRUPTS", "26"))
LIMIT = 3.0  # seconds; one is asked for, the rest is for machines that do other things
LONG = 60

# -- what is read -------------------------------------------------------------------------------------


def zeros_after_the_end(path, mebibytes):
    """A small tar.gz that takes long to look through: zeros may follow the end of an archive."""
    write_tar(path, number_samples(0, 4))
    with open(path, "ab") as out:
        out.write(gzip.compress(bytes(16 << 20), 1) * (mebibytes // 16))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Each kind of source, and the expression that opens it."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    for i in range(60):
        save_jpeg(folder / "images" / f"class{i % 3}" / f"{i:03}.jpg", smooth(300, 400, seed=i))
    for ending in (".tar", ".tar.gz", ".tar.zst"):
        write_number_shards(folder / ending.strip("."), 4, 40, ending, pad=60_000)
    zeros_after_the_end(folder / "zeros.tar.gz", 8000)
    records = [example(label=i, data=rng.bytes(2000)) for i in range(100)]
    for name in ("plain.tfrecord", "packed.tfrecord.gz"):
        write_tfrecord(folder / name, records)
    with open(folder / "table.csv", "w") as out:
        out.write("label,name\n" + "".join(f"{i},name of {i}\n" for i in range(300_000)))
    write_json_lines(folder / "table.jsonl", [{"label": i, "name": f"name {i}"} for i in range(100_000)])
    np.save(folder / "rows.npy", noise((400, 20_000)))
    write_raw_v3(folder / "zarr", (200, 100_000), (10, 100_000), "float32",
                 files={f"c/{i}/0": rng.random(1_000_000).astype("<f4").tobytes() for i in range(20)})
    write_raw_v3(folder / "volume", (256,) * 3, (64,) * 3, "uint8",
                 files={f"c/{z}/{y}/{x}": rng.bytes(64**3) for z in range(4) for y in range(4) for x in range(4)})
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(folder / "stack.tif", noise((64, 256, 256)))
    with serve(folder) as server, serve(folder) as stalls, serve(folder) as late_stalls:
        stalls.fail("stall in the body", path="part")
        late_stalls.fail("stall", path="c/12/0")
        yield {
            "images": f"ps.ImageFolder({str(folder / 'images')!r}, keep_index=False)",
            "tar": f"ps.Tar({str(folder / 'tar' / '*.tar')!r}, keep_index=False)",
            "tar.gz": f"ps.Tar({str(folder / 'tar.gz' / '*.tar.gz')!r}, keep_index=False)",
            "tar.zst": f"ps.Tar({str(folder / 'tar.zst' / '*.tar.zst')!r}, keep_index=False)",
            "tar.gz of zeros": f"ps.Tar({str(folder / 'zeros.tar.gz')!r}, keep_index=False)",
            "tfrecord": f"ps.TFRecord({str(folder / 'plain.tfrecord')!r}, keep_index=False)",
            "tfrecord.gz": f"ps.TFRecord({str(folder / 'packed.tfrecord.gz')!r}, keep_index=False)",
            "csv": f"ps.Manifest({str(folder / 'table.csv')!r})",
            "jsonl": f"ps.Manifest({str(folder / 'table.jsonl')!r})",
            "npy": f"ps.Npy({str(folder / 'rows.npy')!r})",
            "zarr": f"ps.Zarr({str(folder / 'zarr')!r})",
            "patches": f"ps.Patches({str(folder / 'volume')!r}, (32, 32, 32), 50, labels={str(folder / 'volume')!r}, "
                       "min_foreground=0.5)",
            "tiff": f"ps.Patches({str(folder / 'stack.tif')!r}, (16, 64, 64), 200)",
            "http": f"ps.Tar('{server.url}/tar/part-{{000..003}}.tar', keep_index=False)",
            "http with stalls": f"ps.Tar('{stalls.url}/tar/part-{{000..003}}.tar', keep_index=False)",
            "http zarr with stalls": f"ps.Zarr('{late_stalls.url}/zarr')",
        }


# -- the program --------------------------------------------------------------------------------------

# Reads lines "signal KIND" and "close KIND DELAY", and answers "ready" when it is about to begin and the time when it
# has ended. Opening, probing, iterating and closing follow one another until then.
PROGRAM = """
    import json, sys, threading, time
    import numpy
    import penstock as ps

    # Compiled beforehand: Python ends with the signal if an interrupt within eval() was the last one, though it was caught.
    sources = {kind: eval("lambda: " + text) for kind, text in json.loads(sys.stdin.readline()).items()}

    def say(text):
        print(text, flush=True)

    def until_interrupted(kind):
        options = dict(batch_size=8, output="numpy", threads=2, memory="256MiB", collate="list")
        loader = None
        try:
            say("ready")  # from here on a signal is expected
            while True:
                loader = ps.Loader(sources[kind](), shuffle=True, **options)
                for _ in loader:
                    pass
                loader.close()
        except KeyboardInterrupt:
            if loader is not None:
                loader.close()
            say(time.monotonic())

    def until_closed(kind, delay):
        loader = ps.Loader(sources[kind](), batch_size=2, output="numpy", threads=2, memory="256MiB",
                           collate="list", epoch_size=1 << 30)
        called = []

        def close():
            called.append(time.monotonic())
            loader.close()

        timer = threading.Timer(delay, close)
        say("ready")
        timer.start()
        try:
            for _ in loader:
                pass
        except ps.Error as error:
            assert "closed" in str(error), error
        timer.join()
        say(time.monotonic() - called[0])

    for line in sys.stdin:
        order, kind, delay = json.loads(line)
        if order == "signal":
            until_interrupted(kind)
        else:
            until_closed(kind, delay)
"""


@contextlib.contextmanager
def program(sources):
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(PROGRAM)], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def send(order, kind, delay):
        process.stdin.write(json.dumps([order, kind, delay]) + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n", process.stderr.read()

    process.stdin.write(json.dumps(sources) + "\n")
    try:
        yield process, send
        process.stdin.close()
        assert process.wait(LONG) == 0, process.stderr.read()
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            pipe.close()


def kinds_in_turn(data, count):
    kinds = list(data)
    return [kinds[i % len(kinds)] for i in range(count)]


def check(latencies, what):
    if MOMENTS >= 200:
        times = sorted(seconds for seconds, _, _ in latencies)
        shares = {share: times[min(len(times) - 1, int(share * len(times)))] for share in (0.5, 0.9, 0.99)}
        print(f"\n{what}: {len(times)} moments, " + ", ".join(f"{share:.0%} {t:.3f} s" for share, t in shares.items()),
              "at most:", max(latencies))
    slow = [late for late in latencies if late[0] > LIMIT]
    assert not slow, slow


@pytest.mark.slow
def test_ctrl_c_takes_effect_at_random_moments(data):
    moments, latencies = random.Random(1), []
    with program(data) as (process, send):
        for kind in kinds_in_turn(data, MOMENTS):
            send("signal", kind, 0)
            delay = moments.choice([0.02, 0.2, 1.0]) * moments.random()
            time.sleep(delay)
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            answer = process.stdout.readline()
            assert answer, process.stderr.read()
            latencies.append((float(answer) - sent, kind, delay))
    check(latencies, "Ctrl-C")


@pytest.mark.slow
def test_close_takes_effect_at_random_moments(data):
    moments, latencies = random.Random(2), []
    kinds = {kind: call for kind, call in data.items() if kind != "tar.gz of zeros"}
    with program(data) as (process, send):
        for kind in kinds_in_turn(kinds, max(14, MOMENTS // 2)):
            if "stalls" in kind and "zarr" not in kind:
                continue  # cannot be opened, so there is nothing to close
            delay = 0.3 * moments.random()
            send("close", kind, delay)
            answer = process.stdout.readline()
            assert answer, process.stderr.read()
            latencies.append((float(answer), kind, delay))
    check(latencies, "close()")


# -- Map ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_error", ["raise", "skip", "replace"])
@pytest.mark.parametrize("fields", [None, ["array"]])
@pytest.mark.parametrize("exception", [KeyboardInterrupt, SystemExit])
def test_what_a_map_raises_to_end_the_program_is_no_bad_sample(numbers, exception, fields, on_error):
    def stop(row):
        if row[0] == 7:
            raise exception
        return row

    with ps.Loader(numbers, batch_size=4, transform=[ps.Map(stop, fields=fields)], output="numpy", threads=2,
                   on_error=on_error, max_skip=1.0) as loader:
        with pytest.raises(exception):
            list(loader)


@pytest.mark.parametrize("fields", [None, ["array"]])
def test_what_a_map_raises_while_the_loader_is_made_is_not_lost(numbers, fields):
    """Shapes are found by trying sample after sample: the first one must not be taken for a bad one."""
    calls = []

    def stop(row):
        calls.append(row)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return row

    with pytest.raises(KeyboardInterrupt):
        ps.Loader(numbers, batch_size=4, transform=[ps.Map(stop, fields=fields)], output="numpy")
    assert len(calls) == 1


def test_ctrl_c_in_a_map_while_the_loader_is_made(numbers):
    script = """
        import sys, time
        import penstock as ps

        def slow(row):
            print("called", flush=True)
            time.sleep(1)
            return row

        ps.Loader(sys.argv[1], batch_size=4, transform=[ps.Map(slow)], output="numpy")
        print("made", flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), str(numbers)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "called\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONG)
    assert "made" not in out and err.rstrip().endswith("KeyboardInterrupt"), err


# -- servers that stop answering ------------------------------------------------------------------------


def test_ctrl_c_while_a_loader_looks_at_samples_of_a_server_that_stops_answering(tmp_path):
    """The source is opened by then; the loader reads a sample to learn its shape."""
    for i in range(4):
        (tmp_path / f"{i}.npy").write_bytes(npy_bytes(np.zeros(1000)))
    pathlib.Path(tmp_path / "table.csv").write_text("array\n" + "".join(f"{i}.npy\n" for i in range(4)))
    script = """
        import sys, penstock as ps
        source = ps.Manifest(sys.argv[1])
        print("opened", flush=True)
        sys.stdin.readline()
        ps.Loader(source, batch_size=2, output="numpy")
    """
    with serve(tmp_path) as server, subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script), f"{server.url}/table.csv"], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "opened\n"
        server.fail("stall", path=".npy")
        process.stdin.write("go\n")
        process.stdin.flush()
        deadline = time.monotonic() + LONG
        while server.faults_served == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(LONG)
        assert time.monotonic() - sent < LIMIT + 1  # the interpreter ends, too
        assert process.stderr.read().rstrip().endswith("KeyboardInterrupt")


# -- tests whose caller ignores Ctrl-C -------------------------------------------------------------------


def test_the_tests_of_ctrl_c_pass_where_their_caller_ignores_it():
    """As nohup and background jobs of scripts do."""
    folder = pathlib.Path(__file__).parent
    tests = [f"{folder}/test_interrupts.py::test_ctrl_c_in_a_map_while_the_loader_is_made",
             f"{folder}/test_statistics.py::test_an_interrupt_ends_it"]
    # A Python that begins while the signal is ignored leaves it so.
    ignores = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); os.execv(sys.executable, sys.argv[1:])"
    done = subprocess.run([sys.executable, "-c", ignores, sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests],
                          capture_output=True, text=True, timeout=10 * LONG)
    assert done.returncode == 0, done.stdout + done.stderr
