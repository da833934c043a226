"""The labels of the component that a finding is about, as TVM's RFC on triage (0093) has them."""

from __future__ import annotations

from tzerlike.core.case import GRAPH
from tzerlike.core.observation import Stage
from tzerlike.core.results import DEFAULT_PIPELINE
from tzerlike.core.targets import kind_of_target
from tzerlike.findings.issue.subject import Subject
from tzerlike.graph.importers import importer_in


def labels(subject: Subject, place: str) -> list[str]:
    """The labels, none where nobody is known to be guilty; `place` is what the finding's oracle says was at work."""
    seen = subject.seen
    if subject.case.harness == GRAPH:
        importer = importer_in(subject.case.passes)
        return [f"frontend:{importer.label}"] if importer else []
    if seen.stage is Stage.TEXT:
        return ["tir:printer", "tir:parser"]
    if seen.stage is Stage.MUTATE or place.startswith("Schedule."):
        return ["tir:schedule"]
    guilty = (subject.guilt.guilty if subject.guilt else "") or (seen.results.guilty if seen.results else "")
    # A blank is in what is no pass: code generation, LLVM's optimizer.
    no_pass = " " in guilty and guilty != DEFAULT_PIPELINE
    generated = no_pass or (seen.stage in (Stage.BUILD, Stage.COMPILE_DEVICE) and not seen.culprit)
    if generated and not place and seen.origin is None:
        return [f"backend: {kind_of_target(subject.case.target)}"]
    unknown = subject.finding.kind == "wrong-code" and not (guilty or place)
    return [] if unknown else ["tir:transform"]
