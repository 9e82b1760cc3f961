"""Where random patches of the volume begin."""
import random

import places

SIZE = (72, 136, 136)


def window(rng=random):
    """Slices of one patch."""
    begins = [rng.randint(0, extent - size) for extent, size in zip(places.VOLUME_SHAPE, SIZE)]
    return tuple(slice(begin, begin + size) for begin, size in zip(begins, SIZE))
