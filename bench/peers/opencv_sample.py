"""One training sample with OpenCV: full decode, crop view, plain bilinear resize."""
import cv2
import numpy as np

from peers.random_crop import SIZE, coin, random_box

cv2.setNumThreads(0)


def load_pixels(path):
    return crop_pixels(load_whole(path))


def decode_pixels(encoded):
    """encoded: the bytes of a JPEG as an array."""
    return crop_pixels(decode_whole(encoded))


def load_whole(path):
    return decode_whole(np.fromfile(path, np.uint8))


def decode_whole(encoded):
    return cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB)


def crop_pixels(image):
    x, y, width, height = random_box(image.shape[1], image.shape[0])
    image = cv2.resize(image[y:y + height, x:x + width], (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
    return cv2.flip(image, 1) if coin() else image
