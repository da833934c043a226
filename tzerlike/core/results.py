"""Results of a case beyond its compilation: verdict of the interpreter, results of both builds, their speed.

Plain values, a part of an Observation, in JSON both ways; numbers of a Difference are text, since JSON has no NaN.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final

from tzerlike.core.schema import Text, Whole, converted

NOT_ALLOWED = "not-allowed"
"""The rule of a program that was not run because it holds what is in no table of tzerlike.tir.allowlist."""

CARRIED_VALUE = "carried-value"
"""The rule of a program that TVM moves memory of, and that passes a value on between iterations over spatial axes."""

BASELINE: Final = "reference"
"""The baseline build in files and signatures, which outlive a change of words."""

CODE_GENERATION: Final = "code generation"
"""Who is guilty where no pass is known to change the program's meaning, and LLVM's level makes no difference.

The interpreter knows little of what LowerTVMBuiltin and LowerIntrin leave: they count as code generation then.
"""

DEFAULT_PIPELINE: Final = "default pipeline"
"""Who is guilty where no more is known than that code is wrong without a pass of the case's own."""


GRADIENT_OF: Final = "gradient of "
"""What stands before an operator whose gradient is guilty."""

IMPORT_OF: Final = "import of "
"""What stands before the operators of ONNX whose import is guilty."""

GRADIENT_BY: Final = "gradient by "
"""What stands before the input that a result which is wrong is the gradient by."""

OVER_TIME: Final = "over the time limit"
"""The message of a build that ran until it was stopped."""


class Ending(StrEnum):
    """What a build of a program came to, compared with the interpreter."""

    NOT_RUN = "not-run"
    AGREES = "agrees"
    DIFFERS = "differs"
    REFUSED = "refused"
    """TVM raised while it built, or the function had not what it takes to run it: support, or memory."""
    RAISED = "raised"
    """The compiled function raised."""
    UNDEFINED = "undefined"
    """The interpreter finds that the build races, strays or reads what nobody wrote, and the program does not."""
    DIED = "died"
    """The process died while the compiled function ran, or ran on without end."""

    @property
    def wrong(self) -> bool:
        """Whether no correct build of a defined program ends so."""
        return self in (Ending.DIFFERS, Ending.RAISED, Ending.UNDEFINED, Ending.DIED)


_VAGUE = 0.1
"""Part of a number that says nothing more of it than that it is finite, if it may be off by that."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first element that is not as expected, of `count` among the `size` of its buffer.

    `nature` is one of: value, unwritten (it kept its first value), inaccurate (a float that is off by little), nan,
    infinity, outside (something was written around the buffer), shape and dtype (that of all of it is another one).
    `kept` is how many of the `count` have the value that they had before the call.
    """

    parameter: Whole
    name: Text
    dtype: Text
    index: tuple[Whole, ...]
    expected: Text
    bound: Text
    got: Text
    count: Whole
    size: Whole
    nature: Text
    kept: Whole = 0

    @property
    def only_finite(self) -> bool:
        """Whether no more is sure of the element than that it is finite, and it is not."""
        if self.nature not in ("nan", "infinity"):
            return False
        return math.isfinite(float(self.expected)) and _VAGUE * abs(float(self.expected)) <= float(self.bound)

    def __str__(self) -> str:
        if self.nature == "outside":
            return f"something is written outside of {self.name}"
        if self.nature in ("shape", "dtype"):
            return f"{self.name}.{self.nature} is {self.got}, not {self.expected}"
        place = f"{self.name}[{', '.join(map(str, self.index))}]"
        return f"{place} is {self.got}, not {self.expected} ± {self.bound} ({self.count} of {self.size} elements)"


