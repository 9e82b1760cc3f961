"""Sources of single files: images in folders, images and arrays in lists, .npy files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..arguments import shown
from ..storage import Storage
from .opening import Headers, Pairs, Path, Paths, are_pairs, open_files, open_pairs
from .recipe import recorded
from .source import Source


@recorded
def ImageFolder(path: Paths, masks: Path | None = None, *, keep_index: bool = True,
                stage: Path | None = None) -> Source:
    """Opens the images below a folder, or those that match a pattern.

    The ending of a file's name says whether it is an image: JPEG, PNG, WebP, TIFF, BMP, GIF and PNM are read. Hidden
    files, hidden folders and ``__MACOSX`` are ignored silently; one warning counts the files with other endings.

    Args:
        path: A folder whose subfolders are the classes, sorted by name, gives the fields ``image`` and ``label``. A
            folder without subfolders gives the field ``image``. A list of folders (with the same classes), patterns or
            files is read in the order given. A class without images keeps its number, with a warning.
        masks: A folder that holds a mask for each image under the same name (its ending may differ). It adds the field
            ``mask``.
        keep_index: Whether the list of files is stored, so that the next run opens the folder faster.
        stage: A local folder that receives a copy of the data while they are read, as for ``Loader``.

    Returns:
        The source, with the fields ``image``, ``label`` (if there are classes) and ``mask`` (if `masks` is given).

    Raises:
        NotFoundError: There is no such folder, no image in it, or an image has no mask.

    Example:
        >>> ps.Loader(ps.ImageFolder("data/images", masks="data/masks"), batch_size=16)
    """
    return open_files(path, kind="images", masks=masks, keep_index=keep_index, stage=stage)


@recorded
def Files(files: Sequence[Path] | Pairs, *, stage: Path | None = None) -> Source:
    """Opens images or .npy files that you list, with or without labels.

    For more columns than a label, or for labels with fractions, write a table and open it by ``Manifest``.

    Args:
        files: Paths, or (path, label) pairs. Labels are whole numbers, or names of classes, which are sorted and
            numbered from 0 (see ``source.classes``). Relative paths start from the working folder. The key of a sample
            is its path as given.
        stage: A local folder that receives a copy of the data while they are read, as for ``Loader``.

    Returns:
        The source, with the fields ``image`` (or ``array``) and ``label`` (if labels are given).

    Raises:
        TypeError: `files` is not a list of paths or of pairs, or the labels are of different types.
        NotFoundError: There is no such file.

    Example:
        >>> ps.Files([("a.jpg", 0), ("b.jpg", 1)])
        >>> ps.Files(["a.jpg", "b.jpg"])
    """
    if isinstance(files, (str, os.PathLike, Mapping)) or not hasattr(files, "__iter__"):
        raise TypeError(f"Files({shown(files)}): wants a list of paths, or of (path, label) pairs")
    listed: list[Any] = list(files)
    return open_pairs(listed, stage=stage) if are_pairs(listed) else open_files(listed, stage=stage)


@recorded
def Npy(path: Paths, *, keep_index: bool = True, headers: Headers = None, storage: Storage = None,
        stage: Path | None = None) -> Source:
    """Opens .npy files.

    Args:
        path: If it is one file, each entry of its first axis is a sample. If it is a folder, a pattern or a list (also
            a list of one file), each file is a sample.
        keep_index: Whether the list of files is stored, so that the next run opens the folder faster.
        headers: Headers of the requests to the server of a URL, as for ``Tar``.
        storage: Options of buckets, as for ``Tar``.
        stage: A local folder that receives a copy of the data while they are read, as for ``Loader``.

    Returns:
        The source, with the field ``array``.

    Raises:
        NotFoundError: There is no such file.
        Error: The file is damaged, or holds Python objects. Files of a list are checked when they are read.

    Example:
        >>> ps.Loader(ps.Npy("frames/*.npy"), batch_size=32)
    """
    return open_files(path, kind="npy", keep_index=keep_index, headers=headers, storage=storage, stage=stage)
