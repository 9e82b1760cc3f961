"""penstock cache: what is in folders on disk, and removing it."""

import contextlib
import fcntl
import json
import struct

import pytest

from test_cli import cli, one_line, program  # noqa: F401  (fixtures)

SLOTS = 54  # that fit into 4096 bytes, behind a header of 640


def make_cache(folder, capacity=200 * 2**20, used=50 * 2**20, entries=1234, words=()):
    """As version 1 of the format has it (src/cache/entry_table.cpp), without entries; the index counts too."""
    inside = folder / "penstock-cache-1"
    inside.mkdir(parents=True)
    header = b"pstable4" + struct.pack("<Q64xQQQQQ", SLOTS, 0, capacity - 4096, used - 4096, 0, entries)
    (inside / "index").write_bytes(header.ljust(4096, b"\0"))
    (inside / "data").write_bytes(bytes(10_000))
    (inside / "contents").write_text("".join(json.dumps({"cached": text}) + "\n" for text in words))
    return folder


@pytest.fixture
def cache(tmp_path):
    return make_cache(tmp_path / "on disk", words=["photos, decoded", "photos\x1b[2J, encoded"])


@contextlib.contextmanager
def in_use(folder):
    with open(folder / "penstock-cache-1" / "index") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def test_ls_shows_a_table_with_what_was_cached(cli, cache):
    lines = cli("cache", "ls", cache).stdout.splitlines()
    assert lines[0].split() == ["folder", "used", "entries", "in", "use", "last", "used"]
    for words in (str(cache), "50 MiB of 200 MiB", "1,234", " no "):
        assert words in lines[1]
    assert lines[2:] == ["      photos, decoded", "      photos?[2J, encoded"]


def test_ls_json_has_what_scripts_rely_on(cli, cache, tmp_path):
    other = make_cache(tmp_path / "other", used=4096, entries=0)
    done = cli("cache", "ls", cache, other, "--json")
    assert len(done.stdout.splitlines()) == 1 and done.stderr == ""
    result = json.loads(done.stdout)
    first, second = result["caches"]
    assert result["errors"] == []
    assert first["folder"] == str(cache) and first["contents"] == ["photos, decoded", "photos\x1b[2J, encoded"]
    assert (first["capacity_bytes"], first["used_bytes"], first["entries"]) == (200 * 2**20, 50 * 2**20, 1234)
    assert first["is_readable"] is True and first["is_in_use"] is False
    assert first["bytes_on_disk"] > 10_000 and first["last_used"].startswith("20")
    assert second["folder"] == str(other) and second["contents"] == []


def test_ls_says_who_is_in_use_and_disturbs_nobody(cli, cache):
    with in_use(cache):
        assert " yes " in cli("cache", "ls", cache).stdout
        assert json.loads(cli("cache", "ls", cache, "--json").stdout)["caches"][0]["is_in_use"] is True


@pytest.mark.parametrize("version, contents", [(1, b"no table at all"), (1, b""), (9, b"what the future has")])
def test_ls_of_what_this_version_cannot_read(cli, tmp_path, version, contents):
    inside = tmp_path / f"penstock-cache-{version}"
    inside.mkdir()
    (inside / "index").write_bytes(contents)
    screen = cli("cache", "ls", tmp_path).stdout
    assert "not readable" in screen and ("of another version: penstock-cache-9" in screen) == (version == 9)
    assert json.loads(cli("cache", "ls", tmp_path, "--json").stdout)["caches"][0]["is_readable"] is False
    cli("cache", "rm", tmp_path)
    assert not inside.exists()


def test_rm_removes_the_cache_and_nothing_else(cli, cache):
    (cache / "mine.txt").write_text("stays")
    done = cli("cache", "rm", cache)
    assert done.stdout.startswith("removed ") and str(cache) in done.stdout and done.stderr == ""
    assert [path.name for path in cache.iterdir()] == ["mine.txt"]
    assert "there is no cache" in one_line(cli("cache", "rm", cache, expect=1))


def test_rm_json(cli, cache):
    result = json.loads(cli("cache", "rm", cache, "--json").stdout)
    assert [one["folder"] for one in result["removed"]] == [str(cache)] and result["errors"] == []


def test_rm_of_a_cache_in_use_is_exit_1_and_removes_nothing(cli, cache):
    before = sorted(cache.rglob("*"))
    with in_use(cache):
        assert "in use" in one_line(cli("cache", "rm", cache, expect=1))
    assert sorted(cache.rglob("*")) == before


def test_one_bad_folder_among_several_does_not_keep_the_others(cli, cache, tmp_path):
    done = cli("cache", "ls", tmp_path / "nothing", cache, expect=1)
    assert str(cache) in done.stdout and "there is no cache" in done.stderr
    done = cli("cache", "rm", tmp_path / "nothing", cache, "--json", expect=1)
    result = json.loads(done.stdout)
    assert [error["path"] for error in result["errors"]] == [str(tmp_path / "nothing")]
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("arguments", [
    ["cache"], ["cache", "ls"], ["cache", "rm"], ["cache", "sl", "x"], ["cache", "ls", "x", "--jsno"]])
def test_wrong_usage_is_exit_2_and_one_line(cli, arguments):
    one_line(cli(*arguments, expect=2))


def test_help_has_examples(cli):
    text = cli("cache", "--help").stdout
    assert "  penstock cache ls" in text and "  penstock cache rm" in text and "--json" in text
