"""What can go wrong, as exceptions that name the uri, offset, length and sample."""

from __future__ import annotations


class Error(Exception):
    """Base of all exceptions that penstock raises about data and runs.

    ``uri``, ``offset``, ``length`` and ``sample`` say where the trouble is (``None`` where that
    does not apply); ``code`` is a short name such as ``"truncated"`` or ``"changed"``.
    """

    def __init__(self, message: str, *, code: str = "", uri: str | None = None,
                 offset: int | None = None, length: int | None = None, sample: int | None = None):
        super().__init__(message)
        self.code = code
        self.uri = uri
        self.offset = offset
        self.length = length
        self.sample = sample

    def __str__(self) -> str:
        # Not OSError's own way of printing, which some of the classes below would inherit.
        return str(self.args[0])


class UsageError(Error, ValueError):
    """Arguments that make no sense together or for this data."""


class NotFoundError(Error, FileNotFoundError):
    """There is no such file or folder, or nothing to read in it."""


class MemoryBudgetError(Error, MemoryError):
    """Something does not fit the memory budget."""


_CLASSES = {"invalid_argument": UsageError, "not_found": NotFoundError, "no_memory": MemoryBudgetError}


def _from_core(fields: dict, text: str) -> Error:
    code = fields["code"]
    return _CLASSES.get(code, Error)(text, code=code, uri=fields["uri"], offset=fields["offset"],
                                     length=fields["length"], sample=fields["sample"])
