"""The Source: a list of samples that is not read yet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

from .. import _core
from ..arguments import checked_keywords, shown, text, whole_number
from ..errors import UsageError
from ..http import without_secrets
from ..staging import OpenStage
from .indices import chosen_indices
from .labels import class_of_each, field_values, label_field
from .recipe import Recipe, recorded, remake
from .sample_reader import SampleReader
from .splitting import divide, divide_by_class, part_sizes


class Source:
    """A list of samples that a Loader can read.

    Functions such as ``ImageFolder``, ``Tar`` and ``Zarr`` make sources; this class is not called directly. A source
    never changes, and any number of loaders and threads may share it.

    ``len(source)``, ``source.fields``, ``source.classes`` and ``source.key(i)`` describe it. ``source[i]`` is one
    decoded sample, so a source is also a data set for torch's DataLoader. ``subset``, ``split`` and ``filter`` make
    smaller sources, and ``rename`` gives fields other names.

    A source can be pickled. The pickle holds all arguments that the source was made with, and unpickling opens the
    data again.

    Example:
        >>> source = ps.ImageFolder("data/train")
        >>> train, validation = source.split(0.9, seed=1, stratify="label")
        >>> image, label = train[0]
    """

    def __init__(self, handle: _core.SourceHandle, listed: _core.SourceHandle | None = None) -> None:
        self._handle = handle
        self._listed = listed or handle  # the samples in order; `handle` itself may draw them by weight
        self._recipe: Recipe | None = None
        self._reader: SampleReader | None = None
        self._targets: list[int] | None = None
        self._stage: OpenStage | None = None

    def __len__(self) -> int:
        """Returns the number of samples."""
        return len(self._handle)

    def __getitem__(self, sample: int) -> Any:
        """Reads and decodes one sample.

        Args:
            sample: The index of the sample. Negative indices count from the end.

        Returns:
            A tuple in field order, or the bare value if the source has one field. The values are those that a batch of
            a Loader would hold, except that labels are Python integers. For random patches it is the patch at that
            position of the first epoch with seed 0.

        Raises:
            IndexError: The source has fewer samples.
            Error: The sample cannot be read.

        Example:
            >>> image, label = source[-1]
        """
        if isinstance(sample, slice):
            raise TypeError(f"source[{sample.start}:{sample.stop}]: wants one index; "
                            "source.subset(range(...)) makes a part")
        index = self._checked_index(sample)
        reader = self._reader
        if reader is None or reader.process != os.getpid():
            # The reader gets a Source of its own, so that it does not keep this one alive.
            reader = self._reader = SampleReader(Source(self._listed))
        return reader.read(index)

    def __iter__(self) -> Iterator[Any]:
        """Yields the samples in order, each by ``source[i]``. A Loader is faster."""
        for sample in range(len(self)):
            yield self[sample]

    @property
    def uri(self) -> str:
        """The path, pattern or URL, as it was given."""
        return self._handle.uri()

    @property
    def kind(self) -> str:
        """The kind of the source, for example "image class folders" or "npy array"."""
        return self._handle.kind()

    @property
    def fields(self) -> dict[str, str]:
        """The names of the fields, in order, with the kind of each.

        A kind is "image", "mask", "array", "integer", "text", "json" or "bytes".
        """
        return dict(self._handle.fields())

    @property
    def classes(self) -> list[str]:
        """The class names in the order of their labels. The list is empty if there are no classes."""
        return self._handle.classes()

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The label of each class name. The dict is empty if there are no classes."""
        return {name: label for label, name in enumerate(self.classes)}

    @property
    def targets(self) -> list[int]:
        """The label of every sample.

        Folders and tables know their labels. For shards, the first use reads the label of each sample once.
        """
        try:
            return list(self._labels())
        except UsageError as error:  # hasattr() expects this exception where there are no labels
            raise AttributeError(f"targets: {error}") from error

    def _labels(self) -> list[int]:
        if self._targets is None:
            self._targets = field_values(self, label_field(self))
        return self._targets

    @property
    def stored_bytes(self) -> int:
        """The number of bytes that the samples take in their files."""
        return self._handle.stored_bytes()

    @checked_keywords
    def key(self, sample: int) -> str:
        """Returns the name of a sample: its path below the folder, or its number.

        Args:
            sample: The index of the sample. Negative indices count from the end.

        Returns:
            The name, which is also the field ``"key"`` of the sample.

        Raises:
            IndexError: The source has fewer samples.

        Example:
            >>> source.key(0)
            'cats/7.jpg'
        """
        return self._handle.key(self._checked_index(sample))

    @recorded
    def subset(self, samples: float | Iterable[int] | Iterable[bool]) -> Source:
        """Makes a source of some of the samples.

        Args:
            samples: A fraction (a float up to 1) takes the samples at the beginning. A sequence of integers takes the
                samples with these indices, in that order. A mask, with one boolean for each sample, takes the samples
                where it is true.

        Returns:
            The smaller source.

        Raises:
            TypeError: `samples` is neither a fraction nor a sequence of integers or booleans.
            ValueError: The fraction or an index is out of range, or a mask has the wrong length.

        Example:
            >>> tenth = source.subset(0.1)
            >>> cats = source.subset([label == 0 for label in source.targets])
        """
        if isinstance(samples, float):
            if not 0 < samples <= 1:
                raise ValueError(f"subset({samples}): a fraction is above 0 and at most 1")
            samples = range(max(1, round(samples * len(self))))
        if isinstance(samples, (str, bytes, Mapping)) or not hasattr(samples, "__iter__"):
            raise TypeError(f"subset({shown(samples)}): wants a fraction, such as 0.1, or a sequence of indices")
        size = len(self)
        indices = []
        for index in chosen_indices(samples, size, "subset"):
            if not -size <= index < size:
                raise ValueError(f"subset index {index}, the source has {size} samples")
            indices.append(index % size)
        return Source(self._handle.subset(indices))

    @recorded
    def rename(self, names: Mapping[str, str]) -> Source:
        """Makes a source of the same samples in which some fields have other names.

        Args:
            names: The new name for each old name.

        Returns:
            The source with the new names.

        Raises:
            TypeError: `names` is not a dict of names.
            UsageError: There is no such field, or two fields would have one name.

        Example:
            >>> source.rename({"jpg": "image", "cls": "label"})
        """
        if not isinstance(names, Mapping) or not all(isinstance(name, str) for pair in names.items() for name in pair):
            raise TypeError(f'rename({shown(names)}): wants {{"old name": "new name"}}')
        return Source(self._handle.rename(dict(names)))

    @overload
    def split(self, fraction: float, seed: int = 0, *,
              stratify: str | Sequence[Any] | None = None) -> tuple[Source, Source]: ...

    @overload
    def split(self, fraction: Sequence[float], seed: int = 0, *,
              stratify: str | Sequence[Any] | None = None) -> tuple[Source, ...]: ...

    @recorded
    def split(self, fraction: float | Sequence[float], seed: int = 0, *,
              stratify: str | Sequence[Any] | None = None) -> tuple[Source, ...]:
        """Divides the samples at random into sources that share no sample.

        Each part keeps the order of the source.

        Args:
            fraction: ``0.9`` makes two parts: that fraction of the samples, and the rest. ``[0.8, 0.1, 0.1]`` makes one
                part for each fraction, and ``[800, 100, 100]`` one part for each count. The sizes are those of
                ``torch.utils.data.random_split``.
            seed: The same seed always gives the same parts.
            stratify: The name of a field of classes, such as "label", or a sequence with the class of each sample.
                Every part then has every class in proportion, to within one sample.

        Returns:
            The parts, which together have all samples.

        Raises:
            ValueError: The fractions do not add up to 1, or the counts to the number of samples.
            UsageError: A part would be empty.

        Example:
            >>> train, validation, test = source.split([0.8, 0.1, 0.1], seed=1, stratify="label")
        """
        sizes = part_sizes(fraction, len(self))
        seed = whole_number("seed", seed, 0, 2**64 - 1)
        parts = (divide(sizes, seed) if stratify is None else
                 divide_by_class(sizes, seed, class_of_each(self, stratify)))
        return tuple(Source(self._handle.subset(part)) for part in parts)

    @checked_keywords
    def filter(self, field: str, predicate: Callable[[Any], bool], *, threads: int | None = None) -> Source:
        """Makes a source of the samples whose field satisfies a condition, in order.

        This reads the field of every sample once, immediately.

        Args:
            field: The name of the field.
            predicate: A function that receives the value as a batch would hold it: a number for a label, a str for text
                or ``"key"``, the decoded object for JSON, a NumPy array for an image.
            threads: The number of worker threads. By default, all usable cores.

        Returns:
            The smaller source.

        Raises:
            UsageError: There is no such field, or no sample satisfies the condition.

        Example:
            >>> long = source.filter("txt", lambda caption: len(caption) > 20)
        """
        from ..loader import Loader

        text("field", field, "the name of a field")
        if not callable(predicate):
            raise TypeError(f"predicate={shown(predicate)}: wants a function of one value")
        chosen = []
        with Loader(self, batch_size=256, fields=[field], collate="list", output="numpy", threads=threads, rank=0,
                    world_size=1) as loader:
            for start, (values,) in zip(range(0, len(self), 256), loader):
                chosen += [start + i for i, value in enumerate(values) if predicate(value)]
        if not chosen:
            raise UsageError(f"filter({field!r}): no sample of {self.uri} satisfies it", code="invalid_argument",
                             uri=self.uri)
        return self.subset(chosen)

    def _checked_index(self, sample: Any) -> int:
        index = whole_number("sample", sample)
        if not -len(self) <= index < len(self):
            raise IndexError(f"sample {index}: the source has {len(self)} samples")
        return index % len(self)

    def __repr__(self) -> str:
        made_by = self._recipe or f"Source {without_secrets(self.uri)!r}"
        return f"<penstock.{made_by}: {self.kind}, {len(self)} samples of {', '.join(self.fields)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._recipe is None:
            raise TypeError(f"{self!r} cannot be pickled: how it was made is not known")
        return remake, (self._recipe, self._handle.fingerprint())

    def __copy__(self) -> Source:
        return self  # a source never changes

    def __deepcopy__(self, _: Any) -> Source:
        return self
