"""Several outputs of one stored field: they draw independently, while image and mask of one view draw alike."""

import numpy as np
import pytest

import penstock as ps
from pictures import save_jpeg, save_png, smooth

SAMPLES, SIDE, CROP = 64, 40, 24
TWO_VIEWS = {"view1": "image", "view2": "image"}


def place_coded(number=0):
    """Pixels that say where they stand: red is the column, green the row."""
    rows, columns = np.mgrid[:SIDE, :SIDE].astype(np.uint8)
    return np.stack([columns, rows, np.full((SIDE, SIDE), number, np.uint8)], -1)


@pytest.fixture
def coded(tmp_path):
    """Each pixel of a picture holds its own position, and so does each pixel of its mask (column + 40 * (row % 6))."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    for i in range(SAMPLES):
        save_png(tmp_path / "images" / f"{i:02}.png", place_coded(i))
        save_png(tmp_path / "masks" / f"{i:02}.png", (columns + 40 * (rows % 6)).astype(np.uint8))
    return ps.ImageFolder(tmp_path / "images", masks=tmp_path / "masks")


def epoch(source, transform, epochs=1, **options):
    options = {"batch_size": 16, "layout": "NHWC", "output": "numpy", "fields": TWO_VIEWS} | options
    with ps.Loader(source, transform=transform, **options) as loader:
        for _ in range(epochs):
            batches = [{name: np.array(field) for name, field in batch.items()} for batch in loader]
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


def corners(images):
    """The column and row of each crop's first pixel, in the picture."""
    return images[:, 0, 0, :2].astype(int)


def assert_independent(one, other):
    """Compares 64 pairs of numbers from 0 to 16: some agree by chance, and all would nearly never."""
    for axis in range(2):
        assert 0 < len(set(one[:, axis])) and np.count_nonzero(one[:, axis] == other[:, axis]) < SAMPLES // 4
        assert abs(np.corrcoef(one[:, axis], other[:, axis])[0, 1]) < 0.5


CROPS = [ps.RandomCrop(CROP)]
FORMS = {"list": CROPS, "dict": {"view1": CROPS, "view2": [ps.RandomCrop(CROP)]}}


@pytest.mark.parametrize("form", FORMS)
def test_two_views_of_a_picture_draw_independently(coded, form):
    views = epoch(coded, FORMS[form], shuffle=True, seed=5)
    assert_independent(corners(views["view1"]), corners(views["view2"]))
    # The same picture, cut elsewhere: each view is what NumPy cuts out at its corner.
    assert np.array_equal(views["view1"][:, 0, 0, 2], views["view2"][:, 0, 0, 2])
    for name in TWO_VIEWS:
        for image, (column, row) in zip(views[name], corners(views[name])):
            whole = place_coded(image[0, 0, 2])
            assert np.array_equal(image, whole[row:row + CROP, column:column + CROP])


def test_the_first_view_draws_what_a_single_output_does(coded):
    views = epoch(coded, CROPS, seed=9)
    alone = epoch(coded, CROPS, seed=9, fields={"only": "image"})
    assert np.array_equal(views["view1"], alone["only"])


def test_views_draw_anew_in_every_epoch_and_the_same_on_any_number_of_threads(coded):
    views = epoch(coded, CROPS, shuffle=True, threads=1)
    again = epoch(coded, CROPS, shuffle=True, threads=4)
    later = epoch(coded, CROPS, shuffle=True, epochs=2)
    for name in TWO_VIEWS:
        assert np.array_equal(views[name], again[name]) and not np.array_equal(views[name], later[name])


def test_ranks_together_see_the_views_that_one_rank_sees(coded):
    alone = epoch(coded, CROPS, batch_size=8)
    parts = [epoch(coded, CROPS, batch_size=4, rank=rank, world_size=2) for rank in range(2)]
    for name in TWO_VIEWS:
        seen = {image.tobytes() for part in parts for image in part[name]}
        assert seen == {image.tobytes() for image in alone[name]}


@pytest.mark.parametrize("form", ["list", "dict"])
def test_one_mask_follows_the_first_of_two_views(coded, form):
    steps = CROPS if form == "list" else {"view1": CROPS, "view2": CROPS, "mask": CROPS}
    views = epoch(coded, steps, fields=TWO_VIEWS | {"mask": "mask"})
    expected = views["view1"][..., 0].astype(int) + 40 * (views["view1"][..., 1].astype(int) % 6)
    assert np.array_equal(views["mask"], expected)
    assert_independent(corners(views["view1"]), corners(views["view2"]))


