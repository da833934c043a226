"""A mutation in which a fault occurred, repeated in a child."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from tzerlike.core.errors import Fault, contained
from tzerlike.core.targets import kind_of_target
from tzerlike.findings.faults.bundle import Donor, Occasion
from tzerlike.mutators import MutationEnv, make_mutators
from tzerlike.mutators.attempt import attempted
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api


def fault_of_mutation(occasion: Occasion) -> Fault | None:
    """Return the fault that the mutation of `occasion` ends in, or None; what it drew from a corpus it draws again."""
    mutation, parent = occasion.mutation, occasion.parent
    assert mutation is not None and parent is not None

    def work() -> None:
        (mutator,) = make_mutators([mutation.mutator])
        rng = mutation.rng
        env = MutationEnv(target=kind_of_target(parent.case.target), donor=_drawn(rng, iter(occasion.donors)))
        attempted(mutator, _program(parent.case.ir), rng, env)

    ended = contained(lambda: in_child(work), mutation.mutator)
    if isinstance(ended, Fault):
        return ended
    _, number = ended
    return Fault(f"signal {number}", (mutation.mutator,), "the mutation ended its process") if number else None


def _drawn(rng: Random, donors: Iterator[Donor]) -> Any:
    def donor() -> Any:
        drawn = next(donors)
        rng.randrange(drawn.entries)
        return _program(drawn.ir)

    return donor


def _program(ir: str) -> Any:
    return tvm_api.entry_of(tvm_api.load_ir(ir))
