"""Data whose samples are changed under the eyes of loaders. Each sample says its number and its version.

A sample is `SIDE` x `SIDE` pixels or numbers: its number, its version, and zeros. All versions have the same size.
"""

import gzip
import io
import os
import shutil
import tarfile

import numpy as np
from PIL import Image

from http_faults import FaultyServer, Handler
from records import npy_bytes
from zarr_writers import write_zarr

SIDE, SAMPLES = 8, 12
# How a file becomes another one: by a new file or in place, with a new time or with the old one.
CHANGES = ["new file", "new file, old time", "in place", "in place, old time"]


def pixels(number, version):
    out = np.zeros((SIDE, SIDE, 3), np.uint8)
    out[..., 0], out[..., 1] = number, version
    return out


def png(number, version):
    """Not compressed: of one size."""
    image = io.BytesIO()
    Image.fromarray(pixels(number, version)).save(image, "png", compress_level=0)
    return image.getvalue()


def replace(path, content, change):
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.stat() if path.exists() else None
    if before is None or change.startswith("new file"):
        fresh = path.with_name(path.name + ".fresh")
        fresh.write_bytes(content)
        target = fresh
    else:
        with open(path, "r+b") as file:
            file.write(content)
            file.truncate()
        target = path
    if before is not None and change.endswith("old time"):
        os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    if target is not path:
        os.replace(target, path)


class Changing:
    """`kind`: folder, kept folder, manifest, tar, tar.gz, npy, zarr, sharded zarr."""

    def __init__(self, folder, kind):
        self.folder, self.kind = folder, kind
        self.versions = [0] * SAMPLES
        self.write(range(SAMPLES), "new file")

    def change(self, numbers, change):
        for number in numbers:
            self.versions[number] = self.versions[number] % 250 + 1
        self.write(numbers, change)

    def array(self):
        out = np.zeros((SAMPLES, SIDE, SIDE), np.int32)
        out[:, 0, 0] = range(SAMPLES)
        out[:, 0, 1] = self.versions
        out[:, 1, 1] = 1  # a chunk of zeros is not stored
        return out

    def write(self, numbers, change):
        if self.kind in ("folder", "kept folder", "manifest"):
            for number in numbers:
                replace(self.folder / "d" / f"{number:02}.png", png(number, self.versions[number]), change)
            if not (self.folder / "d.csv").exists():
                (self.folder / "d.csv").write_text("image\n" + "".join(f"d/{i:02}.png\n" for i in range(SAMPLES)))
        elif self.kind in ("tar", "tar.gz"):
            stored = io.BytesIO()
            with tarfile.open(fileobj=stored, mode="w") as tar:
                for number in range(SAMPLES):
                    content = png(number, self.versions[number])
                    member = tarfile.TarInfo(f"{number:02}.png")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
            content = stored.getvalue()
            if self.kind == "tar.gz":
                content = gzip.compress(content, compresslevel=0, mtime=0)
            replace(self.folder / f"d.{self.kind}", content, change)
        elif self.kind == "npy":
            replace(self.folder / "d.npy", npy_bytes(self.array()), change)
        else:
            fresh = self.folder / "fresh"
            more = {"shards": (4, SIDE, SIDE)} if self.kind == "sharded zarr" else {}
            write_zarr(fresh, self.array(), (1, SIDE, SIDE), **more)
            for path in sorted(fresh.rglob("*")):
                target = self.folder / "z" / path.relative_to(fresh)
                if path.is_file() and (not target.exists() or target.read_bytes() != path.read_bytes()):
                    replace(target, path.read_bytes(), change)
            shutil.rmtree(fresh)

    NAMES = {"folder": "d", "kept folder": "d", "manifest": "d.csv", "tar": "d.tar", "tar.gz": "d.tar.gz",
             "npy": "d.npy", "zarr": "z", "sharded zarr": "z"}
    OPENED_BY = {"folder": "ImageFolder", "kept folder": "ImageFolder", "manifest": "Manifest", "tar": "Tar",
                 "tar.gz": "Tar", "npy": "Npy", "zarr": "Zarr", "sharded zarr": "Zarr"}

    def options(self, url=None):
        """For cached_reader.open_loader."""
        name = self.NAMES[self.kind]
        own = {"source": f"{url}/{name}" if url else str(self.folder / name), "kind": self.OPENED_BY[self.kind],
               "batch_size": 3, "on_error": "skip", "max_skip": 1.0}
        if self.kind == "folder":
            own["kind_options"] = {"keep_index": False}
        return own

    @staticmethod
    def seen(batch):
        """Numbers and versions of the samples."""
        value = batch
        while isinstance(value, (tuple, list)):
            value = value[0]
        if isinstance(value, dict):
            value = next(iter(value.values()))
        value = np.asarray(value)
        if value.shape[1] == 3:
            return [(int(sample[0, 0, 0]), int(sample[1, 0, 0])) for sample in value]
        return [(int(sample[0, 0]), int(sample[0, 1])) for sample in value]


class ChangingServer(FaultyServer):
    """Each object has the version of its bytes as ETag, as Last-Modified alone, or says none; counts what was asked."""

    def __init__(self, folder, says="ETag"):
        super().__init__(folder)
        self.says = says
        self.asked = []  # method and path
        self.RequestHandlerClass = ChangingHandler


class ChangingHandler(Handler):
    def answer(self):
        self.server.asked.append((self.command, self.path))
        super().answer()

    def send(self, status, body, headers={}, fault=None):
        headers = dict(headers)
        headers.pop("ETag", None)
        file = self.server.folder / self.path.lstrip("/")
        if self.server.says == "ETag" and file.is_file():
            headers["ETag"] = f'"{hash(file.read_bytes()):x}"'
        super().send(status, body, headers, fault)
