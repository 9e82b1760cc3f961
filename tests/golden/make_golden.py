"""Makes the reference arrays of the C++ tests with Pillow and NumPy.

Run once, with the project's own environment; the files it writes are committed, so that the tests
need neither of the two. Pictures are drawn here, small, and the same on every run.
"""

import io
import pathlib

import numpy as np
import PIL
from PIL import Image, ImageEnhance, ImageOps

HERE = pathlib.Path(__file__).parent


def picture(width, height, seed):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [
        128
        + 100 * np.sin(x / 7 + y / 11 + c)
        + 33 * ((x // 9 + y // 6 + c) % 2)
        + rng.uniform(-15, 15, (height, width))
        for c in range(3)
    ]
    return Image.fromarray(np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8))


def keep(name, image):
    np.save(HERE / f"{name}.npy", np.ascontiguousarray(np.asarray(image)))


def encode(image, **options):
    out = io.BytesIO()
    image.save(out, "JPEG", **options)
    return out.getvalue()


def resizing():
    photo = picture(97, 61, 1)
    photo.save(HERE / "photo.png", optimize=True)
    photo.convert("L").save(HERE / "photo_grey.png", optimize=True)
    filters = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC, "lanczos": Image.Resampling.LANCZOS}
    for name, which in filters.items():
        for width, height in [(40, 30), (7, 5), (130, 90), (97, 20), (1, 1)]:
            keep(f"resize_{name}_{width}x{height}", photo.resize((width, height), which))
        keep(f"resize_{name}_grey_33x21", photo.convert("L").resize((33, 21), which))
        keep(f"resize_{name}_box_24x24", photo.crop((13, 9, 13 + 51, 9 + 40)).resize((24, 24), which))
    keep("photo_as_grey", photo.convert("L"))


def jpegs():
    photo = picture(59, 45, 2)
    files = {
        "progressive": encode(photo, quality=85, progressive=True, subsampling="4:2:0"),
        "baseline": encode(photo, quality=85, subsampling="4:2:2"),
        "cmyk": encode(photo.convert("CMYK"), quality=90),
        "grey": encode(photo.convert("L"), quality=85),
    }
    for name, data in files.items():
        (HERE / f"{name}.jpg").write_bytes(data)
        keep(f"{name}_jpg", Image.open(io.BytesIO(data)).convert("RGB"))
    small = picture(24, 16, 3)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        data = encode(small, quality=95, subsampling="4:4:4", exif=exif.tobytes())
        (HERE / f"exif_{orientation}.jpg").write_bytes(data)
        keep(f"exif_{orientation}_jpg", ImageOps.exif_transpose(Image.open(io.BytesIO(data))))


def jitter():
    photo = picture(48, 40, 4)
    photo.save(HERE / "jitter.png", optimize=True)
    for name, enhance in [("brightness", ImageEnhance.Brightness), ("contrast", ImageEnhance.Contrast), ("saturation", ImageEnhance.Color)]:
        for percent in [0, 50, 170]:
            keep(f"jitter_{name}_{percent}", enhance(photo).enhance(percent / 100))
    for percent in [-30, 10, 50]:
        # What torchvision's adjust_hue does to a PIL image.
        hue, saturation, value = photo.convert("HSV").split()
        shifted = np.array(hue) + np.int32(percent / 100 * 255).astype(np.uint8)
        hsv = Image.merge("HSV", (Image.fromarray(shifted.astype(np.uint8), "L"), saturation, value))
        keep(f"jitter_hue_{percent}", hsv.convert("RGB"))


if __name__ == "__main__":
    resizing()
    jpegs()
    jitter()
    total = sum(path.stat().st_size for path in HERE.iterdir())
    print(f"Pillow {PIL.__version__}, NumPy {np.__version__}: {total} bytes")
