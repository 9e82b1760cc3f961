"""Threads, signals, forks, and the end of the interpreter."""

import contextlib
import multiprocessing
import os
import pathlib
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import penstock as ps

LIMIT = 60  # generous: a hang is a failure, a slow machine is not


def run_script(text, *args, **options):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text), *map(str, args)], capture_output=True, text=True,
                          timeout=LIMIT, **options)


def slow_map(seconds):
    def step(row):
        time.sleep(seconds)
        return row
    return ps.Map(step)


def threads_of_this_process():
    return len(os.listdir("/proc/self/task"))


def settles(condition):
    """A thread that was joined may stay listed for a moment."""
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def threads_at_rest():
    """Returns the number of threads once it does not change any more."""
    count, calm = threads_of_this_process(), 0
    while calm < 10:
        time.sleep(0.005)
        now = threads_of_this_process()
        calm, count = (calm + 1, count) if now == count else (0, now)
    return count


def files_of_this_process():
    return len(os.listdir("/proc/self/fd"))


# -- threads ----------------------------------------------------------------------------------------


def test_other_threads_run_while_a_batch_is_awaited(numbers):
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    with ps.Loader(numbers, batch_size=5, transform=[slow_map(0.05)], threads=1, output="numpy") as loader:
        epoch = iter(loader)
        other = threading.Thread(target=count)
        other.start()
        before = counted[0]
        next(epoch)
        seen = counted[0] - before
        stop.set()
        other.join()
    assert seen > 5


def test_a_loader_works_in_a_thread_of_its_own(numbers):
    got = []

    def use():
        with ps.Loader(numbers, batch_size=4, output="numpy") as loader:
            got.extend(len(batch) for batch in loader)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join(LIMIT)
    assert got == [4] * 5 + [3]


def test_a_loader_may_be_used_by_several_threads(numbers):
    """Not fast, but no sample twice, no crash."""
    with ps.Loader(numbers, batch_size=1, epoch_size=2000, output="numpy", threads=2) as loader:
        epoch, seen, lock = iter(loader), [], threading.Lock()

        def use():
            for batch in epoch:
                with lock:
                    seen.append(int(batch[0, 0]))

        def watch():
            while len(seen) < 1900:
                loader.stats(), loader.state_dict(), len(loader)

        users = [threading.Thread(target=use) for _ in range(3)] + [threading.Thread(target=watch)]
        for user in users:
            user.start()
        for user in users:
            user.join(LIMIT)
    assert len(seen) == 2000


def test_closing_while_another_thread_waits_ends_its_epoch(numbers):
    loader = ps.Loader(numbers, batch_size=5, transform=[slow_map(0.02)], threads=1, output="numpy")
    started, ended = threading.Event(), []

    def use():
        try:
            for _ in range(100):
                for _ in loader:
                    started.set()
        except ps.Error as error:
            ended.append(error)

    user = threading.Thread(target=use)
    user.start()
    started.wait(LIMIT)
    loader.close()
    user.join(LIMIT)
    assert not user.is_alive() and "closed" in str(ended[0])


def test_two_loaders_share_a_source_and_run_at_once(numbers):
    source = ps.Npy(numbers)
    with ps.Loader(source, batch_size=4, output="numpy") as one, ps.Loader(source, batch_size=4, output="numpy") as two:
        for a, b in zip(one, two, strict=True):
            assert np.array_equal(a, b)


def test_with_closes_and_ends_the_threads(numbers):
    before = threads_at_rest()
    with ps.Loader(numbers, threads=4, output="numpy") as loader:
        next(iter(loader))
        assert settles(lambda: threads_of_this_process() == before + 4)
    assert settles(lambda: threads_of_this_process() == before)


def test_a_dropped_loader_ends_its_threads(numbers):
    before = threads_at_rest()
    loader = ps.Loader(numbers, threads=4, output="numpy")
    epoch = iter(loader)
    next(epoch)
    del loader, epoch
    assert settles(lambda: threads_of_this_process() == before)


def test_200_loaders_leave_no_threads_and_no_open_files(classes, numbers):
    def cycle(count):
        for i in range(count):
            loader = ps.Loader(classes if i % 2 else numbers, batch_size=4, output="numpy", threads=2)
            next(iter(loader))
            if i % 3:
                loader.close()
            del loader

    cycle(5)
    threads, files = threads_at_rest(), files_of_this_process()
    cycle(200)
    assert settles(lambda: threads_of_this_process() == threads) and files_of_this_process() == files


# -- Ctrl-C -----------------------------------------------------------------------------------------


