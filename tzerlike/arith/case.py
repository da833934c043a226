"""What a bundle of the arithmetic harness says; read without TVM."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tzerlike.arith.model import Problem
from tzerlike.campaign import read_json
from tzerlike.errors import UserError
from tzerlike.limits import Limits

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
        """Rebuild from `to_json`; UserError when it is not such a case."""
        try:
            if data["schema_version"] != SCHEMA_VERSION or data["harness"] != HARNESS:
                raise UserError(f"not an arithmetic case of schema_version {SCHEMA_VERSION}")
            origin = data["provenance"]
            numbers = (int(origin[key]) for key in ("seed", "worker", "iteration"))
            return cls(str(data["check"]), Problem.from_json(data["problem"]), *numbers)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"not an arithmetic case ({type(error).__name__}: {error})") from error


@dataclass(frozen=True, slots=True)
class ArithBundle:
    """A bundle directory of this harness."""

    path: Path
    case: ArithCase
    signature: str
    limits: Limits


def is_arith_bundle(path: Path) -> bool:
    """Whether the directory's case.json says that it belongs to this harness; False where it cannot be read."""
    try:
        data = read_json(path / "case.json")
    except UserError:
        return False
    return isinstance(data, dict) and data.get("harness") == HARNESS


def read_arith_case(path: Path) -> ArithCase:
    """Read a bundle's case.json; UserError in one line that names the file."""
    try:
        return ArithCase.from_json(read_json(path))
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


def read_arith_bundle(path: Path) -> ArithBundle:
    """Read a bundle; UserError in one line that names the file at fault."""
    case = read_arith_case(path / "case.json")
    file = path / "observation.json"
    data = read_json(file)
    try:
        limits = Limits(float(data["limits"]["seconds"]), int(data["limits"]["memory"]))
        if not (0 < limits.seconds <= 36_000 and 0 < limits.memory <= 1 << 42):
            raise UserError(f"{file}: limits out of range")
        return ArithBundle(path, case, str(data["signature"]), limits)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UserError(f"{file}: not a bundle's observation ({type(error).__name__}: {error})") from error
