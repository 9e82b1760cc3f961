"""Sources as Python values: single samples, labels, how they print, copy and pickle."""

import copy
import gc
import inspect
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from pictures import noise, read_rgb, save_jpeg, save_png
from records import example, plain, png_bytes, write_json_lines, write_number_shards, write_tar, write_tfrecord

torch = pytest.importorskip("torch")


@pytest.fixture
def volume(tmp_path):
    np.save(tmp_path / "volume.npy", np.arange(16 * 12 * 8, dtype=np.float32).reshape(16, 12, 8))
    return tmp_path / "volume.npy"


@pytest.fixture
def store(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "store.zarr"), mode="w")
    data = group.create_array("t2m", shape=(9, 4, 5), chunks=(2, 4, 5), dtype="float32", dimension_names=["time", "y", "x"])
    data[:] = np.arange(9 * 4 * 5, dtype=np.float32).reshape(9, 4, 5)
    return tmp_path / "store.zarr"


def same_samples(one, other):
    assert len(one) == len(other) and one.fields == other.fields and one.uri == other.uri
    assert [one.key(i) for i in range(len(one))] == [other.key(i) for i in range(len(other))]


# -- one sample -----------------------------------------------------------------------------------------


def test_one_sample_is_the_decoded_image_and_its_label(tmp_path):
    for name, height in (("a/x", 20), ("a/y", 31), ("b/z", 17)):  # different sizes
        save_png(tmp_path / f"{name}.png", noise((height, 24, 3), seed=height))
    source = ps.ImageFolder(tmp_path)
    for i, (name, label) in enumerate((("a/x", 0), ("a/y", 0), ("b/z", 1))):
        image, target = source[i]
        assert isinstance(image, torch.Tensor) and type(target) is int and target == label
        np.testing.assert_array_equal(image.numpy().transpose(1, 2, 0), read_rgb(tmp_path / f"{name}.png"))
    assert source[-1][1] == 1 and source[np.int64(-3)][1] == 0
    np.testing.assert_array_equal(source[-1][0], source[2][0])


def test_a_single_field_comes_bare(flat, numbers):
    assert source_value(ps.ImageFolder(flat)[7]) == 7
    np.testing.assert_array_equal(ps.Npy(numbers)[5], [5, 5, 5])


def source_value(image):
    return int(image.flatten()[0])


def test_samples_of_shards_have_their_fields_in_order(tmp_path):
    write_tar(tmp_path / "a.tar", [(f"{i}.{end}", data) for i in range(4) for end, data in
                                   (("png", png_bytes(plain(i))), ("cls", str(i % 2).encode()),
                                    ("txt", f"number {i}".encode()), ("json", b'{"n": %d}' % i))])
    source = ps.Tar(tmp_path / "a.tar")
    sample = dict(zip(source.fields, source[3]))
    assert source_value(sample["png"]) == 3 and sample["cls"] == 1
    assert sample["txt"] == "number 3" and sample["json"] == {"n": 3}


def test_samples_of_arrays_and_patches(store, volume):
    source = ps.Zarr(store, sample_dim="time", window=(2, 1))
    history, horizon = source[0]
    np.testing.assert_array_equal(history.numpy().ravel(), np.arange(40))
    np.testing.assert_array_equal(horizon.numpy().ravel(), np.arange(40, 60))
    whole = np.load(volume)
    patch, position = ps.Patches(volume, (8, 6, 4))[5]
    z, y, x = position.tolist()
    np.testing.assert_array_equal(patch, whole[z:z + 8, y:y + 6, x:x + 4])
    drawn = ps.Patches(volume, (8, 6, 4), per_epoch=30)
    with ps.Loader(drawn, batch_size=30, output="numpy") as loader:
        (first_epoch,) = loader
    np.testing.assert_array_equal(drawn[17], first_epoch[17])


