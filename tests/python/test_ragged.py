"""Samples of different size: padded, listed, handed to a function."""

import gc
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import penstock as ps
from pictures import noise
from records import make_loader, npy_bytes, png_bytes, write_arrays, write_tar


def padded(arrays, value=0):
    """By NumPy: (batch, lengths)."""
    shape = np.max([a.shape for a in arrays], axis=0)
    out = np.full((len(arrays), *shape), value, arrays[0].dtype)
    for i, a in enumerate(arrays):
        out[(i, *map(slice, a.shape))] = a
    lengths = np.array([a.shape for a in arrays])
    return out, lengths[:, 0] if lengths.shape[1] == 1 else lengths


def ragged(count, ndim, dtype=np.float32, seed=0, most=9, least=0):
    random = np.random.default_rng(seed)
    return [random.integers(1, 100, random.integers(least, most, ndim)).astype(dtype) for _ in range(count)]


@pytest.fixture
def lines(tmp_path):
    """Forty arrays of 0 to 30 numbers, and their classes."""
    arrays = ragged(40, 1, seed=3, most=31)
    return write_arrays(tmp_path / "lines.tar", arrays), arrays


# -- padding ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ndim", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.float64, np.int16])
@pytest.mark.parametrize("value", [0, 7, -1])
def test_padding_is_what_numpy_makes_of_it(tmp_path, ndim, dtype, value):
    if value < 0 and dtype == np.uint8:
        pytest.skip("no such number")
    arrays = ragged(11, ndim, dtype, seed=ndim)
    with make_loader(write_arrays(tmp_path / "a.tar", arrays), 4, fields=["npy", "cls"], collate="pad", pad_value=value) as loader:
        assert loader._names == ["npy", "npy_lengths", "cls"]
        seen = 0
        for batch, lengths, labels in loader:
            want, want_lengths = padded([arrays[i] for i in labels], value)
            assert batch.dtype == dtype and np.array_equal(batch, want) and np.array_equal(lengths, want_lengths)
            assert lengths.dtype == np.int64
            seen += len(labels)
    assert seen == 11


def test_padding_with_nan_and_with_infinity(lines):
    path, arrays = lines
    for value in (float("nan"), float("-inf")):
        with make_loader(path, 8, collate="pad", pad_value=value) as loader:
            batch, _, labels = next(iter(loader))
        assert np.array_equal(batch, padded([arrays[i] for i in labels], value)[0], equal_nan=True)


@pytest.mark.parametrize("value", [-1, 256, 0.5, float("nan")])
def test_a_pad_value_that_the_type_cannot_hold_is_refused(tmp_path, value):
    path = write_arrays(tmp_path / "a.tar", ragged(4, 1, np.uint8))
    with pytest.raises((ValueError, ps.Error), match="pad_value"):
        with make_loader(path, 4, collate="pad", pad_value=value) as loader:
            list(loader)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_images_are_padded_in_either_layout(tmp_path, layout):
    pictures = [noise((5 + i, 12 - i, 3), seed=i) for i in range(5)]
    path = write_tar(tmp_path / "a.tar", [(f"{i}.png", png_bytes(p)) for i, p in enumerate(pictures)])
    if layout == "NCHW":
        pictures = [p.transpose(2, 0, 1) for p in pictures]
    with make_loader(path, 5, collate="pad", pad_value=9, layout=layout) as loader:
        batch, lengths = next(iter(loader))
    want, want_lengths = padded(pictures, 9)
    assert np.array_equal(batch, want) and np.array_equal(lengths, want_lengths)


def test_folders_of_images_are_padded_too(photos):
    with make_loader(photos, 3, collate="pad", transform=[ps.Normalize(0.5, 0.5)]) as loader:
        for batch, lengths in loader:
            assert batch.shape[1:] == tuple(lengths.max(0)) and batch.dtype == np.float32
            for image, (c, h, w) in zip(batch, lengths):
                assert not image[:, h:].any() and not image[:, :, w:].any() and image[:c, :h, :w].any()


def test_images_that_a_transform_makes_alike_are_stacked_whatever_collate_says(photos):
    for collate in ("pad", "list"):
        with make_loader(photos, 4, collate=collate, transform=[ps.Resize((30, 40))]) as loader:
            assert next(iter(loader)).shape == (4, 3, 30, 40)


