"""Transforms that are given wrong values, stand in the wrong place, or meet data that they are not for."""

import numpy as np
import pytest

import penstock as ps
from transformed import load_all


@pytest.mark.parametrize("step", [
    lambda: ps.Resize(-1), lambda: ps.Resize((0, 3)), lambda: ps.CenterCrop(0), lambda: ps.RandomCrop(-5),
    lambda: ps.RandomResizedCrop(0), lambda: ps.RandomResizedCrop(8, scale=(1, 0.1)),
    lambda: ps.RandomResizedCrop(8, scale=(0, 0)), lambda: ps.RandomResizedCrop(8, ratio=(-1, 1)),
    lambda: ps.RandomHorizontalFlip(1.5), lambda: ps.RandomVerticalFlip(-1), lambda: ps.RandomFlip3D(7),
    lambda: ps.Normalize((1, 2), (1, 2, 3)), lambda: ps.Normalize(0, 0), lambda: ps.Normalize((), ()),
    lambda: ps.Normalize(0, float("nan")),
    lambda: ps.ColorJitter(-1), lambda: ps.ColorJitter(hue=0.9),
    lambda: ps.ColorJitter((2, 1)), lambda: ps.OneHot(0), lambda: ps.Pad(-1), lambda: ps.Pad((1, 2, 3)),
    lambda: ps.Resize(8, "bilinea"), lambda: ps.Decode("CMYK"), lambda: ps.Cast("float31")])
def test_wrong_values_of_transforms_are_value_errors_before_the_first_batch(flat, step):
    with pytest.raises(ValueError):
        ps.Loader(flat, transform=[step()])


@pytest.mark.parametrize("step", [
    lambda: ps.Resize(10**9),
    lambda: ps.Resize((1, 10**9)), lambda: ps.Pad(2**30),
                                  lambda: ps.RandomResizedCrop(10**9)])
def test_sizes_beyond_all_reason_are_errors_at_once(flat, step):
    with pytest.raises((ValueError, MemoryError, ps.Error)):
        ps.Loader(flat, transform=[step()], memory="64MiB")


@pytest.mark.parametrize("make", [lambda: ps.Resize("big"), lambda: ps.Resize(), lambda: ps.CenterCrop((1, 2, 3)),
                                  lambda: ps.Normalize(), lambda: ps.Resize(3, antialas=False)])
def test_wrong_types_of_transforms_are_type_errors(make):
    with pytest.raises(TypeError):
        make()


def test_a_function_without_map_says_how_to_put_it_in(flat):
    with pytest.raises(TypeError, match="penstock.Map"):
        ps.Loader(flat, transform=[lambda x: x])


def test_decode_must_come_first(flat):
    with pytest.raises(ValueError, match="first"):
        ps.Loader(flat, transform=[ps.CenterCrop(4), ps.Decode()])


def test_image_transforms_on_arrays_that_are_no_images_say_so(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 7)))
    with pytest.raises(ps.Error, match="image"):
        load_all(tmp_path / "x.npy", [ps.Resize(3)])
    with pytest.raises(ValueError):
        ps.Loader(tmp_path / "x.npy", transform=[ps.Decode()])
