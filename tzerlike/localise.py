"""Which pass a wrong or slow optimised build is due to, found by building the same program with fewer passes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from tzerlike.case import Case, ContextConfig, PassSpec
from tzerlike.observation import Exit, Observation
from tzerlike.oracles.performance import slower

DEFAULT_PIPELINE = "default pipeline"
CODE_GENERATION = "code generation"
"""The default pipeline's code is right when LLVM does not optimise it: what TVM tells LLVM, or LLVM itself."""

Run = Callable[[Case], Observation]


def localised(case: Case, seen: Observation, run: Run) -> Observation:
    """Return `seen` with `results.guilty` set where the optimised build is to blame; `run` runs a case once.

    A prefix is cut at the first pass that brings the fault about. Of a pipeline of its own, the passes that the default
    one lacks are left out in turn. The answer is a function of the case, so that it can be part of a signature.
    """
    results = seen.results
    if results is None or not (results.blame == "optimised" or _slow(seen)):
        return seen

    def faulty(other: Case) -> bool:
        again = run(other)
        if again.results is None:
            return False
        return _slow(again) if _slow(seen) else again.results.blame == "optimised"

    return replace(seen, results=replace(results, guilty=_guilty(case, faulty)))


def _slow(seen: Observation) -> bool:
    timing = None if seen.results is None else seen.results.timing
    return seen.exit is Exit.OK and timing is not None and slower(timing)


def _guilty(case: Case, faulty: Callable[[Case], bool]) -> str:
    plain = replace(case, passes=(), config=replace(case.config, pipeline="default"))
    if (case.config.pipeline == "default" and not case.passes) or faulty(plain):
        return DEFAULT_PIPELINE if faulty(_without_llvm(plain)) else CODE_GENERATION
    if case.config.pipeline == "default":
        return _short(_first_fault(case, faulty))
    return _first_needed(case, faulty)


def _without_llvm(case: Case) -> Case:
    target = json.loads(case.target) if case.target.startswith("{") else {"kind": case.target}
    return replace(case, target=json.dumps({**target, "opt-level": 0}))


def _first_fault(case: Case, faulty: Callable[[Case], bool]) -> PassSpec:
    """The pass at which the fault comes about, by bisection; it is not there without passes, and there with all."""
    good, bad = 0, len(case.passes)
    while bad - good > 1:
        middle = (good + bad) // 2
        if faulty(replace(case, passes=case.passes[:middle])):
            bad = middle
        else:
            good = middle
    return case.passes[bad - 1]


def _first_needed(case: Case, faulty: Callable[[Case], bool]) -> str:
    """The first pass that the default pipeline lacks and without which the fault is gone; "" if there is none."""
    from tzerlike.passes.pipeline import default_pipeline

    usual = Counter(default_pipeline(case.target, ContextConfig(options=case.config.options)).passes)
    for index, spec in enumerate(case.passes):
        if usual[spec]:
            usual[spec] -= 1
        elif not faulty(replace(case, passes=case.passes[:index] + case.passes[index + 1 :])):
            return _short(spec)
    return ""


def _short(spec: PassSpec) -> str:
    return spec.name.rpartition(".")[2]