def test_all_of_length_zero_is_a_batch_of_width_zero(tmp_path):
    path = write_arrays(tmp_path / "a.tar", [np.zeros(0, np.float32)] * 3)
    with make_loader(path, 3, collate="pad") as loader:
        batch, lengths, _ = next(iter(loader))
    assert batch.shape == (3, 0) and lengths.tolist() == [0, 0, 0]


def test_arrays_of_another_number_of_axes_or_type_are_an_error_that_names_the_sample(tmp_path):
    for odd in (np.zeros((2, 2), np.float32), np.zeros(2, np.int32)):
        path = write_arrays(tmp_path / "a.tar", [np.zeros(3, np.float32), np.zeros(2, np.float32), odd])
        with make_loader(path, 3, collate="pad") as loader, pytest.raises(ps.Error) as caught:
            list(loader)
        assert caught.value.sample == 2 and caught.value.uri.endswith("a.tar")


def test_padded_torch_tensors(lines):
    torch = pytest.importorskip("torch")
    path, arrays = lines
    with make_loader(path, 8, collate="pad", output="torch") as loader:
        batch, lengths, labels = next(iter(loader))
    assert isinstance(batch, torch.Tensor) and isinstance(lengths, torch.Tensor)
    assert np.array_equal(batch.numpy(), padded([arrays[i] for i in labels])[0])


def test_names_of_lengths_go_with_renamed_fields_and_dicts(lines):
    path, _ = lines
    with make_loader(path, 4, fields={"x": "npy"}, collate="pad") as loader:
        assert list(next(iter(loader))) == ["x", "x_lengths"]


def test_a_field_whose_lengths_name_is_taken_is_refused(tmp_path):
    write_tar(tmp_path / "a.tar", [("0.npy", npy_bytes(np.zeros(3))), ("0.npy_lengths", b"x")])
    with pytest.raises(ps.Error, match="npy_lengths"):
        make_loader(tmp_path / "a.tar", 1, collate="pad", fields=["npy", "npy_lengths"])


# -- lists --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["numpy", "torch", "jax"])
def test_a_list_has_an_array_a_sample(lines, output):
    if output != "numpy":
        pytest.importorskip(output)
    path, arrays = lines
    with make_loader(path, 7, collate="list", output=output) as loader:
        for values, labels in loader:
            assert isinstance(values, list) and len(values) == len(labels)
            for value, label in zip(values, labels):
                assert np.array_equal(np.asarray(value), arrays[int(label)])


def test_arrays_kept_out_of_lists_and_padded_batches_stay_valid(lines):
    path, arrays = lines
    kept, padded_ones = [], []
    for collate in ("list", "pad"):
        loader = make_loader(path, 5, collate=collate, memory="8MiB")
        for _ in range(3):
            for batch in loader:
                values, labels = batch[0], batch[-1]
                if collate == "list":
                    kept += [(values[0], int(labels[0]))]  # one of a list keeps its memory
                else:
                    padded_ones += [(values, batch[1], labels)]
        loader.close()
        del loader, batch, values, labels
    gc.collect()
    assert len(kept) == 24 and all(np.array_equal(value, arrays[label]) for value, label in kept)
    for values, lengths, labels in padded_ones:
        assert np.array_equal(values, padded([arrays[i] for i in labels])[0])


def test_arrays_of_a_list_are_writable_and_do_not_overlap(lines):
    path, arrays = lines
    with make_loader(path, 20, collate="list") as loader:
        values, labels = next(iter(loader))
        for value in values:
            value[...] = -5
        values2, labels2 = next(iter(loader))
    assert all((value == -5).all() for value in values)
    assert labels2.tolist() == list(range(20)) and all(np.array_equal(v, arrays[i]) for v, i in zip(values2, labels2))


@pytest.mark.parametrize("collate", ["pad", "list", "function"])
def test_channels_last_goes_with_images_of_different_size(tmp_path, collate):
    torch = pytest.importorskip("torch")
    pictures = [noise((5 + i, 12 - i, 3), seed=i) for i in range(4)]
    path = write_tar(tmp_path / "a.tar", [(f"{i}.png", png_bytes(p)) for i, p in enumerate(pictures)])
    how = (lambda samples: samples) if collate == "function" else collate
    with ps.Loader(path, 4, collate=how, layout="channels_last", output="torch") as loader:
        got = next(iter(loader))
    if collate == "pad":
        got, lengths = got
        # Lengths are of the axes that the tensor has.
        assert got.shape == (4, 3, 8, 12) and lengths.tolist() == [[3, 5 + i, 12 - i] for i in range(4)]
        got = [image[:, :h, :w] for image, (_, h, w) in zip(got, lengths.tolist())]
    for image, pixels in zip(got, pictures):
        assert torch.equal(image, torch.from_numpy(pixels).permute(2, 0, 1))


