"""Processes that share a cache: one memory, one copy of each sample, whoever comes and goes."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import penstock as ps
from cached import LIMIT, SHARED, Reader, cached_loader, mapped_files
from cached_data import REPLACED, replaced_source, write_replaced
from cached_reader import expected_digests
from pictures import noise, save_png
from records import write_tar

SAMPLES = 40
CROP = [["RandomCrop", 32]]


def ranks(noisy, world_size, **options):
    for rank in range(world_size):
        yield {"source": noisy, "steps": CROP, "rank": rank, "world_size": world_size, "cache_form": "decoded", **options}


# -- one memory for all -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["auto", "encoded", "decoded"])
def test_two_ranks_share_one_memory_and_make_every_entry_once(noisy, form):
    with contextlib.ExitStack() as stack:
        options = list(ranks(noisy, 2, cache="4MiB", cache_form=form))
        both = [stack.enter_context(Reader(**own)) for own in options]
        path = both[0].file()
        assert both[1].file() == path and path.stat().st_size == 4 << 20 and path.stat().st_mode & 0o777 == 0o600
        expected = [expected_digests(4, **own) for own in options]
        for epoch in range(4):
            for reader in both:
                reader.tell("epoch")
            answers = [reader.answer() for reader in both]
            for rank, answer in enumerate(answers):
                assert answer["digests"] == expected[rank][epoch]
                assert answer["tiers"]["ram"]["shared"] and answer["warnings"] == []
            # Every rank meets samples in its second epoch that the other had in the first.
            assert sum(answer["hits"] for answer in answers) == (SAMPLES if epoch else 0)
            entries = {answer["tiers"]["ram"]["entries"] for answer in answers}
            assert max(entries) == SAMPLES
        assert [reader.file() for reader in both] == [path] * 2
        assert [reader.end() for reader in both] == [(0, "")] * 2
    assert not path.exists()


@pytest.mark.parametrize("processes", [2, 4])
def test_the_joint_hit_ratio_is_the_share_that_fits(noisy, processes):
    with contextlib.ExitStack() as stack:
        all_of_them = [stack.enter_context(Reader(**own)) for own in ranks(noisy, processes, cache="1MiB", seed=5,
                                                                           cache_form="decoded", steps=[["Resize", 100]])]
        for epoch in range(4):
            for reader in all_of_them:
                reader.tell("epoch")
            answers = [reader.answer() for reader in all_of_them]
            hits, looks = (sum(answer[key] for answer in answers) for key in ("hits", "misses"))
            if epoch > 1:
                assert hits / (hits + looks) == kept / SAMPLES
            kept = max(answer["tiers"]["ram"]["entries"] for answer in answers)
            assert 0.5 < kept / SAMPLES < 0.9


def test_a_large_cache_is_of_several_files_that_all_share(noisy):
    with contextlib.ExitStack() as stack:
        options = list(ranks(noisy, 2, cache="1GiB"))
        both = [stack.enter_context(Reader(**own)) for own in options]
        files = mapped_files(both[0].process.pid)
        assert len(files) == 4 and mapped_files(both[1].process.pid) == files
        expected = [expected_digests(3, **own) for own in options]
        for epoch in range(3):
            for reader in both:
                reader.tell("epoch")
            answers = [reader.answer() for reader in both]
            assert [answer["digests"] for answer in answers] == [truth[epoch] for truth in expected]
        assert sum(answer["hits"] for answer in answers) == SAMPLES == answers[0]["tiers"]["ram"]["entries"]
        assert answers[0]["tiers"]["ram"]["capacity"] == 1 << 30
        both[0].kill()
        assert both[1].epoch()["misses"] == 0
        assert both[1].end() == (0, "")
    assert not any(path.exists() for path in files)


def test_a_process_that_comes_later_finds_what_others_kept(noisy):
    own = {"source": noisy, "steps": CROP, "cache": "4MiB", "cache_form": "decoded"}
    expected = expected_digests(2, **own)
    with Reader(**own) as first:
        assert first.epoch()["hits"] == 0
        with Reader(**own) as second:
            answer = second.epoch()
            assert (answer["hits"], answer["misses"], answer["digests"]) == (SAMPLES, 0, expected[0])
            assert first.end()[0] == 0
            answer = second.epoch()  # the first one is gone, its entries are not
            assert (answer["hits"], answer["digests"]) == (SAMPLES, expected[1])


# -- what must not be mixed up ----------------------------------------------------------------------


def test_processes_with_other_steps_or_other_data_do_not_mix_up_samples(tmp_path, noisy):
    for i in range(SAMPLES):
        save_png(tmp_path / "other" / f"{i:02}.png", noise((70, 70, 3), seed=100 + i), compress_level=1)
    common = {"cache": "4MiB", "cache_form": "decoded"}
    kinds = [{"source": noisy, "steps": CROP}, {"source": noisy, "steps": [["Resize", 50], ["RandomCrop", 32]]},
             {"source": noisy, "steps": [["Resize", 60], ["RandomCrop", 32]]}, {"source": noisy, "steps": [["CenterCrop", 40]]},
             {"source": tmp_path / "other", "steps": CROP}, {"source": noisy, "steps": [["Decode", "L"], *CROP]}]
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(Reader(**own, **common)) for own in kinds]
        expected = [expected_digests(3, **own) for own in kinds]
        for epoch in range(3):
            for reader in readers:
                reader.tell("epoch")
            for reader, truth in zip(readers, expected):
                answer = reader.answer()
                assert answer["digests"] == truth[epoch] and answer["hits"] == (SAMPLES if epoch else 0)


def test_processes_with_other_forms_do_not_mix_up_samples(noisy):
    forms = [{"source": noisy, "steps": CROP, "cache": "8MiB", "cache_form": form} for form in ("encoded", "decoded", "auto")]
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(Reader(**own)) for own in forms]
        expected = expected_digests(3, **forms[0])
        for epoch in range(3):
            for reader in readers:
                reader.tell("epoch")
            assert [reader.answer()["digests"] for reader in readers] == [expected[epoch]] * 3


def test_processes_that_read_a_field_as_different_kinds_do_not_mix_it_up(tmp_path):
    write_tar(tmp_path / "d.tar", [(f"{i}.bin", np.full(12, i, np.float32).tobytes()) for i in range(20)])
    kinds = [{"source": tmp_path / "d.tar", "kind": "Tar", "kind_options": {"kinds": {"bin": kind}}, "cache": "4MiB"}
             for kind in ("bytes", "float32[12]", "int32[3,4]")]
    with contextlib.ExitStack() as stack:
        for own in kinds:
            reader, expected = stack.enter_context(Reader(**own)), expected_digests(2, **own)
            assert [reader.epoch()["digests"] for _ in range(2)] == expected


def test_all_who_let_it_be_chosen_keep_the_same_form(noisy):
    """Whatever each of them measures."""
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(Reader(**own)) for own in ranks(noisy, 4, cache="2MiB", cache_form="auto")]
        assert len({reader.opened["form"] for reader in readers}) == 1


@pytest.mark.parametrize("kind", REPLACED)
def test_data_replaced_while_another_process_keeps_the_memory(tmp_path, kind):
    """Same size, other content: who comes now sees what is there now."""
    own = replaced_source(tmp_path, kind) | {"cache": "4MiB"}
    for form in ("encoded", "decoded"):
        write_replaced(tmp_path, kind, 0)
        with Reader(**own, cache_form=form) as old:
            old.epoch()
            assert old.epoch()["misses"] == 0
            write_replaced(tmp_path, kind, 1)
            expected = expected_digests(2, **own)
            with Reader(**own, cache_form=form) as new:
                assert [new.epoch()["digests"] for _ in range(2)] == expected
                assert new.epoch()["misses"] == 0


# -- the last one cleans up -------------------------------------------------------------------------


@pytest.mark.parametrize("command, status, said", [
    ("exit", 0, ""), ("raise", 1, "the program fails"), ("exit early", 3, ""), ("close", 0, "")])
def test_the_file_is_gone_when_the_last_one_leaves(noisy, command, status, said):
    own = {"source": noisy, "steps": CROP, "cache": "4MiB", "cache_form": "decoded"}
    with Reader(**own) as one, Reader(**own) as two:
        one.epoch()
        assert one.end()[0] == 0
        path = two.file()
        two.epoch()
        assert path.exists()
        if command == "close":
            two.tell("close")
            two.answer()
            assert not path.exists()
            command = "exit"
        code, err = two.end(command)
        assert code == status and said in err and (said or err == "")
    assert not path.exists()


def test_the_file_is_gone_after_ctrl_c(noisy):
    with Reader(noisy, steps=CROP, cache="4MiB") as reader:
        reader.tell("forever")
        reader.answer()
        path = reader.file()
        reader.process.send_signal(signal.SIGINT)
        _, err = reader.process.communicate(timeout=LIMIT)
        assert err.rstrip().endswith("KeyboardInterrupt")
    assert not path.exists()


@pytest.mark.parametrize("ending", ["pass", "keep = cache, loader, epoch", "del loader", "sys.modules.clear()", "cache.close()",
                                    "import builtins; builtins.kept = loader", "cycle = [loader]; cycle.append(cycle)"])
def test_the_file_is_gone_however_the_program_ends(noisy, ending):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(f"""
        import sys, penstock as ps
        cache = ps.Cache("4MiB")
        loader = ps.Loader(sys.argv[1], 4, transform=[ps.RandomCrop(32)], output="numpy", cache=cache)
        epoch = iter(loader)
        next(epoch)
        print([line.split()[5] for line in open("/proc/self/maps") if "/penstock-1-" in line][0])
        {ending}
    """), str(noisy)], capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith(f"{SHARED}/penstock-1-")
    assert not os.path.exists(done.stdout.strip())


def test_all_who_leave_at_once_leave_nothing(noisy):
    for _ in range(2):
        with contextlib.ExitStack() as stack:
            readers = [stack.enter_context(Reader(noisy, steps=CROP, cache="4MiB")) for _ in range(4)]
            path, = {reader.file() for reader in readers}
            for reader in readers:
                reader.tell("exit")
            for reader in readers:
                reader.process.communicate(timeout=LIMIT)
        assert not path.exists()


def test_two_loaders_of_one_process_share_too(noisy):
    options = {"transform": [ps.RandomCrop(32)], "cache": "4MiB", "cache_form": "decoded"}
    with cached_loader(noisy, **options) as one:
        list(one)
        with cached_loader(noisy, **options) as two:
            list(two)
            assert two.stats()["cache"]["hit_ratio"] == 1 and len(mapped_files()) == 1
        list(one)
        assert one.stats()["epochs"][-1]["cache"]["hit_ratio"] == 1
        path, = mapped_files()
    assert not path.exists()


def test_a_forked_child_that_exits_leaves_the_parents_memory_alone(noisy):
    own = {"source": noisy, "steps": CROP, "cache": "4MiB", "cache_form": "decoded"}
    expected = expected_digests(3, **own)
    with Reader(**own) as reader:
        for epoch in range(3):
            reader.tell("fork")
            assert reader.answer() == {"status": 0}
            answer = reader.epoch()
            assert answer["digests"] == expected[epoch] and answer["hits"] == (SAMPLES if epoch else 0)
            path = reader.file()
            assert path.exists()
        with Reader(**own) as late:
            assert late.epoch()["hits"] == SAMPLES
        assert reader.end() == (0, "")
    assert not path.exists()


def test_a_forked_child_that_stays_does_not_keep_the_file(noisy):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
        import os, sys, time, penstock as ps
        loader = ps.Loader(sys.argv[1], 4, transform=[ps.RandomCrop(32)], output="numpy", cache="4MiB")
        list(loader)
        child = os.fork()
        if child == 0:
            os.close(1), os.close(2)
            time.sleep(60)
            os._exit(0)
        path = [line.split()[5] for line in open("/proc/self/maps") if "/penstock-1-" in line][0]
        print(os.path.exists(path))
        loader.close()
        print(os.path.exists(path))
        os.kill(child, 9)
        os.waitpid(child, 0)
    """), str(noisy)], capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\nFalse\n", "")
