"""The compiler's behavior on one case: the values that oracles judge."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from tzerlike.core.case import PassSpec
from tzerlike.core.errors import Fault
from tzerlike.core.results import BASELINE, Rejection, Results, from_stored
from tzerlike.core.schema import Count, Text, converted


class Exit(StrEnum):
    """How a case ended.

    UNKNOWN is a SIGKILL that nothing explains, CONFINED an attempt at what a program may not do, and FAULT an exception
    of our own, never of the compiler.
    """

    OK = "ok"
    REJECTED = "rejected"
    CRASH = "crash"
    TIMEOUT = "timeout"
    OOM = "oom"
    UNKNOWN = "unknown"
    CONFINED = "confined"
    FAULT = "fault"


NOBODYS = (Exit.UNKNOWN, Exit.CONFINED)
"""Ends of a process that no compiler is to blame for, as far as anybody knows."""


class Stage(StrEnum):
    """What was under way when a case ended; MUTATE comes before there is a case, the rest in its child.

    ANALYZE is the one stage of the arithmetic harness, TEXT that of printing and parsing.
    """

    MUTATE = "mutate"
    LOAD = "load"
    PASSES = "passes"
    BUILD = "build"
    COMPILE_DEVICE = "compile_device"
    INTERPRET = "interpret"
    BUILD_BASELINE = "build_reference"
    RUN_BASELINE = "run_reference"
    RUN = "run"
    COMPARE = "compare"
    ANALYZE = "analyze"
    TEXT = "text"
    DONE = "done"


_FRAMES = 4096
"""Frames of a stored backtrace at most."""


class Frame(NamedTuple):
    """A stack frame without its address.

    `function` is a demangled name, or `library+0xSTART` where the library has no symbol for it: the start of
    the function, a constant of that build.
    """

    function: Text
    library: Text

    def __str__(self) -> str:
        return self.function


LEFTOVER = "leftover"
"""The `check` of an Offence whose pass leaves some of what it is there to remove."""

READS_BACK = "round-trip"
"""The check that what is written down is read as it was."""

REFUSED_CLEANLY = "refused-cleanly"
"""That a wrong call of an operator is refused, with words that say why; the operator stands for the pass."""

ILL_FORMED = "ill-formed"
"""That of one whose pass leaves what TVM's own verifiers refuse."""

NOT_KEPT = "not-kept"
"""That of one whose pass does not keep what later ones go by, and without which all is well."""


CHANGED_SOMEHOW = "the module that it is given"
"""Where an input was changed, if it is not known what of it."""


@dataclass(frozen=True, slots=True)
class Offence:
    """What a pass did that none may: which `check` (tzerlike.core.effort) found it, the rule, and in what way.

    `place` names the part of the program; "" where that has no name, and in bundles of before.
    """

    check: Text
    pass_name: Text
    rule: Text
    where: Text
    place: Text = ""


_IN_NO_FILE = ("faults", "shortened")


