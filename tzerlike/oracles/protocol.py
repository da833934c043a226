"""The interface of an oracle, as far as it needs no TVM: commands that only read bundles use it too.

Every oracle judges observations. One that looks at more than compilations has a probe as well, and the probe an
examiner (tzerlike.oracles.examiner), which is loaded by name where TVM is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.effort import Check
from tzerlike.core.finding import Finding, Signed
from tzerlike.core.observation import Observation, Offence

Judge = Callable[[Case, Observation], Finding | Sequence[Finding] | None]
"""Pure: a case and its observation in, a finding or several out, or None."""

Environment = Mapping[str, Any]
"""What a bundle says that its finding occurred under."""


@dataclass(frozen=True, slots=True)
class Account:
    """What a report says of a finding; where a field is "", it says what it says of any finding of that kind.

    `place` names what was at work, and `actual` continues the sentence, or is one where there is no place. `quoted` is
    shown below that, in `language`, up to `lines` lines. `diff` is what the one at work changes in a program.
    """

    headline: str = ""
    expected: str = ""
    place: str = ""
    actual: str = ""
    quoted: str = ""
    language: str = ""
    lines: int = 10
    diff: str = ""


@dataclass(frozen=True, slots=True)
class Probe:
    """What an oracle looks at beyond compilations.

    `label` is what its looks are counted under, `examiner` the module that does the looking. `owns` says whether a
    bundle is this probe's, and `account` what a report says of its finding, both by the finding, its observation and
    the bundle's environment. `check` raises UserError where that environment lacks what a second look takes.
    `excluded` says, by that environment, whether TVM's documentation excludes what was asked of the compiler: no legal
    use shows such a finding.
    """

    label: str
    examiner: str
    owns: Callable[[Signed, Observation, Environment], bool]
    account: Callable[[Signed, Observation, Environment], Account] = lambda finding, seen, environment: Account()
    check: Callable[[Environment], None] = lambda environment: None
    excluded: Callable[[Environment], bool] = lambda environment: False


@dataclass(frozen=True, slots=True)
class Oracle:
    """An oracle; `needs` is what the child that takes a case has to look at for it.

    `harness` is the one whose cases it understands, "" where it understands any. `account` is what a report says of
    the offence that a finding of invalid IR is about, whose first part is the oracle's name. `loads` are packages that
    its children are to find loaded (LOADERS in tzerlike.cli.roles).
    """

    judge: Judge
    needs: frozenset[Check] = frozenset()
    probe: Probe | None = None
    harness: str = ""
    account: Callable[[Offence], Account] | None = None
    loads: frozenset[str] = frozenset()
