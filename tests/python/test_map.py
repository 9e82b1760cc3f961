"""Map: a function of the user's among the transforms of a field."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import penstock as ps
from transformed import load_all


def test_map_sees_height_width_channels_and_may_change_the_shape(photos):
    seen = []

    def thumb(pixels):
        seen.append((pixels.shape, pixels.dtype, pixels.flags.writeable))
        return pixels[::4, ::4].mean(-1)

    batch = load_all(photos, [ps.CenterCrop(120), ps.Map(thumb)], batch_size=8)
    assert batch.shape == (8, 30, 30) and batch.dtype == np.float64
    assert set(seen) == {((120, 120, 3), np.dtype("uint8"), True)}


def test_map_may_return_a_number_a_view_and_another_type(numbers):
    assert load_all(numbers, [ps.Map(lambda row: row.sum())])[:3].tolist() == [0, 3, 6]
    assert load_all(numbers, [ps.Map(lambda row: row[::-1])]).shape == (23, 3)
    assert load_all(numbers, [ps.Map(lambda row: row.astype(np.float16))]).dtype == np.float16
    assert load_all(numbers, [ps.Map(lambda row: [1, 2])]).tolist()[0] == [1, 2]


def test_map_may_keep_its_array(numbers):
    kept = []

    def keep(row):
        kept.append(row)
        return row

    batch = load_all(numbers, [ps.Map(keep)], threads=2)
    kept = {tuple(row) for row in kept}
    assert kept == {tuple(row) for row in batch}


def test_map_in_the_middle_of_image_steps(flat):
    got = load_all(flat, [ps.CenterCrop(16), ps.Map(lambda x: x + 1), ps.Resize(8), ps.Normalize(0, 1, max_value=1)],
                   layout="NCHW")
    assert got.shape == (12, 3, 8, 8) and got[:, 0, 0, 0].tolist() == list(range(1, 13))


def test_map_with_torch_results(numbers):
    torch = pytest.importorskip("torch")
    got = load_all(numbers, [ps.Map(lambda row: torch.from_numpy(row) * 2)])
    assert got[5].tolist() == [10, 10, 10]


def test_what_map_raises_is_named_with_the_sample(flat):
    def sour(pixels):
        if pixels[0, 0, 0] == 5:
            raise RuntimeError("five is right out")
        return pixels

    with ps.Loader(flat, batch_size=4, transform=[ps.Map(sour)], output="numpy") as loader:
        epoch = iter(loader)
        next(epoch)
        with pytest.raises(ps.Error, match="RuntimeError: five is right out") as caught:
            next(epoch)
    assert caught.value.code == "callback" and caught.value.sample == 5 and caught.value.uri.endswith("005.png")


def test_what_map_raises_is_named_with_its_line(flat):
    def sour(pixels):
        raise KeyError("deep down")

    with pytest.raises(ps.Error, match=r"KeyError: 'deep down' \(line \d+ of .*test_map.py, in sour\)"):
        load_all(flat, [ps.Map(sour)])


def test_an_exception_that_cannot_be_printed_is_still_one_error(flat):
    class Odd(Exception):
        def __str__(self):
            raise ValueError

    for odd in (Odd(), RuntimeError("\udcff")):
        def sour(pixels):
            raise odd

        with pytest.raises(ps.Error, match="Map raised") as caught:
            load_all(flat, [ps.Map(sour)])
        assert caught.value.code == "callback"


def test_a_sample_that_map_refuses_can_be_skipped(flat):
    def sour(pixels):
        if pixels[0, 0, 0] == 5:
            raise RuntimeError
        return pixels

    with ps.Loader(flat, batch_size=4, transform=[ps.Map(sour)], output="numpy", on_error="skip") as loader:
        assert [len(batch) for batch in loader] == [4, 3, 4]
        assert loader.stats()["skipped"] == 1


def test_a_map_that_changes_shape_from_sample_to_sample_is_an_error(numbers):
    with ps.Loader(numbers, batch_size=4, transform=[ps.Map(lambda row: np.zeros(1 + row[0] % 2))],
                   output="numpy") as loader:
        with pytest.raises(ps.Error) as caught:
            list(loader)
    assert caught.value.code == "shape_mismatch" and caught.value.sample == 1


@pytest.mark.parametrize("result", [None, "text", object(), np.array(["a"]), [[1], [1, 2]]])
def test_a_map_that_returns_no_numbers_is_an_error(numbers, result):
    with pytest.raises(ps.Error) as caught:
        load_all(numbers, [ps.Map(lambda row: result)])
    assert caught.value.code == "callback"


def test_map_wants_a_function():
    with pytest.raises(TypeError):
        ps.Map(3)


def test_map_runs_in_worker_threads(numbers):
    names = set()
    load_all(numbers, [ps.Map(lambda row: names.add(threading.get_ident()) or row)], threads=2)
    assert names - {threading.get_ident()}


def test_a_loader_that_is_collected_inside_its_own_map_goes_quietly(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((64, 4)))
    program = """
import gc, sys
import penstock as ps
calls = []
def step(array):
    calls.append(1)
    if len(calls) == 20:
        gc.collect()
    return array
def run():
    loader = ps.Loader(sys.argv[1], batch_size=4, transform=[ps.Map(step)], threads=1, output="numpy")
    loader.batches = iter(loader)  # a cycle, which only the collector ends; the epoch goes on until then
    next(loader.batches)
run()
while len(calls) < 20:
    pass
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.npy")], check=True, timeout=60)
