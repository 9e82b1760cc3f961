"""The Loader: batches of training samples, in order, under a memory budget."""

from __future__ import annotations

import atexit
import json
import logging
import os
import weakref
from typing import Any, Callable, Iterator, Mapping, Sequence, Union

from . import _core
from .arguments import any_number, checked_keywords, choice, plain_type_errors, shown, whole_number
from .cache import Cache, make_cache
from .errors import Error, UsageError
from .field_steps import FieldSteps, field_steps
from .indices import chosen_indices
from .labels import sampling_weights
from .outputs import channels_first, choose_output, converter
from .ranks import Ranks, find_ranks
from .sizes import parse_bytes
from .sources import Pairs, Paths, Source, open_source
from .torch_words import checked_loader_keywords
from .transforms import Derive, dtype_name, engine_steps, makes_image

log = logging.getLogger("penstock")


class Loader:
    """Iterates over batches; each ``iter()`` is the next epoch.

    Iterators are independent of each other: ``zip(loader, loader)`` goes through two epochs side by
    side, and ``next(iter(loader))`` disturbs no loop. They share the worker threads and the memory.
    One that is dropped gives its batches back at once.

    ``source``: a path (class folders or a flat folder of images, .npy files, .tar and .tfrecord
    shards, a .csv or .jsonl table), a glob or brace pattern, a list of these, a list of
    (path, label) pairs, or a source object (``penstock.ImageFolder``, ``Files``, ``Tar``,
    ``TFRecord``, ``Manifest``, ``Npy``, ``Mix``).

    A batch is a tuple in field order (``images, labels``), a dict where `fields` is a dict, the
    bare array where there is one field and `fields` is not given.

    Order
        shuffle: False, True (every sample equally likely anywhere), "full" or "window" (windows
        of `shuffle_window` storage units, for data that is read in order). sampler: any sequence
        of indices, a mask (one boolean for each sample), or a torch sampler. weights: sampling
        weights, with replacement, or "balanced" (every class comes equally often). seed,
        epoch_size (samples an epoch, walking on through the permutation), drop_last.
    Ranks
        rank, world_size: found (torch.distributed, torchrun, an srun step, MPI), again at the start of
        each epoch. batch_size is per rank; every rank gets the same number of batches.
    Resources
        threads: worker threads, all of this process. prefetch: batches ahead. memory: all that
        the loader holds, the cache included, for example "4GiB" (default: a quarter of what is
        free, and the cache besides); opening a path takes no more either.
        cache: memory to keep samples in from the first epoch on, for example "8GiB", or a
        ``penstock.Cache``, which can go to disk too and serve several loaders. Random steps run
        after it: samples do not depend on it. cache_form: "decoded" (what comes out of decoding,
        Resize and CenterCrop at the beginning), "encoded" (the stored bytes), "auto" (whichever
        saves more time with that memory, as measured).
    Trouble
        on_error: "raise", "skip" (the batch is shorter) or "replace" (a stand-in chosen by the
        seed); max_skip: the share of an epoch that may be bad (one sample always may).
    Samples of different size
        collate: "stack" (all samples of a batch have one shape; with batch_size=1 each batch has its
        own), "pad" (each field that varies is padded with
        `pad_value` to the largest of the batch and followed by a field ``<name>_lengths``), "list"
        (such a field is a list of arrays), or a function that gets the list of samples (empty where
        all were bad and other ranks must not get out of step). bucket_by:
        a field whose stored length, or one number a sample, brings samples of like length into
        one batch; every sample still comes once an epoch.
    Result
        fields: a list chooses and orders, a dict renames; every source also has "key".
        transform: a list for the first image or array (its crops, flips and turns are done to masks
        too), or a dict of lists by field. Fields share their random draws; two outputs of one stored field,
        as in ``fields={"view1": "image", "view2": "image"}``, draw independently. output:
        "torch", "numpy", "jax" or "dlpack". dtype: "float32", "float16", "bfloat16", "uint8"; of images
        and arrays of data: coordinates, labels, masks and keys keep their types.
        layout: "NCHW", "NHWC" or "channels_last" (torch).
    """

    @checked_loader_keywords
    def __init__(self, source: Union[Paths, Pairs, Source], batch_size: int = 1, *,
                 fields: Union[Sequence[str], Mapping[str, str], None] = None,
                 transform: Union[Sequence[Any], Mapping[str, Any], None] = None,
                 shuffle: Union[bool, str] = False, shuffle_window: int | None = None,
                 sampler: Any = None, weights: Union[str, Sequence[float], None] = None,
                 seed: int = 0, epoch_size: int | None = None, drop_last: bool = False,
                 rank: int | None = None, world_size: int | None = None,
                 threads: int | None = None, prefetch: int | None = None,
                 memory: Union[int, str, None] = None, cache: Union[int, str, Cache, None] = None,
                 cache_form: str = "auto",
                 on_error: str = "raise", max_skip: float = 0.001,
                 collate: Union[str, Callable[[list], Any]] = "stack", pad_value: float = 0,
                 bucket_by: Union[str, Sequence[int], None] = None,
                 output: str | None = None, device: str = "cpu", dtype: str | None = None,
                 layout: str = "NCHW", kind: str | None = None):
        if str(device) != "cpu":
            raise ValueError(f"device={device!r}: this version delivers to \"cpu\"")
        if not callable(collate) and not isinstance(collate, str):
            raise TypeError(f'collate={shown(collate)}: wants "stack", "pad", "list" or a function')
        if not callable(collate) and collate not in ("stack", "pad", "list"):
            raise ValueError(f'collate={collate!r}: wants "stack", "pad", "list" or a function')
        # Wrong sizes are told before anything is read.
        budget = 0 if memory is None else parse_bytes(memory)
        self.source = open_source(source, kind, **({"memory": memory} if budget else {}))
        self._output = choose_output(output)
        self._ranks_are_given = rank is not None or world_size is not None
        self._ranks = self._choose_ranks(rank, world_size)
        self._as_dict = isinstance(fields, Mapping)
        self._bare = fields is None
        self._channels_last = choice("layout", layout, ("NCHW", "NHWC", "channels_last")) == "channels_last"
        if self._channels_last and self._output != "torch":
            raise ValueError('layout="channels_last" is torch\'s; use "NHWC"')
        dtype = None if dtype is None else dtype_name("dtype", dtype)
        if dtype == "bfloat16" and self._output == "numpy":
            raise ValueError('NumPy has no bfloat16; use output="torch" or "jax", or dtype="float16"')
        names, renamed = _field_names(fields)
        choice("on_error", on_error, ("raise", "skip", "replace"))
        choice("cache_form", cache_form, ("auto", "encoded", "decoded"))
        self._sampler, indices = self._check_sampler(sampler)
        self._seed = seed
        self._next_epoch = 0
        _explain_missing_masks(names, renamed, transform, self.source)
        steps = field_steps(transform, self.source, names, renamed)
        self._cache, self._owns_cache = make_cache(cache)
        try:
            self._core = plain_type_errors("Loader")(_core.open_loader)(
                self.source._handle, batch_size=_count("batch_size", batch_size), fields=names, renamed=renamed,
                transforms=engine_steps(steps), shuffle=_shuffle_name(shuffle),
                shuffle_window=0 if shuffle_window is None else _count("shuffle_window", shuffle_window), sampler=indices,
                weights=sampling_weights(weights, self.source),
                seed=_seed_value(seed), epoch_size=0 if epoch_size is None else _count("epoch_size", epoch_size),
                drop_last=bool(drop_last), rank=self._slice_rank, world_size=self._slice_world,
                local_ranks=self._ranks.local_ranks, threads=_threads(threads),
                prefetch=0 if prefetch is None else _count("prefetch", prefetch),
                memory=budget, on_error=on_error, max_skip=any_number("max_skip", max_skip),
                collate="list" if callable(collate) else collate, pad_value=any_number("pad_value", pad_value),
                bucket_by=bucket_by if isinstance(bucket_by, str) else "",
                bucket_lengths=_bucket_lengths(bucket_by),
                dtype=dtype, layout="NHWC" if self._channels_last else layout,
                cache=None if self._cache is None else self._cache._handle, cache_form=cache_form)
        except BaseException:
            if self._owns_cache:
                self._cache.close()
            raise
        self.batch_size = batch_size
        self.drop_last = bool(drop_last)
        self._collate = collate if callable(collate) else None
        self._forms = [(form, dtype) for _, dtype, _, form in self._core.sample_fields()]
        self._names = self._core.field_names()
        self._single = self._bare and len(self._names) == 1
        self._turned = self._fields_to_turn(steps, renamed) if self._channels_last else frozenset()
        self._convert: Callable[[Any], Any] | None = None
        self._running: weakref.WeakSet[_Epoch] = weakref.WeakSet()
        self._has_begun = False
        self._content_is_told = False
        self._process = os.getpid()
        self._closed = False
        self._log_warnings()
        if len(self._core) == 0:
            log.warning("no batches: %d samples on %d ranks, batch_size=%d, drop_last=%s", len(self.source),
                        self._slice_world, batch_size, drop_last)

    # -- what was asked for ---------------------------------------------------------------------

    def _choose_ranks(self, rank: int | None, world_size: int | None):
        found = find_ranks()
        if (rank is None) != (world_size is None):
            raise ValueError("give rank and world_size together, or neither")
        if rank is not None:
            rank, world_size = _count("rank", rank, least=0), _count("world_size", world_size)
            found = type(found)(rank, world_size, min(found.local_ranks, max(1, world_size)), "given")
        elif found.world_size > 1:
            log.info("rank %d of %d (%s)", found.rank, found.world_size, found.found_by)
        return found

    def _follow_ranks(self) -> None:
        """Ranks that were not given may change: a process group comes into being after the loader was made."""
        found = self._ranks if self._ranks_are_given else find_ranks()
        if found == self._ranks:
            return
        before, self._ranks = self._ranks, found
        if (before.rank, before.world_size, before.local_ranks) == (found.rank, found.world_size, found.local_ranks):
            return
        self._slice_rank, self._slice_world = _slice_of(found, self._sampler)
        self._core.set_ranks(self._slice_rank, self._slice_world, found.local_ranks)
        log.log(logging.WARNING if self._has_begun else logging.INFO,
                "rank %d of %d (%s), where it was rank %d of %d before: samples, threads and memory are divided anew",
                found.rank, found.world_size, found.found_by, before.rank, before.world_size)

    def _check_sampler(self, sampler: Any):
        self._slice_rank, self._slice_world = _slice_of(self._ranks, sampler)
        self._drawn = sampler is not None
        if sampler is None:
            return None, None
        if hasattr(sampler, "__next__"):
            raise TypeError("sampler: wants something that can be gone through every epoch, such as a list or a torch "
                            "sampler, not an iterator")
        return sampler, _indices(sampler, len(self.source))

    def _fields_to_turn(self, steps_of: FieldSteps, renamed: Mapping[str, str]) -> frozenset[int]:
        """Places of the fields that are images, for channels_last; other arrays keep their shape."""
        steps = {name: (own, derived_from) for name, own, derived_from in steps_of}

        def is_image(name: str) -> bool:
            own, derived_from = steps.get(name, ([], ""))
            if any(makes_image(step) for step in own):
                return True
            return is_image(derived_from) if derived_from else self.source.fields.get(renamed.get(name, name)) == "image"

        return frozenset(i for i, (name, _, shape, _) in enumerate(self._core.sample_fields())
                         if len(shape) == 3 and shape[2] <= 4 and is_image(name))

    def _draw_samples(self, epoch: int) -> None:
        """The sampler's list for this epoch; what was drawn to learn its length is not thrown away."""
        if hasattr(self._sampler, "set_epoch"):
            self._sampler.set_epoch(epoch)
        elif self._drawn:
            return
        self._core.set_sampler(_indices(self._sampler, len(self.source)))

    # -- epochs ---------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        self._check_process()
        if self._closed:
            raise UsageError("the loader is closed", code="invalid_argument")
        if self._convert is None:
            self._convert = converter(self._output)
        self._follow_ranks()
        if self._sampler is not None:
            self._draw_samples(self._next_epoch)
        epoch = _Epoch(self, self._core.start_epoch())
        self._drawn = False
        self._next_epoch += 1
        self._has_begun = True
        self._running.add(epoch)
        return epoch

    def __len__(self) -> int:
        """Batches an epoch, on this rank."""
        self._check_process()
        if not self._running and not self._closed:
            self._follow_ranks()
        return len(self._core)

    @property
    def dataset(self) -> Source:
        """The source, under the name that torch's DataLoader has for it."""
        return self.source

    @property
    def sampler(self) -> Any:
        """What was given as `sampler`."""
        return self._sampler

    @checked_keywords
    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` is this epoch, from its beginning.

        Where ``load_state_dict`` loaded a state of the same epoch, it still goes on from there.
        """
        self._check_process()
        self._core.set_epoch(_count("epoch", epoch, least=0))
        self._next_epoch = epoch

    def state_dict(self) -> dict[str, int]:
        """Where the run stands after the batches handed out so far: a few integers.

        Of several iterators, the one that delivered last counts. The first call reads a few places of the
        data, so that a state is not loaded with other data of the same size.
        """
        self._check_process()
        self._read_content()
        return self._core.state()

    @checked_keywords
    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """The next ``iter()`` goes on there, on any number of ranks and threads.

        Iterators from before raise an error when they are used again.
        """
        self._check_process()
        state = _checked_state(state)
        if "content" in state:
            self._read_content()
        elif "version" in state:
            log.warning("the state says nothing of the content of its data: that %s is the same data is only known "
                        "by keys and sizes", self.source.uri)
        if self._sampler is not None and "epoch" in state:
            self._draw_samples(state["epoch"])
        self._core.load_state(state)
        self._next_epoch = self._core.state()["epoch"]

    def _read_content(self) -> None:
        """A checkpoint is worth more than the comparison: where it cannot be made, that is told, once."""
        try:
            self._core.read_content()
        except Error as error:
            if not self._content_is_told:
                log.warning("the content of the data could not be looked at, so states cover keys and sizes only: %s",
                            error)
            self._content_is_told = True

    def stats(self) -> dict[str, Any]:
        """Counts, errors, time and bytes by stage, waits, memory; totals and by epoch.

        ``["chunks"]`` says how often each chunk was decoded (``decodes_per_chunk``) and, where that is more than
        once in an epoch, the ``memory=`` that is enough for once (``memory_for_one_decode``, else None). Where that
        is what takes longest, ``["bottleneck"]`` is "memory".
        """
        self._check_process()
        stats = self._core.stats()
        stats["windows_left_out"] = self.source._handle.windows_left_out()
        stats["rank"] = {"rank": self._ranks.rank, "world_size": self._ranks.world_size,
                         "local_ranks": self._ranks.local_ranks, "found_by": self._ranks.found_by}
        return stats

    def close(self) -> None:
        """Ends the worker threads. Batches handed out stay valid."""
        if self._process == os.getpid():
            self._closed = True
            self._core.close()
            self._log_warnings()
            if self._owns_cache:
                self._cache.close()

    def _log_warnings(self) -> None:
        if self._cache is not None:
            self._cache._log_warnings()

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a Loader cannot be pickled or copied: its worker threads belong to this process. Pickle "
                        "loader.source instead, and make a Loader from it where it is used")

    def __repr__(self) -> str:
        ranks = self._ranks
        if self._process != os.getpid():
            return f"<penstock.Loader {self.source.uri!r}, made in another process>"
        shapes = ", ".join(f"{name} ({dtype})" if form == "texts" else
                           f"{name} {dtype} {str(list(shape)).replace('-1', '?')}"
                           for name, dtype, shape, form in self._core.sample_fields())
        return (f"<penstock.Loader {self.source.uri!r}: {self.source.kind}, {len(self.source)} samples, "
                f"batch {self.batch_size} of {shapes}; rank {ranks.rank} of {ranks.world_size} "
                f"({ranks.found_by}); output {self._output}>")

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise Error("this penstock.Loader was made in another process, and its threads did not come along "
                        "through the fork; make the Loader in the process that uses it", code="forked")

    def _next_batch(self, epoch: Any) -> Any:
        self._check_process()
        while True:
            got = epoch.next(self._output == "numpy")
            self._log_warnings()
            if got is None:
                raise StopIteration
            samples, arrays = got
            batch = [self._finish_field(i, a) for i, a in enumerate(arrays)]
            # A batch of nothing but bad samples: ranks must keep step, one rank need not.
            if self._slice_world > 1 or samples > 0:
                break
        if self._collate is not None:
            return self._collate([self._arrange(values) for values in zip(*batch)])
        return self._arrange(batch)

    def _arrange(self, values: Sequence[Any]) -> Any:
        if self._as_dict:
            return dict(zip(self._names, values))
        return values[0] if self._single else tuple(values)

    def _finish_field(self, place: int, values: Any) -> Any:
        """What the engine delivered, as the user's library has it."""
        form, dtype = self._forms[place]
        if form == "texts":
            return [json.loads(text) for text in values] if dtype == "json" else values
        if form == "list":
            return [self._turn(place, self._convert(value)) for value in values]
        array = self._convert(values)
        # The lengths behind a padded image follow its axes.
        if place - 1 in self._turned and self._names[place] == self._names[place - 1] + "_lengths":
            return array[:, [2, 0, 1]]
        return self._turn(place, array)

    def _turn(self, place: int, array: Any) -> Any:
        return channels_first(array) if place in self._turned else array


class _Epoch:
    """One pass. Dropping it gives its batches back, as close() does."""

    def __init__(self, loader: Loader, core: Any):
        self._loader = loader
        self._core = core

    def __iter__(self) -> "_Epoch":
        return self

    def __next__(self) -> Any:
        try:
            return self._loader._next_batch(self._core)
        except StopIteration:
            self._loader._running.discard(self)
            raise
        except Error:
            self._loader._running.discard(self)
            if _program_ends:  # a thread that nobody waits for has nobody to tell
                raise StopIteration from None
            raise

    def __len__(self) -> int:
        return len(self._loader)

    def close(self) -> None:
        self._loader._check_process()
        self._loader._running.discard(self)
        self._core.close()


def _slice_of(ranks: Ranks, sampler: Any) -> tuple[int, int]:
    """Which part of what the sampler gives is this rank's: (rank, world size)."""
    # torch's DistributedSampler has chosen this rank's part already.
    if getattr(sampler, "num_replicas", 1) > 1:
        return 0, 1
    if sampler is not None and ranks.world_size > 1 and not hasattr(sampler, "__getitem__") \
            and not hasattr(sampler, "__next__"):
        raise UsageError("a sampler that draws anew would draw differently on every rank; use shuffle=True or "
                         "weights=, a list, or torch's DistributedSampler")
    return ranks.rank, ranks.world_size


def _count(keyword: str, value: Any, least: int = 1) -> int:
    return whole_number(keyword, value, least)


def _field_names(fields: Any) -> tuple[list[str], dict[str, str]]:
    """The names that a batch has, in order, and for each that was renamed the source's field."""
    if fields is None:
        return [], {}
    if isinstance(fields, str):
        raise TypeError(f"fields={fields!r}: wants a list, [{fields!r}]")
    if not hasattr(fields, "__iter__"):
        raise TypeError(f'fields={shown(fields)}: wants a list of names, or a dict {{"new name": "field"}}')
    renamed = dict(fields) if isinstance(fields, Mapping) else {}
    names = list(fields)
    for name in (*names, *renamed.values()):
        if not isinstance(name, str):
            raise TypeError(f"fields: {shown(name)} is not a name")
    if not names:
        raise ValueError("fields is empty; leave it out for all of the source's fields")
    return names, renamed


def _bucket_lengths(bucket_by: Any) -> list[int] | None:
    if bucket_by is None or isinstance(bucket_by, str):
        return None
    if not hasattr(bucket_by, "__iter__"):
        raise TypeError(f"bucket_by={bucket_by!r}: wants the name of a field, or a number for each sample")
    return [_count("bucket_by", n, least=0) for n in bucket_by]


def _seed_value(seed: Any) -> int:
    return whole_number("seed", seed, 0, 2**256) & (2**64 - 1)


def _threads(threads: int | None) -> int:
    if threads is not None:
        return _count("threads", threads)
    environment = os.environ.get("PENSTOCK_THREADS", "")
    if not environment:
        return 0
    if not environment.isdigit() or int(environment) < 1:
        raise ValueError(f"PENSTOCK_THREADS={environment!r}: wants a whole number from 1")
    return int(environment)


def _shuffle_name(shuffle: Union[bool, str]) -> str:
    if isinstance(shuffle, bool):
        return "auto" if shuffle else "off"
    if shuffle in ("full", "window"):
        return shuffle
    raise ValueError(f'shuffle={shuffle!r}: wants True, False, "full" or "window"')


def _indices(sampler: Any, size: int) -> list[int]:
    if not hasattr(sampler, "__iter__") and not hasattr(sampler, "__getitem__"):
        raise TypeError(f"sampler={shown(sampler)}: wants a sequence of indices, a mask, or a torch sampler")
    indices = chosen_indices(sampler, size, "sampler")
    if any(i < 0 for i in indices):
        raise ValueError("sampler gave a negative index")
    return indices


def _explain_missing_masks(names: Sequence[str], renamed: Mapping[str, str], transform: Any, source: Source) -> None:
    """Masks are asked for far more often than they are there; the general message would not help."""
    wanted = {renamed.get(name, name) for name in names}
    if isinstance(transform, Mapping):
        wanted |= {renamed.get(name, name) for name, steps in transform.items() if not isinstance(steps, Derive)}
    for name in ("mask", "masks"):
        if name in wanted and name not in source.fields:
            raise UsageError(f"there is no field {name!r} in {source.uri}, which has {', '.join(source.fields)}. Images "
                             "get masks by ImageFolder(path, masks=folder) or Manifest(table, mask=\"column\"), shards by "
                             "kinds={\"field\": \"mask\"}", code="invalid_argument", uri=source.uri)


def _checked_state(state: Any) -> dict[str, int]:
    if not isinstance(state, Mapping) or not all(isinstance(name, str) for name in state):
        raise TypeError(f"state={shown(state)}: wants what state_dict() gave")
    return {name: whole_number(f"state: {name}", value, 0, 2**64 - 1) for name, value in state.items()}


_program_ends = False


def _end() -> None:
    global _program_ends
    _program_ends = True
    _core.close_all_loaders()


atexit.register(_end)
os.register_at_fork(after_in_child=_core.abandon_all_loaders)
