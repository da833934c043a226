"""The interface of a mutator, and its environment: what it may know besides the function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class MutationEnv:
    """What one mutation may use.

    `target` is a target kind (`llvm`, `cuda`); `max_nodes` bounds the child's size in sites;
    `donor` returns another corpus member to take parts from, or None; `defined_weight` is the
    probability that generated code is in defined mode: in bounds, free of division by zero,
    overflow, uninitialised reads and races.
    """

    target: str = "llvm"
    max_nodes: int = 2000
    donor: Callable[[], Any | None] = lambda: None
    defined_weight: float = 0.5


MutatorFunction = Callable[[Any, Random, MutationEnv], Any | None]
"""What a mutator does when it is called; it need not know its own name."""


class Mutator(Protocol):
    """Makes a child of a PrimFunc, or None when it does not apply.

    A mutator never changes its argument, draws only from `rng`, and gives the same child for
    the same function, generator state and environment in every process. It may raise
    `tvm_api.CONSTRUCTION_ERRORS` for nodes that do not fit together; `make_mutators` turns
    those into None where TVM raised them, and lets a fault of our own pass.
    """

    @property
    def name(self) -> str: ...

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any | None: ...


def runs_compiler(mutator: MutatorFunction) -> bool:
    """Whether a mutator has code of the compiler under test make the child, as an attribute of that name says.

    It then runs in a child process of its own, without donors, and the blocks that it reaches count.
    """
    return bool(getattr(mutator, "runs_compiler", False))
