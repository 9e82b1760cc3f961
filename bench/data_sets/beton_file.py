"""d1beton: the JPEGs of d1 in FFCV's file. Its writer cannot keep the bytes: it encodes again, at the same quality."""
import os
import shutil

from ffcv.fields import IntField, RGBImageField
from ffcv.writer import DatasetWriter
from PIL import Image

import places
from data_sets.shuffled_jpegs import files

QUALITY = 95


class Images:
    def __init__(self, seed):
        self.files = files(seed)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path, label = self.files[index]
        return Image.open(path).convert("RGB"), label


def make(seed):
    shutil.rmtree(places.BETON_FILE.parent, ignore_errors=True)
    places.BETON_FILE.parent.mkdir(parents=True)
    images = Images(seed)
    fields = {"image": RGBImageField(write_mode="jpg", jpeg_quality=QUALITY), "label": IntField()}
    DatasetWriter(str(places.BETON_FILE), fields, num_workers=len(os.sched_getaffinity(0))).from_indexed_dataset(images)
    return {"count": len(images)}
