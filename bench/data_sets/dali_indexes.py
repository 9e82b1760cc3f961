"""d1index: the index files that DALI's readers of d1tar and d1tfrecord want, made by DALI's own programs."""
import shutil

import places
from peers import dali_index


def make(seed):
    shutil.rmtree(places.INDEX_FOLDER, ignore_errors=True)
    places.INDEX_FOLDER.mkdir(parents=True)
    indexes = dali_index.build(dali_index.TAR, places.shards(places.TAR_FOLDER, ".tar"), places.INDEX_FOLDER)
    indexes += dali_index.build(dali_index.TFRECORD, places.shards(places.TFRECORD_FOLDER, ".tfrecord"),
                                places.INDEX_FOLDER)
    return {"count": len(indexes)}
