"""Transforms as Python values: how they print, compare, copy and pickle, and what their signatures say."""

import copy
import inspect
import pickle
import pydoc

import numpy as np
import pytest

import penstock as ps
from penstock.transforms import Transform, engine_steps


def halve(array):
    return array // 2


# The call, and how the result prints where that differs.
CALLS = {
    "Decode()": None,
    "Decode('L', exif_orientation=True)": "Decode(mode='L', exif_orientation=True)",
    "Resize(256)": None,
    "Resize((3, 4), interpolation='bicubic', antialias=False)": None,
    "CenterCrop(224)": None,
    "RandomCrop((8, 16))": None,
    "RandomResizedCrop(224, scale=(0.25, 1.0))": None,
    "RandomResizedCrop(224, (0.25, 1), ratio=(1.0, 1.0))": "RandomResizedCrop(224, scale=(0.25, 1.0), ratio=(1.0, 1.0))",
    "RandomHorizontalFlip()": None,
    "RandomVerticalFlip(p=0.25)": None,
    "ColorJitter(brightness=0.4, hue=(-0.1, 0.1))": None,
    "Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))": None,
    "Normalize(0.5, 0.25, max_value=4095.0)": None,
    "Normalize(np.float32(0.5), np.array(0.25))": "Normalize(0.5, 0.25)",
    "Normalize([0.5, 0.5], np.array([0.25, 0.25]))": "Normalize((0.5, 0.5), (0.25, 0.25))",
    "Cast('float16')": None,
    "Cast(np.float32)": "Cast('float32')",
    "Pad((1, 2, 3, 4), fill=255.0)": None,
    "RandomFlip3D()": None,
    "RandomRot90()": None,
    "RandomErasing()": None,
    "RandomErasing(p=1.0, scale=(0.1, 0.2), ratio=(1.0, 1.0), value=(0.5, 0.5, 0.5))": None,
    "OneHot(10)": None,
    "Map(halve)": None,
    "Derive('image', [Resize(24)])": None,
}


def made(call):
    names = {name: getattr(ps, name) for name in ps.__all__}
    return eval(call, {"np": np, "halve": halve, **names})


@pytest.mark.parametrize("call, shown", [(call, shown or call) for call, shown in CALLS.items()])
def test_a_transform_prints_as_the_call_that_makes_it(call, shown):
    assert repr(made(call)) == shown
    assert made(shown) == made(call)


def test_every_transform_is_tried_above():
    tried = {call.split("(")[0] for call in CALLS}
    public = {name for name in ps.__all__ if isinstance(getattr(ps, name), type) and issubclass(getattr(ps, name), Transform)}
    assert public | {"Derive"} == tried


@pytest.mark.parametrize("call", CALLS)
def test_a_transform_survives_pickling_and_copying(call):
    original = made(call)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(original, protocol))
        assert again == original and repr(again) == repr(original) and hash(again) == hash(original)
    assert copy.deepcopy(original) == original and copy.copy(original) == original


def test_a_map_pickles_where_its_function_does():
    assert pickle.loads(pickle.dumps(ps.Map(halve))).function is halve
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(ps.Map(lambda array: array))
    assert "<lambda>" in repr(ps.Map(lambda array: array))


def test_transforms_compare_by_their_arguments():
    assert ps.Resize(3) != ps.Resize(4) and ps.Resize(3) != ps.CenterCrop(3)
    assert ps.Resize(np.int64(3)) == ps.Resize(3) and type(ps.Resize(np.int64(3)).size) is int
    assert len({ps.Resize(3), ps.Resize(3), ps.Resize((3, 3))}) == 2


def test_transforms_do_not_change():
    for step, name in ((ps.Resize(3), "size"), (ps.Map(halve), "function"), (ps.Derive("image", []), "steps")):
        with pytest.raises(AttributeError):
            setattr(step, name, 4)


