"""The kinds of programs that are tested, as far as everything else has to know them apart.

The literal table of harnesses; `--harness` takes its names, and the case.json of a bundle has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.core.untrusted import read_json


@dataclass(frozen=True, slots=True)
class Harness:
    """One kind of tested program.

    `campaign` is the role of a worker, and `judge` that which looks at a case again, "" where that depends on what a
    finding is about. `reader` is "module:function", which reads a case.json and raises UserError. `culprit` is what is
    guilty in every finding, "" where that differs. `reduced` says that findings are written down reduced, and are left
    as they are.
    """

    name: str
    campaign: str
    reader: str
    judge: str = ""
    culprit: str = ""
    reduced: bool = False

    def check(self, case: Path) -> None:
        """UserError in one line unless `case` is a case.json of this harness."""
        module, _, function = self.reader.partition(":")
        read: Callable[[Path], Any] = getattr(import_module(module), function)
        read(case)


TIR = "tir"

HARNESSES = {
    harness.name: harness
    for harness in (
        Harness(TIR, "campaign", "tzerlike.tir.stored:read_stored_case"),
        # Its analyses are built upon each other, so the one that was asked says little.
        Harness(
            "arith",
            "arith-campaign",
            "tzerlike.arith.case:read_arith_case",
            judge="judge-arith",
            culprit="arithmetic analyzer",
            reduced=True,
        ),
    )
}


def harness_of(bundle: Path) -> Harness:
    """Return the harness that a bundle's case.json names; that of tensor IR where it names none or cannot be read."""
    try:
        data = read_json(bundle / "case.json")
    except UserError:
        return HARNESSES[TIR]
    return HARNESSES.get(str(data.get("harness")) if isinstance(data, dict) else TIR, HARNESSES[TIR])
