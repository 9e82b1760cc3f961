"""How large a cache is that holds a share of the JPEGs when they are decoded."""
from functools import cache

from PIL import Image

import places

# What a tier takes besides pixels, rounded up; all of it is a thousandth of the data.
TABLE_BYTES = 1 << 20
ENTRY_BYTES = 256


@cache
def decoded_bytes():
    total = 0
    for path, _ in places.jpeg_files():
        with Image.open(path) as image:  # reads no more than the header
            total += image.width * image.height * 3
    return total


def cache_bytes(fraction):
    """0 for none of it."""
    if not fraction:
        return 0
    return TABLE_BYTES + int(fraction * (decoded_bytes() + places.JPEG_COUNT * ENTRY_BYTES))
