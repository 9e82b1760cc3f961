"""Small shards: tar archives, TFRecord files and tables, written by hand or by Python's own modules."""

import gzip
import io
import json
import pathlib
import struct
import tarfile

import numpy as np
from PIL import Image

import penstock as ps

# -- values ---------------------------------------------------------------------------------------


def png_bytes(pixels):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def npy_bytes(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz_bytes(compressed=False, **arrays):
    out = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(out, **arrays)
    return out.getvalue()


def plain(number, side=8):
    """An image of one grey level, which PNG keeps."""
    return np.full((side, side, 3), number % 256, np.uint8)


# -- tar ------------------------------------------------------------------------------------------


def add_file(archive, name, data, **header):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in header.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(data))


def tar_bytes(files, format=tarfile.PAX_FORMAT):
    """`files`: pairs of name and bytes, in order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as archive:
        for name, data in files:
            add_file(archive, name, data)
    return out.getvalue()


def compress(data, ending):
    """As the ending of the file's name says."""
    if ending.endswith(".gz"):
        return gzip.compress(data, 1, mtime=0)
    if ending.endswith(".zst"):
        import subprocess

        return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data


def write_tar(path, files, format=tarfile.PAX_FORMAT):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(compress(tar_bytes(files, format), path.name))
    return path


def number_samples(first, count, pad=0):
    """Samples whose class is their number; `pad` bytes more in each, that do not compress."""
    files = []
    for i in range(first, first + count):
        files.append((f"{i:06}.cls", str(i).encode()))
        if pad:
            files.append((f"{i:06}.bin", np.random.default_rng(i).bytes(pad)))
    return files


def write_number_shards(folder, shards, samples, ending=".tar", pad=0):
    """`shards` shards of `samples` samples each, sample i being class i; the pattern for all of them."""
    for shard in range(shards):
        write_tar(pathlib.Path(folder) / f"part-{shard:03}{ending}", number_samples(shard * samples, samples, pad))
    return pathlib.Path(folder) / f"part-*{ending}"


# -- TFRecord -------------------------------------------------------------------------------------

_CRC_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    _CRC_TABLE.append(_byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked_crc(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def _message(field, data):
    """A protobuf field of wire type 2."""
    return varint(field << 3 | 2) + varint(len(data)) + data


def feature(values, packed=True):
    """tf.train.Feature of ints, floats, or texts and bytes; None for one that holds no list."""
    if values is None:
        return b""
    if isinstance(values, (int, float, bytes, str, np.integer, np.floating)):
        values = [values]
    values = list(values)
    if values and isinstance(values[0], (bytes, str)):
        texts = [v.encode() if isinstance(v, str) else v for v in values]
        return _message(1, b"".join(_message(1, text) for text in texts))
    if values and isinstance(values[0], (float, np.floating)):
        if packed:
            return _message(2, _message(1, struct.pack(f"<{len(values)}f", *values)))
        return _message(2, b"".join(b"\x0d" + struct.pack("<f", v) for v in values))
    if packed:
        return _message(3, _message(1, b"".join(varint(int(v)) for v in values)) if values else b"")
    return _message(3, b"".join(b"\x08" + varint(int(v)) for v in values))


def _features(named):
    return b"".join(_message(1, _message(1, name.encode()) + _message(2, data)) for name, data in named.items())


def example(packed=True, **features):
    """tf.train.Example."""
    return _message(1, _features({name: feature(values, packed) for name, values in features.items()}))


def sequence_example(context=None, **lists):
    """tf.train.SequenceExample: each of `lists` is a list of steps, each a list of values."""
    steps = {name: b"".join(_message(1, feature(step)) for step in values) for name, values in lists.items()}
    return (_message(1, _features({name: feature(values) for name, values in (context or {}).items()})) +
            _message(2, _features(steps)))


def frame(record):
    length = struct.pack("<Q", len(record))
    return length + struct.pack("<I", masked_crc(length)) + record + struct.pack("<I", masked_crc(record))


def write_tfrecord(path, records):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(compress(b"".join(frame(record) for record in records), path.name))
    return path


# -- tables ---------------------------------------------------------------------------------------


def write_json_lines(path, rows):
    pathlib.Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# -- reading --------------------------------------------------------------------------------------


def make_loader(source, batch_size=4, **options):
    return ps.Loader(source, batch_size, **({"output": "numpy", "threads": 2} | options))


def collect(loader):
    """The samples of an epoch, a tuple each (the bare value where there is one field)."""
    samples = []
    for batch in loader:
        samples += list(zip(*batch)) if isinstance(batch, tuple) else list(batch)
    return samples


def read_all(source, fields, **options):
    """One tuple a sample, in the source's order, arrays of any shape."""
    with make_loader(source, fields=fields, **({"collate": "list"} | options)) as loader:
        return collect(loader)


def read_numbers(source, field="cls", epochs=1, **options):
    """The values of an integer field over some epochs, in the order they came."""
    with make_loader(source, fields=[field], **options) as loader:
        return [int(v) for _ in range(epochs) for (values,) in loader for v in values]


def flip_byte(path, offset):
    data = bytearray(pathlib.Path(path).read_bytes())
    data[offset] ^= 0x40
    pathlib.Path(path).write_bytes(data)


def write_arrays(path, arrays):
    """A tar of arrays, each with its number as class."""
    files = []
    for i, a in enumerate(arrays):
        files += [(f"{i:05}.npy", npy_bytes(a)), (f"{i:05}.cls", str(i).encode())]
    return write_tar(path, files)
