"""DALI's own programs that index shards for its readers, two shards at a time."""
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TAR = "wds2idx"
TFRECORD = "tfrecord2idx"
AT_ONCE = 2


def index_paths(shards, folder):
    return [str(Path(folder) / (Path(shard).stem + ".idx")) for shard in shards]


def build(program, shards, folder):
    """Runs `program shard index` for each shard; returns the paths of the indexes."""
    indexes = index_paths(shards, folder)
    command = str(Path(sys.executable).parent / program)

    def run(shard, index):
        subprocess.run([command, shard, index], check=True, stdout=subprocess.DEVNULL)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(run, shards, indexes))
    return indexes


def ready(program, shards, folder):
    """The indexes of these shards, built now if the folder does not have them."""
    indexes = index_paths(shards, folder)
    return indexes if Path(indexes[-1]).exists() else build(program, shards, folder)
