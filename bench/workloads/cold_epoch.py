"""The JPEG training pipeline right after the page cache was dropped: reading from the disk is part of it."""
from workloads.image_epoch import measure
from workloads.record_epoch import COLUMNS, FOLDER, PENSTOCK_CASES, TAR, TFRECORD, plain
from workloads.workload import Workload

CASES = [case for case in PENSTOCK_CASES if not case.options["antialias"]] + [
    *plain("DALI, tar", "dali_webdataset", against=TAR),
    *plain("LitData + OpenCV", "litdata_opencv", against=TAR),
    *plain("torch + OpenCV, folder", "torch_opencv", against=FOLDER),
    *plain("WebDataset + OpenCV", "webdataset_opencv", against=TAR),
    *plain("tf.data, TFRecord", "tfdata_tfrecord", against=TFRECORD),
]

WORKLOAD = Workload(
    "cold", "JPEG training pipeline from a cold page cache",
    "The plain bilinear pipeline as above, the page cache dropped before every case. Indexes of earlier runs "
    "(Penstock's own, DALI's) are there, but cold as well. tf.data on TFRecord is bimodal here too.",
    CASES, COLUMNS, measure, warm_up=True, cold=True)
