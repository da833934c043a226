"""The kinds of programs that are tested, as far as they can be described without a compiler."""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from tzerlike.core.case import GRAPH, TIR


@dataclass(frozen=True, slots=True)
class HarnessRow:
    """One kind of tested program. `label` is what the titles of reports call it.

    What is loaded only where it is needed is named "module:object": the `harness` itself, where the compiler is
    (tzerlike.campaign.harness); `check`, which takes a Case and raises UserError unless it may run; and `shape`, which
    returns the kinds of nodes in the text of a program, and `essence`, those of a reduced one that tell two causes
    apart, "" where none tell anything; and `picture`, which returns an SVG of such a text, "" where there is none.

    A harness whose programs are no Cases has a `reader`, which takes the path of a case.json and raises UserError; it
    has neither passes nor targets, coverage nor a corpus. Its findings are written down reduced, and are due to
    `culprit`; `words` takes the parts of one and the words that it is signed by, and returns those that all of its
    cause have; `elsewhere` is what the process of another Python does with one (tzerlike.findings.versions).

    `walk` is the job that follows a build pass by pass (tzerlike.execution.diagnosis.ask), as bisecting takes,
    and `blame`, where a child of its own says who is guilty of wrong results, the job that does
    (tzerlike.execution.diagnosis.ask_blame).
    """

    name: str
    label: str
    harness: str
    check: str = ""
    shape: str = ""
    essence: str = ""
    picture: str = ""
    reader: str = ""
    culprit: str = ""
    words: str = ""
    elsewhere: str = ""
    walk: str = ""
    blame: str = ""

    @property
    def has_cases(self) -> bool:
        """Whether its programs are those of Cases."""
        return not self.reader

    def load(self, name: str) -> Any:
        """Import one of the objects that the row names."""
        return resolve_name(getattr(self, name))


HARNESSES = {
    harness.name: harness
    for harness in (
        HarnessRow(
            TIR,
            "TIR",
            "tzerlike.harnesses.tir.harness:HARNESS",
            check="tzerlike.tir.allowlist.stored:require_allowed",
            shape="tzerlike.tir.shape:shape_of",
            essence="tzerlike.tir.shape:essence_of",
            walk="walk",
        ),
        HarnessRow(
            GRAPH,
            "Relax",
            "tzerlike.harnesses.graph.harness:HARNESS",
            check="tzerlike.graph.stored:require_model",
            shape="tzerlike.graph.stored:operators_of",
            picture="tzerlike.graph.picture:picture_of",
            walk="walk-model",
            blame="blame-model",
        ),
        HarnessRow(
            "arith",
            "Arith",
            "tzerlike.arith.harness:HARNESS",
            reader="tzerlike.arith.case:read_arith_case",
            # Its analyses are built upon each other, so the one that was asked says little.
            culprit="arithmetic analyzer",
            words="tzerlike.arith.alike:words_of_cause",
            elsewhere="tzerlike.arith.elsewhere:judge_stored",
        ),
    )
}
"""The literal table of harnesses; `--harness` takes its names, and `plugin:name` for one of a plug-in."""
