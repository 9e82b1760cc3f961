"""Makes the reference TIFF files of the C++ tests with tifffile and imagecodecs.

Run once; the files it writes are committed, so that the tests need neither of the two:

    python tests/golden/make_tiffs.py              (tifffile 2026.3.3, imagecodecs 2026.3.6)
    python tests/golden/make_tiffs.py all FOLDER   every combination, 1,680 files, not committed

What stands before the first dash of a name tells the array: uint16-lzw-2-tiles-big-wide.tif has the
elements of uint16.npy.
"""

import itertools
import pathlib
import sys

import numpy as np
import tifffile

SHAPE = (2, 21, 19)
TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]
ARRAYS = {name: (name, ()) for name in TYPES}
ARRAYS |= {"rgb": ("uint8", (3,)), "rgba": ("uint16", (4,)), "pair": ("float32", (2,))}
COMPRESSIONS = {"none": 1, "lzw": 5, "adobe": 8, "deflate": 32946, "packbits": 32773, "zstd": 50000}


def elements(dtype, channels):
    """A slope, a step and some noise: something to predict, runs, and what cannot be compressed."""
    rng = np.random.default_rng(7)
    shape = SHAPE + channels
    slope = np.add.outer(np.arange(shape[0]) * 40, np.add.outer(np.arange(shape[1]) * 3, np.arange(shape[2])))
    values = (slope.reshape(slope.shape + (1,) * len(channels)) + np.zeros(shape)).astype(np.int64)
    values[:, 5:9, 4:15] = 17
    values[1] += rng.integers(0, 200, shape[1:])
    if np.dtype(dtype).kind == "f":
        return (values / 7 - 20).astype(dtype)
    scale = {1: 1, 2: 211, 4: 9_876_543, 8: 9_876_543_210_123}[np.dtype(dtype).itemsize]
    return (values * scale - 100).astype(dtype)


def combinations():
    """(array, compression, predictor, pieces, order, places)"""
    for array, compression in itertools.product(ARRAYS, COMPRESSIONS):
        is_float = np.dtype(ARRAYS[array][0]).kind == "f"
        predictors = [1] if compression in ("none", "packbits") else [1, 3 if is_float else 2]
        yield from itertools.product(
            [array], [compression], predictors, ["strips", "tiles", "whole"], ["little", "big"], ["narrow", "wide"]
        )


def write(folder, array, compression, predictor, pieces, order, places):
    dtype, channels = ARRAYS[array]
    options = {"strips": {"rowsperstrip": 8}, "tiles": {"tile": (16, 16)}, "whole": {"rowsperstrip": SHAPE[1]}}[pieces]
    tifffile.imwrite(
        folder / f"{array}-{compression}-{predictor}-{pieces}-{order}-{places}.tif",
        elements(dtype, channels),
        byteorder="<" if order == "little" else ">",
        bigtiff=places == "wide",
        compression=COMPRESSIONS[compression],
        predictor=predictor,
        photometric="rgb" if array.startswith("rgb") else "minisblack",
        planarconfig="contig" if channels else None,
        metadata=None,
        **options,
    )


def main():
    folder = pathlib.Path(__file__).parent / "tiff"
    chosen = list(combinations())
    if sys.argv[1:2] == ["all"]:
        folder = pathlib.Path(sys.argv[2])
    else:
        # Few enough to keep, so chosen that every two choices meet somewhere.
        rng = np.random.default_rng(3)
        rng.shuffle(chosen)
        met, kept = set(), []
        for choice in chosen:
            pairs = set(itertools.combinations(enumerate(choice), 2))
            if not pairs <= met:
                met |= pairs
                kept.append(choice)
        chosen = kept
    folder.mkdir(exist_ok=True)
    for name, (dtype, channels) in ARRAYS.items():
        np.save(folder / f"{name}.npy", elements(dtype, channels))
    for choice in chosen:
        write(folder, *choice)
    stack = elements("uint16", ())
    tifffile.imwrite(folder / "uint16-imagej.tif", stack, imagej=True)
    tifffile.imwrite(folder / "uint16-described.tif", stack, photometric="minisblack")
    tifffile.imwrite(folder / "uint16-ome.ome.tif", stack, photometric="minisblack", compression=8)
    for z, plane in enumerate(stack):
        tifffile.imwrite(folder / f"plane_{z}.tif", plane, photometric="minisblack", metadata=None)


if __name__ == "__main__":
    main()
