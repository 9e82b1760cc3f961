"""One training sample with Pillow, as torchvision does it: full decode, crop, antialiased resize."""
import numpy as np
from PIL import Image

from peers.random_crop import SIZE, coin, random_box
from peers.torch_normalize import normalize


def load(file):
    """file: a path or an open file."""
    image = Image.open(file).convert("RGB")
    x, y, width, height = random_box(*image.size)
    image = image.resize((SIZE, SIZE), Image.BILINEAR, box=(x, y, x + width, y + height))
    if coin():
        image = image.transpose(Image.FLIP_LEFT_RIGHT)
    return normalize(np.array(image))
