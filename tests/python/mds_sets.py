"""MDS data sets, written and read by MosaicML Streaming itself."""

import decimal
import importlib
import importlib.machinery
import importlib.util
import sys

import numpy as np
import pytest
from PIL import Image

# One column for each encoding that Streaming has, besides pickles.
COLUMNS = {
    "array": "ndarray", "array_float": "ndarray:float32", "array_fixed": "ndarray:int16:2,3", "blob": "bytes",
    "count": "uint16", "decimal": "str_decimal", "depth": "uint64", "digits": "str_int", "float16": "float16",
    "float32": "float32", "float64": "float64", "frames": "jpeg_array", "int8": "int8", "int32": "int32", "jpeg": "jpeg",
    "label": "int", "list_png": "list[png]", "list_pil": "list[pil]", "meta": "json", "pil": "pil", "png": "png",
    "real": "str_float", "text": "str", "uint8": "uint8", "uint32": "uint32", "int16": "int16", "int64": "int64",
}


def streaming():
    """The module, or a skipped test. Streaming imports torchvision and uses nothing of it, so a stand-in is enough."""
    names = ["torchvision", "torchvision.datasets", "torchvision.transforms", "torchvision.transforms.functional"]
    if "streaming" in sys.modules:
        return sys.modules["streaming"]
    before = {name: sys.modules.pop(name, None) for name in names}
    try:
        for name in names:
            sys.modules[name] = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(name, None))
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, sys.modules[name])
        sys.modules["torchvision.datasets"].VisionDataset = object
        sys.modules["torchvision.transforms.functional"].to_tensor = None
        return importlib.import_module("streaming")
    except ImportError:
        pytest.skip("mosaicml-streaming is not installed")
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def jpeg_bytes(pixels):
    import io

    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=90)
    return out.getvalue()


def sample(number):
    """A value for every column; its size differs from sample to sample where the encoding allows it."""
    random = np.random.default_rng(number)
    pixels = random.integers(0, 256, (5 + number % 3, 7, 3), dtype=np.uint8)
    modes = ["RGB", "L", "1", "RGBA", "P"]
    dtypes = [np.uint8, np.int8, np.uint16, np.int16, np.float16, np.uint32, np.int32, np.float32, np.uint64, np.int64,
              np.float64]
    shape = [(3,), (2, 300), (1, 2, 3)][number % 3]
    return {
        "array": (random.random(shape) * 100).astype(dtypes[number % len(dtypes)]),
        "array_float": random.random((1 + number % 4, 2)).astype(np.float32),
        "array_fixed": random.integers(-9, 9, (2, 3), dtype=np.int16),
        "blob": random.bytes(number * 3 % 17),
        "count": np.uint16(65535 - number),
        "decimal": decimal.Decimal(f"{number}.100000000000000000000000000001"),
        "depth": np.uint64(2**64 - 1 - number),
        "digits": (-1)**number * number * 10**15,
        "float16": np.float16(number / 3),
        "float32": np.float32(number / 3),
        "float64": number / 3,
        "frames": [jpeg_bytes(random.integers(0, 256, (4, 6, 3), dtype=np.uint8)) for _ in range(2)],
        "int8": np.int8(number % 200 - 100),
        "int16": np.int16(-number),
        "int32": np.int32(-number),
        "int64": np.int64(-number * 2**40),
        "jpeg": jpeg_bytes(pixels),
        "label": number % 10 - 1,
        "list_png": [Image.fromarray(random.integers(0, 256, (3, 2, 3), dtype=np.uint8)) for _ in range(3)],
        "list_pil": [Image.fromarray(random.integers(0, 256, (3, 2, 3), dtype=np.uint8))],
        "meta": {"n": number, "words": ["é"] * (number % 3)},
        "pil": Image.fromarray(pixels).convert(modes[number % len(modes)]),
        "png": Image.fromarray(pixels),
        "real": [0.1, 1e-300, float("inf"), -2.5e17, float(number)][number % 5],
        "text": "é" * (number % 7),
        "uint8": np.uint8(255 - number % 256),
        "uint32": np.uint32(2**32 - 1 - number),
    }


def write_mds(folder, samples, columns=None, **keywords):
    """`columns`: names and encodings; the default is COLUMNS, of which only those of the samples are written."""
    samples = list(samples)
    columns = {name: (columns or COLUMNS)[name] for name in samples[0]}
    with streaming().MDSWriter(out=str(folder), columns=columns, **keywords) as writer:
        for values in samples:
            writer.write(values)
    return folder


def read_streaming(folder):
    """All samples, read by Streaming without its loader: index.json, shards, decoding."""
    import json
    import pathlib
    import shutil
    import tempfile

    streaming()
    from streaming.base.compression import decompress
    from streaming.base.format import reader_from_json

    samples = []
    with tempfile.TemporaryDirectory() as copy:
        index = json.loads((pathlib.Path(folder) / "index.json").read_text())
        for shard in index["shards"]:
            raw = pathlib.Path(copy) / shard["raw_data"]["basename"]
            raw.parent.mkdir(parents=True, exist_ok=True)
            if shard["compression"]:
                stored = (pathlib.Path(folder) / shard["zip_data"]["basename"]).read_bytes()
                raw.write_bytes(decompress(shard["compression"], stored))
            else:
                shutil.copy(pathlib.Path(folder) / shard["raw_data"]["basename"], raw)
            reader = reader_from_json(copy, "", shard)
            samples += [reader[i] for i in range(len(reader))]
    return samples
