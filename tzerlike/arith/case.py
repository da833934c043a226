"""The case in a bundle of the arithmetic harness; read without TVM."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from tzerlike.arith.model import Problem
from tzerlike.core.case import check_seed
from tzerlike.core.errors import UserError
from tzerlike.core.schema import Schema, Text, Whole

HARNESS = "arith"


@dataclass(frozen=True, slots=True)
class ArithCase:
    """A check with the problem it is wrong about, and the iteration that led to it."""

    check: str
    problem: Problem
    seed: int
    worker: int
    iteration: int

    def to_json(self) -> dict[str, Any]:
        return ARITH_CASE.stamped(
            {
                "harness": HARNESS,
                "check": self.check,
                "problem": self.problem.to_json(),
                "provenance": {"seed": self.seed, "worker": self.worker, "iteration": self.iteration},
            }
        )


class _Origin(msgspec.Struct):
    seed: int
    worker: Whole
    iteration: Whole

    def __post_init__(self) -> None:
        check_seed(self.seed)


class _StoredCase(msgspec.Struct):
    """A case as its file has it, the problem still as JSON."""

    harness: Literal["arith"]
    check: Text
    problem: dict[str, Any]
    provenance: _Origin


ARITH_CASE = Schema(_StoredCase, "case")


def read_arith_case(path: Path) -> ArithCase:
    """Read a bundle's case.json; UserError in one line that names the file."""
    stored = ARITH_CASE.read(path)
    try:
        problem = Problem.from_json(stored.problem)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    origin = stored.provenance
    return ArithCase(stored.check, problem, origin.seed, origin.worker, origin.iteration)
