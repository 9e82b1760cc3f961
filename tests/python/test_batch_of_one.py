"""batch_size=1: each batch has the shape of its sample."""

import numpy as np
import pytest
from PIL import Image

import penstock as ps


@pytest.fixture
def pictures(tmp_path):
    """Six images of six sizes, and the pixels that Pillow sees."""
    generator = np.random.default_rng(5)
    wanted = []
    for i in range(6):
        pixels = generator.integers(0, 255, (10 + 3 * i, 30 - 2 * i, 3), np.uint8)
        (tmp_path / "images" / "a").mkdir(parents=True, exist_ok=True)
        path = tmp_path / "images" / "a" / f"{i}.png"
        Image.fromarray(pixels).save(path)
        wanted.append(np.asarray(Image.open(path)))
    return tmp_path / "images", wanted


@pytest.mark.parametrize("output", ["numpy", "torch", "jax", "dlpack"])
def test_samples_of_different_size_come_one_by_one(pictures, output):
    pytest.importorskip({"dlpack": "numpy"}.get(output, output))
    folder, wanted = pictures
    with ps.Loader(folder, batch_size=1, output=output) as loader:
        for _ in range(2):
            seen = list(loader)
            assert len(seen) == 6
            for (image, label), pixels in zip(seen, wanted):
                image, label = (np.from_dlpack(x) if output == "dlpack" else np.asarray(x) for x in (image, label))
                np.testing.assert_array_equal(image, pixels.transpose(2, 0, 1)[None])
                assert label.shape == (1,)


def test_layouts_and_types(pictures):
    folder, wanted = pictures
    with ps.Loader(folder, batch_size=1, output="numpy", layout="NHWC", fields=["image"]) as loader:
        for (image,), pixels in zip(loader, wanted):
            np.testing.assert_array_equal(image, pixels[None])
    torch = pytest.importorskip("torch")
    with ps.Loader(folder, batch_size=1, output="torch", layout="channels_last", dtype="float32",
                   transform=[ps.Normalize(mean=(0, 0, 0), std=(1, 1, 1))]) as loader:
        for (image, _), pixels in zip(loader, wanted):
            assert image.dtype == torch.float32
            np.testing.assert_allclose(image.numpy(), pixels.transpose(2, 0, 1)[None] / 255, atol=1e-6)


def test_ragged_arrays(tmp_path):
    arrays = [np.arange(n, dtype=np.int16) for n in (3, 0, 17, 4)]
    (tmp_path / "arrays").mkdir()
    for i, array in enumerate(arrays):
        np.save(tmp_path / "arrays" / f"{i}.npy", array)
    with ps.Loader(tmp_path / "arrays", batch_size=1, output="numpy") as loader:
        for found, wanted in zip(loader, arrays):
            np.testing.assert_array_equal(found, wanted[None])


@pytest.mark.parametrize("on_error", ["skip", "replace"])
def test_bad_samples(pictures, on_error):
    folder, wanted = pictures
    (folder / "a" / "3.png").write_bytes(b"not a picture")
    with ps.Loader(folder, batch_size=1, output="numpy", on_error=on_error, max_skip=0.5) as loader:
        seen = [image for image, _ in loader]
        stats = loader.stats()
    shapes = [(1, 3, *pixels.shape[:2]) for pixels in wanted]
    if on_error == "skip":
        assert [image.shape for image in seen] == shapes[:3] + shapes[4:]
        assert stats["skipped"] == 1
    else:
        assert len(seen) == 6 and stats["replaced"] == 1
        assert seen[3].shape in shapes[:3] + shapes[4:]
    assert stats["planned"] == stats["delivered"] + stats["skipped"] + stats["failed"]


def test_ranks_keep_step_over_a_bad_sample(pictures):
    folder, _ = pictures
    (folder / "a" / "2.png").write_bytes(b"not a picture")
    with ps.Loader(folder, batch_size=1, output="numpy", on_error="skip", max_skip=0.5, rank=0, world_size=2) as loader:
        shapes = [image.shape for image, _ in loader]
    assert len(shapes) == 3
    assert shapes[1][0] == 0


def test_larger_batches_still_say_what_to_write(pictures):
    folder, _ = pictures
    with ps.Loader(folder, batch_size=2, output="numpy") as loader:
        with pytest.raises(ps.Error, match="collate"):
            list(loader)


def test_padding_and_lists_are_as_before(pictures):
    folder, wanted = pictures
    with ps.Loader(folder, batch_size=1, output="numpy", collate="pad") as loader:
        assert len(next(iter(loader))) == 3
    with ps.Loader(folder, batch_size=1, output="numpy", collate="list") as loader:
        image, _ = next(iter(loader))
        assert isinstance(image, list) and image[0].shape == (3, *wanted[0].shape[:2])