def test_ctrl_c_is_seen_while_waiting_and_the_loader_goes_on_afterwards(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((400, 2)))
    script = """
        import sys, time, penstock as ps
        loader = ps.Loader(sys.argv[1], batch_size=4, transform=[ps.Map(lambda row: time.sleep(0.05) or row)],
                           threads=1, output="numpy")
        epoch, seen = iter(loader), 0
        try:
            for batch in epoch:
                seen += 1
                print("batch", flush=True)
        except KeyboardInterrupt:
            seen += len(next(epoch)) > 0
            print("interrupted", flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "x.npy")], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "batch\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT)
    assert out.endswith("interrupted\n") and process.returncode == 0 and err == ""


def test_ctrl_c_that_nobody_catches_ends_the_program(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((4000, 2)))
    script = """
        import sys, time, penstock as ps
        for batch in ps.Loader(sys.argv[1], batch_size=4, transform=[ps.Map(lambda row: time.sleep(0.05) or row)],
                               output="numpy"):
            print("batch", flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "x.npy")], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "batch\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
    assert err.rstrip().endswith("KeyboardInterrupt") and "nanobind" not in err
    assert process.returncode in (-signal.SIGINT, 130)


@pytest.fixture
def silent_server():
    """Takes connections and says nothing; its address, and how many came."""
    taken = []
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:

        def take():
            with contextlib.suppress(OSError):
                while True:
                    taken.append(listener.accept())

        threading.Thread(target=take, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", taken
        listener.shutdown(socket.SHUT_RDWR)
    for connection, _ in taken:
        connection.close()


@pytest.mark.parametrize("call", [
    "ps.Zarr(sys.argv[1] + '/x.zarr')", "ps.Patches(sys.argv[1] + '/x.zarr', (8, 8))",
    "ps.Patches(sys.argv[2], (8, 8), per_epoch=4, labels=sys.argv[1] + '/x.npy', min_foreground=0.5)",
    "ps.Loader(sys.argv[1] + '/x{0..9}.tar', batch_size=2)", "ps.Loader(sys.argv[1] + '/x.csv', batch_size=2)"])
def test_ctrl_c_while_a_source_is_opened(tmp_path, silent_server, call):
    url, taken = silent_server
    np.save(tmp_path / "x.npy", np.zeros((32, 32)))
    script = f"import sys, penstock as ps\nprint('go', flush=True)\n{call}\n"
    with subprocess.Popen([sys.executable, "-c", script, url, str(tmp_path / "x.npy")], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "go\n"
        deadline = time.monotonic() + LIMIT
        while not taken and time.monotonic() < deadline:
            time.sleep(0.01)
        assert taken
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)  # sooner than the server is given up
    assert err.rstrip().endswith("KeyboardInterrupt"), err


# -- the end of the interpreter ---------------------------------------------------------------------


@pytest.mark.parametrize("ending", [
    "pass", "keep = list(loader)", "sys.exit(0)", "del loader", "loader.close()", "sys.modules.clear()",
    "import threading; began = threading.Event(); "
    "threading.Thread(target=lambda: [began.set() for batch in loader], daemon=True).start(); began.wait()"])
def test_an_unfinished_epoch_does_not_disturb_the_end_of_the_program(tmp_path, ending):
    np.save(tmp_path / "x.npy", np.zeros((4000, 100)))
    done = run_script(f"""
        import sys, penstock as ps
        loader = ps.Loader(sys.argv[1], batch_size=4, transform=[ps.Map(lambda row: row + 1)], output="numpy")
        epoch = iter(loader)
        first = next(epoch)
        {ending}
    """, tmp_path / "x.npy")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_uncaught_error_prints_its_traceback_and_nothing_else(flat):
    (flat / "005.png").write_bytes(b"bad")
    done = run_script("""
        import sys, penstock as ps
        steps = [ps.CenterCrop(4)]
        for batch in ps.Loader(sys.argv[1], batch_size=4, transform=steps, output="numpy"):
            pass
    """, flat)
    assert done.returncode == 1
    assert "005.png" in done.stderr.splitlines()[-1] and "penstock" in done.stderr.splitlines()[-1]
    assert "nanobind" not in done.stderr


def test_a_script_needs_no_main_guard(tmp_path, numbers):
    script = tmp_path / "script.py"
    script.write_text(f"import penstock as ps\nprint(sum(len(b) for b in ps.Loader({str(numbers)!r}, batch_size=4)))\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=LIMIT)
    assert (done.stdout, done.stderr) == ("23\n", "")


def test_importing_penstock_imports_neither_torch_nor_jax():
    done = run_script("import sys, penstock; print('torch' in sys.modules, 'jax' in sys.modules)")
    assert done.stdout == "False False\n"


def test_penstock_log_shows_what_happens(numbers):
    done = run_script("""
        import sys, penstock as ps
        ps.Loader(sys.argv[1], output="numpy")
    """, numbers, env=os.environ | {"PENSTOCK_LOG": "info"})
    assert "penstock INFO: opened" in done.stderr


# -- forks ------------------------------------------------------------------------------------------


def in_fork(work):
    """Runs work in a forked child and returns what it printed with its exit status."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writer, str(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    return text, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_use_after_a_fork_is_a_clear_error(numbers):
    with ps.Loader(numbers, batch_size=4, output="numpy") as loader:
        epoch = iter(loader)
        next(epoch)

        def use():
            said = []
            for attempt in (lambda: next(epoch), lambda: iter(loader), lambda: len(loader), loader.stats, loader.state_dict):
                try:
                    attempt()
                    said.append("no error")
                except ps.Error as error:
                    said.append(error.code)
            loader.close()
            return said

        assert in_fork(use) == (str(["forked"] * 5), 0)
        assert len(list(epoch)) == 5  # the parent goes on


def test_a_fork_message_says_what_to_do(numbers):
    with ps.Loader(numbers, output="numpy") as loader:
        def use():
            try:
                iter(loader)
            except ps.Error as error:
                return error
        text, status = in_fork(use)
    assert status == 0 and "in the process that uses it" in text


def test_a_child_may_drop_the_loader_and_its_batches_and_exit(numbers):
    loader = ps.Loader(numbers, batch_size=4, output="numpy")
    epoch = iter(loader)
    batch = next(epoch)

    def use():
        nonlocal loader, epoch, batch
        total = int(batch.sum())
        del loader, epoch, batch
        return total

    assert in_fork(use) == ("18", 0)
    loader.close()


def test_a_child_may_make_its_own_loader_of_the_same_source(numbers):
    source = ps.Npy(numbers)
    with ps.Loader(source, batch_size=4, output="numpy") as loader:
        next(iter(loader))
        assert in_fork(lambda: sum(len(b) for b in ps.Loader(source, batch_size=4, output="numpy"))) == ("23", 0)


def test_repr_works_after_a_fork(numbers):
    with ps.Loader(numbers, output="numpy") as loader:
        text, status = in_fork(lambda: repr(loader))
    assert status == 0 and "penstock.Loader" in text


def fail_in_child(loader, answers):
    try:
        next(iter(loader))
    except ps.Error as error:
        answers.put(error.code)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_multiprocessing_children_get_the_error_and_exit_cleanly(numbers):
    context = multiprocessing.get_context("fork")
    with ps.Loader(numbers, output="numpy") as loader:
        next(iter(loader))
        answers = context.SimpleQueue()
        child = context.Process(target=fail_in_child, args=(loader, answers))
        child.start()
        child.join(LIMIT)
        assert child.exitcode == 0 and answers.get() == "forked"


def test_a_program_that_forks_and_exits_the_long_way_ends(numbers):
    done = run_script("""
        import os, sys, penstock as ps
        loader = ps.Loader(sys.argv[1], batch_size=4, transform=[ps.Map(lambda row: row)], output="numpy")
        batch = next(iter(loader))
        child = os.fork()
        if child == 0:
            sys.exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """, numbers)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


# -- the package ------------------------------------------------------------------------------------


def test_stubs_and_the_typing_marker_are_installed():
    folder = pathlib.Path(ps.__file__).parent
    assert (folder / "py.typed").exists()
    stub = (folder / "_core.pyi").read_text()
    assert "class RandomResizedCrop" in stub and "class LoaderHandle" in stub


def test_public_names_exist_and_are_documented():
    assert set(ps.__all__) >= {"Loader", "ImageFolder", "Npy", "Source", "Error", "UsageError", "NotFoundError",
                               "MemoryBudgetError", "Decode", "Resize", "CenterCrop", "RandomCrop", "RandomResizedCrop",
                               "RandomHorizontalFlip", "RandomVerticalFlip", "ColorJitter", "Normalize", "Cast", "Pad",
                               "RandomErasing", "RandomFlip3D", "RandomRot90", "OneHot", "Map", "Derive", "__version__"}
    for name in set(ps.__all__) - {"__version__"}:
        assert getattr(ps, name).__doc__, name
    for cls in (ps.Loader, ps.Source):
        for name, member in vars(cls).items():
            if not name.startswith("_"):
                assert member.__doc__, f"{cls.__name__}.{name}"


def test_the_version_is_the_installed_packages():
    from importlib.metadata import version
    assert ps.__version__ == version("penstock")
