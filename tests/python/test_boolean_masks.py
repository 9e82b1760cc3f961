"""Masks of booleans choose samples; they are never taken as the indices 0 and 1."""

import numpy as np
import pytest
import torch

import penstock as ps

CHOSEN = [1, 4, 5, 11]
MASK = np.isin(np.arange(12), CHOSEN)
FORMS = {"numpy": MASK, "torch": torch.from_numpy(MASK), "list": MASK.tolist(), "tuple": tuple(MASK.tolist()),
         "numpy_scalars": list(MASK), "torch_scalars": list(torch.from_numpy(MASK))}


def seen(source, **options):
    """Which samples come: each picture is filled with its number."""
    with ps.Loader(source, batch_size=12, output="numpy", **options) as loader:
        return [int(image[0, 0, 0]) for images in loader for image in images]


@pytest.mark.parametrize("form", FORMS)
def test_a_mask_chooses_in_subset_and_sampler(flat, form):
    source = ps.open_source(flat)
    assert seen(source.subset(FORMS[form])) == np.arange(12)[MASK].tolist()
    assert seen(source, sampler=FORMS[form]) == CHOSEN


@pytest.mark.parametrize("form", FORMS)
def test_a_mask_of_another_length_is_an_error(flat, form):
    source = ps.open_source(flat)
    short = FORMS[form][:7]
    with pytest.raises(ValueError, match="subset: a mask of 7 booleans, but the source has 12 samples"):
        source.subset(short)
    with pytest.raises(ValueError, match="sampler: a mask of 7 booleans"):
        ps.Loader(source, sampler=short)


def test_booleans_and_numbers_do_not_mix(flat):
    source = ps.open_source(flat)
    mixed = [True, 3, False] + [0] * 9
    for use in (lambda: source.subset(mixed), lambda: ps.Loader(source, sampler=mixed)):
        with pytest.raises(TypeError, match="mixed"):
            use()


def test_indices_stay_indices(flat):
    source = ps.open_source(flat)
    for indices in ([3, 1, 1], np.array([3, 1, 1]), torch.tensor([3, 1, 1]), (3, 1, 1), iter([3, 1, 1])):
        assert seen(source.subset(indices)) == [3, 1, 1]
    assert seen(source.subset([-1, 0])) == [11, 0]
    assert seen(source, sampler=torch.utils.data.SequentialSampler(range(12))) == list(range(12))
    assert seen(source, sampler=torch.utils.data.SubsetRandomSampler([5])) == [5]


@pytest.mark.parametrize("wrong", [[0.0, 1.5], np.array([0.0, 1.0]), torch.tensor([1.0]), ["a"]], ids=str)
def test_numbers_with_fractions_are_no_indices(flat, wrong):
    source = ps.open_source(flat)
    with pytest.raises(TypeError, match="wants a whole number"):
        source.subset(wrong)
    with pytest.raises(TypeError, match="wants a whole number"):
        ps.Loader(source, sampler=wrong)


def test_tables_of_booleans_are_refused(flat):
    with pytest.raises(ValueError, match="one dimension"):
        ps.open_source(flat).subset(MASK.reshape(3, 4))


@pytest.mark.parametrize("wrong", [True, 3, None])
def test_a_single_value_is_no_choice(flat, wrong):
    with pytest.raises(TypeError, match="wants a fraction"):
        ps.open_source(flat).subset(wrong)


@pytest.mark.parametrize("form", FORMS)
def test_weights_are_no_mask(flat, form):
    with pytest.raises(TypeError, match=r"weights: wants numbers, not booleans; source.subset\(mask\)"):
        ps.Loader(flat, weights=FORMS[form])


def test_a_mask_of_nothing_is_an_empty_subset(flat):
    with pytest.raises(ps.Error, match="empty subset"):
        ps.open_source(flat).subset(np.zeros(12, bool))


# -- types that do not hold what the steps make ------------------------------------------------------------

NORMALIZE = ps.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16", "int32", "int64", "bool"])
def test_whole_numbers_after_normalize_are_an_error_that_says_what_to_write(flat, dtype):
    with pytest.raises(ps.Error, match=f'dtype="{dtype}" cannot hold what Normalize makes.*Cast\\("{dtype}"\\)'):
        ps.Loader(flat, transform=[NORMALIZE], dtype=dtype)


def test_floating_types_after_normalize_are_as_before(flat):
    for dtype in ("float16", "float32", "float64"):
        with ps.Loader(flat, transform=[NORMALIZE], dtype=dtype, output="numpy") as loader:
            assert next(iter(loader)).dtype == dtype


def test_a_cast_stops_at_the_ends_of_its_type(flat):
    steps = [ps.Normalize((0.01, 0.01, 0.01), (0.00004, 0.00004, 0.00004)), ps.Cast("uint8")]
    with ps.Loader(flat, batch_size=12, transform=steps, output="numpy") as loader:
        images = next(iter(loader))[:, 0, 0, 0]
    exact = (np.arange(12) / 255 - 0.01) / 0.00004
    assert exact.min() < 0 and exact.max() > 255
    np.testing.assert_array_equal(images, np.clip(exact, 0, 255).astype(np.uint8))


def test_what_a_map_makes_of_normalized_pixels_may_be_anything(flat):
    steps = [NORMALIZE, ps.Map(lambda image: (image * 0 + 3).astype(np.uint8))]
    with ps.Loader(flat, transform=steps, dtype="uint8", output="numpy") as loader:
        assert next(iter(loader)).max() == 3


@pytest.mark.parametrize("dtype", ["int8", "bool"])
def test_pixels_do_not_fit_narrow_types(flat, dtype):
    with pytest.raises(ps.Error, match="cannot hold pixels"):
        ps.Loader(flat, dtype=dtype)