@dataclass(frozen=True, slots=True)
class Observation:
    """The one outcome of one case.

    `pass_name` is the pass under way, a prefix pass or one of the default pipeline, else empty. `seconds`
    maps stages to wall-clock seconds; `elapsed` is their sum with the fork. `signal` is 0 unless the child
    died of one. `pass_blocks` has, for a case that compiled, the number of blocks that each of its own passes
    was the first to reach, `focused` how many of the new ones are in the focus of the campaign
    (tzerlike.coverage.focus). `raised_at` is the file and line of the compiler's Python that raised, "" where C++ did.
    `depth` is the number of frames when a crash was caught (a stack overflow has thousands).
    `origin` is what an earlier pass did to the program that the failing step was given, where that broke a rule.
    `results` and `rejection` are there when an oracle asked for them: of a case that compiled, and of one that did not;
    so are `offences`, of a case whose process did not die.
    `computes` is a digest of what a program that is defined computes on its inputs; like `faults` it is in no file.
    Neither is `shortened`: the passes of a case without those that brought nothing, if it was seen to reach something
    new with these, or all of them, if that was tried.
    `faults` are our own: what exit FAULT ended in, or stages after the child's that are missing from the rest.
    """

    exit: Exit
    stage: Stage
    message: Text = ""
    pass_name: Text = ""
    signal: Annotated[int, Meta(ge=0, le=64)] = 0
    backtrace: Annotated[tuple[Frame, ...], Meta(max_length=_FRAMES)] = ()
    depth: Count = 0
    stack_overflow: bool = False
    stderr: Text = ""
    elapsed: float = 0.0
    seconds: Mapping[str, float] = field(default_factory=dict)
    new_blocks: Count = 0
    pass_blocks: tuple[int, ...] = ()
    focused: Count = 0
    peak_memory: Count = 0
    results: Results | None = None
    rejection: Rejection | None = None
    offences: tuple[Offence, ...] = ()
    origin: Offence | None = None
    computes: Text = ""
    faults: tuple[Fault, ...] = ()
    raised_at: Text = ""
    shortened: tuple[PassSpec, ...] | None = None

    @classmethod
    def of_fault(cls, fault: Fault, stage: Stage, pass_name: str = "") -> Observation:
        """The observation of a case that a fault of ours ended."""
        return cls(Exit.FAULT, stage, fault.text or fault.title, pass_name, faults=(fault,))

    @property
    def culprit(self) -> str:
        """The pass to blame for a failure: the one under way, or the one that broke what that was given."""
        return self.pass_name if self.origin is None else self.origin.pass_name

    @property
    def is_of_baseline(self) -> bool:
        """Whether the baseline build alone is wrong, or fails, which no user would meet."""
        blamed = self.results.blame if self.results is not None else ""
        return blamed == BASELINE or self.stage is Stage.BUILD_BASELINE

    @property
    def refused_bare(self) -> bool:
        """Whether it is known to be refused without passes of its own too."""
        return self.rejection is not None and self.rejection.bare

    @property
    def refusal(self) -> str:
        """What the compiler said when it refused the case, or, where that compiled, the baseline build."""
        return self.results.baseline.message if self.exit is Exit.OK and self.results is not None else self.message

    def sound(self) -> Observation:
        """Return this observation; raises the fault that it is, where that is its exit."""
        if self.exit is Exit.FAULT:
            raise self.faults[-1]
        return self

    def to_json(self) -> dict[str, Any]:
        return {
            "exit": self.exit.value,
            "stage": self.stage.value,
            "message": self.message,
            "pass": self.pass_name,
            "signal": self.signal,
            "backtrace": [list(frame) for frame in self.backtrace],
            **({"raised_at": self.raised_at} if self.raised_at else {}),
            "depth": self.depth,
            "stack_overflow": self.stack_overflow,
            "stderr": self.stderr,
            "elapsed": round(self.elapsed, 6),
            "seconds": {k: round(v, 6) for k, v in self.seconds.items()},
            "new_blocks": self.new_blocks,
            "peak_memory": self.peak_memory,
            "results": None if self.results is None else self.results.to_json(),
            "rejection": None if self.rejection is None else self.rejection.to_json(),
            **({"offences": [asdict(offence) for offence in self.offences]} if self.offences else {}),
            **({} if self.origin is None else {"origin": asdict(self.origin)}),
        }

    @classmethod
    def from_json(cls, data: object) -> Observation:
        """Rebuild from `to_json`; UserError that names a field that is missing, of the wrong type or out of bounds."""
        if isinstance(data, dict):
            data = {"pass_name" if key == "pass" else key: data[key] for key in data if key not in _IN_NO_FILE}
            data["results"] = from_stored(data.get("results"))
        return converted(data, cls, "observation")


_VARIABLE_PARTS = (
    (re.compile(r"0x[0-9a-fA-F]+"), "<address>"),
    (re.compile(r"\S+ \(<address>\)"), "<name>"),
    (re.compile(r"\"[^\"]*\""), "<string>"),
    (re.compile(r"'[^']*'"), "<string>"),
    (re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?"), "<n>"),
)


def message_template(message: str, width: int = 160) -> str:
    """Return what stays the same of a compiler's message: its first line without addresses, names and numbers."""
    lines = (line.strip() for line in message.splitlines())
    said = (line for line in lines if line and not line.startswith(("Traceback", "File ", "[")))
    line = next(said, "".join(message.strip().splitlines()[:1]))
    for pattern, replacement in _VARIABLE_PARTS:
        line = pattern.sub(replacement, line)
    return line[:width]
