"""The kinds of programs that are tested, as far as everything else has to distinguish them.

The literal table of harnesses; `--harness` takes its names, and the case.json of a bundle has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name

from tzerlike.core.errors import UserError
from tzerlike.core.untrusted import read_json


@dataclass(frozen=True, slots=True)
class HarnessRow:
    """One kind of tested program.

    `campaign` is the role of a worker, `prepare` that which is asked before there are any, if one is, and `judge` that
    which looks at a case again, "" where that depends on what a finding is about. `reader` is "module:function", which
    reads a case.json and raises UserError. `culprit` is that of every finding, "" where that differs.
    `reduced` says that findings are written down reduced, and are left as they are.
    """

    name: str
    campaign: str
    reader: str
    prepare: str = ""
    judge: str = ""
    culprit: str = ""
    reduced: bool = False

    def check(self, case: Path) -> None:
        """UserError in one line unless `case` is a case.json of this harness."""
        resolve_name(self.reader)(case)


TIR = "tir"

HARNESSES = {
    harness.name: harness
    for harness in (
        HarnessRow(TIR, "campaign", "tzerlike.tir.stored:read_stored_case", "prepare"),
        # Its analyses are built upon each other, so the one that was asked says little.
        HarnessRow(
            "arith",
            "arith-campaign",
            "tzerlike.arith.case:read_arith_case",
            judge="judge-arith",
            culprit="arithmetic analyzer",
            reduced=True,
        ),
    )
}


def harness_of(bundle: Path) -> HarnessRow:
    """Return the harness that a bundle's case.json names; that of tensor IR where it names none or cannot be read."""
    try:
        data = read_json(bundle / "case.json")
    except UserError:
        return HARNESSES[TIR]
    return HARNESSES.get(str(data.get("harness")) if isinstance(data, dict) else TIR, HARNESSES[TIR])
