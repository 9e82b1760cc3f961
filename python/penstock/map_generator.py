"""Random numbers for the functions of ps.Map: a pure function of the sample's place."""

from __future__ import annotations

import numpy


def make_generator(seed: int, epoch: int, position: int, step: int) -> numpy.random.Generator:
    """A generator of its own for every (seed, epoch, position, step).

    Philox counts: the place is the upper part of the counter, so no two generators ever give the same block.
    """
    return numpy.random.Generator(numpy.random.Philox(key=seed | step << 64, counter=position << 64 | epoch << 128))
