"""Writes small arrays in the formats that Penstock reads: Zarr (without the zarr package) and volumes.

Zarr version 2 is a folder with a few lines of JSON, and a file of raw numbers for each chunk. The writer below is so
short that it can serve as a description of the format. Real arrays are usually compressed; see docs/formats.md.
"""

import json
import pathlib

import numpy as np


def write_zarr_array(folder, values, chunks, dimensions, **attributes):
    """Writes one array, whose shape must be a multiple of the chunks.

    .zarray describes the array, .zattrs names its dimensions, and 3.0.0 is the fourth chunk along the first axis.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    (folder / ".zarray").write_text(json.dumps({
        "zarr_format": 2, "shape": values.shape, "chunks": chunks, "dtype": values.dtype.str, "order": "C",
        "compressor": None, "filters": None, "fill_value": None}))
    (folder / ".zattrs").write_text(json.dumps({"_ARRAY_DIMENSIONS": dimensions, **attributes}))
    for place in np.ndindex(*(size // chunk for size, chunk in zip(values.shape, chunks))):
        part = values[tuple(slice(p * c, (p + 1) * c) for p, c in zip(place, chunks))]
        (folder / ".".join(map(str, place))).write_bytes(np.ascontiguousarray(part).tobytes())


def write_weather(folder, days=240):
    """Writes a group of waves that run east, four steps per day: `t2m` and `msl` over (time, lat, lon).

    `msl` is packed as in weather archives: whole numbers with scale_factor and add_offset.
    """
    dice = np.random.default_rng(0)
    steps, lat, lon = days * 4, np.linspace(70, -70, 16, dtype="f4"), np.arange(0, 360, 11.25, dtype="f4")
    time = np.arange(steps)[:, None, None]
    east, north = np.deg2rad(lon)[None, None, :], np.deg2rad(lat)[None, :, None]
    wave = sum(np.cos(north) * np.sin(k * east - time * speed + phase)
               for k, speed, phase in ((2, 0.25, 0.3), (3, 0.4, 1.1), (5, 0.6, 2.0)))
    shape = (steps, len(lat), len(lon))
    t2m = 288 - 35 * np.sin(north) ** 2 + 6 * wave + dice.normal(0, 0.3, shape)
    msl = 101_325 + 900 * np.roll(wave, 3, axis=2) + dice.normal(0, 40, shape)
    folder = pathlib.Path(folder)
    dimensions, chunks = ["time", "lat", "lon"], (16, len(lat), len(lon))
    write_zarr_array(folder / "t2m", t2m.astype("<f4"), chunks, dimensions, units="K")
    write_zarr_array(folder / "msl", np.rint((msl - 101_325) / 0.5).astype("<i2"), chunks, dimensions, units="Pa",
                     scale_factor=0.5, add_offset=101_325.0)
    write_zarr_array(folder / "time", 6 * np.arange(steps, dtype="<i8"), (steps,), ["time"],
                     units="hours since 2019-01-01 00:00:00")
    write_zarr_array(folder / "lat", lat, lat.shape, ["lat"])
    write_zarr_array(folder / "lon", lon, lon.shape, ["lon"])
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    return folder


def write_volume(folder, size=(48, 96, 96), balls=14):
    """Writes image.npy, in which balls are slightly brighter than the noise, and label.npy, in which they are 1."""
    dice = np.random.default_rng(1)
    label = np.zeros(size, "u1")
    grid = np.ogrid[tuple(slice(extent) for extent in size)]
    for _ in range(balls):
        middle, radius = [dice.integers(8, extent - 8) for extent in size], dice.integers(5, 11)
        label[sum((axis - at) ** 2 for axis, at in zip(grid, middle)) < radius ** 2] = 1
    image = 100 + 30 * label + dice.normal(0, 15, size)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    np.save(folder / "image.npy", np.clip(image, 0, 255).astype("u1"))
    np.save(folder / "label.npy", label)
    return folder / "image.npy", folder / "label.npy"
