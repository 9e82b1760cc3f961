"""d1: 4000 JPEGs in ten class folders.

Crops and blends of real photographs with sensor-like noise, about 118 kB and 5 bits a pixel at quality 95,
which is what web photographs cost to decode.
"""
import os
import shutil
from multiprocessing import Pool

import numpy as np
import skimage
import sklearn
from PIL import Image, ImageEnhance

import places

CLASSES = 10
QUALITY = 95
NOISE = 11.0

SKIMAGE_PHOTOS = ("astronaut.png", "coffee.png", "chelsea.png", "rocket.jpg", "hubble_deep_field.jpg",
                  "motorcycle_left.png", "motorcycle_right.png", "ihc.png", "retina.jpg", "gravel.png",
                  "brick.png", "grass.png", "camera.png")
SKLEARN_PHOTOS = ("china.jpg", "flower.jpg")


def photographs():
    """The photographs that the scikit-image and scikit-learn wheels carry."""
    skimage_folder = os.path.join(os.path.dirname(skimage.__file__), "data")
    sklearn_folder = os.path.join(os.path.dirname(sklearn.__file__), "datasets", "images")
    paths = [os.path.join(skimage_folder, name) for name in SKIMAGE_PHOTOS]
    paths += [os.path.join(sklearn_folder, name) for name in SKLEARN_PHOTOS]
    return [Image.open(path).convert("RGB") for path in paths if os.path.exists(path)]


class JpegMaker:
    """Makes JPEG number i; everything about it depends only on (seed, i). One a worker process."""

    def __init__(self, seed):
        self.seed = seed
        self.pool = photographs()

    def piece(self, rng, width, height):
        photo = self.pool[int(rng.integers(len(self.pool)))]
        scale = min(photo.width / width, photo.height / height) * float(rng.uniform(0.5, 1.0))
        crop_width, crop_height = scale * width, scale * height
        x = float(rng.uniform(0, photo.width - crop_width))
        y = float(rng.uniform(0, photo.height - crop_height))
        out = photo.resize((width, height), Image.BICUBIC, box=(x, y, x + crop_width, y + crop_height))
        return out.transpose(Image.FLIP_LEFT_RIGHT) if rng.random() < 0.5 else out

    def size(self, rng):
        short = int(rng.integers(300, 501))
        ratio = float(rng.choice([4 / 3, 4 / 3, 4 / 3, 3 / 2, 1.0, 5 / 4]))
        if rng.random() < 0.6:  # keeps the mean area near 500 x 375
            short = int(rng.integers(350, 391))
        size = (int(round(short * ratio)), short)
        return size[::-1] if rng.random() < 0.2 else size

    def make(self, number, path):
        rng = np.random.default_rng([self.seed, 1, number])
        width, height = self.size(rng)
        image = self.piece(rng, width, height)
        if rng.random() < 0.4:
            image = Image.blend(image, self.piece(rng, width, height), float(rng.uniform(0.15, 0.5)))
        image = ImageEnhance.Color(image).enhance(float(rng.uniform(0.7, 1.3)))
        image = ImageEnhance.Brightness(image).enhance(float(rng.uniform(0.8, 1.2)))
        image = ImageEnhance.Contrast(image).enhance(float(rng.uniform(0.8, 1.2)))
        pixels = np.asarray(image).astype(np.float32)
        sigma = float(rng.uniform(0.5, 1.5)) * NOISE
        pixels += rng.standard_normal(pixels.shape[:2], dtype=np.float32)[..., None] * sigma
        pixels += rng.standard_normal(pixels.shape, dtype=np.float32) * (0.3 * sigma)
        image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
        image.save(path, "JPEG", quality=QUALITY)
        return os.path.getsize(path), width * height


maker = None


def start_worker(seed):
    global maker
    maker = JpegMaker(seed)


def make_one(job):
    return maker.make(*job)


def make(seed):
    shutil.rmtree(places.JPEG_FOLDER, ignore_errors=True)
    for label in range(CLASSES):
        os.makedirs(places.JPEG_FOLDER / f"class{label:02d}")
    jobs = [(i, places.JPEG_FOLDER / f"class{i % CLASSES:02d}" / f"img{i:05d}.jpg")
            for i in range(places.JPEG_COUNT)]
    with Pool(len(os.sched_getaffinity(0)), start_worker, (seed,)) as pool:
        sizes = np.array(pool.map(make_one, jobs, chunksize=50))
    size_bytes, pixels = sizes.sum(axis=0)
    return {"count": len(jobs), "mean_bytes": int(size_bytes / len(jobs)),
            "bits_per_pixel": round(float(8 * size_bytes / pixels), 2)}
