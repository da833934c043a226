"""The result of a bisection: `bisect.json` in the bundle's directory."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from tzerlike.core.results import BASELINE, GRADIENT_OF, IMPORT_OF, Difference
from tzerlike.core.schema import Count, Schema, Text
from tzerlike.core.storage import write_json
from tzerlike.execution.diagnosis.walk import Change

BISECTION = "bisect.json"

Build = Literal["optimised", "reference"]
"""Which of the two builds; the baseline build goes by BASELINE's name in files."""


@dataclass(frozen=True, slots=True)
class Bisection:
    """Who is guilty of a finding.

    `guilty` is TVM's name of a pass, with its namespace; what tzerlike.execution.diagnosis.localise calls code
    generation, LLVM or passes that cannot be distinguished; or "" where nothing is known. `build` is the build that
    was looked at, optimised or reference. `index` is the place of the culprit pass among the `passes` that had
    begun, from 0; None where it was found by building without it, or is no pass. `change` is what it does, `detail`
    says so in words, `deed` for comparison (Walk.deed), `difference` is the first element that is another behind
    it. `diff` is the TIR before and after it, as a unified diff, or the TIR that a pass failed on. `reduced` says
    that all this is of the reduced case, `case` is the id of the case, "" where a bisection of before has none.
    """

    signature: Text
    guilty: Text
    build: Build = "optimised"
    change: Change = Change.NONE
    index: Count | None = None
    passes: Count = 0
    detail: Text = ""
    difference: Difference | None = None
    diff: Text = ""
    reduced: bool = False
    deed: tuple[Text, ...] = ()
    case: Text = ""

    def of(self, case: str, *, reduced: bool) -> bool:
        """Whether all this is of a case, which may be the reduced one of its bundle."""
        return self.reduced == reduced and self.case in ("", case)

    def to_json(self) -> dict[str, Any]:
        return _SCHEMA.stamped(asdict(self))

    @property
    def what(self) -> str:
        """What the culprit does, in a few words."""
        if self.change is Change.NONE and self.guilty.startswith((GRADIENT_OF, IMPORT_OF)):
            return "it is wrong by itself"
        if self.index is None and "." in self.guilty and self.build != BASELINE:
            return "without it the finding disappears"
        return {
            Change.RESULT: "after it the program computes something else",
            Change.UNDEFINED: "after it the program has undefined behavior",
            Change.ILL_FORMED: "it makes the program ill-formed",
            Change.ILL_TYPED: f"it makes the program ill-typed ({self.detail})",
            Change.LEFTOVER: f"it leaves what it should remove ({self.detail})",
            Change.DIED: "the compiler dies in it",
            Change.RAISED: "it raises",
            Change.NONE: "found by building with fewer passes",
        }[self.change]

    @property
    def where(self) -> str:
        """In which build, where that is not the one that users make."""
        return ", in the baseline build" if self.build == BASELINE else ""

    def line(self) -> str:
        """The verdict in a few words."""
        place = "" if self.index is None else f" (pass {self.index + 1} of {self.passes})"
        return f"{self.guilty}{place}: {self.what}{self.where}" if self.guilty else f"cannot tell{self.where}"


_SCHEMA = Schema(Bisection, "bisection")


def write_bisection(bundle: Path, bisection: Bisection) -> None:
    """Write `bisect.json` of a bundle, whole or not at all."""
    write_json(bundle / BISECTION, bisection.to_json())


def read_bisection(bundle: Path) -> Bisection | None:
    """Return what `bisect.json` of a bundle says; None where there is none, UserError where it cannot be read."""
    file = bundle / BISECTION
    return _SCHEMA.read(file) if os.path.lexists(file) else None
