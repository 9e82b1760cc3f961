"""The Zarr arrays of the benchmark: where each lies, how it is cut into chunks, and how those are named."""
from dataclasses import dataclass, replace
from pathlib import Path

import places


@dataclass(frozen=True)
class ZarrStore:
    """One array. Format 2 is compressed by Blosc (lz4 unless `codec` says otherwise), format 3 by Zstandard."""
    folder: Path
    zarr_format: int
    shape: tuple
    chunks: tuple
    shards: tuple = None
    codec: str = "lz4"
    url: str = None      # of the folder, where a server serves it

    @property
    def location(self):
        return self.url or str(self.folder)

    @property
    def count(self):
        return self.shape[0]

    def served_at(self, root_url):
        return replace(self, url=f"{root_url}/{self.folder.name}")

    def key(self, *grid):
        """Name of the object that holds the chunk at this place of the grid of chunks."""
        return ".".join(map(str, grid)) if self.zarr_format == 2 else "/".join(map(str, ("c", *grid)))


WEATHER_SHAPE = (480, 16, 181, 360)
WEATHER_CHUNK = (1, 16, 181, 360)   # all channels of a sample
CHANNEL_CHUNK = (1, 1, 181, 360)
WEATHER = {
    "v2_c16": ZarrStore(places.WEATHER_FOLDER / "v2_c16", 2, WEATHER_SHAPE, WEATHER_CHUNK),
    "v2_c1": ZarrStore(places.WEATHER_FOLDER / "v2_c1", 2, WEATHER_SHAPE, CHANNEL_CHUNK),
    "v3_c16": ZarrStore(places.WEATHER_FOLDER / "v3_c16", 3, WEATHER_SHAPE, WEATHER_CHUNK),
    "v3_c1": ZarrStore(places.WEATHER_FOLDER / "v3_c1", 3, WEATHER_SHAPE, CHANNEL_CHUNK),
    "v3_shard": ZarrStore(places.WEATHER_FOLDER / "v3_shard", 3, WEATHER_SHAPE, CHANNEL_CHUNK,
                          shards=(16, 16, 181, 360)),
}

# 64 KiB a sample: 16 chunks of 64 samples are 64 MiB, the whole array is 2 GiB.
LARGE_CHUNKS_SHAPE = (32768, 1, 128, 128)
LARGE_CHUNKS = {f"c{samples}": ZarrStore(places.LARGE_CHUNKS_FOLDER / f"c{samples}", 2, LARGE_CHUNKS_SHAPE,
                                         (samples,) + LARGE_CHUNKS_SHAPE[1:]) for samples in (10, 64)}

VOLUMES = {codec: ZarrStore(places.VOLUME_FOLDER / codec, 2, places.VOLUME_SHAPE, (128, 128, 128), codec=codec)
           for codec in ("zstd", "lz4")}

MANY_CHUNKS = ZarrStore(places.MANY_CHUNKS_FOLDER / "v2", 2, (1_000_000, 16), (1, 16), codec=None)


def sums_file(store):
    """Weighted sums of the samples, which tell a sample from all others; see sample_sums."""
    return store.folder.parent / "sums.npy"
