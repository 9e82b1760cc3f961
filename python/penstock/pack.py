"""Packs a source into a few large files: tar or TFRecord shards, or arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _core
from .arguments import checked_keywords, is_sequence, shown, text, whole_number
from .arguments import path as path_argument
from .errors import UsageError
from .http import header_lines
from .loader.field_steps import FieldSteps, field_steps
from .sizes import parse_bytes
from .sources import Pairs, Paths, Source, open_source
from .sources.opening import Headers, Memory, Path, Progress, memory_bytes
from .transforms import Map, engine_steps

FORMATS = ("tar", "tfrecord", "npy", "zarr")


@dataclass(frozen=True)
class PackReport:
    """What ``penstock.pack`` did.

    Attributes:
        samples: The number of samples in the data set, or in this part of it.
        shards: The number of shards that were written now.
        shards_skipped: The number of shards that an earlier run had completed.
        bytes: The size of the shards that were written now.
        seconds: How long it took.
        threads: The number of threads that prepared samples.
        manifest: The path of the manifest, which says that the data set is complete. None for a part of several.
        chunks_decoded: With format="zarr", how many chunks of the source were decoded, each time counted.
        peak_memory: With format="zarr", the largest memory that was reserved, in bytes.
    """

    samples: int
    shards: int
    shards_skipped: int
    bytes: int
    seconds: float
    threads: int
    manifest: str | None
    chunks_decoded: int = 0
    peak_memory: int = 0


@checked_keywords
def pack(source: Paths | Pairs | Source, destination: Path, format: str = "tar", *,
         shard_size: int | str = "256MiB", transform: Any = None, fields: Sequence[str] | None = None,
         name: str = "shard", shuffle_seed: int | None = None, quality: int | None = None, encode: str | None = None,
         jpeg: str | None = None, chunks: Mapping[str | int, int] | Sequence[int] | None = None, level: int = 3,
         part: tuple[int, int] | None = None, threads: int | None = None,
         memory: Memory = None, headers: Headers = None) -> PackReport:
    """Writes a source into a few large files that any tool reads, with an index beside each.

    The result is a source again, with the same fields, classes and keys: give the folder to a Loader. Which sample goes
    into which file depends only on the order of the source and the stored sizes. So any number of threads gives the
    same bytes, and the same call continues where an interrupted one stopped.

    Args:
        source: Anything that a Loader takes as its source.
        destination: The folder to write. It is made if it does not exist.
        format: "tar" (WebDataset), "tfrecord" (tf.train.Example), "npy" for arrays and labels of one shape, or "zarr"
            for a Zarr 3 hierarchy of them.
        shard_size: A file ends before it exceeds this size.
        transform: Transforms that draw nothing at random, as for a Loader. Images that they change are encoded as JPEG.
        fields: The names of the fields to pack. By default, all.
        name: The beginning of the names of the files.
        shuffle_seed: Permutes all samples first, by this seed. By default, they keep the order of the source.
        quality: Encodes all images as JPEG of this quality, 1 to 100. By default, images that no transform changes keep
            their bytes, and the others have quality 95.
        encode: "jpeg" or "png": encodes all images so.
        jpeg: "restart" rewrites JPEGs without loss, with restart markers, so that crops of them decode faster.
        chunks: For "zarr": extents of chunks by name of the dimension, or by number of the axis, where axis 0 counts
            samples; 0 is the whole axis. Or a list, one per axis. By default a chunk is one sample.
        level: For "zarr": the level of zstd, -7 to 22.
        part: (i, n) writes only part i of n, counted from 0. ``finish_pack`` joins the parts.
        threads: The number of threads that prepare samples. By default, all usable cores, and at least 16 where samples
            are only copied.
        memory: The memory that may be used, for example "4GiB". The default is a quarter of the free memory.
        headers: Headers of the requests to the server of a destination with a URL.

    Returns:
        What was done.

    Raises:
        UsageError: An option does not fit the source, or the folder holds another data set.
        Error: A sample cannot be read, or a file cannot be written. The same call continues.

    Example:
        >>> ps.pack("data/train", "/scratch/train", shuffle_seed=0)
        >>> loader = ps.Loader("/scratch/train", batch_size=64, shuffle=True)
    """
    opened = open_source(source, memory=memory)
    _check_word("format", format, FORMATS)
    if isinstance(fields, str) or (fields is not None and not is_sequence(fields)):
        raise TypeError(f"fields={shown(fields)}: wants a list of names")
    names = [text("fields", one, "the name of a field") for one in ([] if fields is None else fields)]
    if encode is not None:
        _check_word("encode", encode, ("jpeg", "png"))
    if encode == "png" and quality is not None:
        raise UsageError("quality is for JPEG; PNG loses nothing")
    if jpeg is not None:
        _check_word("jpeg", jpeg, ("restart",))
    encoding = encode or ("jpeg" if quality is not None else "")
    number, count = _part(part)
    steps = field_steps(transform, opened, names, {})
    _refuse_generators(steps)
    seed = None if shuffle_seed is None else whole_number("shuffle_seed", shuffle_seed, 0)
    with Progress(lambda samples: f"packing {opened.uri}: {samples:,} of {len(opened):,} samples") as progress:
        report = _core.pack(
            opened._handle, _encoded_destination(destination), format=format,
            shard_bytes=parse_bytes(shard_size, "shard_size"), name=text("name", name), fields=names,
            transforms=[_core.FieldTransform(*field) for field in engine_steps(steps)], encoding=encoding,
            quality=95 if quality is None else whole_number("quality", quality, 1, 100),
            adds_restarts=jpeg is not None, chunks=_chunks(chunks), level=whole_number("level", level, -7, 22),
            shuffle_seed=seed, part=number, parts=count,
            threads=0 if threads is None else whole_number("threads", threads, 1, 1024),
            memory_bytes=memory_bytes(memory), headers=header_lines(headers), progress=progress)
    return PackReport(**report)


@checked_keywords
def finish_pack(destination: Path, *, headers: Headers = None) -> PackReport:
    """Completes a data set that was packed in parts: checks that no shard is missing, and writes the manifest.

    Args:
        destination: The folder that all parts were packed into.
        headers: Headers of the requests to the server of a destination with a URL.

    Returns:
        The number of samples and shards.

    Raises:
        NotFoundError: Shards are missing; the message names them.
        UsageError: Shards of several data sets are in the folder.

    Example:
        >>> for i in range(16):
        ...     ps.pack("data/train", "/scratch/train", part=(i, 16))
        >>> ps.finish_pack("/scratch/train")
    """
    return PackReport(**_core.finish_pack(_encoded_destination(destination), headers=header_lines(headers)))


def _check_word(name: str, value: Any, words: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in words:
        raise UsageError(f"{name}={shown(value)}: wants " + " or ".join(f'"{word}"' for word in words))


def _part(part: tuple[int, int] | None) -> tuple[int, int]:
    if part is None:
        return 0, 1
    if not isinstance(part, (tuple, list)) or len(part) != 2:
        raise TypeError(f"part={shown(part)}: wants (i, n), where i counts from 0")
    count = whole_number("part: n", part[1], 1, 2**31)
    return whole_number("part: i", part[0], 0, count - 1), count


def _chunks(chunks: Mapping[str | int, int] | Sequence[int] | None) -> list[tuple[str, int]]:
    if chunks is None:
        return []
    if not isinstance(chunks, Mapping):
        if isinstance(chunks, str) or not is_sequence(chunks):
            raise TypeError(f"chunks={shown(chunks)}: wants extents by name of the dimension, or a list of them")
        chunks = dict(enumerate(chunks))
    return [(str(axis), whole_number(f"chunks: {axis}", extent, 0)) for axis, extent in chunks.items()]


def _refuse_generators(steps: FieldSteps) -> None:
    for _, of_field, _ in steps:
        for step in of_field:
            if isinstance(step, Map) and step.generator:
                raise UsageError("a Map with generator=True draws at random, so packing would fix one of its results "
                                 "for all epochs; leave it to the loader", code="invalid_argument")


def _encoded_destination(destination: Path) -> bytes:
    return os.path.expanduser(os.fsencode(path_argument("destination", destination)))
