"""d1mds: the JPEGs of d1 in MosaicML Streaming's format."""
import shutil

import torchvision_stand_in  # noqa: F401  (before streaming)
from streaming import MDSWriter

import places
from data_sets.shuffled_jpegs import samples


def make(seed):
    shutil.rmtree(places.MDS_FOLDER, ignore_errors=True)
    count = 0
    columns = {"image": "bytes", "label": "int"}
    with MDSWriter(out=str(places.MDS_FOLDER), columns=columns, size_limit=1 << 26) as writer:
        for encoded, label in samples(seed):
            writer.write({"image": encoded, "label": label})
            count += 1
    return {"count": count}
