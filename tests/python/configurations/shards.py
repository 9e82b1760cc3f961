"""Configurations over shards and tables."""

import penstock as ps


def _first_words(samples):
    return [(text.split(" ")[0], int(label)) for text, label in samples]


SHARDS = {
    "tar": lambda data: (data / "tar" / "part-*.tar", dict(
        batch_size=4, fields=["jpg", "cls", "txt", "json", "vec.npy", "key"], transform={"jpg": [ps.Resize((16, 16))]})),
    "tar, shuffled": lambda data: (data / "tar", dict(
        batch_size=4, shuffle=True, seed=1, fields={"image": "jpg", "label": "cls"},
        transform={"image": [ps.RandomResizedCrop(16), ps.RandomHorizontalFlip()]})),
    "tar, windows of shards": lambda data: (data / "tar" / "part-{0..2}.tar", dict(
        batch_size=4, shuffle="window", shuffle_window=2, seed=2, fields=["cls", "key"])),
    "tar.gz in order": lambda data: (data / "gzip", dict(batch_size=8, fields=["cls", "key"])),
    "tar.gz in windows": lambda data: (data / "gzip", dict(
        batch_size=8, shuffle=True, shuffle_window=3, seed=3, fields=["cls", "key"])),
    "tar.gz of several blocks": lambda data: (data / "gzip_long" / "long.tar.gz", dict(
        batch_size=4, shuffle=True, seed=4, fields=["cls", "bin"])),
    "TFRecord": lambda data: (ps.TFRecord(data / "tfrecord" / "part-*.tfrecord", kinds={"image": "image"}), dict(
        batch_size=5, shuffle=True, seed=5, fields=["image", "label", "name", "vector", "key"],
        transform={"image": [ps.Resize((16, 16)), ps.RandomHorizontalFlip()]})),
    "TFRecord, padded, checksums not verified": lambda data: (ps.TFRecord(data / "tfrecord", verify=False), dict(
        batch_size=3, fields=["label", "steps"], collate="pad", pad_value=-1)),
    "SequenceExample": lambda data: (data / "sequences.tfrecord", dict(
        batch_size=2, shuffle=True, seed=13, fields=["key", "id", "words"], collate="list")),
    "tar of another writer": lambda data: (data / "records" / "samples.tar", dict(
        batch_size=2, shuffle=True, seed=12, fields=["cls", "txt", "json", "left.bin", "key"])),
    "npz in a tar": lambda data: (data / "npz.tar", dict(batch_size=1, collate="list")),
    "table of JSON lines": lambda data: (ps.Manifest(data / "table.jsonl", kinds={"boxes": "json"}), dict(
        batch_size=4, shuffle=True, seed=6, fields=["path", "label", "caption", "boxes", "weight", "key"],
        transform={"path": [ps.RandomCrop(24)]})),
    "table of commas": lambda data: (ps.Manifest(data / "table.csv", image="path", text="caption", label="label"), dict(
        batch_size=4, shuffle=True, seed=7, transform=[ps.Resize((20, 20))])),
    "buckets of like length, padded": lambda data: (ps.TFRecord(data / "tfrecord"), dict(
        batch_size=4, shuffle=True, seed=8, fields=["steps", "label"], collate="pad", pad_value=-5,
        bucket_by=[i % 6 + 1 for i in range(24)])),
    "samples of a batch as lists": lambda data: (data / "tar", dict(
        batch_size=4, fields=["jpg", "cls"], collate="list", shuffle=True, seed=9)),
    "a function collates": lambda data: (data / "tar", dict(
        batch_size=4, fields=["txt", "cls"], collate=_first_words, shuffle=True, seed=10)),
    "filtered shards, mixed": lambda data: (ps.Mix([
        ps.Tar(data / "tar").filter("cls", lambda label: label < 2), ps.Tar(data / "tar" / "part-1.tar")], [2, 1]), dict(
            batch_size=4, shuffle=True, seed=11, fields=["cls", "key"], epoch_size=30)),
    "shards in a cache": lambda data: (data / "gzip", dict(
        batch_size=8, shuffle=True, shuffle_window=3, seed=3, fields=["cls", "key"], cache="8MiB")),
}
