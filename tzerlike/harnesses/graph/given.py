"""The module that a failing pass is given, as a program of its own.

Gradients, imports and passes in front of the one that fails make calls that it fails on, and are not at fault. Where
the module as it stands before that pass can be written down, nothing else is needed to show the failure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.errors import Fault
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Stage, message_template
from tzerlike.findings.issue.layout import cut
from tzerlike.findings.issue.messages import MESSAGE_LINES, quotable
from tzerlike.graph.importers import importer_in
from tzerlike.graph.model import Model
from tzerlike.graph.relax import relax_module
from tzerlike.graph.runs import values_of_runs
from tzerlike.graph.spec import ROWS
from tzerlike.graph.steps import GRADIENT, in_tvms_words, leading, noted_as
from tzerlike.harnesses.graph.failing import fails_on_source, module_behind, searched, words_of
from tzerlike.harnesses.graph.importing import written
from tzerlike.harnesses.graph.passes import shipped_sequences
from tzerlike.harnesses.graph.program import reprinted
from tzerlike.harnesses.graph.slicing import public_functions, sliced_module
from tzerlike.passes.naming import short_name
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api

NO_MODEL = Model((), (), ())
"""The model of a program that is none: it has no constants to be bound, and nothing comes into it."""


@dataclass(frozen=True, slots=True)
class Given:
    """A finding with the pass alone that it takes on the module of `source`, which is at a place of its sequence."""

    finding: Finding
    source: str
    place: int


def given_to_failing(finding: Finding, model: Model) -> Given | None:
    """Return the finding on what the failing pass is given, cut down.

    None where nothing comes before that pass, where the sequence is one that TVM ships, which says more, and where
    TVM's own pipeline fails: what the passes in front of that have done to the module is the bug, then.
    """
    place = _place(finding, model)
    if place is None:
        return None
    case = finding.case
    alone = replace(finding, case=replace(case, passes=case.passes[place : place + 1]))
    own_constants = any(one.kind == "constant" for one in model.sources)
    for bound in (False, True)[: 1 + own_constants]:
        text = _text(case, model, case.passes[:place], bound=bound)
        for entry in public_functions(text):
            if found := searched(alone, NO_MODEL, partial(_cut_down, finding, text, entry)):
                return Given(alone, reprinted(found), place)
    return None


def _cut_down(finding: Finding, text: str, entry: str, failure: Callable[[str], str]) -> str:
    return sliced_module(text, entry, _as(finding, failure))


def _place(finding: Finding, model: Model) -> int | None:
    """The place of the pass that fails, if it fails on what something in front of it makes."""
    case, seen = finding.case, finding.observation
    own = case.passes[len(leading(case.passes)) :]
    shipped = case.config == ContextConfig() and own in shipped_sequences(model)
    in_pass = finding.kind == "invalid-ir" or seen.stage is Stage.PASSES
    if shipped or seen.origin is not None or not in_pass or not fails_on_source(finding):
        return None
    names = [in_tvms_words(short_name(noted_as(spec))) for spec in case.passes]
    failed = in_tvms_words(short_name(seen.offences[0].pass_name if finding.kind == "invalid-ir" else seen.pass_name))
    place = names.index(failed) if failed in names else 0
    return place or None


def _text(case: Case, model: Model, before: Sequence[PassSpec], *, bound: bool) -> str:
    """TVMScript of a model behind some passes, its constants as parameters unless they are `bound`; "" for none."""

    def printed() -> str:
        values = values_of_runs(model, ROWS, case.input_seed)[0][1]
        if importer_in(before):
            first, *rest = before
            return tvm_api.script_of(module_behind(case, rest, written(model, values, first).importer()()))
        module = relax_module(model, values if bound else None, alone=GRADIENT in before)
        return tvm_api.script_of(module_behind(case, before, module))

    try:
        return in_child(printed)[0] or ""
    except Fault:  # the compiler may raise anything while it builds and prints
        return ""


def _as(finding: Finding, failure: Callable[[str], str]) -> Callable[[str], str]:
    """What says how TVM fails on a source, if it is as the finding says."""
    seen = finding.observation
    said = seen.message if finding.kind == "ice-on-valid" else f"signal {seen.signal}"
    if finding.kind == "invalid-ir":
        said = words_of(seen.offences[0])

    def failed(source: str) -> str:
        found = failure(source)
        return found if message_template(found) == message_template(cut(quotable(said), MESSAGE_LINES)) else ""

    return failed
