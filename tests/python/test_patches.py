"""Patches of volumes: grids that cover, random places, labels, foreground, transforms."""

import itertools

import numpy as np
import pytest

import penstock as ps
from zarr_writers import assert_same, epoch, make_loader, write_zarr


def volume_of(shape, dtype=np.uint16, seed=0):
    return np.random.default_rng(seed).integers(0, 200, shape).astype(dtype)


def write(path, data, how, chunks=None):
    """The same volume as a Zarr array, .npy, a TIFF stack or a folder of planes."""
    if how == "npy":
        np.save(path.with_suffix(".npy"), data)
        return path.with_suffix(".npy")
    if how == "tiff":
        tifffile = pytest.importorskip("tifffile")
        tifffile.imwrite(path.with_suffix(".tif"), data, photometric="minisblack")
        return path.with_suffix(".tif")
    if how == "planes":
        tifffile = pytest.importorskip("tifffile")
        path.mkdir()
        for i, plane in enumerate(data):
            tifffile.imwrite(path / f"plane_{i:03}.tif", plane, photometric="minisblack")
        return path
    chunks = chunks or tuple(max(1, extent // 3) for extent in data.shape)
    return write_zarr(path, data, chunks, version=2 if how == "zarr2" else 3)


def grid_places(shape, size, overlap):
    axes = []
    for extent, edge, shared in zip(shape, size, overlap):
        axes.append(list(dict.fromkeys(min(start, extent - edge)
                                       for start in range(0, extent - shared if extent > edge else 1, edge - shared))))
    return list(itertools.product(*axes))


def cut(volume, place, size):
    lead = volume.ndim - len(size)
    return volume[(slice(None),) * lead + tuple(slice(p, p + s) for p, s in zip(place, size))]


# -- grids ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["npy", "zarr2", "zarr3", "tiff", "planes"])
@pytest.mark.parametrize("size, overlap", [((8, 8, 8), 0), ((5, 9, 4), 2), ((7, 6, 10), (3, 0, 5)), ((8, 8, 8), 0.5),
                                           ((20, 23, 19), 0)])
def test_a_grid_covers_everything_in_order(tmp_path, how, size, overlap):
    volume = volume_of((20, 23, 19))
    source = ps.Patches(write(tmp_path / "v", volume, how), size, overlap=overlap)
    overlaps = [overlap] * 3 if not isinstance(overlap, tuple) else overlap
    overlaps = [round(part * edge) if isinstance(part, float) else part for part, edge in zip(overlaps, size)]
    expected = grid_places(volume.shape, size, overlaps)
    patches, places = epoch(source, batch_size=3)
    assert [tuple(place) for place in places.tolist()] == expected and len(source) == len(expected)
    seen = np.zeros(volume.shape, int)
    for patch, place in zip(patches, expected):
        assert_same(patch, cut(volume, place, size))
        cut(seen, place, size)[...] += 1
    assert seen.min() >= 1


def test_axes_before_those_of_a_patch_come_whole(tmp_path):
    volume = volume_of((3, 10, 12, 9))
    path = write(tmp_path / "v", volume, "zarr3", chunks=(2, 4, 5, 3))
    patches, places = epoch(ps.Patches(path, (4, 5, 3)), batch_size=4)
    assert patches.shape[1:] == (3, 4, 5, 3) and places.shape[1:] == (3,)
    for patch, place in zip(patches, places.tolist()):
        assert_same(patch, cut(volume, place, (4, 5, 3)))
    patches, places = epoch(ps.Patches(path, (12, 9)), batch_size=1)
    assert_same(patches, volume[None])


def test_a_grid_of_several_volumes_says_which(tmp_path):
    volumes = [volume_of((9, 8, 7), seed=1), volume_of((5, 12, 6), seed=2), volume_of((4, 4, 4), seed=3)]
    paths = [write(tmp_path / f"v{i}", v, how) for i, (v, how) in enumerate(zip(volumes, ("npy", "zarr3", "tiff")))]
    labels = [(v > 100).astype(np.uint8) for v in volumes]
    label_paths = [write(tmp_path / f"l{i}", v, "zarr2", chunks=(2, 3, 4)) for i, v in enumerate(labels)]
    source = ps.Patches(paths, (4, 4, 4), labels=label_paths, overlap=1)
    expected = [(i, place) for i, v in enumerate(volumes) for place in grid_places(v.shape, (4, 4, 4), (1, 1, 1))]
    assert list(source.fields) == ["image", "label", "position", "volume"] and len(source) == len(expected)
    for shuffle in (False, True):
        patches, cuts, places, numbers = epoch(source, batch_size=3, shuffle=shuffle)
        got = [(number, tuple(place)) for number, place in zip(numbers.tolist(), places.tolist())]
        assert (got if not shuffle else sorted(got)) == sorted(expected) and (not shuffle or got != expected)
        for patch, label, (number, place) in zip(patches, cuts, got):
            assert_same(patch, cut(volumes[number], place, (4, 4, 4)))
            assert_same(label, cut(labels[number], place, (4, 4, 4)))


# -- random places ----------------------------------------------------------------------------------

WITH_PLACES = ["image", "position"]


@pytest.mark.parametrize("how", ["npy", "zarr3", "tiff"])
def test_random_patches_are_of_the_volume_and_change_with_seed_and_epoch(tmp_path, how):
    volume = volume_of((20, 23, 19))
    source = ps.Patches(write(tmp_path / "v", volume, how), (6, 5, 7), per_epoch=50)

    def run(epochs=1, **options):
        with make_loader(source, fields=WITH_PLACES, batch_size=7, **options) as loader:
            return [[np.concatenate(part) for part in zip(*loader)] for _ in range(epochs)]

    (patches, places), (_, second) = run(2)
    assert patches.shape == (50, 6, 5, 7)
    for patch, place in zip(patches, places):
        assert_same(patch, cut(volume, place, (6, 5, 7)))
    assert places.tolist() != second.tolist()
    assert run(seed=1)[0][1].tolist() != places.tolist()
    for threads in (1, 3, 4):
        assert_same(run(threads=threads)[0][0], patches)


@pytest.mark.parametrize("chunks", [(8, 8, 8), (20, 20, 20)])
def test_places_are_spread_evenly(tmp_path, chunks):
    """Chi-squared over cells of places, by axis: no place is left out, none is a favourite."""
    path = write_zarr(tmp_path / "v", np.zeros((20, 20, 20), np.uint8), chunks)
    source = ps.Patches(path, (5, 5, 5), per_epoch=8192)
    _, places = epoch(source, fields=WITH_PLACES, batch_size=64)
    assert places.min() == 0 and places.max() == 15
    for axis in range(3):
        counts = np.bincount(places[:, axis], minlength=16)
        expected = len(places) / 16
        # 15 degrees of freedom: 0.9999 of draws are below 44.
        assert ((counts - expected) ** 2 / expected).sum() < 44, counts
    cells = np.bincount((places // 4 @ [16, 4, 1]), minlength=64)
    assert ((cells - 128) ** 2 / 128).sum() < 120, cells


def test_volumes_are_drawn_from_by_their_size_whatever_their_chunks(tmp_path):
    for i, edge in enumerate((8, 64)):
        write_zarr(tmp_path / str(i), np.full((64, 64, 64), i, np.uint8), (edge,) * 3)
    patches = epoch(ps.Patches([tmp_path / "0", tmp_path / "1"], (8, 8, 8), per_epoch=4096), batch_size=64)
    share = patches[:, 0, 0, 0].mean()
    assert 0.35 < share < 0.65, share


def test_volumes_of_like_chunks_are_drawn_from_by_their_size(tmp_path):
    for i, edge in enumerate((16, 32)):
        write_zarr(tmp_path / str(i), np.full((edge, 32, 32), i, np.uint8), (8, 8, 8))
    patches = epoch(ps.Patches([tmp_path / "0", tmp_path / "1"], (8, 8, 8), per_epoch=8192), batch_size=64)
    assert abs(patches[:, 0, 0, 0].mean() - 25 / 34) < 0.08


@pytest.mark.parametrize("world", [1, 2, 3])
def test_ranks_share_the_patches_of_an_epoch(tmp_path, world):
    volume = np.arange(12**3, dtype=np.int32).reshape(12, 12, 12)
    source = ps.Patches(write(tmp_path / "v", volume, "zarr3"), (4, 4, 4), per_epoch=60)
    whole = epoch(source, batch_size=5)[:, 0, 0, 0].tolist()
    parts = [epoch(source, batch_size=5, rank=rank, world_size=world)[:, 0, 0, 0].tolist() for rank in range(world)]
    assert sorted(sum(parts, [])) == sorted(whole) and {len(part) for part in parts} == {60 // world}


@pytest.mark.parametrize("stop", [1, 4, 9])
def test_random_patches_go_on_where_they_stopped(tmp_path, stop):
    volume = volume_of((16, 16, 16))
    source = ps.Patches(write(tmp_path / "v", volume, "zarr3"), (4, 4, 4), per_epoch=40)
    transform = [ps.RandomFlip3D(), ps.RandomRot90()]
    with make_loader(source, batch_size=4, transform=transform) as loader:
        whole = [[batch.copy() for batch in loader] for _ in range(2)]
    with make_loader(source, batch_size=4, transform=transform) as loader:
        batches = iter(loader)
        for _ in range(stop):
            next(batches)
        state = loader.state_dict()
    with make_loader(source, batch_size=4, transform=transform, threads=3) as loader:
        loader.load_state_dict(state)
        rest = [batch.copy() for batch in loader]
        again = [batch.copy() for batch in loader]
    assert_same(np.concatenate(rest), np.concatenate(whole[0][stop:]))
    assert_same(np.concatenate(again), np.concatenate(whole[1]))


# -- foreground -------------------------------------------------------------------------------------


def blobs(shape, share, seed=0):
    rng = np.random.default_rng(seed)
    coarse = rng.random([-(-extent // 6) for extent in shape]) < share
    for axis in range(len(shape)):
        coarse = coarse.repeat(6, axis)
    return coarse[tuple(slice(extent) for extent in shape)].astype(np.uint8) * 3


@pytest.mark.parametrize("how", ["npy", "zarr2", "zarr3", "tiff"])
@pytest.mark.parametrize("least", [0.01, 0.3, 1 / 3, 0.7])
def test_min_foreground_holds_for_every_patch(tmp_path, how, least):
    labels, volume = blobs((30, 28, 33), 0.2), volume_of((30, 28, 33))
    source = ps.Patches(write(tmp_path / "v", volume, how), (6, 7, 5), per_epoch=300, labels=write(tmp_path / "l", labels, how),
                        min_foreground=least)
    with make_loader(source, fields=["image", "label", "position"], batch_size=20) as loader:
        for patches, cuts, places in loader:
            assert ((cuts != 0).mean((1, 2, 3)) >= least).all()
            for patch, label, place in zip(patches, cuts, places):
                assert_same(patch, cut(volume, place, (6, 7, 5)))
                assert_same(label, cut(labels, place, (6, 7, 5)))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "uint32", "int64", "float32", ">i4"])
def test_labels_of_any_type_are_counted(tmp_path, dtype):
    labels = np.zeros((16, 16, 16), dtype)
    labels[8:, 8:, 8:] = True if dtype == "bool" else -1 if np.dtype(dtype).kind != "u" else 1
    source = ps.Patches(write(tmp_path / "v", volume_of((16, 16, 16)), "npy"), (4, 4, 4), per_epoch=50,
                        labels=write_zarr(tmp_path / "l", labels, (5, 5, 5), version=2), min_foreground=0.5)
    _, cuts = epoch(source, batch_size=10)
    assert ((cuts != 0).mean((1, 2, 3)) >= 0.5).all()


def test_foreground_all_over_is_still_spread_evenly(tmp_path):
    path = write_zarr(tmp_path / "v", np.ones((20, 20, 20), np.uint8), (8, 8, 8))
    source = ps.Patches(path, (5, 5, 5), per_epoch=4096, labels=path, min_foreground=0.9)
    _, places = epoch(source, fields=WITH_PLACES, batch_size=64)
    counts = np.bincount(places[:, 0], minlength=16)
    assert ((counts - 256) ** 2 / 256).sum() < 44


@pytest.mark.parametrize("least", [0.5, 1.0])
def test_rare_foreground_is_found(tmp_path, least):
    labels = np.zeros((128, 128, 128), np.uint8)
    labels[50:58, 60:68, 70:78] = 1
    path = write_zarr(tmp_path / "l", labels, (64, 64, 64))
    source = ps.Patches(path, (8, 8, 8), per_epoch=10, labels=path, min_foreground=least)
    assert (epoch(source, batch_size=10)[1].mean((1, 2, 3)) >= least).all()


def test_foreground_that_is_nowhere_is_said(tmp_path):
    path = write_zarr(tmp_path / "l", np.zeros((16, 16, 16), np.uint8), (8, 8, 8))
    with pytest.raises(ps.NotFoundError, match="min_foreground") as caught:
        ps.Patches(path, (4, 4, 4), per_epoch=10, labels=path, min_foreground=0.1)
    assert caught.value.uri == str(path) and "\n" not in str(caught.value)


def test_foreground_in_a_damaged_label_chunk_is_an_error(tmp_path):
    path = write_zarr(tmp_path / "l", np.ones((16, 16, 16), np.uint8), (8, 8, 8))
    (path / "c" / "1" / "0" / "0").write_bytes(b"short")
    with pytest.raises(ps.Error) as caught:
        ps.Patches(path, (4, 4, 4), per_epoch=10, labels=path, min_foreground=0.1)
    assert caught.value.uri == str(path / "c" / "1" / "0" / "0")


# -- transforms -------------------------------------------------------------------------------------


def orientations(patch, turns):
    """Every flip and turn of the last three axes."""
    out = []
    for flips in itertools.product((False, True), repeat=3):
        turned = np.flip(patch, [axis - 3 for axis, flip in enumerate(flips) if flip])
        for k in range(4 if turns else 1):
            out.append(np.rot90(turned, k, (-2, -1)))
    return out


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
@pytest.mark.parametrize("steps, turns", [([ps.RandomFlip3D()], False), ([ps.RandomRot90()], True),
                                          ([ps.RandomFlip3D(), ps.RandomRot90()], True)])
def test_flips_and_turns_are_those_of_the_label_too(tmp_path, dtype, steps, turns):
    volume = volume_of((18, 18, 18), dtype)
    labels = (volume * 2 + 1).astype("int32")
    source = ps.Patches(write(tmp_path / "v", volume, "zarr3"), (4, 5, 5), per_epoch=120,
                        labels=write(tmp_path / "l", labels, "zarr2", chunks=(5, 7, 3)))
    with make_loader(source, fields=["image", "label", "position"], batch_size=8, transform=steps) as loader:
        batches = [[part.copy() for part in batch] for batch in loader]
    seen = set()
    for patches, cuts, places in batches:
        assert np.array_equal((patches * 2 + 1).astype("int32"), cuts)
        for patch, place in zip(patches, places):
            choices = orientations(cut(volume, place, (4, 5, 5)), turns)
            matches = [i for i, choice in enumerate(choices) if np.array_equal(choice, patch)]
            assert matches and patch.dtype == dtype
            seen.update(matches[:1])
    assert len(seen) > (3 if len(steps) == 1 and turns else 6)


def test_normalize_and_dtype_in_one_go(tmp_path):
    volume = volume_of((2, 12, 12, 12))
    path = write(tmp_path / "v", volume, "zarr3", chunks=(1, 5, 5, 5))
    for steps, expect in (([ps.Normalize(100.0, 20.0)], lambda x: (x - 100.0) / 20.0),
                          ([ps.RandomFlip3D(p=1.0), ps.Normalize(100.0, 20.0)],
                           lambda x: (x[..., ::-1, ::-1, ::-1] - 100.0) / 20.0)):
        patches, places = epoch(ps.Patches(path, (5, 4, 6)), transform=steps, batch_size=3)
        assert patches.dtype == np.float32
        for patch, place in zip(patches, places.tolist()):
            np.testing.assert_allclose(patch, expect(cut(volume, place, (5, 4, 6)).astype(float)), rtol=1e-5, atol=1e-5)
    for dtype in ("float32", "float16"):
        patches, places = epoch(ps.Patches(path, (5, 4, 6)), dtype=dtype, batch_size=3)
        assert patches.dtype == dtype
        assert np.array_equal(patches[0], volume[:, :5, :4, :6].astype(dtype))


# -- memory and files -------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_volume_larger_than_the_memory(tmp_path, threads):
    volume = np.arange(200 * 200 * 256, dtype=np.int32).reshape(200, 200, 256)  # 39 MiB
    np.save(tmp_path / "v.npy", volume)
    source = ps.Patches(tmp_path / "v.npy", (32, 32, 32), per_epoch=100)
    with make_loader(source, fields=WITH_PLACES, batch_size=2, memory="36MiB", threads=threads) as loader:
        for patches, places in loader:
            for patch, place in zip(patches, places):
                assert np.array_equal(patch, cut(volume, place, (32, 32, 32)))
        assert loader.stats()["memory"]["peak"] <= 36 << 20


def test_chunks_that_neighbours_share_are_decoded_once(tmp_path):
    path = write(tmp_path / "v", volume_of((64, 64, 64)), "zarr3", chunks=(16, 16, 16))
    with make_loader(ps.Patches(path, (8, 8, 8)), batch_size=8) as loader:
        for _ in loader:
            pass
        chunks = loader.stats()["chunks"]
    assert chunks["decoded"] <= 2 * 64, chunks
