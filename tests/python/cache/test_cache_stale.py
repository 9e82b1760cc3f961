"""Objects that change: what an epoch, a loader or a process delivers that began after the change is new, or an error.

This holds for each epoch if files changed, and for each loader if objects on servers did.
"""

import contextlib
import random

import pytest

import penstock as ps
from cached import Reader
from cached_reader import digests, open_loader
from changing_data import CHANGES, SAMPLES, Changing, ChangingServer
from http_faults import serve

TIERS = {"ram": {"ram": "4MiB"}, "disk": {"disk": "4MiB"}, "both": {"ram": "4MiB", "disk": "4MiB"},
         "lru": {"ram": "4MiB", "policy": "lru"}}
FILES = ["folder", "kept folder", "manifest", "tar", "tar.gz", "npy", "zarr", "sharded zarr"]
REMOTE = ["manifest", "tar", "tar.gz", "npy", "zarr", "sharded zarr"]


def open_cache(tiers, folder, **more):
    options = dict(TIERS[tiers])
    if "disk" in options:
        options["disk"] = f"{folder / 'kept'}:{options['disk']}"
    return ps.Cache(**options, **more)


def change_some(data, draw, changes=CHANGES):
    numbers = draw.sample(range(SAMPLES), draw.randint(1, 4))
    data.change(numbers, draw.choice(changes))


def read_epoch(loader, data):
    """Checks that delivered samples are as the files are now; returns their number. The others were errors."""
    delivered = [seen for batch in loader for seen in data.seen(batch)]
    assert all(version == data.versions[number] for number, version in delivered), (delivered, data.versions)
    return len(delivered)


@pytest.mark.parametrize("form", ["encoded", "decoded"])
@pytest.mark.parametrize("tiers", TIERS)
@pytest.mark.parametrize("kind", FILES)
def test_files_change_between_epochs_and_loaders(tmp_path, kind, tiers, form):
    draw = random.Random(f"{kind} {tiers} {form}")
    data = Changing(tmp_path, kind)
    with contextlib.closing(open_cache(tiers, tmp_path)) as cache:
        for _ in range(3):
            with open_loader(data.options() | {"cache": cache, "cache_form": form}) as loader:
                assert read_epoch(loader, data) == SAMPLES  # after the change before
                assert read_epoch(loader, data) == SAMPLES
                assert loader.stats()["epochs"][-1]["cache"]["hits"] > 0
                for _ in range(2):
                    change_some(data, draw)
                    read_epoch(loader, data)
            # The checksums in the kept index of a compressed shard make an old time an error when it is opened.
            change_some(data, draw, ["new file", "in place"] if kind == "tar.gz" else CHANGES)
            if kind == "tar.gz":
                (tmp_path / "d.tar.gz").touch()


@pytest.mark.parametrize("kind", FILES)
def test_files_change_between_epochs_without_a_cache(tmp_path, kind):
    draw = random.Random(kind)
    data = Changing(tmp_path, kind)
    for _ in range(2):
        with open_loader(data.options()) as loader:
            assert read_epoch(loader, data) == SAMPLES
            for _ in range(3):
                change_some(data, draw)
                read_epoch(loader, data)


@pytest.mark.parametrize("tiers", ["ram", "disk"])
@pytest.mark.parametrize("kind", ["folder", "tar", "zarr"])
def test_files_change_between_processes(tmp_path, kind, tiers):
    draw = random.Random(f"{kind} {tiers}")
    data = Changing(tmp_path, kind)
    options = dict(TIERS[tiers])
    if "disk" in options:
        options["disk"] = f"{tmp_path / 'kept'}:{options['disk']}"
    own = data.options() | {"cache_options": options}
    with contextlib.ExitStack() as readers:
        first = readers.enter_context(Reader(**own))
        assert first.epoch()["errors"] == []
        for _ in range(2):
            change_some(data, draw)
            with open_loader(data.options()) as loader:
                expected = digests(loader)
            with Reader(**own) as other:
                answer = other.epoch()
                assert answer["digests"] == expected and answer["errors"] == []
                assert answer["hits"] > 0 or kind == "tar"


