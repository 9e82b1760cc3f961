"""Messages for names of torch and torchvision: they say what to write here instead."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from . import transforms
from .arguments import checked_keywords, did_you_mean, shown

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

_THREADS = "worker threads of this process; left out, all cores are used"

# Keywords of torch.utils.data.DataLoader (and a few common slips) that are called something else here.
_RENAMED = {
    "num_workers": ("threads", _THREADS),
    "workers": ("threads", _THREADS),
    "prefetch_factor": ("prefetch", "a number of batches; left out, the memory budget decides"),
    "collate_fn": ("collate", "it takes the same function"),
    "generator": ("seed", "a whole number from which all random choices follow"),
    "batch_sampler": ("sampler", "a sequence of indices, beside batch_size=; bucket_by= makes batches of like length"),
    "transforms": ("transform", "a list of steps"),
    "target_transform": ("transform", 'transform={"image": [...], "label": [...]}'),
    "batch": ("batch_size", "samples per rank"),
    "cache_size": ("cache", 'for example "8GiB"'),
    "dataset": ("source", "it is the first argument"),
    "root": ("source", "it is the first argument"),
}

# Keywords that have no counterpart, and why none is needed.
_NEEDLESS = {
    "persistent_workers": "the worker threads live as long as the Loader",
    "worker_init_fn": "there are no worker processes to prepare, and random steps follow from seed=",
    "multiprocessing_context": "there are no worker processes",
    "pin_memory": "batches are in ordinary memory; copy them with tensor.to(device)",
    "pin_memory_device": "batches are in ordinary memory; copy them with tensor.to(device)",
    "timeout": "a sample that cannot be read is an error, and Ctrl-C ends the waiting",
    "in_order": "batches always come in order",
}

# Classes of torchvision without a class of the same name here: what to write instead, and those that are not needed.
_OTHER_STEPS = {
    "ConvertImageDtype": "ps.Normalize(0, 1)",
    "ToDtype": "ps.Normalize(0, 1)",
    "Grayscale": 'ps.Decode("L")',
}
_NEEDLESS_STEPS = {
    "ToTensor": "batches are tensors already, and ps.Normalize divides by 255 first",
    "PILToTensor": "batches are tensors already",
    "ToImage": "images are decoded already",
    "ToPILImage": "steps work on decoded images",
    "Identity": "it does nothing",
}


def checked_loader_keywords(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Decorates the function that makes a Loader: unknown keywords, such as those of torch, get an explanation."""
    return checked_keywords(function, message=_unknown_keyword)


def _unknown_keyword(name: str, known: Iterable[str]) -> str:
    if name in _NEEDLESS:
        return f"Loader() has no keyword {name!r}; leave it out: {_NEEDLESS[name]}"
    if name in _RENAMED:
        keyword, meaning = _RENAMED[name]
        return f"Loader() has no keyword {name!r}; did you mean {keyword!r}? ({meaning})"
    names = sorted(known)
    return f"Loader() has no keyword {name!r}" + (did_you_mean(name, names) or f"; there are {', '.join(names)}")


def transform_list(transform: Any, keyword: str = "transform") -> list[Any]:
    """Returns the list of transforms of one field, or raises an error that says what to write."""
    if transforms.is_transform(transform):
        return [transform]
    if _is_composition(transform) or callable(transform) or isinstance(transform, (str, bytes)):
        raise TypeError(f"{keyword}: {_what_to_write(transform)}")
    if not hasattr(transform, "__iter__"):
        raise TypeError(f"{keyword}={shown(transform)}: wants a list of transforms, such as [ps.Resize(256)]")
    steps = list(transform)
    for step in steps:
        if not transforms.is_transform(step):
            raise TypeError(f"{keyword}: {_what_to_write(step)}")
    return steps


def _what_to_write(step: Any) -> str:
    name = type(step).__name__
    if isinstance(step, type) and issubclass(step, transforms.Transform):
        return f"{step.__name__} is a class; write ps.{step.__name__}(...)"
    if isinstance(step, transforms.Derive):
        return 'Derive makes a field of its own; write transform={"image": [...], "small": ps.Derive("image", [...])}'
    if _is_composition(step):
        steps = [one for one in getattr(step, "transforms", step) if type(one).__name__ not in _NEEDLESS_STEPS]
        return (f"{name} is not a penstock transform; write a list of steps instead: "
                f"[{', '.join(map(_instead_of, steps))}]")
    if isinstance(step, str):
        return f"{step!r} is not a penstock transform{did_you_mean(step, transforms.__all__)}"
    if isinstance(step, (list, tuple)):
        return f"{shown(step)} is a list inside the list of steps; write its steps one after another"
    if inspect.isroutine(step):
        return f"{getattr(step, '__qualname__', name)} is a function; put it into penstock.Map(function)"
    if name in _NEEDLESS_STEPS:
        return f"{name} can be left out: {_NEEDLESS_STEPS[name]}"
    if callable(step):
        return f"{name} is not a penstock transform; write {_instead_of(step)}"
    return f"{shown(step)} is not a penstock transform"


def _instead_of(step: Any) -> str:
    """Returns code that does the same, as far as it is known. Any function fits into a Map."""
    name = type(step).__name__
    if transforms.is_transform(step):
        return f"ps.{step!r}"
    if name in transforms.__all__:
        return f"ps.{_namesake(step, getattr(transforms, name))}"
    if getattr(step, "scale", None) is False:  # ToDtype that leaves values as they are
        return 'ps.Cast("float32")'
    return _OTHER_STEPS.get(name, "ps.Map(function) with a function of a NumPy array")


def _namesake(step: Any, cls: Any) -> str:
    """Returns the call of our class with the arguments of a foreign object of the same name."""
    arguments = {}
    for field in dataclasses.fields(cls):
        value = getattr(step, field.name, None)
        value = getattr(value, "value", value)  # torchvision's interpolations are an enum
        if value is not None:
            arguments[field.name] = value
    try:
        return repr(cls(**arguments))
    except (TypeError, ValueError):
        return f"{cls.__name__}(...)"


def _is_composition(value: Any) -> bool:
    """Tells whether a value is a list of steps, such as torchvision's Compose. RandomApply and its like are not."""
    name = type(value).__name__
    return name == "Sequential" or (isinstance(getattr(value, "transforms", None), (list, tuple))
                                    and not name.startswith("Random"))
