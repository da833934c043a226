"""The declared read and write regions of blocks, and whether accesses stay inside them.

Passes trust the declaration (CompactBufferAllocation, InjectSoftwarePipeline), so an access beyond it makes the program
undefined. Most declarations are the very indices of the access and need no check at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tzerlike.systems.tvm_api import array_items, source_of, structural_equal, tirx, type_of
from tzerlike.tir.interpreter.fault import BrokenRule, raising
from tzerlike.tir.interpreter.state import Node, Slots, shown_name
from tzerlike.tir.interpreter.verdict import RULES, Verdict

_REDUCTION = 2
"""tirx.IterVar's iter_type of an axis of reduction."""

Thunk = Callable[[], Any]
Bounds = list[tuple[int, int]]


@dataclass(slots=True)
class _Block:
    """A block that is being compiled: its declared regions by buffer, and the bounds of those that need a check."""

    reads: dict[int, list[list[Node]]]
    writes: dict[int, list[list[Node]]]
    reduces: bool
    own: set[int] = field(default_factory=set)
    wanted: dict[tuple[int, str], tuple[int, list[list[Node]]]] = field(default_factory=dict)
    """The slot of the bounds and the regions, by buffer and by what is done to it."""

    def declared(self, buffer: int, access: str) -> list[list[Node]]:
        """The regions that cover a "store", a "load", or an "update": a load within a reduction."""
        if access == "store":
            return self.writes.get(buffer, [])
        loaded = self.reads.get(buffer, [])
        return loaded + self.writes.get(buffer, []) if access == "update" else loaded


@dataclass(slots=True)
class Regions:
    """The blocks around the statement that is being compiled, innermost last.

    The bounds of regions are kept in the frame of `slots`, so that each thread has its own.
    """

    slots: Slots
    kept: bool = True
    """Whether accesses are held to what blocks declare."""
    depth: int = 0
    blocks: list[_Block] = field(default_factory=list)
    sources: dict[int, int] = field(default_factory=dict)
    finished: dict[int, _Block] = field(default_factory=dict)

    def define(self, buffer: Node) -> None:
        """`buffer` is allocated here: the blocks around need not declare it."""
        for block in self.blocks:
            block.own.add(hash(buffer))

    def alias(self, buffer: Node, source: Node) -> None:
        """`buffer` is another name for memory of `source`; its accesses are those of no declaration of its own."""
        self.sources[hash(buffer)] = hash(source)
        self.define(buffer)

    @contextmanager
    def inside(self, block: Node) -> Iterator[None]:
        """Compile the body of `block`; the root, the outermost one, without axes and declarations, declares nothing."""
        root = not (self.depth or array_items(block.iter_vars) or array_items(block.reads) or array_items(block.writes))
        entry = _Block(_by_buffer(block.reads), _by_buffer(block.writes), _reduces(block))
        self.depth += 1
        if not root:
            self.blocks.append(entry)
        try:
            yield
        finally:
            self.depth -= 1
            if not root:
                self.blocks.pop()
                self.finished[hash(block)] = entry

    def check(
        self, buffer: Node, store: bool, indices: Sequence[Node], compile_: Callable[[Node], Thunk]
    ) -> Thunk | None:
        """What must be checked before each access, or None when the declarations cover it as they stand."""
        identity = hash(buffer)
        checks = []
        places: list[Thunk] | None = None
        for depth, block in enumerate(self.blocks if self.kept else ()):
            if identity in block.own:
                continue
            reduced = any(inner.reduces for inner in self.blocks[depth:])
            access = "store" if store else "update" if reduced else "load"
            declared = block.declared(identity, access)
            if not declared:
                what = "writes" if store else "reads"
                return raising("block-region", f"{what} {shown_name(buffer)} without declaring it")
            if any(len(region) != len(indices) for region in declared):
                # FlattenBuffer changes the accesses and leaves the declarations.
                return raising("unsupported", f"regions of {shown_name(buffer)} of another rank")
            if any(_covers(region, indices, buffer) for region in declared):
                continue
            if places is None:
                places = [compile_(index) for index in indices]
            if (identity, access) not in block.wanted:
                block.wanted[identity, access] = self.slots.add(), declared
            checks.append(block.wanted[identity, access][0])
        if not checks or places is None:
            return None
        return _checked(self.slots.state.frame, checks, places, "writes" if store else "reads", shown_name(buffer))

    def entry(self, block: Node, number: Callable[[Node], Thunk]) -> Thunk:
        """What to run when `block` is entered: evaluate the declared regions that accesses are checked against.

        What their bounds load is no access of the program: no block has to declare it.
        """
        state = self.finished.pop(hash(block), None)
        if state is None or not state.wanted:
            return lambda: None
        kept, self.kept = self.kept, False
        compiled = [
            (slot, [[(number(part.min), number(part.extent)) for part in region] for region in regions])
            for slot, regions in state.wanted.values()
        ]
        self.kept = kept
        frame = self.slots.state.frame

        def run() -> None:
            for slot, regions in compiled:
                frame[slot] = [bounds for region in regions if (bounds := _valued(region)) is not None]

        return run


def _valued(region: list[tuple[Thunk, Thunk]]) -> Bounds | None:
    """The bounds of a declared region; None where they have no value: such a region holds nothing."""
    try:
        return [(low, low + extent()) for low, extent in ((least(), size) for least, size in region)]
    except BrokenRule as broken:
        if RULES[broken.rule][0] is not Verdict.UNDEFINED:
            raise
        return None


def _reduces(block: Node) -> bool:
    """Whether a block, and those around it, may read what it writes without saying so: TVM's own detector leaves that
    out of the reads of a block with an init. Lowering takes the init and then the axes away: nobody can tell of a block
    without axes."""
    axes = array_items(block.iter_vars)
    return block.init is not None or not axes or any(int(axis.iter_type) == _REDUCTION for axis in axes)


def _by_buffer(regions: Any) -> dict[int, list[list[Node]]]:
    found: dict[int, list[list[Node]]] = {}
    for region in array_items(regions):
        found.setdefault(hash(source_of(region)), []).append(array_items(region.region))
    return found


def _covers(region: list[Node], indices: Sequence[Node], buffer: Node) -> bool:
    """Whether a declared region holds an access whatever the values: the very indices, or a whole dimension."""
    for part, index, extent in zip(region, indices, array_items(type_of(buffer).shape), strict=True):
        if type(part.min) is tirx.IntImm and int(part.min.value) == 0 and structural_equal(part.extent, extent):
            continue
        if type(part.extent) is tirx.IntImm and int(part.extent.value) >= 1 and structural_equal(part.min, index):
            continue
        return False
    return True


def _checked(frame: list[Any], checks: list[int], places: list[Thunk], does: str, name: str) -> Thunk:
    def run() -> None:
        points = [place() for place in places]
        for slot in checks:
            regions: list[Bounds] = frame[slot]
            for bounds in regions:
                if all(_within(point, low, high) for point, (low, high) in zip(points, bounds, strict=True)):
                    break
            else:
                raise BrokenRule("block-region", f"{does} element {points} of {name}, which the block does not declare")

    return run


def _within(point: Any, low: int, high: int) -> bool:
    if isinstance(point, list):
        return all(low <= lane < high for lane in point)
    return bool(low <= point < high)