# -- functions ----------------------------------------------------------------------------------------


def test_a_function_gets_a_list_of_tuples_dicts_or_bare_values(lines):
    path, arrays = lines
    with make_loader(path, 4, collate=lambda samples: samples) as loader:
        first = next(iter(loader))
    assert len(first) == 4 and all(isinstance(s, tuple) and np.array_equal(s[0], arrays[int(s[1])]) for s in first)
    with make_loader(path, 4, fields={"x": "npy", "k": "key"}, collate=lambda samples: samples) as loader:
        first = next(iter(loader))
    assert [list(s) for s in first] == [["x", "k"]] * 4 and first[3]["k"] == "00003"


def test_a_function_gets_bare_values_of_a_source_of_one_field(numbers):
    with make_loader(numbers, 4, collate=lambda samples: np.concatenate(samples)) as loader:
        assert next(iter(loader)).tolist() == [i for i in range(4) for _ in range(3)]


def test_what_a_function_returns_is_the_batch(lines):
    path, _ = lines
    with make_loader(path, 4, collate=lambda samples: sum(int(label) for _, label in samples)) as loader:
        assert list(loader) == [sum(range(i, i + 4)) for i in range(0, 40, 4)]


def test_an_exception_of_a_function_comes_through_and_the_loader_goes_on(lines):
    path, _ = lines
    calls = []

    def collate(samples):
        calls.append(len(samples))
        if len(calls) == 2:
            raise KeyError("mine")
        return [int(label) for _, label in samples]

    with make_loader(path, 4, collate=collate) as loader:
        batches = iter(loader)
        assert next(batches) == [0, 1, 2, 3]
        with pytest.raises(KeyError, match="mine"):
            next(batches)
        assert next(batches) == [8, 9, 10, 11]
        assert sum(len(b) for b in batches) == 28
        assert sum(len(b) for b in loader) == 40


@pytest.mark.parametrize("value", ["sum", 3, None])
def test_a_collate_that_is_none_is_refused(lines, value):
    with pytest.raises((ValueError, TypeError), match="collate"):
        make_loader(lines[0], collate=value)


# -- bad samples --------------------------------------------------------------------------------------


@pytest.fixture
def damaged(tmp_path):
    """Twenty arrays, of which numbers 0, 6, 7 and 19 cannot be read."""
    arrays = ragged(20, 2, seed=8, least=1)
    files = []
    for i, a in enumerate(arrays):
        files += [(f"{i:05}.npy", b"broken" if i in (0, 6, 7, 19) else npy_bytes(a)), (f"{i:05}.cls", str(i).encode())]
    return write_tar(tmp_path / "damaged.tar", files), arrays


@pytest.mark.parametrize("collate", ["pad", "list"])
def test_bad_samples_are_left_out_of_ragged_batches(damaged, collate):
    path, arrays = damaged
    good = [i for i in range(20) if i not in (0, 6, 7, 19)]
    with make_loader(path, 4, collate=collate, on_error="skip", max_skip=0.5, fields=["npy", "cls", "key"]) as loader:
        seen = []
        for batch in loader:
            labels = batch[-2].tolist()
            mine = [arrays[i] for i in labels]
            assert batch[-1] == [f"{i:05}" for i in labels]
            if collate == "pad":
                want, lengths = padded(mine)
                assert np.array_equal(batch[0], want) and np.array_equal(batch[1], lengths)
            else:
                assert len(batch[0]) == len(mine) and all(np.array_equal(a, b) for a, b in zip(batch[0], mine))
            seen += labels
    assert seen == good


@pytest.mark.parametrize("collate", ["pad", "list"])
def test_bad_samples_are_replaced_in_ragged_batches_the_same_way_every_time(damaged, collate):
    path, arrays = damaged

    def run(threads):
        with make_loader(path, 4, collate=collate, on_error="replace", max_skip=0.5, threads=threads) as loader:
            return [int(v) for batch in loader for v in batch[-1]]

    labels = run(1)
    assert len(labels) == 20 and not set(labels) & {0, 6, 7, 19} and labels == run(4)


