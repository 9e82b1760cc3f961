"""Reads damaged files with one loader, each with its defaults, and says what came out.

    python damage_readers.py READER < paths, one a line

prints "BEGIN path" and then a JSON line for each: digests of the samples that came, and the error if
there was one. A crash or a hang is seen by the caller, which starts the rest anew.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


NO_LABEL = -1


def digest(data, label):
    return hashlib.sha1(bytes(data) + b":%d" % int(label)).hexdigest()


def webdataset(path):
    import webdataset
    yield from webdataset.WebDataset(path, shardshuffle=False).to_tuple("bin", "cls")


def spdl_tar(path):
    """SPDL hands out members; here those of one name make a sample, and one without a partner half a sample."""
    import spdl.io
    data = {}
    with open(path, "rb") as file:
        for name, content in spdl.io.iter_tarfile(file):
            key, _, ending = name.partition(".")
            data.setdefault(key, {})[ending] = bytes(content)
            if len(data[key]) == 2:
                sample = data.pop(key)
                yield sample["bin"], sample["cls"]
    for half in data.values():
        yield half.get("bin", b""), half.get("cls", NO_LABEL)


def dali_run(outputs, size):
    for _ in range(size):
        data, label = outputs.run()
        label = bytes(label.at(0)) if label.at(0).dtype == "uint8" else label.at(0).item()
        yield bytes(data.at(0)), NO_LABEL if label == b"" else label  # empty: how it says that a member is missing


def dali_index(program, path):
    index = path + ".idx"
    command = str(Path(sys.executable).parent / program)
    done = subprocess.run([command, path, index], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{program}: " + done.stderr.strip().splitlines()[-1])
    return index


def dali_tar(path):
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        return tuple(fn.readers.webdataset(paths=[path], index_paths=[dali_index("wds2idx", path)],
                                           ext=["bin", "cls"], name="reader"))
    opened = pipeline()
    opened.build()
    return dali_run(opened, opened.epoch_size("reader"))


def dali_tfrecord(path):
    import nvidia.dali.tfrecord as tfrecord
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def pipeline():
        features = fn.readers.tfrecord(path=[path], index_path=[dali_index("tfrecord2idx", path)], name="reader",
                                       features={"data": tfrecord.FixedLenFeature((), tfrecord.string, ""),
                                                 "label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1)})
        return features["data"], features["label"]
    opened = pipeline()
    opened.build()
    return dali_run(opened, opened.epoch_size("reader"))


def tfdata(path):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    features = {"data": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    for record in tf.data.TFRecordDataset(path):
        sample = tf.io.parse_single_example(record, features)
        yield sample["data"].numpy(), sample["label"].numpy()


def streaming_mds(path):
    import torchvision_stand_in  # noqa: F401  (before streaming)
    import streaming
    streaming.base.util.clean_stale_shared_memory()
    for sample in streaming.StreamingDataset(local=str(Path(path).parent), shuffle=False, batch_size=1):
        yield sample["data"], sample["label"]


def grain_array_record(path):
    import grain
    for record in grain.MapDataset.source(grain.sources.ArrayRecordDataSource([path])):
        yield record[8:], int.from_bytes(record[:8], "little")


def penstock_samples(path):
    import penstock
    fields = ["bin", "cls"] if path.endswith(".tar") else ["data", "label"]
    source = penstock.Tar if path.endswith(".tar") else penstock.TFRecord
    kinds = None if path.endswith(".tar") else {"data": "bytes"}
    loader = penstock.Loader(source(path, kinds=kinds), batch_size=1, fields=fields, output="numpy", threads=1)
    for data, label in loader:
        yield data[0], label[0]


def penstock_new(path):
    """As it opens a file that it has never seen."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PENSTOCK_CACHE_DIR"] = cache
        yield from penstock_samples(path)


def penstock_known(path):
    """As it opens a file that it has seen when it was whole: the index is kept."""
    damaged = Path(path).read_bytes()
    whole = Path(path).parent.parent / "whole" / Path(path).name
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PENSTOCK_CACHE_DIR"] = cache
        Path(path).write_bytes(whole.read_bytes())
        try:
            list(penstock_samples(path))
        finally:
            Path(path).write_bytes(damaged)
        yield from penstock_samples(path)


READERS = {function.__name__: function for function in (
    webdataset, spdl_tar, dali_tar, dali_tfrecord, tfdata, streaming_mds, grain_array_record, penstock_new,
    penstock_known)}


def read(reader, path):
    found, error = [], None
    try:
        for data, label in READERS[reader](path):
            found.append(digest(data, label))
    except Exception as failure:  # whatever a loader raises is what its user sees
        error = f"{type(failure).__name__}: {failure}"
    return {"found": found, "error": error}


if __name__ == "__main__":
    for line in sys.stdin.read().splitlines():
        print("BEGIN", line, flush=True)
        print(json.dumps(read(sys.argv[1], line)), flush=True)
    os._exit(0)  # a loader that hangs when it ends is not what is asked here