@pytest.mark.parametrize("form", ["list", "dict"])
def test_each_of_two_masks_follows_its_own_view(coded, form):
    names = {"view1": "image", "mask1": "mask", "view2": "image", "mask2": "mask"}
    steps = CROPS if form == "list" else {name: CROPS for name in names}
    views = epoch(coded, steps, fields=names)
    for number in "12":
        image, mask = views["view" + number].astype(int), views["mask" + number]
        assert np.array_equal(mask, image[..., 0] + 40 * (image[..., 1] % 6))
    assert not np.array_equal(views["mask1"], views["mask2"])


def test_a_derived_field_starts_from_the_result_of_its_view(coded):
    steps = {"view1": CROPS, "view2": CROPS, "small": ps.Derive("view2", [ps.CenterCrop(8)])}
    views = epoch(coded, steps, fields={"view1": "image", "view2": "image", "small": "small"})
    assert np.array_equal(views["small"], views["view2"][:, 8:16, 8:16])


def test_a_step_that_draws_nothing_gives_equal_views(coded):
    views = epoch(coded, [ps.CenterCrop(CROP)])
    assert np.array_equal(views["view1"], views["view2"])


def test_views_may_have_different_steps(coded):
    views = epoch(coded, {"view1": CROPS, "view2": [ps.Resize(12), ps.Normalize(0.5, 0.5)]})
    assert views["view1"].shape[1:] == (CROP, CROP, 3) and views["view2"].shape[1:] == (12, 12, 3)
    assert views["view2"].dtype == np.float32


def test_views_of_volumes_flip_independently(tmp_path):
    volume = np.arange(32 * 32 * 32, dtype=np.float32).reshape(32, 32, 32)
    np.save(tmp_path / "v.npy", volume)
    views = epoch(ps.Patches(tmp_path / "v.npy", (8, 8, 8)), {"a": [ps.RandomFlip3D()], "b": [ps.RandomFlip3D()]},
                  fields={"a": "image", "b": "image"})
    same = [np.array_equal(one, other) for one, other in zip(views["a"], views["b"])]
    assert 0 < sum(same) < len(same) / 2
    assert all(np.array_equal(np.sort(one, None), np.sort(other, None)) for one, other in zip(views["a"], views["b"]))


# -- read once, and cached --------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["encoded", "decoded"])
def test_the_cache_keeps_one_entry_for_both_views_and_changes_no_pixel(tmp_path, form):
    for i in range(30):
        save_jpeg(tmp_path / "p" / f"{i:02}.jpg", smooth(60 + i, 70, seed=i))
    steps = [ps.Resize(48), ps.RandomResizedCrop(CROP), ps.RandomHorizontalFlip(), ps.ColorJitter(0.3, 0.3)]
    expected = epoch(tmp_path / "p", steps, epochs=2, shuffle=True)
    options = {"batch_size": 10, "layout": "NHWC", "output": "numpy", "fields": TWO_VIEWS, "shuffle": True}
    with ps.Loader(tmp_path / "p", transform=steps, cache="16MiB", cache_form=form, **options) as loader:
        for _ in range(2):
            batches = [{name: np.array(field) for name, field in batch.items()} for batch in loader]
        cache = loader.stats()["cache"]
        assert cache["tiers"]["ram"]["entries"] == 30
        assert (cache["misses"], cache["hits"]) == (30, 90)
    for name in TWO_VIEWS:
        assert np.array_equal(np.concatenate([batch[name] for batch in batches]), expected[name])


@pytest.mark.parametrize("kind", ["folder", "tar"])
def test_a_picture_is_read_once_for_both_views(tmp_path, kind):
    from records import png_bytes, write_tar

    if kind == "folder":
        for i in range(6):
            save_png(tmp_path / "p" / f"{i}.png", place_coded(i))
        source, stored, field = tmp_path / "p", sum(path.stat().st_size for path in (tmp_path / "p").iterdir()), "image"
    else:
        files = [(f"{i}.png", png_bytes(place_coded(i))) for i in range(6)]
        source, stored, field = write_tar(tmp_path / "p.tar", files), sum(len(data) for _, data in files), "png"
    with ps.Loader(source, 3, fields={"a": field, "b": field}, transform=CROPS, output="numpy") as loader:
        list(loader)
        assert loader.stats()["stages"]["read"]["bytes"] == stored
