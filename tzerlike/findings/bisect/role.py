"""Bisection of one bundle: the role `bisect` of a worker process."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tzerlike.core.case import TIR, Case
from tzerlike.core.effort import Check
from tzerlike.core.observation import NOT_KEPT, Exit, Observation, Stage
from tzerlike.core.results import BASELINE, CODE_GENERATION, Ending
from tzerlike.execution.diagnosis.ask import ask_walk
from tzerlike.execution.diagnosis.localise import first_fault, to_blame
from tzerlike.execution.diagnosis.walk import Change, Walk
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bisection import Bisection, Build, write_bisection
from tzerlike.findings.bundles.bundle import Bundle, read_bundle
from tzerlike.findings.programs import Programs
from tzerlike.findings.reduction.place import reduced_in
from tzerlike.oracles import effort_for, judged, make_oracles
from tzerlike.plugins import harness_named
from tzerlike.processes.lane import Lane, Report


def bisect_bundle(
    whole: Bundle, programs: Programs, lane: Lane, runner: socket.socket, report: Report, params: dict[str, Any]
) -> None:
    """Find the culprit pass of a bundle, of its reduced case if it has one, and write its bisect.json.

    Reports whether the finding showed; nothing is written where it did not. A bundle's signature names the pass that
    was guilty when it was written, so any finding of its kind will do. UserError where its case cannot be judged here.
    """
    executor = ForkExecutor(lane, runner, whole.limits, effort_for(params["oracles"], whole.baseline))
    bundle = _smallest(whole)
    programs.require_fit(executor, bundle.stored.case, str(bundle.path.resolve() / "inputs.npz"))
    shows, seen = bisect_by(executor, whole, params["oracles"])
    report({"event": "bisected", "shows": shows, "why": seen.results.not_run if seen.results is not None else ""})


def _smallest(whole: Bundle) -> Bundle:
    """The reduced bundle in a bundle if there is one, else itself."""
    reduced = reduced_in(whole.path)
    return whole if reduced is None else read_bundle(reduced)


def has_culprit(bundle: Bundle) -> bool:
    """Whether a report is to show the program before and after the culprit pass: it computes something else, or is
    ill-typed or ill-formed, there or where a later step fails. Nobody would see that from the program alone."""
    followed = bundle.probe is None and bool(harness_named(bundle.stored.case.harness).walk)
    seen = bundle.observation
    broken = seen.origin is not None and seen.origin.check != NOT_KEPT
    ill_typed = any(one.check == Check.TYPES for one in seen.offences)
    return followed and (bundle.kind == "wrong-code" or broken or (bundle.kind == "invalid-ir" and ill_typed))


def bisect_by(executor: ForkExecutor, whole: Bundle, oracles: Sequence[str]) -> tuple[bool, Observation]:
    """Bisect a bundle as `bisect_bundle` does; returns whether it showed, and what was seen."""
    kind, bundle = whole.kind, _smallest(whole)
    case = bundle.stored.case
    effort = replace(executor.effort, inputs=str(bundle.path.resolve() / "inputs.npz"))
    judges = make_oracles(oracles)

    def run(other: Case) -> Observation:
        return executor.run([other], count=False, limits=bundle.limits, effort=effort)[0]

    seen = run(case)

    def finding_in(other: Case, observed: Observation) -> bool:
        return any(finding.kind == kind for finding in judged(judges, other, observed))

    def faulty(other: Case) -> bool:
        return finding_in(other, run(other))

    shows = finding_in(case, seen)
    if shows:
        build: Build = BASELINE if in_baseline(seen) else "optimised"
        at_fault = to_blame(case, build, whole.baseline) if case.harness == TIR else case
        walk = None
        if kind != "slow-code":
            walk = ask_walk(
                executor.call,
                at_fault,
                bundle.limits,
                inputs=effort.inputs,
                diff=True,
                job=harness_named(case.harness).walk,
            )
        found = bisection(whole.signature, seen, walk)
        if found.guilty == CODE_GENERATION and kind != "wrong-code":
            found = replace(found, guilty=_first_of_prefix(at_fault, faulty) or CODE_GENERATION)
        found = replace(found, build=build, reduced=bundle is not whole, case=case.id)
        write_bisection(whole.path, found)
    return shows, seen


def bisection(signature: str, seen: Observation, walk: Walk | None) -> Bisection:
    """Put together what was seen of a case and of the walk along its passes, if there was one.

    Where the walk does not name one pass, the answer for wrong and slow code is that of building with less, and a death
    or an exception outside of all passes is code generation's. Who did not keep what a later pass goes by is known
    already.
    """
    walk = walk or Walk(0)
    if seen.origin is not None and seen.origin.check == NOT_KEPT:
        return Bisection(signature, seen.culprit, passes=walk.passes, detail=seen.origin.where)
    if walk.change is Change.ILL_TYPED and seen.exit is Exit.REJECTED and seen.origin is None and not seen.offences:
        # It fails the same without the pass that leaves ill-typed IR.
        guilty = seen.culprit or CODE_GENERATION
        return Bisection(signature, guilty, change=Change.RAISED, passes=walk.passes, detail=seen.message)
    if walk.change is Change.DIED and seen.exit is Exit.OK and not walk.suspects:
        # It is what was built that dies.
        walk = replace(walk, change=Change.NONE, detail="")
    guilty = seen.results.guilty if seen.results is not None else ""
    if len(walk.suspects) == 1:
        guilty = walk.suspects[0]
    elif not guilty and walk.change in (Change.DIED, Change.RAISED):
        guilty = CODE_GENERATION
    return Bisection(
        signature,
        guilty,
        change=walk.change,
        index=walk.index,
        passes=walk.passes,
        detail=walk.detail,
        difference=walk.difference,
        diff=walk.diff,
        deed=walk.deed,
    )


def _first_of_prefix(case: Case, faulty: Callable[[Case], bool]) -> str:
    """The pass in front of the default pipeline without which code generation does not fail; "" where there is none."""
    plain = replace(case, passes=())
    if not case.passes or case.config.pipeline != "default" or faulty(plain):
        return ""
    return first_fault(case, faulty).name


def in_baseline(seen: Observation) -> bool:
    """Whether it occurred in the baseline build."""
    results = seen.results
    if results is not None and seen.exit is Exit.OK:
        return results.blame in (BASELINE, "both") or (not results.blame and results.baseline.ending is Ending.REFUSED)
    return seen.stage in (Stage.BUILD_BASELINE, Stage.RUN_BASELINE)
