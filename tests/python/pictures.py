"""Small images and the same arithmetic done by Pillow and NumPy."""

import io
import pathlib

import numpy as np
from PIL import Image

MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


def smooth(height, width, seed=0, channels=3):
    """Waves of several lengths: pictures in which a misplaced pixel shows, and JPEG is mild."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = []
    for _ in range(channels):
        fx, fy, phase = random.uniform(0.02, 0.2), random.uniform(0.02, 0.2), random.uniform(0, 6)
        planes.append(127 + 60 * np.sin(fx * x + phase) + 60 * np.cos(fy * y + phase))
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def noise(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def save_png(path, pixels, **options):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, "PNG", **options)
    return path


def save_jpeg(path, pixels, quality=85, **options):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    image.save(path, "JPEG", quality=quality, **options)
    return path


def jpeg_bytes(pixels, quality=85, **options):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=quality, **options)
    return out.getvalue()


def read_rgb(path):
    return np.asarray(Image.open(path).convert("RGB"))


def shorter_side(image, side, resample):
    """Resize(side) of torchvision."""
    width, height = image.size
    if width <= height:
        size = (side, int(side * height / width))
    else:
        size = (int(side * width / height), side)
    return image.resize(size, resample)


def centre(image, height, width):
    """CenterCrop of torchvision: halves are rounded to even."""
    left = int(round((image.width - width) / 2.0))
    top = int(round((image.height - height) / 2.0))
    return image.crop((left, top, left + width, top + height))


def normalized(pixels):
    """(C, H, W) float32, as torchvision's ToTensor and Normalize make it."""
    scaled = pixels.astype(np.float32) / 255
    return ((scaled - np.float32(MEAN)) / np.float32(STD)).transpose(2, 0, 1)


def levels_apart(one, other):
    """The largest difference, in grey levels."""
    one, other = np.asarray(one), np.asarray(other)
    assert one.shape == other.shape, (one.shape, other.shape)
    return int(np.abs(one.astype(np.int64) - other.astype(np.int64)).max())