def test_parts_and_mixtures_count_their_own_samples(numbers, tmp_path):
    source = ps.Npy(numbers).subset([4, 9, 2])
    assert [int(sample[0]) for sample in source] == [4, 9, 2]
    np.save(tmp_path / "more.npy", np.full((2, 3), 99))
    for weights in (None, [0.1, 0.9]):
        mixed = ps.Mix([ps.Npy(numbers), ps.Npy(tmp_path / "more.npy")], weights)
        assert [int(mixed[i][0]) for i in (0, 22, 23, -1)] == [0, 22, 99, 99]


def test_indices_beyond_the_source_and_other_things_are_errors(numbers):
    source = ps.Npy(numbers)
    for index in (23, -24, 10**12):
        with pytest.raises(IndexError, match="23 samples"):
            source[index]
        with pytest.raises(IndexError, match="23 samples"):
            source.key(index)
    with pytest.raises(TypeError, match="subset"):
        source[2:5]
    for wrong in (None, "3", 1.5, True, [1]):
        with pytest.raises(TypeError, match="whole number"):
            source[wrong]
    assert source.key(-1) == source.key(22)


def test_a_bad_sample_is_an_error_and_the_others_still_come(flat):
    (flat / "003.png").write_bytes((flat / "003.png").read_bytes()[:40])
    source = ps.ImageFolder(flat)
    for _ in range(2):
        with pytest.raises(ps.Error) as caught:
            source[3]
        assert caught.value.sample == 3 and "003.png" in caught.value.uri
        assert source_value(source[4]) == 4


def test_iteration_visits_every_sample_once(numbers):
    assert [int(sample[0]) for sample in ps.Npy(numbers)] == list(range(23))


