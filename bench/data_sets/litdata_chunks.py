"""d1litdata: the JPEGs of d1 in LitData's chunks."""
import shutil
from pathlib import Path

import litdata

import places
from data_sets.shuffled_jpegs import files


def read(file):
    path, label = file
    return {"image": Path(path).read_bytes(), "label": label}


def make(seed):
    shutil.rmtree(places.LITDATA_FOLDER, ignore_errors=True)
    inputs = files(seed)
    litdata.optimize(fn=read, inputs=inputs, output_dir=str(places.LITDATA_FOLDER), chunk_bytes="64MB", num_workers=1)
    return {"count": len(inputs)}