def test_signatures_name_all_arguments_and_defaults():
    crop = inspect.signature(ps.RandomResizedCrop).parameters
    assert {name: argument.default for name, argument in crop.items()} == {
        "size": inspect.Parameter.empty, "scale": (0.08, 1.0), "ratio": (3 / 4, 4 / 3), "interpolation": "bilinear",
        "antialias": True}
    assert crop["antialias"].kind is inspect.Parameter.KEYWORD_ONLY
    for name in {call.split("(")[0] for call in CALLS}:
        cls = getattr(ps, name)
        assert "args" not in inspect.signature(cls).parameters
        assert name in pydoc.render_doc(cls) and cls.__doc__ and not cls.__doc__.startswith(name + "(")


def test_a_pickled_transform_makes_the_same_batches(photos):
    steps = [ps.RandomResizedCrop(32, scale=(0.3, 1)), ps.ColorJitter(0.4, hue=0.1), ps.RandomHorizontalFlip(),
             ps.Normalize((0.4, 0.5, 0.6), (0.2, 0.3, 0.4))]
    batches = []
    for transform in (steps, pickle.loads(pickle.dumps(steps))):
        with ps.Loader(photos, batch_size=8, transform=transform, seed=3, output="numpy") as loader:
            batches.append(next(iter(loader)))
    np.testing.assert_array_equal(*batches)


def test_a_step_of_several_fields_is_one_step_of_the_engine():
    shared, own = ps.Map(halve), ps.Map(halve)
    (_, first, _), (_, second, _) = engine_steps([("image", [shared, own], ""), ("mask", [shared], "")])
    assert first[0] is second[0] and first[1] is not first[0]


@pytest.mark.parametrize("call, error, words", [
    ("Resize('big')", TypeError, ["Resize", "size", "'big'", "whole number"]),
    ("Resize(2.5)", TypeError, ["size=2.5"]),
    ("Resize(True)", TypeError, ["size=True"]),
    ("Resize(0)", ValueError, ["size=0", "at least 1"]),
    ("Resize(2**40)", ValueError, ["too large"]),
    ("Resize((1, 2, 3))", TypeError, ["(height, width)"]),
    ("Resize(3, 'bilinaer')", ValueError, ["bicubic", "did you mean 'bilinear'"]),
    ("Resize(3, antialias='no')", TypeError, ["antialias", "True or False"]),
    ("Resize()", TypeError, ["size"]),
    ("Resize(3, antialas=True)", TypeError, ["antialas"]),
    ("RandomResizedCrop(8, scale=0.5)", TypeError, ["scale=0.5", "(from, to)"]),
    ("RandomResizedCrop(8, scale=(0.5, 2))", ValueError, ["scale=2", "from 0 to 1"]),
    ("RandomResizedCrop(8, scale=(1, 0.5))", ValueError, ["scale=(1, 0.5)", "from <= to"]),
    ("RandomHorizontalFlip(1.5)", ValueError, ["p=1.5", "from 0 to 1"]),
    ("RandomHorizontalFlip(float('nan'))", ValueError, ["p=nan", "finite"]),
    ("Normalize((1, 2), (1, 2, 3))", ValueError, ["2 means and 3 deviations"]),
    ("Normalize(0, 0)", ValueError, ["std=0"]),
    ("Normalize('0.5', 1)", TypeError, ["mean='0.5'", "number"]),
    ("Cast('flaot32')", ValueError, ["did you mean 'float32'"]),
    ("Cast(None)", TypeError, ["dtype=None"]),
    ("Pad((1, 2, 3))", ValueError, ["(left, top, right, bottom)"]),
    ("OneHot(0)", ValueError, ["classes=0"]),
    ("ColorJitter(hue=0.9)", ValueError, ["hue=0.9", "0.5"]),
    ("Map(3)", TypeError, ["Map", "function"]),
    ("Derive(3, [])", TypeError, ["Derive", "field"]),
    ("Decode('RGBA')", ValueError, ["mode='RGBA'", "RGB"]),
])
def test_wrong_arguments_are_named_when_the_transform_is_made(call, error, words):
    with pytest.raises(error) as caught:
        made(call)
    for word in words:
        assert word in str(caught.value), str(caught.value)
