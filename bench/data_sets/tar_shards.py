"""d1tar: the JPEGs of d1 in plain tar shards by the WebDataset convention: 000123.jpg, then 000123.cls."""
import shutil

import places
from data_sets.shuffled_jpegs import SHARDS, in_shards
from data_sets.tar_format import END, member


def make(seed):
    shutil.rmtree(places.TAR_FOLDER, ignore_errors=True)
    places.TAR_FOLDER.mkdir(parents=True)
    count = 0
    for shard, samples in in_shards(seed):
        with open(places.TAR_FOLDER / f"shard-{shard:04d}.tar", "wb") as file:
            for number, encoded, label in samples:
                file.write(member(b"%06d.jpg" % number, encoded) + member(b"%06d.cls" % number, b"%d" % label))
                count += 1
            file.write(END)
    return {"count": count, "shards": SHARDS}
