"""The exceptions. They name the file or URL, the offset, the length and the sample."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Base of all exceptions that penstock raises about data and runs.

    Attributes:
        code: A short name, such as "truncated" or "changed".
        uri: The file or URL, or None.
        offset: The byte of the file at which the error is, or None.
        length: The number of bytes that the error is about, or None.
        sample: The index of the sample, or None.

    Example:
        >>> try:
        ...     for images, labels in loader:
        ...         ...
        ... except ps.Error as error:
        ...     print(error.code, error.uri, error.offset, error.sample)
    """

    def __init__(self, message: str, *, code: str = "", uri: str | None = None,
                 offset: int | None = None, length: int | None = None, sample: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.uri = uri
        self.offset = offset
        self.length = length
        self.sample = sample

    def __str__(self) -> str:
        # OSError, from which NotFoundError inherits, would print itself in another way.
        return str(self.args[0])


class UsageError(Error, ValueError):
    """The arguments do not fit together, or do not fit the data."""


class NotFoundError(Error, FileNotFoundError):
    """There is no such file or folder, or it holds no samples."""


class MemoryBudgetError(Error, MemoryError):
    """The memory budget is too small."""


_CLASSES = {"invalid_argument": UsageError, "not_found": NotFoundError, "no_memory": MemoryBudgetError}


def _from_core(fields: dict[str, Any], text: str) -> Error:
    """Makes the exception for an error of the engine, which calls this function."""
    code = fields["code"]
    return _CLASSES.get(code, Error)(text, code=code, uri=fields["uri"], offset=fields["offset"],
                                     length=fields["length"], sample=fields["sample"])
