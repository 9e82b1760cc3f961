"""Sources of shards: tar files by the WebDataset convention, TFRecord files, and data sets of MosaicML Streaming."""

from __future__ import annotations

from collections.abc import Mapping

from ..storage import Storage
from .opening import Headers, Memory, Path, Paths, open_files
from .recipe import recorded
from .source import Source


@recorded
def Tar(path: Paths, *, kinds: Mapping[str, str] | None = None, keep_index: bool = True,
        headers: Headers = None, storage: Storage = None, memory: Memory = None, stage: Path | None = None) -> Source:
    """Opens tar shards that follow the WebDataset convention.

    Files whose names agree up to the first dot are one sample. The rest of the name is the field: ``jpg``, ``cls``,
    ``seg.png``, ``json``. Images, .npy, .npz (each of its arrays is a field, such as ``npz/weights``), .cls, .txt and
    .json are decoded. All other files are delivered as bytes. Nothing is ever unpickled.

    Shards that are compressed (.tar.gz, .tar.zst) can only be read forward, so ``shuffle=True`` shuffles them in
    windows.

    Args:
        path: A file, a glob or brace pattern, a folder of shards, a URL, or a list of these.
        kinds: The kind of each field whose name does not tell it: ``{"labels.png": "mask", "bin": "float32[16]"}``.
        keep_index: Whether the index of the shards is stored, so that the next run opens them faster.
        headers: ``{"Authorization": "Bearer ..."}`` goes with each request to the server of a URL, and to no other.
        storage: Options of buckets: ``{"anonymous": True}``, "endpoint", "region", "profile", "addressing",
            "requester_pays", and "credentials", a function that returns them (docs/storage.md).
        memory: The memory that opening may take while it works, for example "1GiB". The default is a quarter of the
            free memory. The index that remains takes about 60 bytes per sample in addition.
        stage: A local folder that receives a copy of the data while they are read, as for ``Loader``.

    Returns:
        The source. Its fields are the endings of the names of files.

    Raises:
        NotFoundError: There are no such shards.
        Error: A shard is damaged. ``uri`` and ``offset`` say where.

    Example:
        >>> source = ps.Tar("shards/train-{0000..0146}.tar").rename({"jpg": "image", "cls": "label"})
    """
    return open_files(path, kind="tar", kinds=kinds, keep_index=keep_index, headers=headers, storage=storage,
                      memory=memory, stage=stage)


@recorded
def TFRecord(path: Paths, *, kinds: Mapping[str, str] | None = None, verify: bool = True,
             keep_index: bool = True, headers: Headers = None, storage: Storage = None, memory: Memory = None,
             stage: Path | None = None) -> Source:
    """Opens TFRecord shards of tf.train.Example or SequenceExample. Each feature is a field.

    Args:
        path: A file, a glob or brace pattern, a folder of shards, a URL, or a list of these.
        kinds: The kind of each feature whose first values do not tell it:
            ``{"mask": "mask", "embedding": "float32[512]"}``.
        verify: Whether the checksums of every record are verified when it is read.
        keep_index: Whether the index of the shards is stored, so that the next run opens them faster.
        headers: Headers of the requests to the server of a URL, as for ``Tar``.
        storage: Options of buckets, as for ``Tar``.
        memory: The memory that opening may take, as for ``Tar``.
        stage: A local folder that receives a copy of the data while they are read, as for ``Loader``.

    Returns:
        The source. Its fields are the features.

    Raises:
        NotFoundError: There are no such shards.
        Error: A shard is damaged. ``uri`` and ``offset`` say where.

    Example:
        >>> source = ps.TFRecord("train-*.tfrecord", kinds={"embedding": "float32[512]"})
    """
    return open_files(path, kind="tfrecord", kinds=kinds, verify=verify, keep_index=keep_index, headers=headers,
                      memory=memory, stage=stage)


@recorded
def MDS(path: Path, *, kinds: Mapping[str, str] | None = None, verify: bool = True, keep_index: bool = True,
        headers: Headers = None, storage: Storage = None, memory: Memory = None, stage: Path | None = None) -> Source:
    """Opens a data set of MosaicML Streaming (MDS, version 2), where it is, without Streaming. Each column is a field.

    Shards that are stored as they are can be read in any order; those that are compressed (zstd, gz) can only be read
    forward, so ``shuffle=True`` shuffles them in windows, as it does where shards have hashes. Columns that hold
    several images become the fields ``frames/0``, ``frames/1`` and so on. Pickles are left out, because reading one may
    run any program; ``kinds={"column": "bytes"}`` delivers them unread.

    Args:
        path: The folder that has the ``index.json``, or the URL of either. A merged index names shards of subfolders.
        kinds: The kind of each column whose encoding does not tell it: ``{"blob": "npy", "png": "mask"}``.
        verify: Whether the shards are compared with the hashes that the index has of them. Each shard is read once as a
            whole when the first of its samples is read, which a distant store feels; later reads are compared with
            checksums that were noted then. Shards without hashes are read without.
        keep_index: Whether the index of the shards is stored, so that the next run opens them faster.
        headers: Headers of the requests to the server of a URL, as for ``Tar``.
        storage: Options of buckets, as for ``Tar``.
        memory: The memory that opening may take, as for ``Tar``.
        stage: A local folder that receives a copy of the data while they are read, as for ``Loader``.

    Returns:
        The source. Its fields are the columns.

    Raises:
        NotFoundError: There is no such folder, or no index.json in it.
        Error: The index or a shard is damaged, or its compression is not read. ``uri`` and ``offset`` say where.

    Example:
        >>> source = ps.MDS("https://host/imagenet/train").rename({"jpeg": "image"})
    """
    return open_files(path, kind="mds", kinds=kinds, verify=verify, keep_index=keep_index, headers=headers,
                      storage=storage, memory=memory, stage=stage)
