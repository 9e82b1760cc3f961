"""Weather-like fields: smooth waves over a grid that drift from sample to sample, with a little noise."""
import numpy as np

WAVES = 48
NOISE = np.float32(0.01)
NOISE_FIELDS = 4


class WeatherFields:
    """Yields samples of (channels, height, width) float32, each a small step from the one before."""

    def __init__(self, rng, channels, height, width):
        self.rng, self.shape = rng, (channels, height, width)
        latitude = np.linspace(-np.pi / 2, np.pi / 2, height)
        longitude = np.linspace(0, 2 * np.pi, width, endpoint=False)
        self.waves = np.empty((WAVES, height * width), np.float32)
        for wave in self.waves:
            east, north = int(rng.integers(0, 12)), int(rng.integers(1, 14))
            phases = rng.uniform(0, 2 * np.pi, 2)
            field = np.outer(np.cos(north * latitude + phases[0]), np.cos(east * longitude + phases[1]))
            wave[:] = field.ravel() / (1 + east + north)
        self.noise = NOISE * rng.standard_normal(NOISE_FIELDS * height * width, dtype=np.float32)
        self.base = rng.uniform(200, 300, (channels, 1)).astype(np.float32)
        self.scale = rng.uniform(5, 30, (channels, 1)).astype(np.float32)

    def random_weights(self):
        return self.rng.standard_normal((self.shape[0], WAVES), dtype=np.float32)

    def samples(self, count):
        weights = self.random_weights()
        size = self.waves.shape[1]
        for _ in range(count):
            weights = np.float32(0.95) * weights + np.float32(0.31) * self.random_weights()
            fields = weights @ self.waves
            for field in fields:
                start = int(self.rng.integers((NOISE_FIELDS - 1) * size))
                field += self.noise[start:start + size]
            yield packed(fields * self.scale + self.base).reshape(self.shape)


def packed(fields):
    """With 15 bits of mantissa, as packed archives keep them."""
    bits = fields.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x80)) & np.uint32(0xFFFFFF00)).view(np.float32)
