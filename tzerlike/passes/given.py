"""Whether passes get input that their preconditions exclude, judged by the programs that they really run on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tzerlike.core.case import PassSpec
from tzerlike.passes.catalog import instantiate
from tzerlike.passes.facts import HISTORY, Fact, Facts, facts_of
from tzerlike.passes.preconditions import rule_of
from tzerlike.passes.sequence import Sequence
from tzerlike.systems import tvm_api

_TRACKED = HISTORY | {Fact.ND, Fact.BF16, Fact.FP8, Fact.JUMPS}
"""What goes by the passes that have run. Parameters keep their dimensions when accesses are flattened, buffers their
dtype when computations are legalised, and loops their jumps when they are marked."""


class GivenPasses:
    """The `passes` of a case as steps of a compilation that look at each program before it goes into a pass.

    `misused` is the first pass that was given what it cannot take, "" for none; `note` is called when that is so.
    """

    def __init__(self, passes: Sequence, note: Callable[[], object] = lambda: None) -> None:
        self.misused = ""
        self._note = note
        self._history: Facts | None = None
        self.steps = [(spec.name, partial(self._run, spec, instantiate(spec))) for spec in passes]

    def _run(self, spec: PassSpec, step: Callable[[Any], Any], module: Any) -> Any:
        if not self.misused:
            rule, facts = rule_of(spec.name), facts_of(tvm_api.dump_ir(module))
            if self._history is not None:
                facts = self._history | (facts - _TRACKED)
            if rule.violation(facts) is not None:
                self.misused = spec.name
                self._note()
            self._history = rule.apply(facts) & _TRACKED
        return step(module)
