"""TFRecord framing and tf.train.Example messages as bytes, without TensorFlow."""
import struct

from crc32c import crc32c


def masked_checksum(content):
    value = crc32c(content)
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(content):
    length = struct.pack("<Q", len(content))
    return b"".join((length, masked_checksum(length), content, masked_checksum(content)))


def varint(value):
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def field(number, payload):
    """A length-delimited protobuf field."""
    return b"".join((bytes((number << 3 | 2,)), varint(len(payload)), payload))


def bytes_feature(value):
    return field(1, field(1, value))


def int64_feature(value):
    return field(3, field(1, varint(value)))


def example(features):
    """tf.train.Example of {name: feature}."""
    return field(1, b"".join(field(1, field(1, name) + field(2, feature)) for name, feature in features.items()))
