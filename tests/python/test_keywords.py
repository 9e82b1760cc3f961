"""A keyword that is misspelt: every public function, class and method names the nearest one that it has."""

import inspect

import numpy as np
import pytest

import penstock as ps

NOT_CALLED = (BaseException, dict, ps.Source, ps.Statistics, ps.FieldStatistics, ps.PackReport, ps.StageReport)  # by users


def public_calls():
    for name in ps.__all__:
        made = getattr(ps, name)
        if callable(made) and not (isinstance(made, type) and issubclass(made, NOT_CALLED)):
            yield name, made
    for owner in (ps.Source, ps.Loader, ps.Cache):
        for name, method in vars(owner).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                yield f"{owner.__name__}.{name}", method


def keywords_of(call):
    return [name for name, parameter in inspect.signature(call).parameters.items()
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) and name != "self"]


CASES = [(name, call, keyword) for name, call in public_calls() for keyword in keywords_of(call) if name != "Manifest"]


@pytest.mark.parametrize("name, call, keyword", CASES, ids=[f"{name}-{keyword}" for name, _, keyword in CASES])
def test_every_keyword_is_the_nearest_to_its_own_misspelling(name, call, keyword):
    misspelt = keyword + "z" if len(keyword) < 4 else keyword[:-2] + keyword[-1] + keyword[-2]
    if misspelt in keywords_of(call):
        misspelt = keyword + "z"
    with pytest.raises(TypeError, match=f"has no keyword {misspelt!r}; did you mean {keyword!r}"):
        call(*[None] * ("." in name), **{misspelt: 1})


def test_the_message_names_the_call():
    with pytest.raises(TypeError, match=r"Patches\(\) has no keyword 'label'; did you mean 'labels'\?"):
        ps.Patches("v.tif", (4, 4, 4), label="l.tif")
    with pytest.raises(TypeError, match=r"Resize\(\) has no keyword 'sise'; did you mean 'size'\?"):
        ps.Resize(sise=3)
    with pytest.raises(TypeError, match=r"RandomRot90\(\) has no keyword 'p'; it takes none"):
        ps.RandomRot90(p=1)
    with pytest.raises(TypeError, match=r"Zarr\(\) has no keyword 'xyz'; there are uri, variables, sample_dim"):
        ps.Zarr("s.zarr", xyz=1)


def test_keywords_of_a_manifest_are_columns_unless_they_look_like_its_own(tmp_path):
    (tmp_path / "t.csv").write_text("x;y\n1;2\n")
    with pytest.raises(ps.UsageError, match=r"there is no field \";\".*did you mean 'delimiter'\?"):
        ps.Manifest(tmp_path / "t.csv", delimeter=";")
    assert list(ps.Manifest(tmp_path / "t.csv", route="x").fields) == ["route"]


@pytest.mark.parametrize("keyword, value, nearest", [("layout", "nchw", "NCHW"), ("on_error", "skipp", "skip"),
                                                     ("output", "pytorch", "torch"), ("cache_form", "encode", "encoded")])
def test_words_that_are_misspelt_name_the_nearest(flat, keyword, value, nearest):
    with pytest.raises(ValueError, match=f"{keyword}='{value}': wants .*; did you mean '{nearest}'"):
        ps.Loader(flat, **{keyword: value})


def test_signatures_stay(tmp_path):
    assert list(inspect.signature(ps.Resize).parameters) == ["size", "interpolation", "antialias"]
    assert "labels" in inspect.signature(ps.Patches).parameters
    assert list(inspect.signature(ps.Cache).parameters) == ["ram", "disk", "policy", "revalidate"]
    assert ps.Resize(3) == ps.Resize(size=3)
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    assert list(ps.statistics(tmp_path / "x.npy", fields=["array"])) == ["array"]
