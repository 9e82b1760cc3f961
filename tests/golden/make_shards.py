"""Writes the golden tar shard and the index files that DALI's own programs make of it and of the
TFRecord files beside it (see make_tfrecords.py).

Run with a Python that has webdataset, and the folder of DALI's programs as argument:
    python tests/golden/make_shards.py VENV_WITH_DALI/bin
Written with webdataset 1.0.2 and nvidia-dali-cuda130 2.4.0.
"""
import pathlib
import subprocess
import sys

import webdataset

records = pathlib.Path(__file__).parent / "records"
programs = pathlib.Path(sys.argv[1])

with webdataset.TarWriter(str(records / "samples.tar"), mtime=0) as writer:
    for i in range(7):
        sample = {"__key__": f"deep/er/{i:03d}" if i % 2 else f"{i:03d}", "cls": i, "txt": "é" * i,
                  "json": {"n": i}, "left.bin": bytes(range(i * 100 % 256)) * 7}
        if i == 5:
            sample["__key__"] = "long/" * 40 + "name"
        writer.write(sample)

subprocess.run([programs / "wds2idx", records / "samples.tar", records / "samples.tar.idx"], check=True)
for name in ("example", "sequence"):
    subprocess.run([programs / "tfrecord2idx", records / f"{name}.tfrecord", records / f"{name}.tfrecord.idx"],
                   check=True)
