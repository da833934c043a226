"""The findings of a campaign, as far as a page shows them: read with limits, since a stranger may have written them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.case import print_sequence
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Signed, kind_of
from tzerlike.core.observation import Stage
from tzerlike.core.progress import Steps, counted, untold
from tzerlike.core.untrusted import SCRIPT_BYTES, read_bytes
from tzerlike.findings.bundle_tier import tier_of
from tzerlike.findings.bundles.bisection import read_bisection
from tzerlike.findings.bundles.bundle import read_record
from tzerlike.findings.cases import harness_of, read_case
from tzerlike.findings.issue.headline import headline
from tzerlike.findings.issue.layout import cut, trace
from tzerlike.findings.issue.subject import Subject
from tzerlike.findings.reduction.place import reduced_in

SHOWN = 400
"""Findings that a page shows with their programs; it counts the others."""

_TEXT = 12_000
"""Characters of a program or a diff."""

_PREAMBLE = re.compile(r"\A(?:\#.*\n|\n)+(?=[^#\n])")
"""What a printed program has first: imports, which a reader knows, and the same model in another notation."""

_LABELS = re.compile(r"\A# (\[\w+\])*\s*")
"""What titles of reports begin with."""

_ALL_TEXT = 4 << 20
"""Characters of all programs and diffs together; findings after that show their facts alone."""


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """A finding. `title` is the headline of its report; `facts` are names with a word or a line each; `tier` is 0 where
    nobody asked; `culprit` is the pass to blame as far as it is known.

    `program` is the reduced one where there is one (`reduced`), and `guilty` with `diff` what bisection found. A text
    that is cut says so. `picture` is an SVG of the program, "" where its harness draws none.
    """

    directory: str
    kind: str
    signature: str
    title: str
    facts: tuple[tuple[str, str], ...] = ()
    message: str = ""
    backtrace: str = ""
    program: str = ""
    reduced: bool = False
    guilty: str = ""
    diff: str = ""
    tier: int = 0
    culprit: str = ""
    picture: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "directory": self.directory,
            "kind": self.kind,
            "signature": self.signature,
            "title": self.title,
            "facts": dict(self.facts),
            "reduced": self.reduced,
            "guilty": self.guilty,
            "tier": self.tier,
            "culprit": self.culprit,
        }


def shown_findings(
    directory: CampaignDir, notes: list[str], steps: Steps = untold
) -> tuple[tuple[ShownFinding, ...], dict[str, int]]:
    """Return the findings that are shown, and the number of the others by kind; bundles that do not read are noted."""
    shown, others = _chosen(directory.bundles())
    findings: list[ShownFinding] = []
    room = _ALL_TEXT
    for path in counted(shown, steps):
        try:
            finding = _finding(path, room > 0)
        except UserError as error:
            notes.append(str(error).splitlines()[0])
            continue
        room -= len(finding.program) + len(finding.diff) + len(finding.picture)
        findings.append(finding)
    return tuple(findings), dict(Counter(kind_of(path.name) for path in others))


def _chosen(bundles: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """What is shown, by kind and name, and what is not: no kind takes the place of a rarer one."""
    kinds: dict[str, list[Path]] = {}
    for path in sorted(bundles):
        kinds.setdefault(kind_of(path.name), []).append(path)
    left = SHOWN
    quota: dict[str, int] = {}
    for number, kind in enumerate(sorted(kinds, key=lambda kind: len(kinds[kind]))):
        quota[kind] = min(len(kinds[kind]), left // (len(kinds) - number))
        left -= quota[kind]
    shown = [path for kind in sorted(kinds) for path in kinds[kind][: quota[kind]]]
    return shown, [path for kind in sorted(kinds) for path in kinds[kind][quota[kind] :]]


def _finding(path: Path, with_texts: bool) -> ShownFinding:
    best = reduced_in(path) or path
    whole = read_record(path)
    record = whole if best == path else read_record(best)
    seen, parts = record.observation, record.parts
    where = f"{seen.stage}, {seen.pass_name}" if seen.pass_name else str(seen.stage)
    facts = [("where", where)] if seen.stage is not Stage.DONE else []
    facts.append(("seen again", f"{record.confirmed.same} of {record.confirmed.runs} runs"))
    harness = harness_of(path)
    label, picture, stored = f"[{harness.label}] ", "", None
    if not harness.has_cases:
        title = title_of_report(path)
    else:
        stored = read_case(best / "case.json")
        title = title_of_report(path) or headline(Subject(Signed(record.kind, parts), stored.case, seen, 0, 0, {}, ""))
        config = stored.case.config
        picture = harness.load("picture")(stored.case.ir) if harness.picture and with_texts else ""
        facts += [
            ("passes", print_sequence(stored.case.passes) or "none before the default pipeline"),
            ("target", stored.case.target),
            ("opt_level", str(config.opt_level)),
            ("options", ", ".join(f"{name} = {value}" for name, value in config.options) or "none"),
            ("from seed", stored.provenance.origin),
        ]
    if seen.results is not None:
        facts += [
            ("interpreter", " ".join(filter(None, (seen.results.verdict, seen.results.rule)))),
            ("optimised", _with_short_bound(str(seen.results.optimised))),
            ("baseline build", _with_short_bound(str(seen.results.baseline))),
        ]
    bisection = read_bisection(path)
    followed = bisection is not None and stored is not None and bisection.of(stored.case.id, reduced=best != path)
    blamed = (bisection.guilty if bisection is not None else "") or (seen.results.guilty if seen.results else "")
    # The printer and the parser of TVMScript are no passes, and the title names them.
    culprit = blamed or ("" if seen.stage is Stage.TEXT else seen.culprit)
    return ShownFinding(
        directory=path.name,
        kind=record.kind,
        signature=record.signature,
        title=cut(title.rpartition(label)[2] or " / ".join(parts), 1, 300),
        facts=tuple((name, cut(value, 1, 600)) for name, value in facts),
        message=cut(seen.message, 12),
        backtrace="\n".join(trace(seen.backtrace)),
        program=_program(best) if with_texts else "",
        reduced=best != path,
        guilty=bisection.line() if bisection is not None else "",
        diff=_clipped(bisection.diff) if with_texts and followed and bisection is not None else "",
        tier=tier_of(whole, record),
        culprit=cut(culprit, 1, 200),
        picture=picture,
    )


def _with_short_bound(difference: str) -> str:
    """A difference as a reader wants it: two digits tell how far off a result may be."""
    return re.sub(r" ± (\d+(?:\.\d+)?(?:e[+-]\d+)?)\b", lambda bound: f" ± {float(bound[1]):.2g}", difference)


def title_of_report(path: Path) -> str:
    """Return the title of a bundle's report without the labels in front, "" where there is none."""
    try:
        text = read_bytes(path / "report.md", SCRIPT_BYTES).decode(errors="replace")
    except UserError:
        return ""
    return _LABELS.sub("", text.partition("\n")[0])


def _program(path: Path) -> str:
    try:
        return _clipped(_PREAMBLE.sub("", read_bytes(path / "module.py", SCRIPT_BYTES).decode(errors="replace")))
    except UserError as error:
        return f"# {error}"


def _clipped(text: str) -> str:
    text = text.strip("\n")
    if len(text) <= _TEXT:
        return text
    kept = text[:_TEXT].rpartition("\n")[0] or text[:_TEXT]
    return f"{kept}\n... ({len(text) - len(kept)} more characters, in the bundle)"