def test_a_function_never_sees_a_bad_sample(damaged):
    path, arrays = damaged
    with make_loader(path, 4, on_error="skip", max_skip=0.5, collate=lambda s: [int(label) for _, label in s]) as loader:
        assert sum(loader, []) == [i for i in range(20) if i not in (0, 6, 7, 19)]


def test_a_batch_of_nothing_but_bad_samples_is_no_batch(damaged):
    path, _ = damaged
    for collate in ("pad", "list", lambda samples: samples):
        with make_loader(ps.Tar(path).subset([1, 2, 6, 7, 3, 4]), 2, collate=collate, on_error="skip", max_skip=0.9) as loader:
            assert len(list(loader)) == 2


# -- memory -------------------------------------------------------------------------------------------


def test_a_budget_too_small_for_a_batch_names_what_is_needed(tmp_path):
    path = write_arrays(tmp_path / "a.tar", [np.zeros(300_000 + i, np.float32) for i in range(8)])
    with pytest.raises(ps.MemoryBudgetError, match=r"at least \d+ MiB"):
        with make_loader(path, 8, collate="pad", memory="8MiB") as loader:
            list(loader)


def test_the_memory_that_the_message_asks_for_is_enough(tmp_path):
    import re

    path = write_arrays(tmp_path / "a.tar", [np.zeros(300_000 + i, np.float32) for i in range(8)])
    with pytest.raises(ps.MemoryBudgetError) as caught:
        make_loader(path, 8, collate="pad", memory="8MiB")
    enough = int(re.search(r"at least (\d+) MiB", str(caught.value)).group(1))
    with make_loader(path, 8, collate="pad", memory=enough << 20) as loader:
        assert sum(len(b[0]) for b in loader) == 8


def test_a_sample_that_is_far_larger_than_the_first_is_an_error_that_says_what_to_do(tmp_path):
    path = write_arrays(tmp_path / "a.tar", [np.zeros(10, np.float32)] * 7 + [np.zeros(6_000_000, np.float32)])
    with make_loader(path, 8, collate="pad", memory="16MiB") as loader, pytest.raises(ps.MemoryBudgetError, match="memory=|batch_size"):
        list(loader)


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_a_batch_that_is_too_large_is_not_blamed_on_a_sample(tmp_path, on_error):
    """Which of its samples finds the room full is chance; leaving that one out would make runs differ."""
    path = write_arrays(tmp_path / "a.tar", [np.zeros(10, np.float32)] + [np.zeros(300_000, np.float32)] * 7)
    with make_loader(path, 8, collate="list", memory="16MiB", on_error=on_error, max_skip=1.0) as loader:
        with pytest.raises(ps.MemoryBudgetError):
            list(loader)


@pytest.mark.slow
@pytest.mark.parametrize("collate", ["pad", "list"])
def test_the_process_stays_within_the_budget_with_ragged_data(tmp_path, collate):
    arrays = [np.zeros(n, np.float32) for n in np.random.default_rng(0).integers(10_000, 400_000, 300)]
    path = write_arrays(tmp_path / "a.tar", arrays)
    program = textwrap.dedent("""
        import resource, sys
        import numpy as np
        import penstock as ps
        def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        with ps.Loader(sys.argv[1], 4, memory="1GiB", prefetch=1, threads=1, output="numpy", collate=sys.argv[2]) as warm:
            next(iter(warm))
        before = peak()
        with ps.Loader(sys.argv[1], 4, memory="64MiB", threads=2, output="numpy", collate=sys.argv[2], shuffle=True) as loader:
            seen = sum(len(b[-1]) for _ in range(3) for b in loader)
            stats = loader.stats()
        print(peak() - before, seen, stats["memory"]["peak"])
    """)
    run = subprocess.run([sys.executable, "-c", program, str(path), collate], capture_output=True, text=True, check=True)
    grown, seen, counted = map(int, run.stdout.split())
    assert seen == 900 and grown < 64 + 24 and counted <= 64 << 20


def test_a_user_who_keeps_batches_does_not_stop_the_loader(tmp_path):
    path = write_arrays(tmp_path / "a.tar", [np.full(20_000 + i, i, np.float32) for i in range(64)])
    for collate in ("pad", "list"):
        with make_loader(path, 4, collate=collate, memory="8MiB") as loader:
            kept = list(loader)
        assert sum(len(b[-1]) for b in kept) == 64
        assert all((value[: 20_000] == label).all() for b in kept for value, label in zip(b[0], b[-1]))
