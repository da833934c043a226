"""Whether a compilation that times out never ends, or is merely slow: tested on smaller and smaller programs.

Without end is what takes all of a long time though the loops are small; or though a program of half the size takes so
little that this is no growth any more. Everything else is slow, and nobody's bug as far as anybody knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from tzerlike.core.case import Case
from tzerlike.core.effort import COMPILE_ONLY
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.programs import Programs
from tzerlike.oracles import judged
from tzerlike.oracles.protocol import Judge

PATIENCE = 12.0
"""How many times its limit the smallest compilation gets that did not end."""

_LEAST_JUMP = 256.0
"""How many times longer a program may take than one of half the extents: the square of four unrolled loops."""

CompileOnce = Callable[[Case, Limits], Observation]
"""Compiles a case once."""


class Growth(NamedTuple):
    """Whether a compilation is without end, and the evidence, for people."""

    endless: bool
    told: str


def endless(finding: Finding, executor: ForkExecutor, programs: Programs, judges: Sequence[Judge]) -> Finding | None:
    """Return the finding of a compilation without end, with the evidence for its message; None where it is slow."""
    effort = executor.effort if finding.observation.stage is Stage.BUILD_BASELINE else COMPILE_ONLY

    def run(case: Case, limits: Limits) -> Observation:
        (seen,) = executor.run([case], count=False, limits=limits, effort=effort)
        return seen.sound()

    growth = growth_of(finding, programs.smaller(finding.case), run, partial(judged, judges), executor.limits)
    if not growth.endless:
        return None
    return replace(finding, observation=replace(finding.observation, message=growth.told))


def growth_of(
    finding: Finding,
    smaller: Iterable[Case],
    run: CompileOnce,
    judge: Callable[[Case, Observation], Iterable[Finding]],
    limits: Limits,
) -> Growth:
    """Look for the end of a compilation; `smaller` are its case with extents halved, and halved again."""

    def look(case: Case, limits: Limits) -> tuple[float, str]:
        """How long it took, infinite where that says nothing of the finding; and how it goes without an end, or ""."""
        seen = run(case, limits)
        if any(other.signature == finding.signature for other in judge(case, seen)):
            return limits.seconds, "does not end"
        if seen.exit in (Exit.CRASH, Exit.OOM) and seen.pass_name == finding.observation.pass_name:
            # A recursion without end, for one.
            return seen.elapsed, "does not end, but dies,"
        return seen.elapsed if seen.exit is Exit.OK else math.inf, ""

    cases = [finding.case, *smaller]
    times: list[float] = []
    for halvings in reversed(range(len(cases))):
        took, endless = look(cases[halvings], limits)
        if endless:
            break
        times.append(took)
    else:
        return Growth(False, f"ends after {times[-1]:.1f} s")
    long = limits.relaxed(PATIENCE)
    size = f" with extents {2**halvings} times smaller" if halvings else ""
    if expected(times) >= long.seconds:
        return Growth(False, f"takes more than {limits.seconds:g} s{size}, as it may by its growth")
    took, endless = look(cases[halvings], long)
    if not endless:
        return Growth(False, f"ends{size} after {took:.1f} s" if math.isfinite(took) else "goes on to something else")
    less = "with all loops small" if not times else f"where half the extents take {times[-1]:.2f} s"
    return Growth(True, f"{endless}{size} within {long.seconds:g} s of processor time, {less}")


def expected(times: Sequence[float]) -> float:
    """How long the next program may take, of twice the extents, by what the ones before it took; 0 where there is none.

    Growth may itself grow: time that doubles with each iteration is squared when their number doubles.
    """
    if not times or math.isinf(times[-1]):
        return sum(times[-1:])
    told = [time for time in times if math.isfinite(time)]
    start, last = told[0], told[-1]
    grown = (last - start) / (told[-2] - start) if len(told) > 2 and told[-2] > start else 1.0
    return last * max(grown * grown, _LEAST_JUMP)
