"""What the loop draws from: programs are texts here, and their meaning is left to the harness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol

from tzerlike.core.bandit import Yields
from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.errors import Fault
from tzerlike.core.mutation import Mutant, Mutation
from tzerlike.core.observation import Observation
from tzerlike.findings.faults.bundle import Occasion
from tzerlike.passes.label import Label

Passes = tuple[PassSpec, ...]
Plan = tuple[Passes, ContextConfig]
DrawProgram = Callable[[Random], str]
"""Draws the program of a corpus entry."""


class Pairs(Protocol):
    """Makes pairs of program and pass sequence. The same generator and history give the same pair."""

    @property
    def mutators(self) -> Sequence[str]:
        """The names of what changes programs; where there are none, passes alone are mutated."""

    def mutant(self, mutation: Mutation, program: str, donor: DrawProgram) -> Mutant:
        """Change a program; parts of another may come from `donor`. A fault of ours is raised."""

    def repeated(self, occasion: Occasion) -> Fault | None:
        """Do the mutation again that a fault occurred in; the fault that it ends in, or None."""

    def admit(self, case: Case) -> None:
        """UserError in one line for a case that this compiler cannot take."""

    def cheap(self, target: str) -> str:
        """The target that does the same for less, or `target`."""

    def fresh(self, rng: Random, program: str) -> Plan:
        """Draw passes for a program."""

    def mutate(self, passes: Passes, config: ContextConfig, rng: Random, donor: Passes, program: str) -> Plan:
        """Change passes, with parts of `donor`, so that they apply to a program."""

    def fit(self, case: Case, program: str) -> Plan:
        """The passes of a case as far as they apply to another program."""

    def shrunk(self, case: Case, new_blocks: tuple[int, ...]) -> Passes:
        """The passes of a case without those that brought nothing; `new_blocks` has a number for each."""

    def learn(self, yields: Yields) -> None:
        """Prefer the passes that have paid."""

    def label(self, case: Case, seen: Observation) -> Label:
        """Say why a case was rejected."""
