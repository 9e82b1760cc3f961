"""Writes small data sets in the formats that Penstock reads, so that no example needs a download.

Every picture shows one coloured shape on a noisy background; its class is the shape. All writers are plain
Python with Pillow, and so short that they can serve as a description of the formats.
"""

import csv
import io
import json
import pathlib
import random
import struct
import tarfile
import tempfile

from PIL import Image, ImageDraw

CLASSES = {"cross": (60, 90, 220), "disc": (220, 60, 50), "square": (70, 190, 80)}


def scratch_folder(name):
    return pathlib.Path(tempfile.mkdtemp(prefix="penstock-")) / name


def draw(shape, side=64, seed=0):
    """Returns an image of the shape on noise, its mask, and the position of its middle."""
    dice = random.Random(f"{shape} {seed}")
    image = Image.frombytes("RGB", (side, side), bytes(90 + dice.randrange(60) for _ in range(side * side * 3)))
    mask = Image.new("L", (side, side))
    radius = dice.randrange(side // 6, side // 4)
    x, y = (dice.randrange(radius, side - radius) for _ in "xy")
    for picture, colour in ((image, CLASSES[shape]), (mask, 1 + list(CLASSES).index(shape))):
        pen = ImageDraw.Draw(picture)
        if shape == "disc":
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), colour)
        elif shape == "square":
            pen.rectangle((x - radius, y - radius, x + radius, y + radius), colour)
        else:
            pen.rectangle((x - radius, y - radius // 3, x + radius, y + radius // 3), colour)
            pen.rectangle((x - radius // 3, y - radius, x + radius // 3, y + radius), colour)
    return image, mask, (x, y)


def encoded(image, format):
    file = io.BytesIO()
    image.save(file, format, **({"quality": 90} if format == "JPEG" else {}))
    return file.getvalue()


def pictures(count):
    """Yields (name, label, JPEG) of `count` pictures, class after class."""
    for label, shape in enumerate(CLASSES):
        for i in range(label, count, len(CLASSES)):
            yield f"{shape}_{i:04}", label, encoded(draw(shape, seed=i)[0], "JPEG")


# -- classification: one folder per class, tar shards, TFRecord shards ----------------------------
# The shards hold the samples in the order of the folder, so that training is the same with all three. Your
# own shards are best written in random order.


def write_folder(folder, count=192):
    for name, label, jpeg in pictures(count):
        path = folder / list(CLASSES)[label] / f"{name}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg)
    return folder


def write_tar(folder, count=192, shards=3):
    """Writes tar shards, in which the files of one sample are adjacent and share the name up to the first dot."""
    samples = [{"key": name, "jpg": jpeg, "cls": str(label)} for name, label, jpeg in pictures(count)]
    return write_tar_shards(folder, samples, shards)


def parts(samples, count):
    size = -(-len(samples) // count)
    return [samples[first:first + size] for first in range(0, len(samples), size)]


def write_tar_shards(folder, samples, shards):
    folder.mkdir(parents=True, exist_ok=True)
    for shard, part in enumerate(parts(samples, shards)):
        with tarfile.open(folder / f"train-{shard:03}.tar", "w") as tar:
            for sample in part:
                for ending, data in sample.items():
                    if ending == "key":
                        continue
                    data = data if isinstance(data, bytes) else data.encode()
                    member = tarfile.TarInfo(f"{sample['key']}.{ending}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    return folder


def write_tfrecord(folder, count=192, shards=3):
    """Writes records of tf.train.Example with the features that TensorFlow's own ImageNet scripts write."""
    folder.mkdir(parents=True, exist_ok=True)
    for shard, part in enumerate(parts(list(pictures(count)), shards)):
        with open(folder / f"train-{shard:05}-of-{shards:05}", "wb") as file:
            for name, label, jpeg in part:
                file.write(framed(example({"image/encoded": jpeg, "image/class/label": label,
                                           "image/filename": name.encode()})))
    return folder


def framed(data):
    """Returns a TFRecord: length, checksum of the length, data, checksum of the data."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def example(features):
    """Returns a serialised tf.train.Example. Values are bytes, or whole numbers from 0."""
    entries = b""
    for name, value in features.items():
        if isinstance(value, bytes):
            feature = message(1, message(1, value))  # bytes_list { value }
        else:
            feature = message(3, message(1, varint(value)))  # int64_list { value }, packed
        entries += message(1, message(1, name.encode()) + message(2, feature))  # map entry { key, value }
    return message(1, entries)


def message(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def masked_crc(data):
    """Returns the CRC-32C, masked (rotated, plus a constant) as TFRecord has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def crc_of_byte(value):
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value


CRC_TABLE = [crc_of_byte(value) for value in range(256)]


# -- super-resolution: photographs, as far as decoding goes ---------------------------------------


def write_photos(folder, count=72, size=(1600, 1200)):
    """Writes JPEGs of overlapping shapes with the grain of a camera, which makes them slow to decode."""
    folder.mkdir(parents=True, exist_ok=True)
    width, height = size
    for i in range(count):
        dice = random.Random(i)
        photo = Image.new("RGB", size, tuple(dice.randrange(60, 200) for _ in "rgb"))
        pen = ImageDraw.Draw(photo)
        for _ in range(400):
            x, y, wide, high = (dice.randrange(extent) for extent in (width, height, width // 8, height // 8))
            shape = dice.choice([pen.ellipse, pen.rectangle])
            shape((x, y, x + wide, y + high), tuple(dice.randrange(256) for _ in "rgb"))
        grain = Image.frombytes("RGB", size, dice.randbytes(3 * width * height))
        (folder / f"{i:03}.jpg").write_bytes(encoded(Image.blend(photo, grain, 0.2), "JPEG"))
    return folder


# -- segmentation: a table of images and masks ----------------------------------------------------


def write_masks(folder, count=96):
    """Writes image/*.jpg, mask/*.png with values from 0 (background) to 3, and train.csv, which names them."""
    for name in ("image", "mask"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    with open(folder / "train.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["image", "mask"])
        for i in range(count):
            image, mask, _ = draw(list(CLASSES)[i % len(CLASSES)], side=72, seed=i)
            (folder / "image" / f"{i:03}.jpg").write_bytes(encoded(image, "JPEG"))
            (folder / "mask" / f"{i:03}.png").write_bytes(encoded(mask, "PNG"))
            table.writerow([f"image/{i:03}.jpg", f"mask/{i:03}.png"])
    return folder / "train.csv"


# -- captions: tar shards with images, text and what else is known --------------------------------


def write_captions(folder, count=192, shards=2):
    """Writes key.jpg, key.txt with a caption of two to nine words, and key.json with the position of the shape."""
    samples = []
    for i in range(count):
        shape = list(CLASSES)[i % len(CLASSES)]
        image, _, (x, y) = draw(shape, seed=i)
        caption = f"a {shape}"
        if i % 2:
            caption += f" on the {'left' if x < 32 else 'right'}"
        if i % 4 == 3:
            caption += f" and at the {'top' if y < 32 else 'bottom'}"
        samples.append({"key": f"{i:04}", "jpg": encoded(image, "JPEG"), "txt": caption + ".",
                        "json": json.dumps({"x": x, "y": y, "shape": shape})})
    return write_tar_shards(folder, samples, shards)
