"""Makes the MDS data sets of the tests with MosaicML Streaming, and what its own reader finds in them.

    .venv/bin/python tests/golden/make_mds.py        (mosaicml-streaming 0.13.0)

The folders are committed, so that the tests need no Streaming. expected.json has each value of "every" as the reader of
Streaming returns it: numbers and texts as they are, arrays as type, shape and bytes, images as size and pixels. JPEGs
are the bytes that are stored, because decoders may differ.
"""

import decimal
import io
import json
import pathlib
import shutil
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "python"))
from mds_sets import read_streaming, sample, streaming, write_mds  # noqa: E402


def in_json(name, value):
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, list):
        return [in_json(name, one) for one in value]
    if hasattr(value, "size") and hasattr(value, "mode"):
        if value.format == "JPEG":
            stored = value.fp if hasattr(value, "fp") and value.fp else io.BytesIO()
            stored.seek(0)
            return {"jpeg": stored.read().hex()}
        # The pixels of P are numbers of colours; palettes are not stored.
        pixels = np.asarray(value) if value.mode != "1" else np.asarray(value.convert("L"))
        return {"shape": list(pixels.shape), "pixels": pixels.tobytes().hex()}
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.name, "shape": list(value.shape), "elements": value.tobytes().hex()}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, np.generic):
        return value.item()
    return value


def main():
    folder = HERE / "mds"
    shutil.rmtree(folder, ignore_errors=True)
    samples = [sample(i) for i in range(13)]
    few = [{name: one[name] for name in ("label", "text", "array_float")} for one in samples]
    write_mds(folder / "every", samples, size_limit=24_000, hashes=["sha1", "xxh64"])
    write_mds(folder / "zstd", few, size_limit=600, compression="zstd:7", hashes=["md5", "sha256", "xxh3_64"])
    write_mds(folder / "gz", few, size_limit=600, compression="gz:6", hashes=["blake2b", "sha3_256", "xxh32"])
    write_mds(folder / "br", few[:2], compression="br:1")
    for part, chosen in enumerate((few[:5], few[5:])):
        write_mds(folder / "merged" / f"part{part}", chosen, size_limit=300)
    streaming().base.util.merge_index(str(folder / "merged"))
    pickled = [{"label": i, "object": {"i": i}} for i in range(3)]
    write_mds(folder / "pickled", pickled, {"label": "int", "object": "pkl"})
    read = [{name: in_json(name, value) for name, value in one.items()} for one in read_streaming(folder / "every")]
    (folder / "expected.json").write_text(json.dumps(read, indent=0, sort_keys=True, ensure_ascii=True) + "\n")


main()