ARBITRARY = "another value where fresh memory holds something else"
"""What is said of a build that differs, and differs in another way when it runs again."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How one build ended; `message` is what TVM, the function or the kernel said, or ARBITRARY."""

    ending: Ending = Ending.NOT_RUN
    message: Text = ""
    difference: Difference | None = None

    def __str__(self) -> str:
        detail = str(self.difference) if self.difference is not None else self.message
        return f"{self.ending.value}: {detail}" if detail else self.ending.value


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of single runs, taken in turn on one core from the same inputs.

    `floor` is the noise: by what factor the medians of two halves of one build's runs differ.
    """

    baseline: tuple[float, ...]
    optimised: tuple[float, ...]
    floor: float


@dataclass(frozen=True, slots=True)
class Results:
    """The judgement on a case that compiled.

    `verdict`, `rule` and `where` are the interpreter's on the inputs of `scheme`, the last of `attempts` tried.
    The verdict is text: tzerlike.tir.interpreter imports TVM, which a reader of results need not have. Builds are
    compared with the interpreter where the verdict is `defined`. Where the rule is `step-budget` they are compared with
    each other, and `optimised` DIFFERS means no more than that; `undecided` says that something looks wrong or slow,
    and that a larger budget could decide. `guilty` is who wrong or slow code is due to, as
    tzerlike.execution.diagnosis.localise has it, "" where nobody looked: a pass without its namespace, of the reference
    build's passes where `blame` is reference or both; `deed` is what it does to the program, where that is known
    (tzerlike.execution.diagnosis.walk). What has a blank in it is no pass: "LLVM optimisation", "code generation",
    "default pipeline", "gradient of cumsum", or "A to B" for passes that look alike. `device` is where the optimised
    build ran, where that is not the host: cuda. `misused` is a pass of the case's own that was given what its
    preconditions exclude, by the time that the culprit had run. `misled` is what the culprit goes by that is wrong
    itself, an expression, and what it makes of that.
    """

    verdict: Text
    rule: Text = ""
    where: Text = ""
    steps: Whole = 0
    scheme: Text = ""
    attempts: Whole = 0
    undecided: bool = False
    baseline: Ran = Ran()
    optimised: Ran = Ran()
    guilty: Text = ""
    timing: Timing | None = None
    device: Text = ""
    deed: tuple[Text, ...] = ()
    misused: Text = ""
    misled: tuple[Text, ...] = ()

    @property
    def defined(self) -> bool:
        return self.verdict == "defined"

    @property
    def over_budget(self) -> bool:
        return self.rule == "step-budget"

    @property
    def not_run(self) -> str:
        """What kept both builds from being run although they compile; "" where nothing did."""
        return self.where if self.rule == NOT_ALLOWED else ""

    @property
    def blame(self) -> str:
        """Which build of a defined program is wrong: optimised, reference, both, or "" for neither."""
        if not self.defined:
            return ""
        wrong = (self.baseline.ending.wrong, self.optimised.ending.wrong)
        return {(True, True): "both", (True, False): BASELINE, (False, True): "optimised"}.get(wrong, "")

    @property
    def blamed(self) -> Ran:
        """How the build ended that is to blame: the baseline where it alone is wrong, else the optimised one."""
        return self.baseline if self.blame == BASELINE else self.optimised

    def died(self, in_baseline: bool, message: str, ending: Ending = Ending.DIED) -> Results:
        """These results once the process died of running a build, or it was `ending` otherwise with it."""
        ran = Ran(ending, message)
        seen = replace(self, baseline=ran) if in_baseline else replace(self, optimised=ran)
        return replace(seen, undecided=self.over_budget)

    def to_json(self) -> dict[str, Any]:
        data = _renamed(asdict(self), "baseline", BASELINE)
        return {**data, "timing": self.timing and _renamed(data["timing"], "baseline", BASELINE)}

    @classmethod
    def from_json(cls, data: object) -> Results:
        """Rebuild from `to_json`; UserError that names a field that is missing or of the wrong type."""
        return converted(from_stored(data), cls, "results")


def from_stored(data: object) -> object:
    """Results as a file has them under the names of today."""
    if isinstance(data, dict):
        data = _renamed(data, BASELINE, "baseline")
        if isinstance(timing := data.get("timing"), dict):
            data["timing"] = _renamed(timing, BASELINE, "baseline")
    return data


def _renamed(data: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if name == old else name: value for name, value in data.items()}


@dataclass(frozen=True, slots=True)
class Rejection:
    """What is known of a program that TVM refused.

    `label` is one of tzerlike.passes.label; for an internal error, `well_formed` says that TVM's verifiers accept the
    program and what the failing pass was given, and `support` what speaks for it: "defined" by the interpreter,
    "builds" where the interpreter cannot tell and the baseline build compiles, or "": an undefined program is nobody's
    to complain about. `bare`: it is known that the program is refused without passes of its own too.
    """

    label: Text
    well_formed: bool = False
    support: Text = ""
    bare: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: object) -> Rejection:
        """Rebuild from `to_json`; UserError that names a field that is missing or of the wrong type."""
        return converted(data, cls, "rejection")
