"""Mutators: functions from a PrimFunc to a child.

`MUTATORS` is the one table, name -> factory; plug-ins have others. Mutators are made by `make_mutators` and guarded: if
TVM refuses a child, or it is too large, defines a variable twice or is the parent itself, it becomes None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from random import Random
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.mutators import annotate, buffers, domain, general, kernels, schedule, splice, starter, tiles
from tzerlike.mutators.protocol import MutationEnv, Mutator, MutatorFunction, runs_compiler
from tzerlike.plugins import extended, load_plugin
from tzerlike.systems.refusal import CompilerRefused
from tzerlike.systems.tvm_api import CONSTRUCTION_ERRORS, HAS_TILES, KNOWN_IR, SYSTEM, raised_by_tvm, structural_hash
from tzerlike.tir.tree import Tree, defines_once

__all__ = [
    "ALL", "GROUPS", "MUTATORS", "OF_TILES", "Guarded", "MutationEnv", "Mutator", "make_mutators", "runs_compiler",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Guarded:
    """A mutator that refuses where TVM raises or nothing changes, and keeps the child within `env.max_nodes`.

    `name` is the one that the table has it under.
    """

    mutator: MutatorFunction
    name: str

    @property
    def runs_compiler(self) -> bool:
        return runs_compiler(self.mutator)

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        try:
            return self.told(func, rng, env)
        except CompilerRefused:
            return None

    def told(self, func: Any, rng: Random, env: MutationEnv) -> Any | None:
        """The same; CompilerRefused with what the compiler raised in a mutator that runs it."""
        # A schedule may change the function that it is made of in its place.
        before = structural_hash(func)
        try:
            child = self.mutator(func, rng, env)
        except CONSTRUCTION_ERRORS as error:
            # The same types are what a fault of our own code would raise.
            if not raised_by_tvm(error):
                raise
            if self.runs_compiler:
                raise CompilerRefused(error) from error
            return None
        if child is None or structural_hash(child) == before:
            return None
        tree = Tree(child)
        return child if tree.size <= env.max_nodes and defines_once(tree) else None


# What each mutator does, in the order in which they are listed.
_CHANGES: Mapping[str, MutatorFunction] = {
    "constants": starter.constants,
    "operators": starter.operators,
    "dtypes": starter.other_dtypes,
    "delete": starter.delete_statement,
    "swap": starter.swap_expressions,
    "loop-kind": starter.loop_kind,
    "insertion": general.insertion,
    "deletion": general.deletion,
    "replacement": general.replacement,
    "loop-nesting": domain.loop_nesting,
    "memory": domain.memory_operations,
    "thread-binding": domain.thread_binding,
    "shared-memory": kernels.shared_memory,
    "buffer-dtype": buffers.buffer_dtype,
    "buffer-shape": buffers.buffer_shape,
    "symbolic-shape": buffers.symbolic_shape,
    "buffer-layout": buffers.buffer_layout,
    "schedule-loops": schedule.LOOP_SCHEDULES,
    "schedule-blocks": schedule.BLOCK_SCHEDULES,
    "splice": splice.splice,
    "block-annotations": annotate.block_annotations,
    "software-pipeline": annotate.software_pipeline,
    "async-scope": annotate.async_scope,
    "predicated-access": domain.predicated_access,
    "function-attributes": annotate.function_attributes,
    "tile-extents": tiles.tile_extents,
    "tile-edges": tiles.tile_edges,
    "tile-dtypes": tiles.tile_dtypes,
    "tile-scope": tiles.tile_scope,
    "tile-threads": tiles.tile_threads,
    "tile-stages": tiles.tile_stages,
    "tile-operands": tiles.tile_operands,
    "tile-hints": tiles.tile_hints,
    "tile-detour": tiles.tile_detour,
    "tile-order": tiles.tile_order,
    "tile-condition": tiles.tile_condition,
}

MUTATORS: Mapping[str, Callable[[], Mutator]] = {
    name: partial(Guarded, change, name) for name, change in _CHANGES.items()
}

OF_TILES = tuple(name for name in _CHANGES if name.startswith("tile-"))
"""What changes programs in TileLang's dialect, and no others."""

ALL = tuple(name for name in MUTATORS if HAS_TILES or name not in OF_TILES)
"""Those that have something to change on this TVM."""

NEED_KNOWN_IR = frozenset({"splice"})
"""What does not work on an older TVM: there a buffer is no variable that can be renamed like any other."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    # The small local changes.
    "starter": ("constants", "operators", "dtypes", "delete", "swap", "loop-kind"),
    # The general-purpose mutators of the paper's section 3.2.
    "general": ("insertion", "deletion", "replacement"),
    # The tensor-compiler mutators of the paper's section 3.3, and one for kernels.
    "domain": ("loop-nesting", "memory", "thread-binding", "shared-memory"),
    # Mutators of whole buffers.
    "buffers": ("buffer-dtype", "buffer-shape", "symbolic-shape", "buffer-layout"),
    # Schedule primitives, which keep what a program computes.
    "schedule": ("schedule-loops", "schedule-blocks"),
    # Annotations, attributes and predicates that passes act on.
    "annotations": (
        "block-annotations", "software-pipeline", "async-scope", "predicated-access", "function-attributes",
    ),
    # Kernels in TileLang's dialect, which the others leave alone.
    "tiles": OF_TILES,
    "all": ALL,
    "none": (),
}  # fmt: skip
"""Names that stand for several mutators."""


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
            known = [*table, *groups]
            close = get_close_matches(name, known, n=3)
            said = f"nearest: {', '.join(close)}" if close else f"there are {', '.join(known)}"
            raise UserError(f"--mutators: no mutator {name!r}; {said}")
    if not HAS_TILES and (of_tiles := {"tiles", *OF_TILES}.intersection(names)):
        raise UserError(f"--mutators: {', '.join(sorted(of_tiles))} need TileLang's TVM")
    if not KNOWN_IR:
        if not_here := NEED_KNOWN_IR.intersection(names):
            raise UserError(f"--mutators: {', '.join(sorted(not_here))} need TVM {SYSTEM.described_from}")
        wanted -= NEED_KNOWN_IR
    # Those of a plug-in come as it makes them.
    return tuple(
        make() if name in MUTATORS else Guarded(make(), name) for name, make in table.items() if name in wanted
    )
