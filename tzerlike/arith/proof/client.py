"""The client of a process with z3 in it: TVM contains a z3 of its own, so the two cannot share a process."""

from __future__ import annotations

import importlib.util
import json
import select
import subprocess
import sys
from contextlib import suppress
from types import TracebackType
from typing import Any

import msgspec

from tzerlike.arith.claims import Claim, Counterexample
from tzerlike.arith.model import Problem
from tzerlike.core.errors import UserError

PROOF = "proof"
"""What the oracle is called."""

PROOF_SECONDS = 0.2
"""Seconds for one claim."""

_END = 5.0
_PATIENCE = 60.0
"""Seconds for an answer, after which something is wrong with the prover."""


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
        raise UserError("--oracles: proof needs z3; install it with: pip install 'tzerlike[proof]'")


class ProofClient:
    """One process that proves, for as long as it is needed. It ends with this one, whose pipe it reads.

    `limit` is the seconds that it has for a claim. It knows the rules in the file `rules`, if there is one, and has
    that file written by `write`.
    """

    def __init__(self, rules: str, limit: float = PROOF_SECONDS) -> None:
        require_solver()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tzerlike.arith.proof.server", str(limit), rules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def decide(self, problem: Problem, claim: Claim) -> Answer:
        found = self._ask([problem.to_json(), msgspec.to_builtins(claim)])
        return msgspec.convert({**found["verdict"], "how": found["how"]}, Answer)

    def write(self) -> dict[str, int]:
        """Have the rules written, and return how many there are of which kind."""
        return msgspec.convert(self._ask("write"), dict[str, int])

    def _ask(self, question: object) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise RuntimeError("the prover is gone") from error
        ready, _, _ = select.select([self._process.stdout], [], [], _PATIENCE)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            raise RuntimeError("the prover does not answer" if not ready else "the prover is gone")
        return json.loads(line)

    def close(self) -> None:
        """End it, whatever it is at."""
        with suppress(OSError, subprocess.TimeoutExpired):
            self._process.communicate(timeout=_END)
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> ProofClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
