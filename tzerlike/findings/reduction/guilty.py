"""Sequences of only the blamed passes: most long sequences reduce to these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from tzerlike.core.case import Case
from tzerlike.core.observation import Observation
from tzerlike.core.shrink import Attempt, Reducer
from tzerlike.graph.importers import IMPORTERS
from tzerlike.graph.steps import GRADIENT, blames_gradients, blames_import, noted_as
from tzerlike.passes.naming import short_name


def guilty_passes(seen: Observation) -> Reducer[Case]:
    """Return a reducer that leaves the guilty passes of what was seen: one alone, with all before it, with one before
    it."""
    blamed = (seen.culprit, seen.pass_name, "" if seen.results is None else seen.results.guilty)
    names = {short_name(name) for name in blamed if name and not blames_import(name)}
    if any(map(blames_import, blamed)):
        names |= {one.name for one in IMPORTERS}
    if any(map(blames_gradients, blamed)):
        names |= {GRADIENT.name}

    def offered(case: Case) -> Iterator[Attempt[Case]]:
        passes = case.passes
        for place in (place for place, spec in enumerate(passes) if {noted_as(spec), short_name(spec.name)} & names):
            yield partial(replace, case, passes=passes[place : place + 1])
            yield partial(replace, case, passes=passes[: place + 1])
            yield partial(replace, case, passes=passes[max(0, place - 1) : place + 1])

    return offered
