"""Memory of the interpreter: elements with their initialization, views, and which iterations accessed them.

Data races are found by comparing the *paths* of two accesses to an element. A path lists, outermost first, the
executions of concurrent loops that an access is in, each with the iteration. Two accesses are concurrent exactly when,
at the first place where their paths differ, the loop execution is the same and the iteration is not. Since the
interpreter runs iterations in order, the last write and the last reads of an element suffice (the argument of
FastTrack, Flanagan and Freund, PLDI 2009).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from tzerlike.tir.interpreter.fault import BrokenRule

Path = tuple[tuple[object, object], ...]

_SEVERAL = object()
"""In the place of an iteration: more than one, so that it differs from each."""

MOST_ELEMENTS = 1 << 22


@dataclass(frozen=True, slots=True)
class PipelinePoint:
    """Where a statement of a software pipeline stands, in place of an iteration.

    Such a loop may run stage s of iteration i in slot i + s, and in a slot by `order`: so annotated, the loop promises
    that nothing depends on the order which that changes.
    """

    iteration: int
    slot: int
    order: int

    def overtaken_by(self, later: PipelinePoint) -> bool:
        """Whether a statement that comes later in the program may run before this one."""
        return (later.slot, later.order) < (self.slot, self.order)


@dataclass(slots=True)
class Memory:
    """What one allocation holds: None where nothing was written yet, an int, a bool, or a Float."""

    dtype: str
    values: list[Any]
    versioned: bool = False
    """Whether a software pipeline gives overlapping iterations copies of their own: so it does for a block's memory."""
    writers: list[Path] = field(default_factory=list)
    readers: list[Path] = field(default_factory=list)

    @classmethod
    def of_size(cls, dtype: str, size: int, tracked: bool, versioned: bool = False, first: Any = None) -> Memory:
        """Memory that holds `first`, or nothing where that is None; BrokenRule where there is no room for it."""
        if size > MOST_ELEMENTS:
            raise BrokenRule("step-budget", f"{size} elements of memory")
        memory = cls(dtype, [first] * size, versioned)
        if tracked:
            memory.track()
        return memory

    def track(self) -> None:
        """Keep book of accesses from now on."""
        self.writers = [()] * len(self.values)
        self.readers = [()] * len(self.values)

    def note_read(self, index: int, path: Path) -> None:
        """BrokenRule when a concurrent iteration writes what is read here."""
        writer = self.writers[index]
        if writer is not path and (concurrent(writer, path) or (self.versioned and _other_version(writer, path))):
            raise BrokenRule("race", "read and written by different iterations")
        reader = self.readers[index]
        if reader is not path:
            place = divergence(reader, path)
            if place is None:
                self.readers[index] = path
            elif not isinstance(path[place][1], PipelinePoint):
                self.readers[index] = (*path[:place], (path[place][0], _SEVERAL))

    def note_write(self, index: int, path: Path) -> None:
        """BrokenRule when a concurrent iteration reads or writes what is written here."""
        writer = self.writers[index]
        if writer is not path:
            if concurrent(writer, path, self.versioned):
                raise BrokenRule("race", "written by different iterations")
            self.writers[index] = path
        reader = self.readers[index]
        if reader is not path and concurrent(reader, path, self.versioned):
            raise BrokenRule("race", "read and written by different iterations")


def divergence(first: Path, second: Path) -> int | None:
    """The position where an access and a later one part into iterations without order; None when they are ordered."""
    for place, ((loop, iteration), (other, second_iteration)) in enumerate(zip(first, second, strict=False)):
        if loop != other:
            return None
        if iteration != second_iteration or iteration is _SEVERAL:
            if isinstance(iteration, PipelinePoint) and isinstance(second_iteration, PipelinePoint):
                if iteration.overtaken_by(second_iteration):
                    return place
                if iteration.slot != second_iteration.slot or iteration.order != second_iteration.order:
                    return None
                continue
            return place
    return None


def concurrent(first: Path, second: Path, versioned: bool = False) -> bool:
    """Whether nothing orders an access and a later one; `versioned` memory is safe from other iterations of a pipeline
    that overtake it."""
    place = divergence(first, second)
    return place is not None and not (versioned and _are_versions(first[place][1], second[place][1]))


def _are_versions(one: object, other: object) -> bool:
    return isinstance(one, PipelinePoint) and isinstance(other, PipelinePoint) and one.iteration != other.iteration


def _other_version(first: Path, second: Path) -> bool:
    """Whether two accesses are in different iterations of one software pipeline: versioned memory keeps them apart."""
    for (loop, iteration), (other, second_iteration) in zip(first, second, strict=False):
        if loop != other:
            return False
        if _are_versions(iteration, second_iteration):
            return True
        if iteration != second_iteration and not isinstance(iteration, PipelinePoint):
            return False
    return False


@dataclass(frozen=True, slots=True)
class BufferView:
    """A buffer: a shape laid over memory. `lanes` elements of memory make one element of a vector dtype."""

    memory: Memory
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    lanes: int = 1

    @classmethod
    def compact(cls, memory: Memory, shape: tuple[int, ...], lanes: int = 1) -> BufferView:
        return cls(memory, shape, row_major(shape), 0, lanes)

    def locate(self, indices: tuple[int, ...]) -> int:
        """The position in memory of an element; BrokenRule outside of the shape or of the memory."""
        position = self.offset
        for index, extent, stride in zip(indices, self.shape, self.strides, strict=True):
            if not 0 <= index < extent:
                raise BrokenRule("out-of-bounds", f"index {list(indices)} of a buffer of shape {list(self.shape)}")
            position += index * stride
        position *= self.lanes
        if not 0 <= position <= len(self.memory.values) - self.lanes:
            raise BrokenRule("out-of-bounds", f"index {list(indices)} is outside of the memory of its view")
        return position


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a compact buffer, in elements."""
    strides = []
    size = 1
    for extent in reversed(shape):
        strides.append(size)
        size *= extent
    return tuple(reversed(strides))


def size_of(shape: tuple[int, ...]) -> int:
    """The number of elements; BrokenRule where an extent is negative."""
    if any(extent < 0 for extent in shape):
        raise BrokenRule("negative-extent", f"a buffer of shape {list(shape)}")
    return math.prod(shape)
