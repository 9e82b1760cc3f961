"""Images read by a Loader, held against Pillow pixel by pixel."""

import numpy as np
from PIL import Image

import penstock as ps
from pictures import noise, smooth

WIDTH, HEIGHT = 37, 29
RGB = smooth(HEIGHT, WIDTH)
GREY = smooth(HEIGHT, WIDTH, channels=1)[:, :, 0]
DOTS = (noise((HEIGHT, WIDTH)) > 128)
PICTURES = {
    "grey": Image.fromarray(GREY),
    "rgb": Image.fromarray(RGB),
    "rgba": Image.fromarray(np.dstack([RGB, noise((HEIGHT, WIDTH))]), "RGBA"),
    "grey_alpha": Image.fromarray(np.dstack([GREY, noise((HEIGHT, WIDTH))]), "LA"),
    "palette": Image.fromarray(RGB).quantize(77),
    "one_bit": Image.fromarray(DOTS),
    "cmyk": Image.fromarray(RGB).convert("CMYK"),
}


def load(path, *steps, **options):
    with ps.Loader(path, transform=list(steps), layout="NHWC", output="numpy", **options) as loader:
        return next(iter(loader))[0]


def check(path):
    """Colours and grey, whole and by region, are Pillow's."""
    picture = Image.open(path)
    colours, grey = np.asarray(picture.convert("RGB")), np.asarray(Image.open(path).convert("L"))
    np.testing.assert_array_equal(load(path), colours)
    np.testing.assert_array_equal(load(path, ps.Decode("L"))[:, :, 0], grey)
    height, width = colours.shape[:2]
    if min(height, width) > 8:
        top, left = round((height - 8) / 2), round((width - 6) / 2)
        np.testing.assert_array_equal(load(path, ps.CenterCrop((8, 6))), colours[top:top + 8, left:left + 6])
