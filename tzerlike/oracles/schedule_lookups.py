"""How to find a block or a loop of a schedule in the program that it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tzerlike.systems.refusal import ask_compiler
from tzerlike.systems.tvm_api import ENTRY, array_items, s_tir
from tzerlike.tir.tree import Tree


@dataclass(frozen=True, slots=True)
class Lookup:
    """A block by its name, or the loop at place `loop` of `loops` around it, counted from outside."""

    block: str
    loop: int | None = None
    loops: int = 0


class NoLookup(Exception):
    """No name of a block leads to a block or loop."""


def lookup_of(schedule: Any, found: Any) -> Lookup:
    """Return how to find what a block or loop of `schedule` stands for; NoLookup where no name of a block leads there,
    CompilerRefused where TVM does not look."""
    lookup = ask_compiler(lambda: _lookup_of(schedule, found))
    if lookup is None:
        raise NoLookup
    return lookup


def _lookup_of(schedule: Any, found: Any) -> Lookup | None:
    node = schedule.get(found)
    if isinstance(node, s_tir.SBlock):
        name = str(node.name_hint)
        return Lookup(name) if name in _unique_names(schedule) else None
    for name in _unique_names(schedule):
        loops = array_items(schedule.get_loops(schedule.get_sblock(name, ENTRY)))
        for place, loop in enumerate(loops):
            if schedule.get(loop).same_as(node):
                return Lookup(name, place, len(loops))
    return None


def _unique_names(schedule: Any) -> Iterator[str]:
    """The names of blocks other than the root that no two blocks have, in their order."""
    blocks = Tree(schedule.mod[ENTRY]).of_type(s_tir.SBlock)
    names = [str(site.node.name_hint) for site in blocks if site.parent is not None and site.parent.parent is not None]
    return (name for name, times in Counter(names).items() if times == 1)
