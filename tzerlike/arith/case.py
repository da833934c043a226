"""What a bundle of the arithmetic harness says; read without TVM."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tzerlike.arith.model import Problem
from tzerlike.bundles.bundle import read_flaky, read_limits, read_signature
from tzerlike.campaign import read_json
from tzerlike.case import SEEDS
from tzerlike.errors import UserError
from tzerlike.limits import Limits
from tzerlike.untrusted import Fields

SCHEMA_VERSION = 1
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
        return {
            "schema_version": SCHEMA_VERSION,
            "harness": HARNESS,
            "check": self.check,
            "problem": self.problem.to_json(),
            "provenance": {"seed": self.seed, "worker": self.worker, "iteration": self.iteration},
        }

    @classmethod
    def from_json(cls, data: Any) -> ArithCase:
        """Rebuild from `to_json`; UserError that names the place when it is not such a case."""
        root = Fields.of(data, "case")
        if root.whole("schema_version") != SCHEMA_VERSION or root.text("harness") != HARNESS:
            raise UserError(f"not an arithmetic case of schema_version {SCHEMA_VERSION}")
        origin = root.inner("provenance")
        problem = Problem.from_json(root.inner("problem").data)
        seed = origin.whole("seed", *SEEDS)
        return cls(root.text("check"), problem, seed, origin.whole("worker"), origin.whole("iteration"))


@dataclass(frozen=True, slots=True)
class ArithBundle:
    """A bundle directory of this harness."""

    path: Path
    case: ArithCase
    signature: str
    limits: Limits
    flaky: bool


def is_arith_bundle(path: Path) -> bool:
    """Whether the directory's case.json says that it belongs to this harness; False where it cannot be read."""
    try:
        data = read_json(path / "case.json")
    except UserError:
        return False
    return isinstance(data, dict) and data.get("harness") == HARNESS


def read_arith_case(path: Path) -> ArithCase:
    """Read a bundle's case.json; UserError in one line that names the file."""
    data = read_json(path)
    try:
        return ArithCase.from_json(data)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def read_arith_bundle(path: Path) -> ArithBundle:
    """Read a bundle; UserError in one line that names the file at fault."""
    case = read_arith_case(path / "case.json")
    file = path / "observation.json"
    data = read_json(file)
    try:
        root = Fields.of(data, "bundle")
        return ArithBundle(path, case, read_signature(root), read_limits(root.inner("limits")), read_flaky(root))
    except UserError as error:
        raise UserError(f"{file}: {error}") from error
