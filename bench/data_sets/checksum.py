"""What tells whether a loader delivered all samples, each once."""
import numpy as np


def checksum(samples):
    """Sum of every sample's first value: the same for every order in which a loader delivers them."""
    return float(samples.reshape(len(samples), -1)[:, 0].sum(dtype=np.float64))
