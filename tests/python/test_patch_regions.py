"""Patches that lie within a region or a mask: training and validation in one volume."""

import itertools

import numpy as np
import pytest

import penstock as ps
from test_patch_draws import assert_shares, places, uniform
from zarr_writers import assert_same, epoch, write_zarr

SHAPE, SIZE = (16, 14, 15), (4, 5, 3)


@pytest.fixture
def volume(tmp_path):
    data = np.random.default_rng(0).integers(0, 1000, SHAPE).astype(np.uint16)
    return data, write_zarr(tmp_path / "v", data, (5, 5, 5))


@pytest.mark.parametrize("region, bounds", [
    (((2, 11), (0, 14), (4, 15)), ((2, 11), (0, 14), (4, 15))),
    ((slice(8, None), slice(None), slice(-7, -1)), ((8, 16), (0, 14), (8, 14))),
    ([slice(0, 99), (3, 8), slice(None, 3)], ((0, 16), (3, 8), (0, 3))),
])
def test_whole_patches_lie_within_the_region(volume, region, bounds):
    data, path = volume
    every = list(itertools.product(*(range(begin, end - edge + 1) for (begin, end), edge in zip(bounds, SIZE))))
    found = places(ps.Patches(path, SIZE, per_epoch=60 * len(every), region=region))
    assert_shares(found, uniform([every]))
    patches, origins = epoch(ps.Patches(path, SIZE, region=region), batch_size=5)
    covered = np.zeros(SHAPE, bool)
    for patch, origin in zip(patches, origins):
        box = tuple(slice(o, o + edge) for o, edge in zip(origin, SIZE))
        assert_same(patch, data[box])
        covered[box] = True
    inside = np.zeros(SHAPE, bool)
    inside[tuple(slice(*range_) for range_ in bounds)] = True
    assert np.array_equal(covered, inside)


def test_training_and_validation_share_no_voxel(volume):
    _, path = volume
    training = places(ps.Patches(path, SIZE, per_epoch=500, region=((0, 10), (0, 14), (0, 15))))
    validation = places(ps.Patches(path, SIZE, per_epoch=500, region=(slice(10, None), slice(None), slice(None))))
    assert training[:, 1].max() + SIZE[0] <= 10 <= validation[:, 1].min()


def test_random_patches_have_their_centre_in_the_mask(tmp_path, volume):
    _, path = volume
    mask = np.random.default_rng(1).random(SHAPE) < 0.15
    mask_path = write_zarr(tmp_path / "m", mask.astype(np.float32) * 0.5, (6, 16, 4))
    every = list(itertools.product(*(range(extent - edge + 1) for extent, edge in zip(SHAPE, SIZE))))
    valid = [place for place in every if mask[tuple(p + edge // 2 for p, edge in zip(place, SIZE))]]
    source = ps.Patches(path, SIZE, per_epoch=60 * len(valid), mask=mask_path)
    assert_shares(places(source), uniform([valid]))
    within = [place for place in valid if 3 <= place[0] <= 13 - SIZE[0]]
    source = ps.Patches(path, SIZE, per_epoch=80 * len(within), mask=mask_path,
                        region=(slice(3, 13), slice(None), slice(None)))
    assert_shares(places(source), uniform([within]))


def test_a_mask_and_foreground_together(tmp_path, volume):
    _, path = volume
    rng = np.random.default_rng(2)
    mask, labels = rng.random(SHAPE) < 0.4, (rng.random(SHAPE) < 0.5).astype(np.uint8)
    source = ps.Patches(path, SIZE, per_epoch=30_000, mask=write_zarr(tmp_path / "m", mask, (8, 8, 8)),
                        labels=write_zarr(tmp_path / "l", labels, (7, 9, 8)), min_foreground=0.5)
    share = np.lib.stride_tricks.sliding_window_view(labels, SIZE).mean((-3, -2, -1))
    valid = [tuple(p) for p in np.argwhere(share >= 0.5).tolist() if mask[tuple(q + e // 2 for q, e in zip(p, SIZE))]]
    assert_shares(places(source), uniform([valid]))


def test_a_grid_keeps_the_patches_that_cover_the_mask(tmp_path, volume):
    data, path = volume
    masks = [np.zeros(SHAPE, np.uint8), np.zeros(SHAPE, np.uint8)]
    masks[0][3, 4, 5] = masks[0][9:12, 2:6, 11:] = 1
    masks[1][0, 0, 14] = 200
    mask_paths = [write_zarr(tmp_path / f"m{i}", mask, (8, 8, 8)) for i, mask in enumerate(masks)]
    every = places(ps.Patches([path, path], SIZE, overlap=1))
    kept = [place for place in every.tolist()
            if masks[place[0]][tuple(slice(p, p + edge) for p, edge in zip(place[1:], SIZE))].any()]
    source = ps.Patches([path, path], SIZE, overlap=1, mask=mask_paths)
    assert len(source) == len(kept) < len(every)
    patches, origins, numbers = epoch(source, batch_size=3)
    assert np.column_stack([numbers, origins]).tolist() == kept
    for patch, origin in zip(patches, origins):
        assert_same(patch, data[tuple(slice(o, o + edge) for o, edge in zip(origin, SIZE))])
    # One mask serves both volumes; the second has no voxel of its own here.
    assert len(ps.Patches([path, path], SIZE, mask=mask_paths[1])) == 2
    assert len(ps.Patches(path, SIZE, mask=mask_paths[0]).subset(0.5)) > 0


def test_a_state_of_another_region_or_mask_is_refused(tmp_path, volume):
    _, path = volume
    mask = write_zarr(tmp_path / "m", np.ones(SHAPE, np.uint8), (8, 8, 8))
    other = write_zarr(tmp_path / "n", np.triu(np.ones(SHAPE[1:], np.uint8))[None].repeat(SHAPE[0], 0), (8, 8, 8))

    def loader(**options):
        return ps.Loader(ps.Patches(path, SIZE, per_epoch=64, **options), batch_size=8, output="numpy")

    with loader(mask=mask) as first, loader(mask=other) as second, loader(region=((0, 8), (0, 14), (0, 15))) as third:
        next(iter(first))
        for another in (second, third):
            with pytest.raises(ps.Error):
                another.load_state_dict(first.state_dict())


def test_regions_and_masks_that_cannot_be_are_said(tmp_path, volume):
    _, path = volume
    empty = write_zarr(tmp_path / "e", np.zeros(SHAPE, np.uint8), (8, 8, 8))
    small = write_zarr(tmp_path / "s", np.ones((16, 14, 14), np.uint8), (8, 8, 8))

    def refused(match, error=ps.Error, **options):
        with pytest.raises(error, match=match) as caught:
            ps.Patches(path, SIZE, **options)
        assert "\n" not in str(caught.value)

    refused("does not fit", region=((0, 3), (0, 14), (0, 15)))
    refused("does not fit", per_epoch=5, region=((9, 3), (0, 14), (0, 15)))
    refused("2 ranges", region=((0, 8), (0, 14)))
    refused("no steps", ValueError, region=(slice(0, 8, 2), slice(None), slice(None)))
    refused("slice or", TypeError, region=slice(0, 8))
    refused("slice or", TypeError, region=(0, 8, 9))
    refused("mask is 0", mask=empty)
    refused("mask is 0", mask=empty, per_epoch=4)
    refused("a mask of shape", mask=small)
    refused("2 masks", mask=[empty] * 2)
