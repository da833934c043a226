"""Asks a process with z3 in it: TVM has one of its own, so they cannot live together."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from tzerlike.arith.claims import Claim, Counterexample
from tzerlike.arith.model import Problem
from tzerlike.core.errors import UserError

LIMIT = 0.2
"""Seconds for one claim."""

_END = 5.0


class Answer(msgspec.Struct, frozen=True):
    """What was said of one claim: `tzerlike.arith.proof.book.Decision`, read where there is no z3."""

    kind: str
    how: str
    why: str = ""
    seconds: float = 0.0
    wrong: Counterexample | None = None


def require_solver() -> None:
    """UserError where z3 is not installed."""
    if importlib.util.find_spec("z3") is None:
        raise UserError("--oracles: proof takes z3; install it with: pip install 'tzerlike[proof]'")


class ProofClient:
    """One process that proves, for as long as it is needed. It ends with this one, whose pipe it reads.

    `limit` is the seconds that it has for a claim.
    """

    def __init__(self, limit: float = LIMIT) -> None:
        require_solver()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tzerlike.arith.proof.server", str(limit)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def decide(self, problem: Problem, claim: Claim) -> Answer:
        found = self._ask([problem.to_json(), msgspec.to_builtins(claim)])
        return msgspec.convert({**found["verdict"], "how": found["how"]}, Answer)

    def write(self, path: Path) -> Mapping[str, int]:
        """Have the rules written, and return the summary."""
        return msgspec.convert(self._ask(str(path.absolute())), dict[str, int])

    def _ask(self, question: object) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the prover is gone, with status {self._process.wait(_END)}")
        return json.loads(line)

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(_END)
        self._process.stdout.close()

    def __enter__(self) -> ProofClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
