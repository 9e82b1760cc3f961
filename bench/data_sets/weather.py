"""d3: 480 weather-like samples, float32 16x181x360 (2 GB), as five Zarr arrays: by format, chunks and shards."""
import numpy as np

import places
import sample_sums
import zarr_stores
from data_sets import zarr_array
from data_sets.weather_fields import WeatherFields

AT_ONCE = 16  # samples: the length of a shard


def make(seed):
    count, channels, height, width = zarr_stores.WEATHER_SHAPE
    fields = WeatherFields(np.random.default_rng([seed, 4]), channels, height, width).samples(count)
    arrays = [zarr_array.create(store, "float32", ("time", "channel", "latitude", "longitude"))
              for store in zarr_stores.WEATHER.values()]
    sums = []
    for start in range(0, count, AT_ONCE):
        samples = np.stack([next(fields) for _ in range(AT_ONCE)])
        sums.append(sample_sums.sums(samples))
        for array in arrays:
            array[start:start + AT_ONCE] = samples
    np.save(places.WEATHER_FOLDER / "sums.npy", np.concatenate(sums))
    stored = {name: zarr_array.stored_bytes(store) for name, store in zarr_stores.WEATHER.items()}
    return {"count": count, "stored_bytes": stored}
