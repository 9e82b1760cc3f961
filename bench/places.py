"""Where the harness keeps things: the repository, the ignored working folder and the data sets."""
import os
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
STATE = ROOT / ".bench"
RESULTS = STATE / "results.jsonl"
DISK_TIERS = STATE / "disk-tiers"
DATA = Path(os.environ.get("PENSTOCK_BENCH_DATA", STATE / "data"))

JPEG_FOLDER = DATA / "d1"
NPY_FOLDER = DATA / "d2" / "npy"
NPY_FILE = DATA / "d2" / "all.npy"
SMALL_SAMPLES_FILE = DATA / "d1k" / "samples.npy"
TAR_FOLDER = DATA / "d1tar"
TFRECORD_FOLDER = DATA / "d1tfrecord"
INDEX_FOLDER = DATA / "d1index"
MDS_FOLDER = DATA / "d1mds"
LITDATA_FOLDER = DATA / "d1litdata"
ARRAY_RECORD_FOLDER = DATA / "d1arrayrecord"
BETON_FILE = DATA / "d1beton" / "d1.beton"
MANY_TAR_FOLDER = DATA / "d1m" / "tar"
MANY_TFRECORD_FOLDER = DATA / "d1m" / "tfrecord"
WEATHER_FOLDER = DATA / "d3"
LARGE_CHUNKS_FOLDER = DATA / "d3chunks"
VOLUME_FOLDER = DATA / "d4"
VOLUME_FILE = VOLUME_FOLDER / "vol.npy"
MANY_CHUNKS_FOLDER = DATA / "dmillion"
DATA_RECIPE = DATA / "recipe.json"

JPEG_COUNT = 4000
NPY_COUNT = 2000
NPY_SHAPE = (3, 224, 224)
SMALL_SAMPLES_COUNT = 200_000
MANY_RECORDS_COUNT = 1_000_000
VOLUME_SHAPE = (512, 1024, 1024)


def jpeg_files():
    """(path, class number) of every JPEG, as a folder-of-classes data set lists them."""
    files = []
    classes = sorted(entry.name for entry in os.scandir(JPEG_FOLDER) if entry.is_dir())
    for label, name in enumerate(classes):
        folder = os.path.join(JPEG_FOLDER, name)
        files += [(os.path.join(folder, file), label) for file in sorted(os.listdir(folder))
                  if file.endswith(".jpg")]
    return files


def npy_files():
    return [os.path.join(NPY_FOLDER, name) for name in sorted(os.listdir(NPY_FOLDER))
            if name.endswith(".npy")]


def shards(folder, ending):
    return [str(path) for path in sorted(folder.glob("*" + ending))]
