"""Where a kernel loses its meaning in the passes of the default pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tzerlike.execution.cuda.lowered import JUDGED_BEFORE, with_memory_inside
from tzerlike.execution.diagnosis.meaning import Inspection, Meaning
from tzerlike.execution.diagnosis.search import Correctness
from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import s_tir, tirx, type_of
from tzerlike.systems.tvm_passes import PassTrail, Turn
from tzerlike.tir.tree import Tree


def kernel_turns(trail: PassTrail) -> Sequence[Turn]:
    """The turns up to what is judged of a kernel: what comes later is not known as one function."""
    end = max((place for place, name in enumerate(trail.names) if name == JUDGED_BEFORE), default=len(trail.names))
    return [turn for turn in trail.turns if turn.index < end]


@dataclass(frozen=True, slots=True)
class KernelMeaning:
    """The `look` of a Meaning at kernels; `judged` is the last one, which has its barriers.

    Before there are barriers, threads that share memory race, or read what nobody has written yet: there nothing is
    known of what is not right.
    """

    meaning: Meaning
    judged: Any

    def look(self, module: Any) -> Inspection:
        func = with_memory_inside(tvm_api.entry_of(module))
        seen = Inspection(Correctness.UNKNOWN) if func is None else self.meaning.look(tvm_api.module_of(func))
        if seen.state is Correctness.WRONG and not module.same_as(self.judged) and _shares_memory(func):
            return Inspection(Correctness.UNKNOWN)
        return seen


def _shares_memory(func: Any) -> bool:
    """Whether threads of a block share memory that a kernel allocates."""
    tree = Tree(func)
    buffers = [site.node.buffer for site in tree.of_type(tirx.AllocBuffer)]
    for site in tree.of_type(s_tir.SBlock):
        buffers += tvm_api.array_items(site.node.alloc_buffers)
    return any(str(type_of(buffer).storage_scope).startswith("shared") for buffer in buffers)
