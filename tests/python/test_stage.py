"""Staging: copies that are interrupted, shared, damaged and read through meanwhile."""

import collections
import io
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tarfile
import threading
import time

import numpy as np
import penstock as ps
import pytest
from http_faults import FaultyServer, Handler, running
from PIL import Image

KILLS = int(os.environ.get("PENSTOCK_KILLS", "10"))


class CountingHandler(Handler):
    """Counts the bytes of objects that it sends, waits before each answer, and fails some requests."""

    def send(self, status, body, headers={}, fault=None):
        server = self.server
        time.sleep(server.wait)
        if status in (200, 206) and self.command == "GET":
            with server.lock:
                server.sent[self.path] += len(body)
        super().send(status, body, headers, fault)


class CountingServer(FaultyServer):
    def __init__(self, folder, wait=0.0):
        super().__init__(folder)
        self.RequestHandlerClass = CountingHandler
        self.wait, self.sent, self.lock = wait, collections.Counter(), threading.Lock()
        self.share, self.draws = 0.0, random.Random(5)

    def fault_for(self, path, is_range, has_body):
        with self.lock:
            if self.draws.random() < self.share:
                self.faults_served += 1
                return self.draws.choice(["503", "reset", "stall in the body" if has_body else "503"])
        return super().fault_for(path, is_range, has_body)


def serve(folder, **options):
    return running(CountingServer(folder, **options))


@pytest.fixture
def shards(tmp_path):
    """Three tars of 40 samples each."""
    folder, draws = tmp_path / "shards", random.Random(3)
    folder.mkdir()
    for shard in range(3):
        with tarfile.open(folder / f"t-{shard}.tar", "w") as tar:
            for sample in range(40):
                for ending, size in (("bin", draws.randrange(4000, 60_000)), ("cls", 1)):
                    info = tarfile.TarInfo(f"{shard}{sample:03}.{ending}")
                    info.size = size
                    tar.addfile(info, io.BytesIO(draws.randbytes(size) if ending == "bin" else b"7"))
    return folder


def same_files(source, target):
    for file in source.rglob("*"):
        if file.is_file():
            assert (target / file.relative_to(source)).read_bytes() == file.read_bytes(), file


