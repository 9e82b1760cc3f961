"""Sources of tables: CSV, TSV and JSON lines."""

from __future__ import annotations

from collections.abc import Mapping

from ..arguments import did_you_mean, shown
from ..errors import UsageError
from ..storage import Storage
from .opening import Headers, Path, open_files
from .recipe import recorded
from .source import Source


@recorded
def Manifest(path: Path, *, root: Path | None = None, kinds: Mapping[str, str] | None = None,
             delimiter: str | None = None, headers: Headers = None, storage: Storage = None,
             stage: Path | None = None, **fields: str) -> Source:
    r"""Opens a table with one sample per row: CSV, TSV or JSON lines.

    Columns of paths to images or .npy files are read as such files. Names of classes under "label" or "class" become
    numbers. Numbers with decimals are float64; ``kinds={"price": "float32"}`` rounds them.

    Args:
        path: The table, a file or a URL.
        root: The folder that relative paths start from, and that no path may leave. The default is the folder of the
            table.
        kinds: The kind of each column whose values do not tell it, as for ``Tar``.
        delimiter: The character between the cells of a .csv file. By default it is a comma, or a semicolon or tab if
            the first line has no comma.
        headers: Headers of the requests to the server of a URL, as for ``Tar``.
        storage: Options of buckets, as for ``Tar``.
        stage: A local folder that receives a copy of the data while they are read, as for ``Loader``.
        **fields: The column for each field. Without such keywords, every column is a field.

    Returns:
        The source. Its fields are those that the keywords name, or all columns.

    Raises:
        NotFoundError: There is no such table.
        UsageError: There is no such column.
        Error: The table is damaged. ``offset`` and ``sample`` say where.

    Example:
        >>> ps.Manifest("train.csv", image="path", label="class")
    """
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter.encode()) != 1):
        raise ValueError(f"delimiter={shown(delimiter)}: wants one letter, such as \";\"")
    try:
        return open_files(path, kind="manifest", root=root, kinds=kinds, columns=fields, delimiter=delimiter or "",
                          headers=headers, storage=storage, stage=stage)
    except UsageError as error:
        slips = [did_you_mean(name, ("root", "kinds", "delimiter", "headers", "stage")) for name in fields]
        if not any(slips):
            raise
        raise UsageError(f"{error}{''.join(slips)}", code=error.code, uri=error.uri) from None
