"""Configurations over arrays: .npy files, Zarr stores, patches of volumes."""

import penstock as ps


def _years(data, **options):
    return ps.Zarr([data / f"weather-{year}.zarr" for year in range(3)], sample_dim="time", **options)


ARRAYS = {
    "one .npy": lambda data: (data / "one.npy", dict(batch_size=5, shuffle=True, seed=1)),
    "one .npy in windows": lambda data: (data / "one.npy", dict(
        batch_size=5, shuffle="window", shuffle_window=2, seed=2, fields=["array", "key"])),
    "many .npy": lambda data: (data / "many", dict(
        batch_size=4, shuffle=True, seed=3, transform=[ps.Normalize(1.5, 2.0)])),
    "big-endian .npy": lambda data: (data / "big_endian.npy", dict(batch_size=4, shuffle=True, seed=4)),
    "Fortran .npy": lambda data: (data / "fortran", dict(batch_size=4, shuffle=True, seed=5, dtype="float32")),
    "images in a .npy": lambda data: (data / "images.npy", dict(
        batch_size=4, shuffle=True, seed=6, transform=[
            ps.RandomCrop(8), ps.RandomHorizontalFlip(), ps.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))])),
    "ragged .npy, padded": lambda data: (data / "ragged", dict(
        batch_size=4, shuffle=True, seed=7, collate="pad", pad_value=9, fields=["array", "key"])),
    "ragged .npy in buckets": lambda data: (data / "ragged", dict(
        batch_size=3, shuffle=True, seed=8, collate="list", bucket_by="array")),
    "Zarr 2": lambda data: (data / "plain2.zarr", dict(batch_size=4, shuffle=True, seed=9, fields=["array", "key"])),
    "Zarr 2 along its last axis": lambda data: (ps.Zarr(data / "plain2.zarr", sample_dim=2), dict(batch_size=3)),
    "Zarr 3": lambda data: (data / "plain3.zarr", dict(
        batch_size=4, shuffle=True, seed=10, transform=[ps.Normalize(10.0, 3.0, max_value=5), ps.RandomRot90()])),
    "Zarr of blosc chunks": lambda data: (data / "blosc.zarr", dict(batch_size=7, shuffle=True, seed=11)),
    "Zarr in windows of chunks": lambda data: (data / "plain3.zarr", dict(
        batch_size=4, shuffle="window", shuffle_window=2, seed=12)),
    "Zarr chunks in a cache": lambda data: (data / "plain2.zarr", dict(
        batch_size=4, shuffle=True, seed=13, cache="8MiB", fields=["array", "key"])),
    "variables of a group": lambda data: (ps.Zarr(data / "weather-1.zarr", ["wind", "t2m", "lat"], "time"), dict(
        batch_size=3, shuffle=True, seed=14)),
    "joined stores, windows over time": lambda data: (_years(data, window=(2, 3)), dict(
        batch_size=4, shuffle=True, seed=15)),
    "joined stores, select, isel, stack": lambda data: (_years(
        data, variables=["t2m", "wind"], select={"lat": (60, 40), "time": ("2001-02-01", "2001-02-07")},
        isel={"lon": [4, 1, 0]}, stack="fields", nan=-1.0), dict(batch_size=4, shuffle=True, seed=16)),
    "windows with named steps": lambda data: (_years(data, variables="wind", window=([-4, 0], [1, 5])), dict(
        batch_size=4, shuffle="window", seed=17, rank=1, world_size=2)),
    "random patches": lambda data: (ps.Patches(data / "volume.npy", (6, 7, 5), 24), dict(
        batch_size=4, seed=18, fields=["image", "position"], transform=[ps.RandomFlip3D(), ps.Normalize(9.0, 4.0)])),
    "random patches, shuffled": lambda data: (ps.Patches(data / "volume2.zarr", (6, 7, 5), 24), dict(
        batch_size=4, shuffle=True, shuffle_window=4, seed=19)),
    "grid of patches": lambda data: (ps.Patches(data / "volume2.zarr", (8, 8, 8), overlap=2), dict(batch_size=5)),
    "grid of patches with channels": lambda data: (ps.Patches(data / "volume3.zarr", (8, 8, 8), overlap=0.5), dict(
        batch_size=5, dtype="float16")),
    "labels flip with patches": lambda data: (ps.Patches(
        data / "volume2.zarr", (6, 6, 6), 30, labels=data / "labels2.zarr"), dict(
            batch_size=4, seed=20, fields=["image", "label", "position"],
            transform=[ps.RandomFlip3D(), ps.RandomRot90(), ps.Normalize(100.0, 50.0)])),
    "patches with foreground": lambda data: (ps.Patches(
        data / "volume.npy", (5, 6, 4), 30, labels=data / "labels.npy", min_foreground=0.1), dict(batch_size=4, seed=21)),
    "patches by class": lambda data: (ps.Patches(
        [data / "volume.npy", data / "volume2.zarr"], (4, 4, 4), 30, labels=[data / "labels.npy", data / "labels2.zarr"],
        class_weights={0: 1, 1: 3, 2: 2}, weights=[1, 2]), dict(batch_size=4, seed=22)),
    "patches of a region and a mask": lambda data: (ps.Patches(
        data / "volume.npy", (4, 4, 4), 20, region=(slice(2, 16), slice(None), (0, 20)), mask=data / "mask.npy"), dict(
            batch_size=4, seed=23, transform=[ps.RandomFlip3D(0.8)])),
    "patches of TIFFs": lambda data: (ps.Patches(
        sorted((data / "tiff").glob("uint16-*-1-*.tif")), (5, 6), 20), dict(batch_size=4, seed=25)),
    "grid of a TIFF": lambda data: (ps.Patches(data / "tiff" / "float32-lzw-1-whole-little-wide.tif", (5, 6)), dict(
        batch_size=4)),
    "patches on ranks": lambda data: (ps.Patches(data / "volume3.zarr", (6, 6, 6), 24), dict(
        batch_size=3, seed=24, rank=2, world_size=3)),
}