@pytest.mark.parametrize("form", ["encoded", "decoded"])
@pytest.mark.parametrize("tiers", ["ram", "disk", "both"])
@pytest.mark.parametrize("kind", REMOTE)
def test_objects_on_a_server_change_between_loaders(tmp_path, kind, tiers, form):
    draw = random.Random(f"{kind} {tiers} {form}")
    data = Changing(tmp_path, kind)
    with serve(tmp_path, ChangingServer) as server, contextlib.closing(open_cache(tiers, tmp_path)) as cache:
        for turn in range(4):
            with open_loader(data.options(server.url) | {"cache": cache, "cache_form": form}) as loader:
                assert read_epoch(loader, data) == SAMPLES
                assert loader.stats()["cache"]["hits"] > 0 or turn == 0 or kind not in ("manifest", "zarr")
                server.asked.clear()
                assert read_epoch(loader, data) == SAMPLES
                assert server.asked == []  # once per loader
            change_some(data, draw)


@pytest.mark.parametrize("kind", ["manifest", "zarr", "sharded zarr"])
def test_what_is_on_disk_is_asked_for_once_per_object(tmp_path, kind):
    data = Changing(tmp_path, kind)
    with serve(tmp_path, ChangingServer) as server:
        for turn in range(2):
            with contextlib.closing(open_cache("disk", tmp_path)) as cache, \
                    open_loader(data.options(server.url) | {"cache": cache, "cache_form": "decoded"}) as loader:
                server.asked.clear()
                assert read_epoch(loader, data) == SAMPLES
                names = [(method, path) for method, path in server.asked if "/d/" in path or "/c/" in path]
                if turn:
                    assert len(names) == len(set(names)) and {method for method, _ in names} == {"HEAD"}
                assert loader.stats()["cache"]["hits"] == (SAMPLES if turn else 0)


@pytest.mark.parametrize("kind", ["manifest", "zarr"])
def test_revalidate_false_asks_nothing(tmp_path, kind):
    data = Changing(tmp_path, kind)
    with serve(tmp_path, ChangingServer) as server:
        for turn in range(2):
            with contextlib.closing(open_cache("disk", tmp_path, revalidate=False)) as cache, \
                    open_loader(data.options(server.url) | {"cache": cache, "cache_form": "decoded"}) as loader:
                server.asked.clear()
                assert read_epoch(loader, data) == SAMPLES
                if turn:
                    assert not [path for _, path in server.asked if "/d/" in path or "/c/" in path]
                    assert loader.stats()["cache"]["hits"] == SAMPLES


def test_revalidate_is_true_or_false():
    with pytest.raises(TypeError, match="revalidate=1: wants True or False"):
        ps.Cache(ram="1MiB", revalidate=1)


@pytest.mark.parametrize("kind", ["manifest", "zarr"])
@pytest.mark.parametrize("tiers", ["disk", "both"])
def test_a_server_that_says_no_version_is_cached_in_memory_alone(tmp_path, kind, tiers, caplog):
    draw = random.Random(kind)
    data = Changing(tmp_path, kind)
    with serve(tmp_path, ChangingServer, says="nothing") as server, \
            contextlib.closing(open_cache(tiers, tmp_path)) as cache:
        for _ in range(3):
            with open_loader(data.options(server.url) | {"cache": cache, "cache_form": "decoded"}) as loader:
                assert [read_epoch(loader, data) for _ in range(3)] == [SAMPLES] * 3
            assert cache.tiers()["disk"]["entries"] == 0
            change_some(data, draw)
    told = [record.getMessage() for record in caplog.records if "neither ETag nor Last-Modified" in record.getMessage()]
    assert len(told) == 1 and "revalidate=False" in told[0]


def test_a_server_that_is_down_is_not_taken_for_an_unchanged_one(tmp_path):
    data = Changing(tmp_path, "manifest")
    with serve(tmp_path, ChangingServer) as server, contextlib.closing(open_cache("disk", tmp_path)) as cache:
        with open_loader(data.options(server.url) | {"cache": cache}) as loader:
            assert read_epoch(loader, data) == SAMPLES
        server.fail("403", path="d/")
        with pytest.raises(ps.Error, match="HTTP 403"):
            open_loader(data.options(server.url) | {"cache": cache})
        server.fail("403", times=0)
        with open_loader(data.options(server.url) | {"cache": cache}) as loader:
            assert read_epoch(loader, data) == SAMPLES
            assert loader.stats()["cache"]["hits"] == SAMPLES  # nothing was thrown away meanwhile
