"""W1 from records: the JPEG training pipeline, read from tar, TFRecord and the loaders' own formats."""
from workloads.image_epoch import measure
from workloads.workload import Case, Column, Workload

TAR, TFRECORD, FOLDER = "penstock, tar", "penstock, TFRecord", "penstock, folder"


def both(name, peer, **settings):
    return [Case(name, peer, {"antialias": antialias}, **settings) for antialias in (True, False)]


def antialiased(name, peer, **settings):
    return [Case(name, peer, {"antialias": True}, **settings)]


def plain(name, peer, **settings):
    return [Case(name, peer, {"antialias": False}, **settings)]


PENSTOCK_CASES = [*both(FOLDER, "penstock_loader"), *both(TAR, "penstock_tar"),
                  *both(TFRECORD, "penstock_tfrecord")]
PEER_CASES = [
    *both("DALI, tar", "dali_webdataset", against=TAR),
    *both("DALI, TFRecord", "dali_tfrecord", against=TFRECORD),
    *antialiased("WebDataset + Pillow", "webdataset_pillow", against=TAR),
    *antialiased("SPDL, tar", "spdl_tar", against=TAR),
    *antialiased("FFCV", "ffcv_beton", against=TAR),
    *plain("WebDataset + OpenCV", "webdataset_opencv", against=TAR),
    *plain("tf.data, TFRecord", "tfdata_tfrecord", against=TFRECORD),
    *plain("Streaming + OpenCV", "streaming_opencv", against=TAR),
    *plain("LitData + OpenCV", "litdata_opencv", against=TAR),
    *plain("Grain + OpenCV, ArrayRecord", "grain_array_record", against=TAR),
]
COLUMNS = [Column("images_per_second", "images/s"),
           Column("first_batch_ms", "first batch, ms", higher_is_better=False)]

WORKLOAD = Workload(
    "w1rec", "JPEG training pipeline from records",
    "The same 4000 JPEGs in 8 shards of tar or TFRecord, or in the loader's own format, and the same pipeline: "
    "RandomResizedCrop 224, flip, normalise, batch 64, two threads or workers, the whole shuffled epoch, start-up "
    "included, imports apart. DALI's index files are made beforehand. FFCV's file holds JPEGs that its writer "
    "encoded again, and its compilation counts as import. Ratios are against Penstock on the same format, on tar "
    "where it does not read the format. tf.data on TFRecord is bimodal on two cores: its rounds give about 380 or about "
    "700 images/s, so look at its range rather than at its median. Memory: peak of the summed PSS of the process and its workers, sampled "
    "twice a second, imports and torch included.",
    PENSTOCK_CASES + PEER_CASES, [*COLUMNS, Column("peak_pss_mb", "peak memory (PSS), MB", higher_is_better=False)],
    measure, group_by="antialias", samples_memory=True)
