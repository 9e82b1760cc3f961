"""Random numbers for the functions of penstock.Map."""

from __future__ import annotations

import numpy


def make_generator(seed: int, epoch: int, position: int, step: int) -> numpy.random.Generator:
    """Makes the generator for one (seed, epoch, position, step). The engine calls this function.

    Philox is a function of its counter. Epoch and position are the upper part of the counter, so no two generators ever
    return the same block.
    """
    return numpy.random.Generator(numpy.random.Philox(key=seed | step << 64, counter=position << 64 | epoch << 128))