def size_of(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def command(*arguments, **options):
    return subprocess.Popen(["penstock", "stage", *map(str, arguments)], stderr=subprocess.PIPE, text=True, **options)


def batches(loader):
    """Everything that an epoch delivers, as something that compares."""
    return [[value.tolist() if hasattr(value, "tolist") else value for value in
             (batch if isinstance(batch, tuple) else (batch,))] for batch in loader]


# -- copies ---------------------------------------------------------------------------------------

def test_objects_on_a_server_are_copied_once(shards, tmp_path):
    with serve(shards) as server:
        url, target = server.url + "/t-{0..2}.tar", tmp_path / "copy"
        report = ps.stage(url, target, piece="256KiB")
        assert (report.objects, report.bytes, report.bytes_copied) == (3, size_of(shards), size_of(shards))
        same_files(shards, target)
        again = ps.stage(url, target, verify=True)
        assert (again.objects_skipped, again.bytes_copied) == (3, 0)
        # A request that is answered late, on a busy machine, is sent a second time.
        assert size_of(shards) <= sum(server.sent.values()) < 1.5 * size_of(shards)
        # The copy is the same data set.
        assert (ps.Tar(url, keep_index=False)._handle.fingerprint()
                == ps.Tar(target, keep_index=False)._handle.fingerprint())


def test_an_object_that_changed_is_copied_anew(shards, tmp_path):
    with serve(shards) as server:
        url, target = server.url + "/t-1.tar", tmp_path / "copy"
        ps.stage(url, target)
        server.version = 2
        assert ps.stage(url, target).bytes_copied == (shards / "t-1.tar").stat().st_size


def test_a_copy_that_is_killed_again_and_again_costs_little_more(tmp_path):
    source, target, draws = tmp_path / "source", tmp_path / "copy", random.Random(11)
    source.mkdir()
    for i in range(2 * KILLS):
        (source / f"{i:03}.bin").write_bytes(draws.randbytes(2_500_000))
    for i in range(KILLS):
        (source / f"small-{i:03}.bin").write_bytes(draws.randbytes(1000))
    with serve(source, wait=0.03) as server:
        # Bodies count when they are sent, so what a killed process had asked for counts, too.
        arguments = (server.url + "/{" + ",".join(f.name for f in sorted(source.iterdir())) + "}", target,
                     "--piece", "128KiB", "--memory", "512KiB", "--json")
        kills = 0
        while kills < KILLS:
            process = command(*arguments, stdout=subprocess.PIPE)
            try:
                process.wait(draws.uniform(0.05, 0.3))
                break
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                kills += 1
        assert kills == KILLS, "the copy ended too soon for the test"
        process = command(*arguments, stdout=subprocess.PIPE)
        out, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        assert json.loads(out)["objects"] == 3 * KILLS
        same_files(source, target)
        # A killed process loses what was on its way, which its memory limits.
        assert sum(server.sent.values()) < 1.05 * size_of(source) + KILLS * (512 << 10)
    assert ps._core.check_staged(os.fsencode(target))["damaged"] == []


def test_processes_share_the_work(shards, tmp_path):
    with serve(shards, wait=0.005) as server:
        url, target = server.url + "/t-{0..2}.tar", tmp_path / "copy"
        processes = [command(url, target, "--piece", "64KiB", "--memory", "1MiB", "--json", stdout=subprocess.PIPE)
                     for _ in range(4)]
        copied = []
        for process in processes:
            out, errors = process.communicate(timeout=60)
            assert process.returncode == 0, errors
            copied.append(json.loads(out)["bytes_copied"])
        assert sum(copied) == size_of(shards)
        # A request that is answered late, on a busy machine, is sent a second time.
        assert sum(server.sent.values()) < 1.2 * size_of(shards)
        same_files(shards, target)


def test_the_claims_of_a_killed_process_are_taken_over(shards, tmp_path):
    with serve(shards, wait=0.3) as server:
        url, target = server.url + "/t-{0..2}.tar", tmp_path / "copy"
        first = command(url, target, "--piece", "64KiB", stdout=subprocess.PIPE)
        time.sleep(1.0)
        second = command(url, target, "--piece", "64KiB", stdout=subprocess.PIPE)
        time.sleep(0.7)
        first.kill()
        first.communicate()
        server.wait = 0
        _, errors = second.communicate(timeout=60)
        assert second.returncode == 0, errors
        same_files(shards, target)


def test_failed_requests_lose_nothing(shards, tmp_path):
    with serve(shards) as server:
        server.share = 0.05
        ps.stage(server.url + "/t-{0..2}.tar", tmp_path / "copy", piece="16KiB")
        assert server.faults_served > 0
        same_files(shards, tmp_path / "copy")


def test_an_interrupt_ends_it_long_before_the_copy_would_end(shards, tmp_path):
    with serve(shards, wait=0.5) as server:
        process = command(server.url + "/t-{0..2}.tar", tmp_path / "copy", "--piece", "4KiB", stdout=subprocess.PIPE)
        time.sleep(1.5)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert time.monotonic() - began < 5
        assert process.returncode != 0


def test_a_table_brings_its_files(tmp_path):
    source = tmp_path / "source"
    (source / "pictures").mkdir(parents=True)
    for i in range(5):
        Image.new("RGB", (8, 8), (i, 0, 0)).save(source / f"pictures/{i}.png")
    (source / "unused.bin").write_bytes(b"x")
    (source / "table.csv").write_text("image,label\n" + "".join(f"pictures/{i}.png,{i}\n" for i in range(5)))
    with serve(source) as server:
        report = ps.stage(server.url + "/table.csv", tmp_path / "copy")
        assert report.objects == 6
        assert not (tmp_path / "copy/unused.bin").exists()
        assert batches(ps.Loader(tmp_path / "copy/table.csv", output="numpy")) == \
            batches(ps.Loader(server.url + "/table.csv", output="numpy"))


def test_a_table_may_name_a_file_many_times(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for i in range(4):
        Image.new("RGB", (8, 8), (i, 0, 0)).save(source / f"{i}.png")
    (source / "table.csv").write_text("image,label\n" + "".join(f"{i % 4}.png,{i}\n" for i in range(60)))
    with serve(source, wait=0.05) as server:
        assert ps.stage(server.url + "/table.csv", tmp_path / "copy").objects == 5
    same_files(source, tmp_path / "copy")


def test_the_command_tells_what_is_wrong(shards, tmp_path):
    copy = tmp_path / "copy"
    ps.stage(shards, copy)
    assert command("--verify", copy).wait() == 0
    with open(copy / "t-1.tar", "r+b") as file:
        file.seek(5000)
        file.write(b"?")
    process = command("--verify", copy, "--json", stdout=subprocess.PIPE)
    out, errors = process.communicate()
    assert process.returncode == 1
    assert "1 of 3 files differ" in errors
    assert json.loads(out)["damaged"][0]["name"] == "t-1.tar"
    assert command(shards).wait() == 2
    missing = command(tmp_path / "nothing", copy)
    assert missing.communicate()[1].count("\n") == 1
    assert missing.returncode == 1
    with pytest.raises(ps.Error, match="has other bytes"):
        ps.stage(shards, copy, verify=True)


# -- loaders --------------------------------------------------------------------------------------

def make_images(folder):
    for label in ("cat", "dog"):
        (folder / label).mkdir(parents=True)
        for i in range(20):
            pixels = np.random.default_rng(i).integers(0, 255, (20, 20, 3), np.uint8)
            Image.fromarray(pixels).save(folder / label / f"{i}.png")
    return folder


def make_zarr(folder):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(folder / "x.zarr"), mode="w")
    array = group.create_array("t", shape=(60, 8, 8), chunks=(4, 8, 8), dtype="f4", dimension_names=("time", "y", "x"))
    array[:] = np.random.default_rng(1).normal(size=(60, 8, 8))
    zarr.consolidate_metadata(group.store)
    return folder


def make_arrays(folder):
    folder.mkdir()
    np.save(folder / "a.npy", np.random.default_rng(2).normal(size=(300, 50)).astype("f4"))
    return folder


@pytest.mark.parametrize("shuffle", [False, "full", "window"])
@pytest.mark.parametrize("kind", ["tar", "npy", "zarr", "table", "images"])
def test_batches_do_not_depend_on_staging(kind, shuffle, shards, tmp_path):
    data = tmp_path / "data"
    name = {"tar": "t-{0..2}.tar", "npy": "a.npy", "zarr": "x.zarr", "table": "table.csv", "images": ""}[kind]
    if kind == "tar":
        data = shards
    elif kind == "npy":
        make_arrays(data)
    elif kind == "zarr":
        make_zarr(data)
    else:
        make_images(data)
        files = sorted(data.rglob("*.png"))
        rows = "".join(f"{file.relative_to(data)},{i}\n" for i, file in enumerate(files))
        (data / "table.csv").write_text("image,n\n" + rows)
    options = dict(batch_size=4, shuffle=shuffle, seed=4, output="numpy", threads=2)
    with serve(data) as server:
        where = str(data) if kind == "images" else f"{server.url}/{name}"
        with ps.Loader(where, **options) as loader:
            wanted = [batches(loader), batches(loader)]
        server.sent.clear()
        with ps.Loader(where, stage=tmp_path / "copy", **options) as loader:
            assert [batches(loader), batches(loader)] == wanted
            objects = {"tar": 3, "npy": 1, "zarr": 15}.get(kind, 40)
            wait_for(lambda: loader.stats()["staging"]["objects_whole"] >= objects)
            assert batches(loader) is not None
            staging = loader.stats()["staging"]
        assert staging["error"] == ""
        assert staging["served_bytes"] > 0 or kind == "zarr"  # whose decoded chunks stay in memory
        assert sum(server.sent.values()) <= 1.5 * size_of(data)  # a late request is sent a second time
        # The next run reads no sample from the source.
        with ps.Loader(where, stage=tmp_path / "copy", **options) as loader:
            assert [batches(loader), batches(loader)] == wanted
            assert loader.stats()["staging"]["copied_bytes"] == 0


def wait_for(is_so, seconds=60):
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_each_byte_is_read_once(shards, tmp_path):
    with serve(shards, wait=0.003) as server:
        url = server.url + "/t-{0..2}.tar"
        ps.Tar(url)  # the index is saved
        server.sent.clear()
        with ps.Loader(url, batch_size=4, shuffle="full", output="numpy", stage=tmp_path / "copy") as loader:
            for _ in loader:
                pass
            wait_for(lambda: loader.stats()["staging"]["objects_whole"] == 3)
        assert sum(server.sent.values()) <= 1.25 * size_of(shards)  # a late request is sent a second time
        same_files(shards, tmp_path / "copy")


def test_a_state_fits_with_and_without_staging(shards, tmp_path):
    with serve(shards) as server:
        url = server.url + "/t-{0..2}.tar"
        options = dict(batch_size=4, shuffle="full", seed=9, output="numpy")
        wanted = batches(ps.Loader(url, **options))
        with ps.Loader(url, stage=tmp_path / "copy", **options) as staged:
            epoch = iter(staged)
            for _ in range(7):
                next(epoch)
            state = staged.state_dict()
        plain = ps.Loader(url, **options)
        plain.load_state_dict(state)
        epoch = iter(plain)
        seen = batches([next(epoch) for _ in range(6)])
        state = plain.state_dict()
        with ps.Loader(url, stage=tmp_path / "copy", **options) as staged:
            staged.load_state_dict(state)
            assert seen + batches(staged) == wanted[7:]


def test_a_folder_that_cannot_be_written_only_warns(shards, tmp_path, caplog):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/t-0.tar").write_bytes(b"mine")
    with serve(shards) as server:
        url = server.url + "/t-{0..2}.tar"
        wanted = batches(ps.Loader(url, output="numpy"))
        with ps.Loader(url, output="numpy", stage=tmp_path / "copy") as loader:
            assert batches(loader) == wanted
        assert "was not staged" in caplog.text
        assert (tmp_path / "copy/t-0.tar").read_bytes() == b"mine"


def test_closing_ends_the_threads(shards, tmp_path):
    def threads():
        return len(os.listdir("/proc/self/task"))

    with serve(shards, wait=0.2) as server:
        before = threads()
        loader = ps.Loader(server.url + "/t-{0..2}.tar", output="numpy", stage=tmp_path / "copy")
        assert threads() > before
        began = time.monotonic()
        loader.close()
        assert time.monotonic() - began < 5
        source = ps.Tar(server.url + "/t-{0..2}.tar", stage=tmp_path / "other")
        del source, loader
    wait_for(lambda: threads() <= before)


def test_a_source_goes_on_staging_after_its_loader(shards, tmp_path):
    with serve(shards, wait=0.01) as server:
        source = ps.Tar(server.url + "/t-{0..2}.tar", stage=tmp_path / "copy")
        with ps.Loader(source, output="numpy", batch_size=10) as loader:
            next(iter(loader))
        with ps.Loader(source, output="numpy", batch_size=10) as loader:
            wait_for(lambda: loader.stats()["staging"]["objects_whole"] == 3)
    same_files(shards, tmp_path / "copy")


def test_a_forked_child_reads_samples_of_a_staged_source(tmp_path):
    images = make_images(tmp_path / "images")
    program = """
import os, sys
import penstock as ps
source = ps.ImageFolder(sys.argv[1], stage=sys.argv[2])
source[0]
child = os.fork()
if child == 0:
    os._exit(0 if source[21][1] == 1 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    # Without pipes, so that a child that hangs does not keep the test from ending.
    done = subprocess.run([sys.executable, "-c", program, images, tmp_path / "copy"], stdout=subprocess.DEVNULL, timeout=60)
    assert done.returncode == 0


def test_commands_read_through_a_folder(shards, tmp_path):
    run = subprocess.run(["penstock", "verify", shards, "--stage", tmp_path / "copy"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "copy/.penstock-stage/manifest").exists()


def test_an_open_source_is_not_staged_again(shards, tmp_path):
    source = ps.Tar(shards, stage=tmp_path / "copy")
    loader = ps.Loader(source, output="numpy")
    assert loader.stats()["staging"] is not None
    with pytest.raises(ps.UsageError, match="open already"):
        ps.Loader(source, stage=tmp_path / "copy")
    assert pathlib.Path(tmp_path / "copy").is_dir()
