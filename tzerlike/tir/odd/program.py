"""The input of the rules of odd forms, and their output."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from tzerlike.systems.tvm_api import s_tir, source_of, tirx, tvm
from tzerlike.tir.node import declares_nothing
from tzerlike.tir.plain import HINTS
from tzerlike.tir.reducers.program import Make
from tzerlike.tir.tree import Site, Tree

UNSIGNED = "an unsigned loop"
NEVER = "what no execution may come to"
REPEATS = "a loop that only repeats itself"
UNFOLDED = "an unfolded constant"
UNUSED = "an unused name"
UNSTORED = "a value that nobody uses"

_PURE = (0, 1)
"""Effects of calls that compute and do no more."""

ACCESSES = (tvm.ir.TensorLoad, tirx.BufferStore)

BOUNDS = ("min", "extent", "step")


@dataclass(frozen=True, slots=True)
class Program:
    """`used` are the variables that something uses, `read` the buffers that are read, here or by the caller, `written`
    those that are written here; `blocks` says whether there are any but the root."""

    tree: Tree
    used: frozenset[int]
    read: frozenset[int]
    written: frozenset[int]
    given: frozenset[int]
    blocks: bool
    threads: bool


Odds = Iterator[tuple[str, Make]]


def is_pure(call: Any) -> bool:
    """Whether a call computes and does no more."""
    return isinstance(call.op, tvm.ir.Op) and call.op.get_attr("TCallEffectKind") in _PURE


def declares(site: Site) -> bool:
    """Whether this is a block that declares anything: not the root."""
    node = site.node
    return type(node) is s_tir.SBlock and not declares_nothing(node)


def is_outside(site: Site) -> bool:
    """Whether this is in no block that declares anything."""
    return not any(map(declares, site.ancestors()))


def buffers_read(tree: Tree, site: Site, roles: Collection[str]) -> Iterator[Any]:
    """The buffers that what is in these places of a node reads."""
    tops = (below for below in tree.below(site) if below.role in roles and below.parent is site)
    loads = (part.node for top in tops for part in tree.below(top) if type(part.node) is tvm.ir.TensorLoad)
    return map(source_of, loads)


def within(value: Any, low: Any, extent: Any) -> bool:
    """Whether a number is in a range; so it is taken to be where any of them is no number."""
    if any(type(node) is not tirx.IntImm for node in (value, low, extent)):
        return True
    return 0 <= int(value.value) - int(low.value) < int(extent.value)


def hints_in(annotations: Any) -> dict[str, Any]:
    """Return the annotations that are hints which any program may have."""
    return {name: value for name, value in dict(annotations or {}).items() if str(name) in HINTS}
