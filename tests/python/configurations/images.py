"""Configurations over images."""

import tempfile

import numpy as np

import penstock as ps

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def _same_size(size=24):
    return [ps.Resize((size, size))]


def _darker(image):
    return image // 2


def _draw_level(image, generator):
    # random_raw is the one stream of a generator that NumPy never changes.
    return image ^ np.uint8(generator.bit_generator.random_raw() & 255)


def _swap(image, mask, generator):
    return (image[::-1], mask[::-1]) if generator.bit_generator.random_raw() & 1 else (image, mask)


def _masked(data):
    return ps.ImageFolder(data / "pictures" / "images", masks=data / "pictures" / "masks")


IMAGES = {
    "image folder as it is": lambda data: (data / "squares", dict(batch_size=4)),
    "image folder of JPEGs, one sample a batch": lambda data: (data / "jpegs", dict(fields=["image", "label", "key"])),
    "all image formats": lambda data: (data / "formats", dict(batch_size=5, transform=_same_size(16))),
    "train: RandomResizedCrop, flip, Normalize": lambda data: (data / "pictures" / "images", dict(
        batch_size=4, shuffle=True, seed=7, transform=[
            ps.RandomResizedCrop(20), ps.RandomHorizontalFlip(), ps.Normalize(MEAN, STD)])),
    "train of JPEGs, bicubic": lambda data: (data / "jpegs", dict(
        batch_size=5, shuffle=True, seed=8, transform=[
            ps.RandomResizedCrop((18, 14), (0.3, 1.0), interpolation="bicubic"), ps.RandomVerticalFlip(0.7)])),
    "train of JPEGs, scaled decoding": lambda data: (data / "jpegs", dict(
        batch_size=5, transform=[ps.Decode(fast_decode=True), ps.Resize((8, 8), "lanczos")])),
    "eval: Resize, CenterCrop": lambda data: (data / "pictures" / "images", dict(
        batch_size=3, transform=[ps.Resize(32), ps.CenterCrop(28), ps.Normalize(MEAN, STD)])),
    "Resize without antialias, nearest and plain": lambda data: (data / "pictures" / "images", dict(
        batch_size=3, fields={"a": "image", "b": "image"},
        transform={"a": [ps.Resize((21, 33), "nearest")], "b": [ps.Resize((21, 33), antialias=False)]})),
    "ColorJitter": lambda data: (data / "squares", dict(
        batch_size=4, shuffle=True, seed=9, transform=[ps.ColorJitter(0.4, 0.3, (0.5, 1.5), 0.1)])),
    "ColorJitter between crops": lambda data: (data / "pictures" / "images", dict(
        batch_size=4, seed=10, transform=[ps.RandomCrop(30), ps.ColorJitter(0.4, hue=0.2), ps.RandomHorizontalFlip(),
                                          ps.Resize(20), ps.Normalize(MEAN, STD)])),
    "masks move with images": lambda data: (_masked(data), dict(
        batch_size=4, shuffle=True, seed=11, fields=["image", "mask", "key"],
        transform=[ps.RandomResizedCrop(22), ps.RandomHorizontalFlip(), ps.RandomRot90(), ps.Normalize(MEAN, STD)])),
    "two views": lambda data: (data / "pictures" / "images", dict(
        batch_size=4, shuffle=True, seed=12, fields={"view1": "image", "view2": "image"},
        transform={"view1": [ps.RandomResizedCrop(16)], "view2": [ps.RandomResizedCrop(16), ps.ColorJitter(0.2)]})),
    "Derive": lambda data: (data / "pictures" / "images", dict(
        batch_size=4, seed=13, fields=["image", "small"], transform={
            "image": [ps.RandomCrop(32)], "small": ps.Derive("image", [ps.Resize(8, "bicubic"), ps.Cast("int16")])})),
    "grey and upright": lambda data: (data / "jpegs", dict(
        batch_size=6, transform=[ps.Decode("L", exif_orientation=True), ps.Resize((20, 20))])),
    "upright in colour, NHWC": lambda data: (data / "jpegs", dict(
        batch_size=6, layout="NHWC", transform=[ps.Decode(exif_orientation=True), ps.Resize((20, 18))])),
    "Pad and RandomCrop": lambda data: (data / "squares", dict(
        batch_size=4, shuffle=True, seed=14, transform=[ps.Pad((4, 2, 3, 1), 99), ps.RandomCrop(24)])),
    "RandomRot90": lambda data: (data / "squares", dict(batch_size=4, seed=15, transform=[ps.RandomRot90()])),
    "OneHot labels": lambda data: (data / "squares", dict(
        batch_size=4, shuffle=True, transform={"label": [ps.OneHot(3)]})),
    "Cast": lambda data: (data / "squares", dict(batch_size=4, transform=[ps.Cast("float64")])),
    "float16": lambda data: (data / "squares", dict(
        batch_size=4, dtype="float16", transform=[ps.Normalize(MEAN, STD)])),
    "NHWC": lambda data: (data / "squares", dict(
        batch_size=4, layout="NHWC", transform=[ps.RandomHorizontalFlip(), ps.Normalize(0.5, 0.25)])),
    "Map": lambda data: (data / "squares", dict(batch_size=4, transform=[ps.Map(_darker), ps.RandomHorizontalFlip()])),
    "Map with a generator": lambda data: (data / "squares", dict(
        batch_size=4, shuffle=True, seed=16, transform=[ps.RandomVerticalFlip(), ps.Map(_draw_level, generator=True)])),
    "Map over two fields": lambda data: (_masked(data), dict(
        batch_size=4, seed=17, fields=["image", "mask"], transform=[
            ps.RandomCrop(24), ps.Map(_swap, fields=["image", "mask"], generator=True)])),
    "weights": lambda data: (data / "squares", dict(
        batch_size=4, weights=[1 + i % 5 for i in range(14)], seed=18, fields=["label", "key"])),
    "balanced classes": lambda data: (data / "jpegs", dict(
        batch_size=4, weights="balanced", seed=19, fields=["label", "key"])),
    "sampler": lambda data: (data / "squares", dict(batch_size=4, sampler=[3, 1, 12, 3, 0, 7])),
    "epoch_size": lambda data: (data / "squares", dict(batch_size=4, shuffle=True, seed=20, epoch_size=9)),
    "drop_last": lambda data: (data / "squares", dict(batch_size=4, shuffle=True, seed=21, drop_last=True)),
    "rank 1 of 3": lambda data: (data / "squares", dict(
        batch_size=2, shuffle=True, seed=22, rank=1, world_size=3, transform=[ps.RandomCrop(16)])),
    "subset": lambda data: (ps.ImageFolder(data / "squares").subset([9, 2, 2, 5, 13]), dict(batch_size=2, shuffle=True)),
    "split by class": lambda data: (ps.ImageFolder(data / "jpegs").split([0.5, 0.5], 23, stratify="label")[1], dict(
        batch_size=2, transform=_same_size())),
    "listed files": lambda data: (ps.ImageFolder([data / "squares" / "odd", data / "squares" / "even"]), dict(
        batch_size=4, shuffle="full", seed=24)),
    "Mix": lambda data: (ps.Mix([data / "formats", data / "pictures" / "images"]), dict(
        batch_size=5, shuffle=True, seed=25, transform=_same_size())),
    "Mix with weights": lambda data: (ps.Mix([data / "formats", data / "pictures" / "images"], [3, 1]), dict(
        batch_size=5, shuffle=True, seed=26, transform=_same_size())),
    "damaged files are skipped": lambda data: (data / "damaged", dict(
        batch_size=4, shuffle=True, seed=27, on_error="skip", max_skip=1.0)),
    "damaged files are replaced": lambda data: (data / "damaged", dict(
        batch_size=4, shuffle=True, seed=28, on_error="replace", max_skip=1.0, transform=[ps.RandomHorizontalFlip()])),
    "decoded samples in a cache": lambda data: (data / "pictures" / "images", dict(
        batch_size=4, shuffle=True, seed=29, cache="8MiB", cache_form="decoded",
        transform=[ps.Resize((30, 30)), ps.RandomCrop(24), ps.Normalize(MEAN, STD)])),
    "encoded samples in a cache": lambda data: (data / "jpegs", dict(
        batch_size=4, shuffle=True, seed=30, cache="8MiB", cache_form="encoded",
        transform=[ps.RandomResizedCrop(16)])),
    "decoded samples on disk": lambda data: (data / "jpegs", dict(
        batch_size=4, shuffle=True, seed=31, cache=ps.Cache(disk=f"{tempfile.mkdtemp(dir=data)}:8MiB"),
        cache_form="decoded", transform=[*_same_size(), ps.RandomHorizontalFlip()])),
}
