"""What reports tell of in tests: a case with an observation, and wrong code as seen in it."""

from __future__ import annotations

from tzerlike.core.case import Case, PassSpec
from tzerlike.core.finding import Signed
from tzerlike.core.observation import Exit, Frame, Observation, Stage
from tzerlike.core.results import Difference, Ending, Ran, Results
from tzerlike.findings.issue.subject import Subject
from tzerlike.systems.optional import DISPENSABLE

SCRIPT = "@T.prim_func\ndef main(A: T.Buffer((4,), 'int32')):\n    A[0] = 1\n"
BASELINE = next(iter(DISPENSABLE))
ENVIRONMENT = {
    "baseline": BASELINE,
    "tvm": "0.27.0",
    "llvm": "22",
    "python": "3.11.7",
    "tzerlike": "0.1.0",
    "coverage_total": 12345,
}

OFF = Difference(1, "B", "int32", (0, 2), "7", "0.0", "8", 3, 12, "value")


def subject(kind: str, seen: Observation, parts: tuple[str, ...] = ("x",), test: str = "") -> Subject:
    case = Case("{}", (PassSpec("tirx.UnrollLoop"),))
    return Subject(Signed(kind, parts), case, seen, 2, 2, ENVIRONMENT, SCRIPT, test)


def wrong(blame: str = "both", difference: Difference | None = OFF, ending: Ending = Ending.DIFFERS) -> Observation:
    bad, good = Ran(ending, "SIGFPE" if ending is Ending.DIED else "", difference), Ran(Ending.AGREES)
    reference = bad if blame in ("both", "reference") else good
    optimised = bad if blame in ("both", "optimised") else good
    return Observation(Exit.OK, Stage.DONE, results=Results("defined", baseline=reference, optimised=optimised))


def frames(*names: str, library: str = "libtvm_compiler.so") -> tuple[Frame, ...]:
    return tuple(Frame(name, library) for name in names)
