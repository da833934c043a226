"""Requirements on programs that TVM documents for a schedule primitive, and that the primitive does not check.

A primitive is held to what it claims only on such programs; the program just before it in a trace is the one that
counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tzerlike.systems.tvm_api import array_items, s_tir, structural_equal, structural_walk, tirx, tvm
from tzerlike.tir.node import key, variables_in
from tzerlike.tir.scope import REDUCTION_AXIS
from tzerlike.tir.tree import Site, Tree

_MARK = "tzerlike.target"


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a primitive wants of a program; `words` are the documentation's, in the file `source` of TVM.

    `holds` takes the program, the block that the primitive is called on, and the call's other arguments.
    """

    holds: Callable[[Tree, Site, Sequence[Any]], bool]
    words: str
    source: str = "python/tvm/s_tir/schedule/schedule.py"


def _marking(trace: Any, instruction: Any) -> Any:
    """Return `trace` with a last step that marks the block on which `instruction`, the next one, is called."""
    kind = s_tir.schedule.InstructionKind.get("Annotate")
    mark = s_tir.schedule.Instruction(kind, [array_items(instruction.inputs)[0], tirx.IntImm("int32", 1)], [_MARK], [])
    return s_tir.schedule.Trace([*array_items(trace.insts), mark], {})


def documented_use(instruction: Any, before: Any, applied: Callable[[Any], Any]) -> bool:
    """Whether `instruction` comes upon a program that its documentation speaks of, after the trace `before`.

    `applied` gives the program that a trace makes.
    """
    requirement = REQUIREMENTS.get(str(instruction.kind.name))
    if requirement is None:
        return True
    tree = Tree(applied(_marking(before, instruction)))
    target = next(site for site in tree.of_type(s_tir.SBlock) if _MARK in site.node.annotations)
    return requirement.holds(tree, target, array_items(instruction.attrs))


def _accessed_once(tree: Tree, target: Site, arguments: Sequence[Any]) -> bool:
    """Whether the block has one index for the buffer, and is "only one block who reads/writes the target buffer"."""
    place, field = int(arguments[0]), ("reads", "writes")[int(arguments[1])]
    buffer = array_items(getattr(target.node, field))[place].source
    blocks = [site for site in tree.of_type(s_tir.SBlock) if _scope(site) is not None]
    both = all(any(buffer.same_as(other) for other in _buffers(target, way)) for way in ("reads", "writes"))
    ways = ("reads", "writes") if both else (field,)
    users = [site for site in blocks if any(buffer.same_as(other) for way in ways for other in _buffers(site, way))]
    first, *others = _accesses(target.node, buffer)
    return len(users) == 1 and all(
        len(first) == len(other) and all(map(structural_equal, first, other)) for other in others
    )


def _in_a_pipeline_of_stages(tree: Tree, target: Site, arguments: Sequence[Any]) -> bool:
    """Whether nothing is read in the block's scope that a later block there writes."""
    scope = _scope(target)
    stages = [site for site in tree.of_type(s_tir.SBlock) if site is not scope and _scope(site) is scope]
    return not any(
        read.same_as(written)
        for place, stage in enumerate(stages)
        for read in _buffers(stage, "reads")
        for later in stages[place + 1 :]
        for written in _buffers(later, "writes")
    )


def _sum_of_products(tree: Tree, target: Site, arguments: Sequence[Any]) -> bool:
    """Whether zeros may be added to a sum, along axes that buffers have. What reduces nothing is cut back to what it
    was, whatever the padding, if zeros are no divisors."""
    block, store = target.node, target.node.body
    if type(store) is not tirx.BufferStore:
        return False
    reads_and_writes = (*array_items(block.reads), *array_items(block.writes))
    indices = [item.min for region in reads_and_writes for item in array_items(region.region)]
    used = {key(var) for index in indices for var in variables_in(index)}
    if any(key(axis.var) not in used for axis in array_items(block.iter_vars)):
        return False
    if not any(int(axis.iter_type) == REDUCTION_AXIS for axis in array_items(block.iter_vars)):
        divisions: list[Any] = []
        structural_walk(store.value, ((tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod), divisions.append))
        return not divisions
    return type(store.value) is tirx.Add and _is_product(store.value.a) and _is_product(store.value.b)


def _is_product(value: Any) -> bool:
    """Whether a value is zero where what it loads is."""
    if type(value) is tirx.Cast:
        return _is_product(value.value)
    if type(value) is tirx.Mul:
        return _is_product(value.a) and _is_product(value.b)
    return type(value) is tvm.ir.TensorLoad


def _scope(block: Site) -> Site | None:
    return next((above for above in block.ancestors() if type(above.node) is s_tir.SBlock), None)


def _buffers(block: Site, field: str) -> list[Any]:
    return [region.source for region in array_items(getattr(block.node, field))]


def _accesses(block: Any, buffer: Any) -> list[list[Any]]:
    """The indices of each load and store of `buffer`."""
    found: list[list[Any]] = []

    def note(accessed: Any, indices: Any) -> None:
        if accessed.same_as(buffer):
            found.append(array_items(indices))

    for part in (block.body, block.init):
        if part is not None:
            structural_walk(
                part,
                (tvm.ir.TensorLoad, lambda node, *_: note(node.source, node.indices)),
                (tirx.BufferStore, lambda node, *_: note(node.buffer, node.indices)),
            )
    return found


_STAGES = Requirement(_in_a_pipeline_of_stages, "The scope block have stage-pipeline property.")

REQUIREMENTS: Mapping[str, Requirement] = MappingProxyType(
    {
        "ReIndex": Requirement(_accessed_once, "There is only one buffer load/store of this buffer in the block"),
        "CacheRead": _STAGES,
        "CacheWrite": _STAGES,
        "PadEinsum": Requirement(_sum_of_products, "Pad the computation of Einsum."),
    }
)
"""By the names of instructions."""
