"""Mutators: functions from a PrimFunc to a child.

`MUTATORS` is the one table, name -> factory; plug-ins have others. A mutator is made by `make_mutators`, which also
guards it: what TVM's constructors refuse, a child that is too large, one that defines a variable
twice and one that is the parent itself all become None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.mutators import annotate, buffers, domain, general, kernels, schedule, splice, starter
from tzerlike.mutators.protocol import MutationEnv, Mutator
from tzerlike.plugins import extended, load_plugin
from tzerlike.systems.tvm_api import CONSTRUCTION_ERRORS, KNOWN_IR, raised_by_tvm
from tzerlike.tir.tree import Tree, defines_once

__all__ = [
    "ALL", "ANNOTATIONS", "BUFFERS", "DOMAIN", "GENERAL", "GROUPS", "MUTATORS", "SCHEDULE", "STARTER", "Guarded",
    "MutationEnv", "Mutator", "make_mutators",
]  # fmt: skip

MUTATORS: Mapping[str, Callable[[], Mutator]] = {
    "constants": starter.Constants,
    "operators": starter.Operators,
    "dtypes": starter.Dtypes,
    "delete": starter.DeleteStatement,
    "swap": starter.SwapExpressions,
    "loop-kind": starter.LoopKind,
    "insertion": general.Insertion,
    "deletion": general.Deletion,
    "replacement": general.Replacement,
    "loop-nesting": domain.LoopNesting,
    "memory": domain.MemoryOperations,
    "thread-binding": domain.ThreadBinding,
    "shared-memory": kernels.SharedMemory,
    "buffer-dtype": buffers.BufferDtype,
    "buffer-shape": buffers.BufferShape,
    "symbolic-shape": buffers.SymbolicShape,
    "buffer-layout": buffers.BufferLayout,
    "schedule-loops": schedule.ScheduleLoops,
    "schedule-blocks": schedule.ScheduleBlocks,
    "splice": splice.Splice,
    "block-annotations": annotate.BlockAnnotations,
    "software-pipeline": annotate.SoftwarePipeline,
    "async-scope": annotate.AsyncScope,
    "predicated-access": domain.PredicatedAccess,
    "function-attributes": annotate.FunctionAttributes,
}

STARTER = ("constants", "operators", "dtypes", "delete", "swap", "loop-kind")
"""The small local changes."""

GENERAL = ("insertion", "deletion", "replacement")
"""The general-purpose mutators of the paper's section 3.2."""

DOMAIN = ("loop-nesting", "memory", "thread-binding", "shared-memory")
"""The tensor-compiler mutators of the paper's section 3.3, and one for kernels."""

BUFFERS = ("buffer-dtype", "buffer-shape", "symbolic-shape", "buffer-layout")
"""Mutators of whole buffers."""

SCHEDULE = ("schedule-loops", "schedule-blocks")
"""Schedule primitives, which keep what a program computes."""

ANNOTATIONS = ("block-annotations", "software-pipeline", "async-scope", "predicated-access", "function-attributes")
"""Annotations, attributes and predicates that passes act on."""

ALL = tuple(MUTATORS)

NEED_KNOWN_IR = frozenset({"splice"})
"""What does not work on a TVM before 0.27: there a buffer is no variable that can be renamed like any other."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "starter": STARTER,
    "general": GENERAL,
    "domain": DOMAIN,
    "buffers": BUFFERS,
    "schedule": SCHEDULE,
    "annotations": ANNOTATIONS,
    "all": ALL,
    "none": (),
}
"""Names that stand for several mutators."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """A mutator that refuses where TVM raises, and keeps the child within `env.max_nodes`.

    `name` is the one that the table has it under.
    """

    mutator: Mutator
    name: str

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        try:
            child = self.mutator(func, rng, env)
        except CONSTRUCTION_ERRORS as error:
            # The same types are what a fault of our own code would raise.
            if not raised_by_tvm(error):
                raise
            return None
        if child is None or child.same_as(func):
            return None
        tree = Tree(child)
        return child if tree.size <= env.max_nodes and defines_once(tree) else None


def make_mutators(names: Sequence[str] = ("all",)) -> tuple[Mutator, ...]:
    """Make the mutators that `names` lists, in the order of the table; a group's name stands for its members.

    `plugin:name` is a mutator of a plug-in, `plugin:all` stands for all of its. Raises UserError that names an unknown
    mutator and lists the known ones, or one that this TVM is too old for, or for a plug-in that cannot be had.
    """
    listed = dict.fromkeys(name.partition(":")[0] for name in names if ":" in name)
    plugins = {plugin: load_plugin(plugin).mutators for plugin in listed}
    table = extended("mutator", MUTATORS, plugins)
    groups = {f"{plugin}:all": tuple(f"{plugin}:{name}" for name in added) for plugin, added in plugins.items()}
    groups.update(GROUPS)
    wanted: set[str] = set()
    for name in names:
        if name in groups:
            wanted.update(groups[name])
        elif name in table:
            wanted.add(name)
        else:
            raise UserError(f"unknown mutator {name!r}; known: {', '.join([*table, *groups])}")
    if not KNOWN_IR:
        if not_here := NEED_KNOWN_IR.intersection(names):
            raise UserError(f"--mutators: {', '.join(sorted(not_here))} need TVM 0.27")
        wanted -= NEED_KNOWN_IR
    return tuple(Guarded(make(), name) for name, make in table.items() if name in wanted)
