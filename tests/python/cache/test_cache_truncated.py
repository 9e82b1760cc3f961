"""Files of the cache that are cut short while processes use them: an error or a fresh read, never a signal."""

import pytest

from cached import Reader, shared_files
from cached_reader import expected_digests

CUTS = {"to nothing": lambda size: 0, "a page": lambda size: 4096, "in the middle": lambda size: size // 2,
        "at the end": lambda size: size - 1}


def cut(path, how):
    with open(path, "r+b") as file:
        file.truncate(CUTS[how](path.stat().st_size))


@pytest.mark.parametrize("how", CUTS)
@pytest.mark.parametrize("file", ["index", "data"])
def test_files_on_disk(tmp_path, noisy, file, how):
    own = {"source": noisy, "cache_form": "decoded", "cache_options": {"disk": f"{tmp_path / 'kept'}:16MiB"}}
    expected = expected_digests(4, **own)
    with Reader(**own) as one, Reader(**own) as other:
        assert one.epoch()["digests"] == expected[0] and other.epoch()["digests"] == expected[0]
        cut(tmp_path / "kept" / "penstock-cache-1" / file, how)
        for epoch in range(1, 4):
            for reader in (one, other):
                answer = reader.epoch()
                assert answer["digests"] == expected[epoch] and answer["errors"] == []
        assert one.end() == (0, "") and other.end() == (0, "")
    with Reader(**own) as again:
        assert [again.epoch()["digests"] for _ in range(2)] == expected[:2]


@pytest.mark.parametrize("how", CUTS)
@pytest.mark.parametrize("form", ["encoded", "decoded"])
def test_shared_memory(tmp_path, noisy, form, how):
    own = {"source": noisy, "cache_form": form, "cache": "4MiB"}
    expected = expected_digests(4, **own)
    before = shared_files()
    with Reader(**own) as one, Reader(**own) as other:
        assert one.epoch()["digests"] == expected[0] and other.epoch()["digests"] == expected[0]
        path, = [path for path in shared_files() if path not in before]
        cut(path, how)
        for reader in (one, other):
            # No sample that was being made then is delivered wrong.
            reader.tell("epoch that may fail")
            answer = reader.answer()
            assert answer["digests"] == expected[1] or "cut short" in answer["error"]
        for epoch in (2, 3):
            for reader in (one, other):
                assert reader.epoch()["digests"] == expected[epoch]
        assert one.end() == (0, "") and other.end() == (0, "")


def test_while_they_read(tmp_path, noisy):
    """Again and again, at any moment."""
    own = {"source": noisy, "cache_form": "decoded", "batch_size": 5, "on_error": "skip", "max_skip": 1.0,
           "cache_options": {"ram": "4MiB", "disk": f"{tmp_path / 'kept'}:16MiB"}}
    before = shared_files()
    for how in ("to nothing", "in the middle"):
        with Reader(**own) as reader:
            reader.tell("forever")
            assert reader.answer() == {}
            mine = [path for path in shared_files() if path not in before]
            for path in mine:
                cut(path, how)
            cut(tmp_path / "kept" / "penstock-cache-1" / "index", how)
            with pytest.raises(Exception, match="timed out"):
                reader.process.wait(1)  # it goes on
            reader.kill()
        for path in mine:
            path.unlink()  # nobody was left to do so
