"""What people who come from torch and torchvision write, and what to write here instead."""

from __future__ import annotations

import inspect
from typing import Any, Iterable

from . import transforms
from .arguments import did_you_mean, shown

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

# Those that have nothing to do here.
_NEEDLESS = {
    "persistent_workers": "the worker threads live as long as the Loader",
    "worker_init_fn": "there are no worker processes to prepare, and random steps follow from seed=",
    "multiprocessing_context": "there are no worker processes",
    "pin_memory": "batches are in ordinary memory; copy them with tensor.to(device)",
    "pin_memory_device": "batches are in ordinary memory; copy them with tensor.to(device)",
    "timeout": "a sample that cannot be read is an error, and Ctrl-C ends the waiting",
    "in_order": "batches always come in order",
}

_BY_MAP = "ps.Map(function), with your function of a NumPy array"

# Classes of torchvision that have no namesake here.
_STEPS = {
    "ToTensor": "nothing: batches are tensors already; ps.Normalize(0, 1) divides by 255",
    "PILToTensor": "nothing: batches are tensors already",
    "ToImage": "nothing: images are decoded already",
    "ToPILImage": "nothing: steps work on decoded images",
    "ConvertImageDtype": 'ps.Cast("float32"), or ps.Normalize(0, 1) for values from 0 to 1',
    "ToDtype": 'ps.Cast("float32"), or ps.Normalize(0, 1) for values from 0 to 1',
    "Grayscale": 'ps.Decode("L") as the first step',
    "Lambda": "ps.Map(function)",
    "Identity": "nothing",
}


def unknown_keyword(name: str, known: Iterable[str]) -> str:
    """The message for a keyword that the Loader does not have."""
    if name in _NEEDLESS:
        return f"Loader() has no keyword {name!r}; leave it out: {_NEEDLESS[name]}"
    if name in _RENAMED:
        keyword, meaning = _RENAMED[name]
        return f"Loader() has no keyword {name!r}; did you mean {keyword!r}? ({meaning})"
    names = sorted(known)
    return f"Loader() has no keyword {name!r}" + (did_you_mean(name, names) or f"; there are {', '.join(names)}")


def transform_list(transform: Any, keyword: str = "transform") -> list[Any]:
    """A list of transforms from what was given for one field, or an error that says what to write."""
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
        inside = ", ".join(_instead_of(one) for one in getattr(step, "transforms", step))
        return f"{name} is not a penstock transform; write a list instead of it: [{inside}]"
    if isinstance(step, (str, bytes)):
        return (f"{step!r} is not a penstock transform" +
                (did_you_mean(step, transforms.__all__) if isinstance(step, str) else ""))
    if isinstance(step, (list, tuple)):
        return f"{shown(step)} is a list inside the list of steps; write its steps one after another"
    if inspect.isroutine(step):
        return f"{getattr(step, '__qualname__', name)} is a function; put it into penstock.Map(function)"
    if callable(step):
        return f"{name} is not a penstock transform; write {_instead_of(step)} (penstock.Map takes any function)"
    return f"{shown(step)} is not a penstock transform"


def _instead_of(step: Any) -> str:
    name = type(step).__name__
    if transforms.is_transform(step):
        return f"ps.{step!r}"
    if advice := _STEPS.get(name):
        return advice
    if name in transforms.__all__:
        return f"ps.{name}(...)"
    return f"ps.Map({getattr(step, '__qualname__', 'function')})" if inspect.isroutine(step) else _BY_MAP


def _is_composition(value: Any) -> bool:
    """torchvision's Compose and its like have their steps as `transforms`."""
    return isinstance(getattr(value, "transforms", None), (list, tuple)) or type(value).__name__ == "Sequential"
