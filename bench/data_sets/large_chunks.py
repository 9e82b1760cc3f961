"""d3chunks: 32,768 weather-like samples of 64 KiB (2 GiB), as Zarr arrays whose chunks hold 10 and 64 of them."""
import numpy as np

import places
import sample_sums
import zarr_stores
from data_sets import zarr_array
from data_sets.weather_fields import WeatherFields

AT_ONCE = 640  # samples: whole chunks of both arrays


def make(seed):
    count, channels, height, width = zarr_stores.LARGE_CHUNKS_SHAPE
    fields = WeatherFields(np.random.default_rng([seed, 8]), channels, height, width).samples(count)
    arrays = [zarr_array.create(store, "float32", ("time", "channel", "latitude", "longitude"))
              for store in zarr_stores.LARGE_CHUNKS.values()]
    sums = []
    for start in range(0, count, AT_ONCE):
        samples = np.stack([next(fields) for _ in range(min(AT_ONCE, count - start))])
        sums.append(sample_sums.sums(samples))
        for array in arrays:
            array[start:start + len(samples)] = samples
    np.save(places.LARGE_CHUNKS_FOLDER / "sums.npy", np.concatenate(sums))
    stored = {name: zarr_array.stored_bytes(store) for name, store in zarr_stores.LARGE_CHUNKS.items()}
    return {"count": count, "stored_bytes": stored}