def test_many_threads_may_read_samples(flat):
    source, wrong = ps.ImageFolder(flat), []

    def read(start):
        wrong.extend(i for i in range(start, start + 60) if source_value(source[i % 12]) != i % 12)

    threads = [threading.Thread(target=read, args=(start,)) for start in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_source_is_a_data_set_for_torch(classes):
    source = ps.ImageFolder(classes)
    loader = torch.utils.data.DataLoader(source, batch_size=5)
    assert [label for _, labels in loader for label in labels.tolist()] == source.targets
    images, labels = next(iter(loader))
    assert images.shape == (5, 3, 60, 80) and labels.dtype == torch.int64


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_worker_processes_of_torch_read_samples_too(classes, method):
    source = ps.ImageFolder(classes)
    source[0]  # a reader with a thread, which a fork does not take along
    loader = torch.utils.data.DataLoader(source, batch_size=3, num_workers=2, multiprocessing_context=method)
    labels = [label for _, labels in loader for label in labels.tolist()]
    assert labels == source.targets and source[0][1] == 0


def test_the_reader_goes_with_its_source(numbers):
    source = ps.Npy(numbers)
    before = threads_of_this_process()
    source[3]
    assert threads_of_this_process() > before
    gc.disable()
    try:
        del source
        assert threads_of_this_process() == before
    finally:
        gc.enable()


def threads_of_this_process():
    return len(os.listdir("/proc/self/task"))


def test_a_sample_outlives_its_source(numbers):
    source = ps.Npy(numbers)
    samples = [source[i] for i in range(23)]
    del source
    gc.collect()
    assert [int(sample[0]) for sample in samples] == list(range(23))


# -- labels ---------------------------------------------------------------------------------------------


def test_classes_and_targets_of_a_folder_are_those_of_torchvision(classes):
    source = ps.ImageFolder(classes)
    assert source.class_to_idx == {"ant": 0, "horse": 1, "zebra": 2}
    assert source.targets == [0] * 4 + [1] * 3 + [2] * 5 and all(type(label) is int for label in source.targets)
    assert source.subset([11, 0, 5]).targets == [2, 0, 1]


def test_targets_of_a_folder_come_from_the_index_alone(classes):
    source = ps.ImageFolder(classes)
    for path in classes.rglob("*.jpg"):
        path.unlink()
    assert source.targets == [0] * 4 + [1] * 3 + [2] * 5


def test_targets_of_a_table(tmp_path, flat):
    write_json_lines(tmp_path / "table.jsonl", [{"image": f"flat/{i:03}.png", "label": "odd" if i % 2 else "even"}
                                                for i in range(12)])
    source = ps.Manifest(tmp_path / "table.jsonl")
    assert source.classes == ["even", "odd"] and source.targets == [i % 2 for i in range(12)]


def test_targets_of_shards_are_read_from_their_label_field(tmp_path):
    write_number_shards(tmp_path, 3, 5)
    source = ps.Tar(tmp_path)
    with ps.Loader(source, batch_size=15, fields=["cls"], output="numpy") as loader:
        ((labels,),) = loader
    assert source.targets == labels.tolist() and source.classes == [] and source.class_to_idx == {}
    write_tfrecord(tmp_path / "a.tfrecord", [example(**{"image/encoded": [png_bytes(plain(i))], "image/height": [8],
                                                        "image/class/label": [i * i]}) for i in range(5)])
    assert ps.TFRecord(tmp_path / "a.tfrecord").targets == [0, 1, 4, 9, 16]


def test_targets_of_mixtures_follow_their_samples(tmp_path):
    for number, folder in enumerate(("one", "two")):
        for name in "ab":
            save_png(tmp_path / folder / name / "0.png", plain(number))
    mixed = ps.Mix([ps.ImageFolder(tmp_path / "one"), ps.ImageFolder(tmp_path / "two")], weights=[1, 9])
    assert mixed.targets == [0, 1, 0, 1] == [label for _, label in mixed]


def test_sources_without_labels_have_no_targets(flat, numbers, volume):
    for source in (ps.ImageFolder(flat), ps.Npy(numbers), ps.Patches(volume, (4, 4, 4), per_epoch=9)):
        assert not hasattr(source, "targets") and source.class_to_idx == {}
        with pytest.raises(AttributeError, match="no field of labels|integer|random patches"):
            source.targets


# -- printing, copying, pickling ------------------------------------------------------------------------


def test_a_source_prints_as_the_calls_that_made_it(classes, volume):
    source = ps.ImageFolder(classes, keep_index=False)
    call = f"penstock.ImageFolder({str(classes)!r}, keep_index=False)"
    assert repr(source) == f"<{call}: image class folders, 12 samples of image, label>"
    assert repr(source.subset(0.5).split([0.5, 0.5], seed=3)[1]).startswith(
        f"<{call}.subset(0.5).split([0.5, 0.5], seed=3)[1]: image class folders, 3 samples")
    assert ".subset(<9 values>)" in repr(source.subset(range(9)))
    assert "Patches(" in repr(ps.Patches(volume, (4, 4, 4))) and "(4, 4, 4)" in repr(ps.Patches(volume, (4, 4, 4)))
    mixed = ps.Mix([source, source.subset([1])], weights=[0.5, 0.5])
    assert repr(mixed).startswith(f"<penstock.Mix([ImageFolder(") and ".subset([1])], weights=[0.5, 0.5])" in repr(mixed)
    with ps.Loader(str(classes)) as loader:
        assert repr(loader.source).startswith(f"<penstock.open_source({str(classes)!r}")


def test_nothing_secret_is_printed():
    from penstock.sources.recipe import Recipe

    recipe = Recipe(ps.Tar, ("https://user:hush@example.org/a.tar?X-Amz-Signature=hush",),
                    {"headers": {"Authorization": "Bearer hush"}, "root": ["https://hush@example.org/b", "x"]})
    assert "hush" not in str(recipe) and "'https://example.org/a.tar'" in str(recipe)


def test_every_kind_of_source_survives_pickling(classes, flat, numbers, volume, store, tmp_path):
    write_number_shards(tmp_path / "shards", 2, 5)
    write_tfrecord(tmp_path / "a.tfrecord", [example(label=[i]) for i in range(5)])
    write_json_lines(tmp_path / "table.jsonl", [{"image": f"flat/{i:03}.png"} for i in range(12)])
    folder = ps.ImageFolder(classes)
    sources = [
        folder, ps.ImageFolder(flat), ps.open_source(classes), ps.Npy(numbers), ps.Tar(str(tmp_path / "shards" / "*.tar")),
        ps.TFRecord(tmp_path / "a.tfrecord", verify=False), ps.Manifest(tmp_path / "table.jsonl", image="image"),
        ps.Zarr(store, "t2m", "time", window=(2, 1)), ps.Patches(volume, (4, 4, 4)), ps.Mix([numbers, ps.Npy(numbers)]),
        folder.subset(0.5), folder.subset([7, 3]), folder.subset(i for i in (5, 1)), *folder.split(0.75, seed=4),
        *folder.split([6, 3, 3], stratify="label"), folder.filter("label", lambda label: label != 1),
        folder.split(0.5)[1].subset([0, 2]).split(0.5)[0]]
    for source in sources:
        for again in (pickle.loads(pickle.dumps(source)), copy.deepcopy(source), copy.copy(source)):
            same_samples(source, again)
            assert repr(again) == repr(source)


def test_random_patches_survive_pickling(volume):
    source = ps.Patches([volume], (4, 4, 4), 50)
    again = pickle.loads(pickle.dumps(source))
    assert len(again) == 50 and again._handle.fingerprint() == source._handle.fingerprint()
    np.testing.assert_array_equal(again[33], source[33])


@pytest.mark.slow
def test_a_source_can_be_sent_to_a_spawned_process(classes):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        source = ps.ImageFolder(classes).subset([3, 8])
        assert pool.apply(describe, (source,)) == (repr(source), [0, 2])


def describe(source):
    return repr(source), [label for _, label in source]


def test_arguments_that_are_changed_later_do_not_change_the_recipe(classes, numbers):
    indices, parts = [3, 8], [ps.Npy(numbers)]
    subset, mixed = ps.ImageFolder(classes).subset(indices), ps.Mix(parts)
    indices.append(1)
    parts.append(parts[0])
    assert len(pickle.loads(pickle.dumps(subset))) == 2 and len(pickle.loads(pickle.dumps(mixed))) == 23


def test_unpickling_over_other_data_is_an_error(classes):
    stored = pickle.dumps(ps.ImageFolder(classes).subset([3, 8]))
    Image.fromarray(plain(1)).save(classes / "ant" / "another.jpg")
    with pytest.raises(ps.Error, match="changed since this source was pickled") as caught:
        pickle.loads(stored)
    assert caught.value.code == "changed"


def test_loaders_and_caches_say_what_to_pickle_instead(flat):
    with ps.Loader(flat) as loader:
        for attempt in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match="loader.source"):
                attempt(loader)
    with ps.Cache(ram="1MiB") as cache, pytest.raises(TypeError, match="each process"):
        pickle.dumps(cache)


def test_errors_survive_pickling():
    with pytest.raises(ps.NotFoundError) as caught:
        ps.ImageFolder("/nowhere/at/all")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is ps.NotFoundError and str(again) == str(caught.value) and again.uri == caught.value.uri


def test_sources_have_signatures_and_help():
    for function in (ps.ImageFolder, ps.Tar, ps.TFRecord, ps.MDS, ps.Manifest, ps.Npy, ps.Zarr, ps.Patches, ps.Mix,
                     ps.open_source):
        parameters = inspect.signature(function).parameters
        assert parameters and "arguments" not in parameters and function.__doc__
    assert inspect.signature(ps.ImageFolder).parameters["keep_index"].default is True
    assert list(inspect.signature(ps.Source.split).parameters) == ["self", "fraction", "seed", "stratify"]


@pytest.mark.slow  # another interpreter imports torch
def test_a_reader_does_not_keep_the_interpreter_from_ending(numbers):
    program = "import sys, penstock as ps; kept = ps.Npy(sys.argv[1]); print(int(kept[7][0]))"
    done = subprocess.run([sys.executable, "-c", program, str(numbers)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "7"), done.stderr
