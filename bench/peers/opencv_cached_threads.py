"""Hand-written: OpenCV threads that keep every decoded image in a dict.

The limit for a cache that holds everything: a hit costs a look-up, then crop, resize and normalise.
"""
from peers import opencv_threads
from peers.opencv_sample import crop_pixels, load_whole


def cached_images(batch_size, threads):
    decoded = {}

    def load(path):
        image = decoded.get(path)
        if image is None:
            image = decoded[path] = load_whole(path)
        return crop_pixels(image)

    return opencv_threads.epochs(load, batch_size, threads)
