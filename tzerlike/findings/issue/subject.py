"""What there is to tell about a finding."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.finding import Signed
from tzerlike.core.observation import Observation
from tzerlike.findings.reduction import ROUGHLY
from tzerlike.systems.optional import in_words
from tzerlike.tir.witness.verdict import Deposition

CHANGED = "\n+++ "
"""What a diff has of a program that a pass changed."""


@dataclass(frozen=True, slots=True)
class Guilt:
    """What bisection found: who is at fault, what its turn changed, and the program before and after as a diff."""

    guilty: str
    change: str = ""
    diff: str = ""


DTYPES_SHOWN = "dtypes"
"""The key of a bundle's environment with the dtypes of the `same` finding, and those in which `nothing` is wrong."""

OPERATORS_SHOWN = "operators"
"""The key with the operators that show it in the place of the one that a model calls."""

PASS_SHOWN = "pass"
"""The key with the place of the pass that the texts of a model take alone, on what that is given in its sequence."""

TYPES_SHOWN = "types"
"""The key with what the type of `main`, or of its result, is before the failing pass and after it in these texts."""

NOTES = (DTYPES_SHOWN, OPERATORS_SHOWN, PASS_SHOWN, TYPES_SHOWN)
"""The keys of what is said of the texts of one bundle, and not of those of its reduction."""


def as_shown(case: Case, held: Mapping[str, Any]) -> Case:
    """Return a case with the passes that its texts take; `held` is what its bundle has in its environment."""
    place = held.get(PASS_SHOWN)
    return replace(case, passes=case.passes[place : place + 1]) if isinstance(place, int) else case


@dataclass(frozen=True, slots=True)
class Subject:
    """A finding of the tensor compiler with everything that its report may use.

    `repro` is the text of its repro.py. `runs` and `same` count the confirming runs and those that showed it again.
    `script` is the program's TVMScript, "" where TVM cannot print it; `test` the text of the regression test, ""
    where there is none. `original_lines` is the length of the program that was found, where these are of a reduced one.
    `memcheck` is what NVIDIA's compute-sanitizer says of the kernel, "" where it was not asked; `witness` what the
    second reading of the program says, None where it was not asked.
    `inputs` is what the program ran on and what it computes, "" where that is long; `files` are those of the bundle
    that its scripts read, by name.
    `tier` is that of tzerlike.findings.tiers, 0 where it is not known. `held` is what the bundle of the program that is
    shown has in its environment. `memory` is the limit in bytes that it ran under, 0 where it is not known.
    """

    finding: Signed
    case: Case
    seen: Observation
    runs: int
    same: int
    environment: Mapping[str, Any]
    script: str
    test: str = ""
    guilt: Guilt | None = None
    original_lines: int = 0
    memcheck: str = ""
    tier: int = 0
    witness: Deposition | None = None
    repro: str = ""
    inputs: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    held: Mapping[str, Any] = field(default_factory=dict)
    memory: int = 0

    @property
    def is_reduced(self) -> bool:
        """Whether the program that is shown was reduced to the end, so that what is left of it is needed."""
        return self.original_lines > 0 and not self.held.get(ROUGHLY)

    @property
    def baseline(self) -> str:
        """What the baseline build is, with the number of the passes that it leaves out in place of their names."""
        told = in_words(self.environment.get("baseline"))
        names = re.search(r"without (\w+(?:, \w+){3,})", told)
        return told if names is None else told.replace(names[1], f"{names[1].count(',') + 1} optional passes")
