"""The Loader: batches of training samples, in order, under a memory budget."""

from __future__ import annotations

import atexit
import logging
import os
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from .. import _core
from ..arguments import any_number, checked_keywords, choice, plain_type_errors, whole_number
from ..cache import Cache, make_cache
from ..errors import Error, UsageError
from ..sizes import parse_bytes
from ..sources import Pairs, Paths, Source, open_source
from ..sources.labels import sampling_weights
from ..staging import OpenStage, open_stage
from ..stats import LoaderStats
from ..torch_words import checked_loader_keywords
from ..transforms import Derive, Transform, engine_steps
from .batches import BatchAssembler, image_fields
from .epoch import Epoch, end_all
from .field_steps import field_steps
from .options import (
    CacheForm,
    Collate,
    Layout,
    OnError,
    Output,
    Shuffle,
    bucket_lengths,
    checked_collate,
    checked_device,
    checked_dtype,
    checked_layout,
    checked_state,
    count_or_default,
    explain_missing_masks,
    field_names,
    seed_value,
    shuffle_word,
    thread_count,
)
from .outputs import choose_output
from .ranks import choose_ranks, find_ranks
from .sampler import Sampler, rank_slice

log = logging.getLogger("penstock")


class Loader:
    """Iterates over batches of samples. Each ``iter()`` is the next epoch.

    Iterators are independent of each other: ``zip(loader, loader)`` goes through two epochs side by side, and
    ``next(iter(loader))`` disturbs no other loop. They share the worker threads and the memory of the loader. An
    iterator that is dropped gives its batches back at once.

    A batch is a tuple in field order (``images, labels``), a dict if `fields` is a dict, or the bare array if there is
    one field and `fields` is not given.

    A loader belongs to the process that made it. Any thread of that process may use it. ``close()``, or the end of a
    ``with`` block, ends its worker threads.

    Args:
        source: A path (a folder of class folders or of images, .npy files, .tar and .tfrecord shards, a .csv or .jsonl
            table), a glob or brace pattern, a URL, a list of these, a list of (path, label) pairs, or a source such as
            ``penstock.ImageFolder(...)`` or ``penstock.Zarr(...)``.
        batch_size: The number of samples per batch on each rank. Every rank gets the same number of batches.
        fields: The fields that a batch has. A list chooses and orders them, and a dict gives them new names:
            ``{"view1": "image", "view2": "image"}``. Every source also has the field "key", the name of the sample.
        transform: A list of transforms for the first image or array, or a dict with a list for each field. Crops, flips
            and rotations of the list also apply to masks. Fields share their random draws, but two outputs of one
            stored field draw independently.
        shuffle: False; "full", by which every sample is equally likely at every position; "window", which mixes samples
            within windows of `shuffle_window` storage units, so that each unit is read once; or True, which chooses
            "window" if samples share storage units (chunks of arrays, blocks of compressed shards), and else "full".
        shuffle_window: The number of storage units among which samples are mixed. By default, 16 or what the source
            suggests.
        sampler: Your own order: a sequence of indices, a mask with one boolean for each sample, or a torch sampler.
        weights: A sampling weight for each sample; samples are then drawn with replacement. "balanced" draws every
            class equally often.
        seed: The number from which the order and all random draws follow.
        epoch_size: The number of samples per epoch. By default, all samples. Epochs of another size continue through
            the permutation.
        drop_last: Whether the last batch is left out if it is not full.
        rank: The rank of this process. By default, rank and world_size come from torch.distributed, torchrun, an srun
            step or MPI, anew at the start of each epoch. Give both or neither.
        world_size: The number of ranks.
        threads: The number of worker threads of this process. By default, all usable cores, divided among the ranks of
            this machine.
        prefetch: The number of batches that are made ahead. By default, as many as the memory budget allows.
        memory: All memory that the loader may hold, the cache included, for example "4GiB". The default is a quarter of
            the free memory, with the cache in addition. Opening a path does not take more than this either.
        cache: The memory of a cache that holds samples from the first epoch on, for example "8GiB", or a
            ``penstock.Cache``, which can also use a disk and serve several loaders. Random transforms run after the
            cache, so samples do not depend on it.
        cache_form: What the cache holds: "decoded" (the result of decoding and of Resize and CenterCrop at the
            beginning), "encoded" (the stored bytes), or "auto" (whichever saves more time in that memory, as
            measured).
        on_error: What happens to a bad sample: "raise" an exception, "skip" it (the batch is shorter), or "replace"
            it by another sample, which the seed determines.
        max_skip: The share of the samples of an epoch that may be bad. One sample always may.
        collate: How samples of different shape become a batch. "stack" requires one shape per batch. "pad" pads each
            field that varies to the largest sample of the batch with `pad_value`, and adds a field ``<name>_lengths``
            after it. "list" delivers such a field as a list of arrays. A function receives the list of samples and
            returns the batch; the list is empty if all samples were bad and other ranks must stay in step.
        pad_value: The value that ``collate="pad"`` pads with.
        bucket_by: Brings samples of similar length into one batch: a field, whose stored length (or integer value)
            counts, or one number for each sample. Every sample still comes once per epoch.
        output: The library of the arrays: "torch", "numpy", "jax" or "dlpack". The default is torch if it is
            installed, and else NumPy.
        device: The device that batches are delivered to. This version delivers to "cpu".
        dtype: The type of images and arrays of data: "float32", "float16", "bfloat16" or "uint8". Coordinates, labels,
            masks and keys keep their types.
        layout: The order of the axes of images: "NCHW", "NHWC", or "channels_last" (for torch: NCHW over NHWC memory).
        kind: The kind of the source, if its path does not tell it: see ``penstock.open_source``.
        stage: A local folder, for example on the disk of a compute node. The data are copied there in the background,
            and read from there as far as they are copied. What a batch needs before comes from the source and is kept,
            so that each byte is read from the source once. All processes of a machine share the copy, and the next run
            continues it. Batches do not depend on it. ``penstock.stage`` copies before training, and
            ``stats()["staging"]`` tells how far it is.

    Raises:
        TypeError: An argument has the wrong type, or there is no such keyword.
        ValueError: An argument has a value that is not possible. ``UsageError`` is one.
        NotFoundError: There is no such file or folder.
        MemoryBudgetError: The batches do not fit into `memory`.

    Example:
        >>> loader = ps.Loader("data/train", batch_size=64, shuffle=True,
        ...                    transform=[ps.RandomResizedCrop(224), ps.RandomHorizontalFlip()])
        >>> for images, labels in loader:
        ...     train(images, labels)
    """

    @checked_loader_keywords
    def __init__(self, source: Paths | Pairs | Source, batch_size: int = 1, *,
                 fields: Sequence[str] | Mapping[str, str] | None = None,
                 transform: Transform | Sequence[Transform]
                 | Mapping[str, Transform | Derive | Sequence[Transform]] | None = None,
                 shuffle: Shuffle = False, shuffle_window: int | None = None,
                 sampler: Any = None, weights: Literal["balanced"] | Sequence[float] | None = None,
                 seed: int = 0, epoch_size: int | None = None, drop_last: bool = False,
                 rank: int | None = None, world_size: int | None = None,
                 threads: int | None = None, prefetch: int | None = None,
                 memory: int | str | None = None, cache: int | str | Cache | None = None,
                 cache_form: CacheForm = "auto",
                 on_error: OnError = "raise", max_skip: float = 0.001,
                 collate: Collate = "stack", pad_value: float = 0,
                 bucket_by: str | Sequence[int] | None = None,
                 output: Output | None = None, device: str = "cpu", dtype: str | None = None,
                 layout: Layout = "NCHW", kind: str | None = None,
                 stage: str | os.PathLike[str] | None = None) -> None:
        # Errors that need no data come before anything is read.
        checked_device(device)
        options = _core.LoaderOptions()
        options.collate = checked_collate(collate)
        budget = 0 if memory is None else parse_bytes(memory)
        # The keyword is left out if it is not needed, because the source shows how it was made.
        self._stage = self._open_stage(source, stage, budget)
        # Pieces on their way are memory of the loader, too.
        budget -= budget // 8 if self._stage is not None else 0
        given = {"memory": memory if budget else None, "stage": stage}
        keywords: dict[str, Any] = {keyword: value for keyword, value in given.items() if value is not None}
        self.source = open_source(source, kind, **keywords)
        self._output = choose_output(output)
        self._ranks_are_given = rank is not None or world_size is not None
        self._ranks = choose_ranks(rank, world_size)
        layout_word = checked_layout(layout, self._output)
        names, renamed = field_names(fields)
        self._slice_rank, self._slice_world = rank_slice(self._ranks, sampler)
        self._sampler = None if sampler is None else Sampler(sampler, len(self.source))
        explain_missing_masks(names, renamed, transform, self.source)
        steps = field_steps(transform, self.source, names, renamed)
        with plain_type_errors("Loader"):
            options.batch_size = whole_number("batch_size", batch_size, 1)
            options.fields = names
            options.renamed = renamed
            options.transforms = [_core.FieldTransform(*field) for field in engine_steps(steps)]
            options.shuffle = shuffle_word(shuffle)
            options.shuffle_window = count_or_default("shuffle_window", shuffle_window)
            options.sampler = None if self._sampler is None else self._sampler.draw()
            options.weights = sampling_weights(weights, self.source)
            options.seed = seed_value(seed)
            options.epoch_size = count_or_default("epoch_size", epoch_size)
            options.drop_last = bool(drop_last)
            options.rank = self._slice_rank
            options.world_size = self._slice_world
            options.local_ranks = self._ranks.local_ranks
            options.threads = thread_count(threads)
            options.prefetch = count_or_default("prefetch", prefetch)
            options.memory_bytes = budget
            options.cache_form = choice("cache_form", cache_form, ("auto", "encoded", "decoded"))
            options.on_error = choice("on_error", on_error, ("raise", "skip", "replace"))
            options.max_skip = any_number("max_skip", max_skip)
            options.pad_value = any_number("pad_value", pad_value)
            options.bucket_by = bucket_by if isinstance(bucket_by, str) else ""
            options.bucket_lengths = bucket_lengths(bucket_by)
            options.dtype = checked_dtype(dtype, self._output)
            options.layout = "NHWC" if layout_word == "channels_last" else layout_word
            self._cache, self._owns_cache = make_cache(cache)
            try:
                self._core = _core.open_loader(self.source._handle, options,
                                               None if self._cache is None else self._cache._handle)
            except BaseException:
                self._close_own_cache()
                raise
        self._owns_stage = stage is not None
        if self._stage is not None and self._owns_stage:
            self._stage.enter()
        self.batch_size = options.batch_size
        self.drop_last = options.drop_last
        self._names = self._core.field_names()
        sample_fields = self._core.sample_fields()
        turned = image_fields(sample_fields, steps, self.source, renamed) if layout_word == "channels_last" else ()
        self._batches = BatchAssembler(sample_fields, output=self._output, as_dict=isinstance(fields, Mapping),
                                       as_bare=fields is None and len(sample_fields) == 1, channels_last=turned,
                                       collate=collate if callable(collate) else None)
        self._running: weakref.WeakSet[Epoch] = weakref.WeakSet()
        self._next_epoch = 0
        self._has_begun = False
        self._has_warned_of_content = False
        self._process = os.getpid()
        self._closed = False
        self._log_warnings()
        if len(self._core) == 0:
            log.warning("no batches: %d samples on %d ranks, batch_size=%d, drop_last=%s", len(self.source),
                        self._slice_world, batch_size, drop_last)

    # -- epochs ---------------------------------------------------------------------------------

    def __iter__(self) -> Epoch:
        """Starts the next epoch. Epochs in progress continue."""
        self._check_process()
        if self._closed:
            raise UsageError("the loader is closed", code="invalid_argument")
        self._batches.load_library()
        self._follow_ranks()
        self._draw_samples(self._next_epoch)
        epoch = Epoch(self, self._core.start_epoch())
        if self._sampler is not None:
            self._sampler.use()
        self._next_epoch += 1
        self._has_begun = True
        self._running.add(epoch)
        return epoch

    def __len__(self) -> int:
        """Returns the number of batches per epoch on this rank."""
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
        """The object that was given as `sampler`."""
        return None if self._sampler is None else self._sampler.given

    @checked_keywords
    def set_epoch(self, epoch: int) -> None:
        """Makes the next ``iter()`` this epoch, from its beginning.

        If ``load_state_dict`` loaded a state of the same epoch, the epoch still continues from that state.

        Args:
            epoch: The number of the epoch, from 0.

        Raises:
            TypeError: `epoch` is not a whole number.
            ValueError: `epoch` is negative.

        Example:
            >>> for epoch in range(90):
            ...     loader.set_epoch(epoch)
            ...     for images, labels in loader:
            ...         train(images, labels)
        """
        self._check_process()
        self._core.set_epoch(whole_number("epoch", epoch, 0))
        self._next_epoch = epoch

    def _follow_ranks(self) -> None:
        """Finds the ranks again, unless they were given: a process group may begin after the loader was made."""
        found = self._ranks if self._ranks_are_given else find_ranks()
        if found == self._ranks:
            return
        before, self._ranks = self._ranks, found
        if (before.rank, before.world_size, before.local_ranks) == (found.rank, found.world_size, found.local_ranks):
            return
        self._slice_rank, self._slice_world = rank_slice(found, self.sampler)
        self._core.set_ranks(self._slice_rank, self._slice_world, found.local_ranks)
        log.log(logging.WARNING if self._has_begun else logging.INFO,
                "rank %d of %d (%s), where it was rank %d of %d before: samples, threads and memory are divided anew",
                found.rank, found.world_size, found.found_by, before.rank, before.world_size)

    def _draw_samples(self, epoch: int) -> None:
        indices = None if self._sampler is None else self._sampler.draw_for(epoch)
        if indices is not None:
            self._core.set_sampler(indices)

    # -- states ---------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, int]:
        """Returns the position of the run after the batches delivered so far, as a few integers.

        If there are several iterators, it is the position of the one that delivered last. The first call reads a few
        parts of the data, so that a state cannot be loaded with other data of the same size.

        Returns:
            The state, which ``load_state_dict`` takes in this or another process.

        Example:
            >>> torch.save({"model": model.state_dict(), "loader": loader.state_dict()}, "checkpoint.pt")
        """
        self._check_process()
        self._read_content()
        return self._core.state()

    @checked_keywords
    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Makes the next ``iter()`` continue at a state, on any number of ranks and threads.

        Iterators from before raise an error when they are used again.

        Args:
            state: A state that ``state_dict()`` returned, in this or another process.

        Raises:
            TypeError: `state` is not a dict of whole numbers.
            UsageError: The state belongs to other data, or to another order of the samples.

        Example:
            >>> loader.load_state_dict(torch.load("checkpoint.pt")["loader"])
            >>> for images, labels in loader:  # the rest of that epoch
            ...     train(images, labels)
        """
        self._check_process()
        state = checked_state(state)
        if "content" in state:
            self._read_content()
        elif "version" in state:
            log.warning("the state says nothing of the content of its data: that %s is the same data is only known "
                        "by keys and sizes", self.source.uri)
        if "epoch" in state:
            self._draw_samples(state["epoch"])
        self._core.load_state(state)
        self._next_epoch = self._core.state()["epoch"]

    def _read_content(self) -> None:
        """Reads parts of the data for states. A failure is only logged, once: the checkpoint itself matters more."""
        try:
            self._core.read_content()
        except Error as error:
            if not self._has_warned_of_content:
                log.warning("the content of the data could not be looked at, so states cover keys and sizes only: %s",
                            error)
            self._has_warned_of_content = True

    # -- statistics and the end -----------------------------------------------------------------

    @staticmethod
    def _open_stage(source: Any, stage: Any, budget: int) -> OpenStage | None:
        if stage is None:
            return source._stage if isinstance(source, Source) else None
        if isinstance(source, Source):
            raise UsageError("the source is open already; give stage= to the function that opens it",
                             code="invalid_argument")
        return open_stage(stage, min(budget // 8, 64 << 20))

    def stats(self) -> LoaderStats:
        """Returns the statistics of the loader: counts, errors, time and bytes by stage, waits and memory.

        Returns:
            Totals, and the same by epoch. ``penstock.stats`` describes every key. ``["bottleneck"]`` names the stage
            that limits the speed.

        Example:
            >>> stats = loader.stats()
            >>> stats["bottleneck"], stats["memory"]["peak"]
        """
        self._check_process()
        stats = self._core.stats()
        stats["windows_left_out"] = self.source._handle.windows_left_out()
        stats["staging"] = None if self._stage is None else self._stage.stats()
        stats["rank"] = {"rank": self._ranks.rank, "world_size": self._ranks.world_size,
                         "local_ranks": self._ranks.local_ranks, "found_by": self._ranks.found_by}
        return cast(LoaderStats, stats)

    def close(self) -> None:
        """Ends the worker threads. Batches that were delivered remain valid."""
        if self._process == os.getpid():
            if self._stage is not None and not self._closed:
                self._stage.stats()  # so that a failure is logged
                if self._owns_stage:
                    self._stage.leave()
            self._closed = True
            self._core.close()
            self._log_warnings()
            self._close_own_cache()

    def _close_own_cache(self) -> None:
        if self._owns_cache and self._cache is not None:
            self._cache.close()

    def _log_warnings(self) -> None:
        if self._cache is not None:
            self._cache._log_warnings()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
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


# penstock.cache registered its function before, so caches are closed after all loaders.
atexit.register(end_all)
os.register_at_fork(after_in_child=_core.abandon_all_loaders)
