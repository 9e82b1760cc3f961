"""Twenty samples in each peer's format, and the damage that is done to them.

A sample is 9,000 random bytes and a number. Every damage has a position: a cut ends the file there,
the others change bytes. `Layout` says where the samples stand, so that one damage means the same in
every format.
"""
import json
import random
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path

from data_sets import tar_format, tfrecord_format

COUNT = 20
PAYLOAD = 9000
PAGE = 4096
POSITIONS = (8, 12, 17)  # the samples that are hit


def samples():
    rng = random.Random(7)
    return [(rng.randbytes(PAYLOAD), 100 + number) for number in range(COUNT)]


@dataclass
class Layout:
    """Returns, for each sample, where it begins, where its payload begins and where it ends."""
    path: str
    begin: list
    payload: list
    end: list


def write_tar(folder):
    content, begin, payload, end = b"", [], [], []
    for data, label in samples():
        begin.append(len(content))
        payload.append(len(content) + tar_format.BLOCK)
        content += tar_format.member(b"sample%d.bin" % label, data)
        content += tar_format.member(b"sample%d.cls" % label, b"%d" % label)
        end.append(len(content))
    content += tar_format.END
    return save(folder, "samples.tar", content + bytes(-len(content) % 10240), begin, payload, end)


def write_tfrecord(folder):
    content, begin, payload, end = b"", [], [], []
    for data, label in samples():
        record = tfrecord_format.record(tfrecord_format.example(
            {b"data": tfrecord_format.bytes_feature(data), b"label": tfrecord_format.int64_feature(label)}))
        begin.append(len(content))
        payload.append(len(content) + record.index(data[:16]))
        content += record
        end.append(len(content))
    return save(folder, "samples.tfrecord", content, begin, payload, end)


def write_mds(folder):
    import torchvision_stand_in  # noqa: F401  (before streaming)
    from streaming import MDSWriter
    shutil.rmtree(folder, ignore_errors=True)
    with MDSWriter(out=str(folder), columns={"data": "bytes", "label": "int"}) as writer:
        for data, label in samples():
            writer.write({"data": data, "label": label})
    path = folder / "shard.00000.mds"
    content = path.read_bytes()
    offsets = struct.unpack_from(f"<{COUNT + 1}I", content, 4)
    return Layout(str(path), list(offsets[:-1]), find_payloads(content), list(offsets[1:]))


def write_array_record(folder):
    from array_record.python.array_record_module import ArrayRecordWriter
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "samples.array_record"
    writer = ArrayRecordWriter(str(path), "group_size:1,uncompressed")
    for data, label in samples():
        writer.write(struct.pack("<q", label) + data)
    writer.close()
    payload = find_payloads(path.read_bytes())
    end = [at + PAYLOAD for at in payload]
    return Layout(str(path), [0, *end[:-1]], payload, end)


def find_payloads(content):
    return [content.index(data[:64]) for data, _ in samples()]


def save(folder, name, content, begin, payload, end):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
    return Layout(str(folder / name), begin, payload, end)


WRITERS = {"tar": write_tar, "tfrecord": write_tfrecord, "mds": write_mds, "array_record": write_array_record}


def page_at(at):
    return at // PAGE * PAGE


def flip(content, at):
    return content[:at] + bytes((content[at] ^ 4,)) + content[at + 1:]


def swap(content, one, other):
    content = bytearray(content)
    content[one:one + PAGE], content[other:other + PAGE] = content[other:other + PAGE], content[one:one + PAGE]
    return bytes(content)


# name -> function of (content, layout, sample): the damaged content, and the bytes [from, to) that are concerned.
def cut_between(content, layout, n):
    return content[:layout.begin[n]], layout.begin[n], layout.end[n]


def cut_in_header(content, layout, n):
    at = (layout.begin[n] + layout.payload[n]) // 2
    return content[:at], layout.begin[n], layout.end[n]


def cut_in_data(content, layout, n):
    return content[:layout.payload[n] + PAYLOAD // 2], layout.begin[n], layout.end[n]


def header_flip(content, layout, n):
    return flip(content, layout.begin[n] + 2), layout.begin[n], layout.end[n]


def payload_flip(content, layout, n):
    return flip(content, layout.payload[n] + PAYLOAD // 2), layout.begin[n], layout.end[n]


def zero_page(content, layout, n):
    """The page that holds the beginning of the sample."""
    at = page_at(layout.begin[n])
    return content[:at] + bytes(PAGE) + content[at + PAGE:], at - PAYLOAD, at + 2 * PAGE


def swap_pages(content, layout, n):
    at = page_at(layout.begin[n])
    return swap(content, at, at - PAGE), at - PAGE - PAYLOAD, at + 2 * PAGE


def repeat(content, layout, n):
    """The sample once more, right behind itself."""
    begin, end = layout.begin[n], layout.end[n]
    return content[:end] + content[begin:end] + content[end:], begin, end + (end - begin)


KINDS = {"cut between samples": cut_between, "cut inside a header": cut_in_header, "cut inside data": cut_in_data,
         "bit flip in a header": header_flip, "4 KiB page of zeros": zero_page, "two 4 KiB pages swapped": swap_pages,
         "bit flip in data": payload_flip, "a sample twice": repeat}
# Formats whose records have no names: a sample that is there twice is just another sample. Formats
# that count their samples elsewhere cannot grow.
WITHOUT = {("tfrecord", "a sample twice"), ("mds", "a sample twice"), ("array_record", "a sample twice"),
           ("array_record", "cut inside a header"), ("array_record", "bit flip in a header")}


def make_whole(format_name, folder):
    layout = WRITERS[format_name](folder)
    (folder / "layout.json").write_text(json.dumps(vars(layout)))


def make_damaged(format_name, whole, folder):
    """Copies of the folder `whole`, one damage each; returns [(kind, sample, path of the file, from, to)]."""
    layout = Layout(**json.loads((whole / "layout.json").read_text()))
    content = Path(layout.path).read_bytes()
    cases = []
    for kind, damage in KINDS.items():
        for n in POSITIONS if (format_name, kind) not in WITHOUT else ():
            target = folder / f"{kind.replace(' ', '_')}-{n}"
            shutil.copytree(whole, target, dirs_exist_ok=True)
            damaged, first, last = damage(content, layout, n)
            path = target / Path(layout.path).name
            path.write_bytes(damaged)
            cases.append((kind, n, str(path), first, last))
    return cases


if __name__ == "__main__":  # in the environment whose library writes the format
    import sys
    make_whole(sys.argv[1], Path(sys.argv[2]))
