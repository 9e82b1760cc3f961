"""Iterators of one loader are independent of each other."""

import gc
import gzip
import io
import tarfile
import threading

import numpy as np
import pytest
import zarr

import penstock as ps


def make_npy(tmp_path, samples=60):
    np.save(tmp_path / "numbers.npy", np.arange(samples * 4, dtype=np.int32).reshape(samples, 4))
    return tmp_path / "numbers.npy"


def make_images(tmp_path, samples=24):
    from PIL import Image
    folder = tmp_path / "images"
    generator = np.random.default_rng(3)
    for i in range(samples):
        (folder / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(generator.integers(0, 255, (20, 30, 3), np.uint8)).save(folder / "ab"[i % 2] / f"{i:03}.png")
    return folder


def make_shard(tmp_path, samples=60, compressed=False):
    path = tmp_path / ("shard.tar.gz" if compressed else "shard.tar")
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for i in range(samples):
            array = io.BytesIO()
            np.save(array, np.full((50,), i, np.int64))
            member = tarfile.TarInfo(f"{i:04}.npy")
            member.size = len(array.getvalue())
            archive.addfile(member, io.BytesIO(array.getvalue()))
    path.write_bytes(gzip.compress(stream.getvalue()) if compressed else stream.getvalue())
    return path


def make_zarr(tmp_path, samples=48):
    path = tmp_path / "store.zarr"
    group = zarr.open_group(str(path), mode="w")
    data = np.arange(samples * 6 * 5, dtype=np.float32).reshape(samples, 6, 5)
    array = group.create_array("t", shape=data.shape, chunks=(5, 3, 5), dtype="float32") \
        if hasattr(group, "create_array") else group.create_dataset("t", shape=data.shape, chunks=(5, 3, 5), dtype="f4")
    array[...] = data
    return ps.Zarr(str(path), variables=["t"], sample_dim=0)


def make_patches(tmp_path):
    np.save(tmp_path / "volume.npy", np.arange(40 * 30 * 20, dtype=np.float32).reshape(40, 30, 20))
    return ps.Patches(str(tmp_path / "volume.npy"), size=(8, 8, 8), per_epoch=40)


SOURCES = {"npy": make_npy, "images": make_images, "tar": make_shard,
           "tar.gz": lambda path: make_shard(path, compressed=True), "zarr": make_zarr, "patches": make_patches}


def first_field(batch):
    return np.array(batch[0] if isinstance(batch, tuple) else batch)


def epoch_alone(source, number, **keywords):
    with ps.Loader(source, **keywords) as loader:
        loader.set_epoch(number)
        return [first_field(batch) for batch in loader]


def assert_same(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", SOURCES)
def test_zip_of_a_loader_with_itself_gives_two_whole_epochs(tmp_path, kind):
    source = SOURCES[kind](tmp_path)
    keywords = dict(batch_size=7, shuffle=True, output="numpy", threads=3)
    with ps.Loader(source, **keywords) as loader:
        pairs = [(first_field(a), first_field(b)) for a, b in zip(loader, loader)]
        stats = loader.stats()
        assert len(pairs) == len(loader)
    assert_same([a for a, _ in pairs], epoch_alone(source, 0, **keywords))
    assert_same([b for _, b in pairs], epoch_alone(source, 1, **keywords))
    assert stats["planned"] == stats["delivered"] + stats["skipped"] + stats["failed"]
    assert stats["memory"]["peak"] <= stats["memory"]["budget"]
    assert [epoch["epoch"] for epoch in stats["epochs"]] == [0, 1]


@pytest.mark.parametrize("kind", SOURCES)
def test_an_iterator_inside_a_loop_does_not_end_the_loop(tmp_path, kind):
    source = SOURCES[kind](tmp_path)
    keywords = dict(batch_size=7, shuffle=True, output="numpy", threads=2)
    with ps.Loader(source, **keywords) as loader:
        seen = []
        for batch in loader:
            seen.append(first_field(batch))
            next(iter(loader))
    assert_same(seen, epoch_alone(source, 0, **keywords))


def test_the_torch_loader_does_the_same(tmp_path):
    """The reference: in torch, zip and a nested iterator leave the loop alone."""
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.arange(30))
    theirs = torch.utils.data.DataLoader(data, batch_size=4)
    ours = ps.Loader(make_npy(tmp_path, 30), batch_size=4, output="torch")
    assert len(list(zip(ours, ours))) == len(list(zip(theirs, theirs))) == 8
    count = {"ours": 0, "theirs": 0}
    for name, loader in (("ours", ours), ("theirs", theirs)):
        for _ in loader:
            next(iter(loader))
            count[name] += 1
    assert count["ours"] == count["theirs"] == 8


def test_two_threads_each_with_an_iterator(tmp_path):
    path = make_npy(tmp_path, 500)
    keywords = dict(batch_size=3, shuffle=True, output="numpy", threads=2)
    with ps.Loader(path, **keywords) as loader:
        seen = {}

        def consume(number, iterator):
            seen[number] = [np.array(batch) for batch in iterator]

        iterators = [iter(loader), iter(loader)]
        threads = [threading.Thread(target=consume, args=pair) for pair in enumerate(iterators)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number in range(2):
        assert_same(seen[number], epoch_alone(path, number, **keywords))


def test_each_iter_takes_the_next_epoch_and_set_epoch_concerns_the_next(tmp_path):
    path = make_npy(tmp_path)
    keywords = dict(batch_size=10, shuffle=True, output="numpy")
    with ps.Loader(path, **keywords) as loader:
        first = iter(loader)
        next(first)
        loader.set_epoch(7)
        seventh = [np.array(batch) for batch in loader]
        rest = [np.array(batch) for batch in first]
        eighth = [np.array(batch) for batch in loader]
    assert_same(rest, epoch_alone(path, 0, **keywords)[1:])
    assert_same(seventh, epoch_alone(path, 7, **keywords))
    assert_same(eighth, epoch_alone(path, 8, **keywords))


def test_the_state_is_that_of_the_iterator_that_delivered_last(tmp_path):
    path = make_npy(tmp_path)
    keywords = dict(batch_size=10, shuffle=True, output="numpy")
    with ps.Loader(path, **keywords) as loader, ps.Loader(path, **keywords) as other:
        first, second = iter(loader), iter(loader)
        next(first), next(second), next(second)
        state = loader.state_dict()
        assert (state["epoch"], state["position"]) == (1, 20)
        next(first)
        state = loader.state_dict()
        assert (state["epoch"], state["position"]) == (0, 20)
        other.load_state_dict(state)
        assert_same([np.array(batch) for batch in other], epoch_alone(path, 0, **keywords)[2:])


def test_after_load_state_dict_older_iterators_raise(tmp_path):
    with ps.Loader(make_npy(tmp_path), batch_size=10, output="numpy") as loader:
        older = iter(loader)
        next(older)
        loader.load_state_dict(loader.state_dict())
        for _ in range(2):
            with pytest.raises(ps.Error, match="before load_state_dict"):
                next(older)
        assert len(list(loader)) == 5


def test_nothing_ends_an_iterator_silently(tmp_path):
    loader = ps.Loader(make_npy(tmp_path), batch_size=10, output="numpy")
    running, closed = iter(loader), iter(loader)
    closed.close()
    with pytest.raises(ps.Error, match="this iterator is closed"):
        next(closed)
    loader.close()
    with pytest.raises(ps.Error, match="the loader is closed"):
        next(running)


def test_an_iterator_that_failed_fails_again(tmp_path):
    def no_fives(array):
        if array[0] == 20:
            raise ValueError("no fives")
        return array

    with ps.Loader(make_npy(tmp_path), batch_size=2, output="numpy", transform=[ps.Map(no_fives)]) as loader:
        failing = iter(loader)
        next(failing), next(failing)
        for _ in range(2):
            with pytest.raises(ps.Error, match="no fives"):
                next(failing)
        stats = loader.stats()
        assert stats["planned"] == stats["delivered"] + stats["failed"] == 6


def test_iterators_that_are_left_cost_nothing(tmp_path):
    """A budget of two batches: a third iterator would be refused if those that were left still counted."""
    np.save(tmp_path / "large.npy", np.zeros((64, 64 * 1024), np.float32))
    with ps.Loader(tmp_path / "large.npy", batch_size=4, output="numpy", memory="4MiB", threads=1) as loader:
        for _ in range(30):
            for _ in loader:
                break
        gc.collect()
        assert sum(1 for _ in loader) == 16
        assert loader.stats()["memory"]["peak"] <= 4 << 20


def test_too_little_memory_for_another_iterator_says_how_much_would_do(tmp_path):
    np.save(tmp_path / "large.npy", np.zeros((16, 512 * 1024), np.float32))
    keywords = dict(batch_size=2, output="numpy", threads=1)
    with ps.Loader(tmp_path / "large.npy", memory="6MiB", **keywords) as loader:
        first = iter(loader)
        with pytest.raises(ps.errors.MemoryBudgetError, match="at one time") as told:
            iter(loader)
        assert sum(1 for _ in first) == 8
        assert sum(1 for _ in loader) == 8, "the first came to its end"
    enough = str(told.value).split("memory= at least ")[1].split(" MiB")[0]
    with ps.Loader(tmp_path / "large.npy", memory=f"{enough}MiB", **keywords) as loader:
        assert sum(1 for _ in zip(loader, loader)) == 8


def test_an_older_iterator_that_is_kept_does_not_starve_the_newest(tmp_path):
    np.save(tmp_path / "large.npy", np.arange(64 * 64 * 1024, dtype=np.float32).reshape(64, 64 * 1024))
    with ps.Loader(tmp_path / "large.npy", batch_size=2, output="numpy", memory="8MiB", threads=2) as loader:
        kept = iter(loader)
        next(kept)
        assert sum(1 for _ in loader) == 32
        assert sum(1 for _ in kept) == 31


def test_iterators_outlive_the_name_of_their_loader(tmp_path):
    iterator = iter(ps.Loader(make_npy(tmp_path), batch_size=10, output="numpy"))
    gc.collect()
    assert sum(1 for _ in iterator) == 6


def test_what_lightning_and_accelerate_look_at(tmp_path):
    sampler = [3, 1, 2]
    with ps.Loader(make_npy(tmp_path), batch_size=2, sampler=sampler, drop_last=True) as loader:
        assert hasattr(loader, "dataset") and isinstance(loader.dataset, type(loader.source))
        assert len(loader.dataset) == 60
        assert loader.sampler is sampler
        assert loader.drop_last is True
        assert loader.batch_size == 2


def test_set_epoch_after_load_state_dict_goes_on_where_the_state_was(tmp_path):
    path = make_npy(tmp_path)
    keywords = dict(batch_size=10, shuffle=True, output="numpy")
    with ps.Loader(path, **keywords) as loader:
        loader.set_epoch(4)
        iterator = iter(loader)
        next(iterator), next(iterator)
        state = loader.state_dict()
    whole = epoch_alone(path, 4, **keywords)
    with ps.Loader(path, **keywords) as loader:
        loader.load_state_dict(state)
        loader.set_epoch(state["epoch"])
        assert_same([np.array(batch) for batch in loader], whole[2:])
        loader.set_epoch(4)
        assert_same([np.array(batch) for batch in loader], whole)
        loader.load_state_dict(state)
        loader.set_epoch(9)
        assert_same([np.array(batch) for batch in loader], epoch_alone(path, 9, **keywords))
