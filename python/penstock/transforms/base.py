"""The base class of transforms."""

import dataclasses
from typing import Any

from .. import _core


class Transform:
    """Base of all transforms: a dataclass whose fields are its arguments."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Returns the call that makes the transform. Arguments that have their default value are left out."""
        arguments = []
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.default is dataclasses.MISSING:
                arguments.append(repr(value))
            elif value != field.default:
                arguments.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    def _set(self, **checked: Any) -> None:
        """Replaces arguments by their checked values. Only __post_init__ calls this."""
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _name(self, argument: str) -> str:
        return f"{type(self).__name__}: {argument}"

    def _engine_step(self) -> Any:
        """Returns the same step in the form that the engine takes."""
        return getattr(_core, type(self).__name__)(
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(self)})  # type: ignore[arg-type]
