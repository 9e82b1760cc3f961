"""Makes the reference TFRecord and npz files of the C++ tests with TensorFlow and NumPy.

Run once; the files it writes are committed, so that the tests need neither of the two:

    .bench/venv-tf/bin/python tests/golden/make_tfrecords.py     (TensorFlow 2.21.0)
    .venv/bin/python tests/golden/make_tfrecords.py npz          (NumPy 2.4.6)

expected.json says which version wrote them and what is in them.
"""

import io
import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent / "records"


def keep_json(name, value):
    (HERE / name).write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")


def in_json(value):
    """Bytes as hex; float32 as a double, which holds it exactly."""
    return value.hex() if isinstance(value, bytes) else value


def tfrecords():
    import tensorflow as tf

    def feature(values):
        if values is None:
            return tf.train.Feature()
        if not values or isinstance(values[0], int):
            return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        if isinstance(values[0], float):
            return tf.train.Feature(float_list=tf.train.FloatList(value=values))
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))

    def plain(values):
        return {"steps": None, "values": None if values is None else [in_json(v) for v in values]}

    def sequence(steps):
        return {"steps": [len(step) for step in steps], "values": [in_json(v) for step in steps for v in step]}

    def exactly(values):
        return [float(np.float32(v)) for v in values]

    rng = np.random.default_rng(5)
    examples = [
        {"image": [rng.bytes(300)], "label": [7], "name": [b"cat \xc3\xa9.jpg"], "weights": exactly([0.1, -2.5, 1e30])},
        {"image": [b""], "label": [-1], "name": [b"a", b"", b"ccc"], "weights": exactly([0.0])},
        {"ints": [0, 1, 127, 128, 16384, -128, 2**63 - 1, -(2**63)], "many": list(range(0, 200_000, 1000)),
         "none": None, "no_ints": [], "gr\u00fc\u00dfe": [1]},
        {},
    ]  # fmt: skip
    sequences = [
        ({"id": [12]}, {"frames": [[b"one"], [b"two"], [b"three"]], "motion": [exactly([1.5, 2.5]), exactly([-3.25, 4])],
                        "words": [[1, 2, 3], [4], [5, 6]], "no_steps": []}),
        ({}, {"words": [[9], [2**40], [-5]]}),
    ]  # fmt: skip
    expected = {"tensorflow": tf.__version__, "example": [], "sequence": []}

    with tf.io.TFRecordWriter(str(HERE / "example.tfrecord")) as out:
        for example in examples:
            message = tf.train.Example()
            for name, values in example.items():
                message.features.feature[name].CopyFrom(feature(values))
            out.write(message.SerializeToString(deterministic=True))
            expected["example"].append({name: plain(values) for name, values in example.items()})
    with tf.io.TFRecordWriter(str(HERE / "sequence.tfrecord")) as out:
        for context, lists in sequences:
            message = tf.train.SequenceExample()
            for name, values in context.items():
                message.context.feature[name].CopyFrom(feature(values))
            for name, steps in lists.items():
                message.feature_lists.feature_list[name].feature.extend(feature(step) for step in steps)
            out.write(message.SerializeToString(deterministic=True))
            expected["sequence"].append(
                {name: plain(values) for name, values in context.items()}
                | {name: sequence(steps) for name, steps in lists.items()}
            )
    # What the frames hold need not be an Example: here a few sizes around those of the framing.
    with tf.io.TFRecordWriter(str(HERE / "plain.tfrecord")) as out:
        for size in [0, 1, 11, 12, 16, 255]:
            out.write(bytes((size + i) % 256 for i in range(size)))
    with tf.io.TFRecordWriter(str(HERE / "empty.tfrecord")):
        pass
    keep_json("expected.json", expected)


class Unseekable(io.RawIOBase):
    """As a pipe or an upload: the zip writer cannot go back to fill in sizes."""

    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def write(self, part):
        self.data += part
        return len(part)


def npz():
    arrays = {
        "image": (np.arange(600) % 13).astype(np.uint8).reshape(10, 20, 3),
        "scores": np.linspace(-1, 1, 7, dtype=np.float32),
        "label": np.int64(-3),
        "empty": np.zeros((0, 4), np.float64),
        "gr\u00fc\u00dfe": np.arange(3, dtype=np.uint16),
    }
    expected = {"numpy": np.__version__, "members": {}}
    for name, array in arrays.items():
        out = io.BytesIO()
        np.save(out, array)
        expected["members"][name] = out.getvalue().hex()
    np.savez(HERE / "stored.npz", **arrays)
    np.savez_compressed(HERE / "deflated.npz", **arrays)
    stream = Unseekable()
    np.savez_compressed(stream, **arrays)
    (HERE / "streamed.npz").write_bytes(stream.data)
    np.savez(HERE / "none.npz")
    keep_json("expected_npz.json", expected)


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    npz() if sys.argv[1:] == ["npz"] else tfrecords()
