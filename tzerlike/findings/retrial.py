"""How the cases of a bundle are tried again, in replays and reductions, and how the smallest is written.

One way for what occurred in a compilation, another for what a probe found.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.storage import TEMPORARY
from tzerlike.core.stored import StoredCase
from tzerlike.execution.compare.evidence import evidence_for
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.witness import heard
from tzerlike.findings.bundles.bundle import Bundle, read_record
from tzerlike.findings.bundles.compilation import bundle_compilation, confirmed, confirming_limits
from tzerlike.findings.bundles.examined import bundle_examined, look_again
from tzerlike.findings.growth import endless
from tzerlike.findings.programs import Programs
from tzerlike.findings.tiers import tier_of_case, tier_of_look, tiered
from tzerlike.oracles import judged, make_oracles
from tzerlike.oracles.examiner import Look, RulingOut, ask_for, ruling_out
from tzerlike.oracles.protocol import Environment, Probe
from tzerlike.processes.heap import LAYOUTS, layouts_for


class LookAt(Protocol):
    def __call__(self, case: Case, layout: int = 0, inputs: str = "") -> Look: ...


@dataclass(frozen=True, slots=True)
class Retrial:
    """`look` looks at a case once, on a heap, with the inputs of an archive where one is named.

    `write` confirms a finding and writes its bundle into a directory; None where it does not show every time, a hang
    has an end, or the witness objects. `layouts` are the heaps that a finding is confirmed on; `few` those that a
    smaller case has to show it on before it is taken. `tier` is that of a finding on its very program. `clean` says of
    the first of some cases whether nothing about them can be a finding, for less than as many looks.
    """

    look: LookAt
    write: Callable[[Path, Finding, StoredCase, Environment], Path | None]
    layouts: tuple[int, ...] = (0, 0)
    few: tuple[int, ...] = (0,)
    tier: Callable[[Finding], int] = lambda finding: 0
    clean: RulingOut | None = None


def retrial_of(
    bundle: Bundle,
    executor: ForkExecutor,
    oracles: Sequence[str],
    programs: Programs,
    limits: Limits | None = None,
    effort: Effort | None = None,
) -> Retrial:
    """Return how the cases of a bundle are tried again; `oracles` are those of its campaign.

    `limits` and `effort` are those of a compilation that is looked at, other than the executor's.
    """
    if bundle.probe is not None:
        return _of_probe(bundle, bundle.probe, executor, programs)
    retrial = retrial_of_compilation(bundle.kind, executor, oracles, programs, limits, effort)
    results = bundle.observation.results
    # A child that rules cases out has no device.
    on_device = results is not None and bool(results.device or results.timing)
    return replace(retrial, clean=None) if on_device else retrial


def retrial_of_compilation(
    kind: str,
    executor: ForkExecutor,
    oracles: Sequence[str],
    programs: Programs,
    limits: Limits | None = None,
    effort: Effort | None = None,
) -> Retrial:
    """What a compilation of the case comes to is judged by the oracles of its campaign."""
    judges, layouts = make_oracles(oracles), layouts_for(kind)

    def look(case: Case, layout: int = 0, inputs: str = "", allowed: Limits | None = limits) -> Look:
        spent = replace(effort or executor.effort, layout=layout, inputs=inputs)
        (seen,) = executor.run([case], count=False, limits=allowed, effort=spent)
        return Look(tuple(judged(judges, case, seen)), seen=seen)

    def write(directory: Path, finding: Finding, stored: StoredCase, environment: Environment) -> Path | None:
        finding, tier = tiered(finding, executor, programs, lambda case: look(case).findings)
        if finding.kind == "hang":
            found = endless(finding, executor, programs, judges)
            if found is None:
                return None
            finding = found
        evidence = evidence_for(finding.case, finding.observation.results)
        # A hang has lasted longer than that above.
        allowed = limits if finding.kind == "hang" else confirming_limits(finding, limits or executor.limits)
        confirmation = confirmed(
            finding.kind,
            evidence,
            directory / f"{TEMPORARY}{os.getpid()}-inputs.npz",
            lambda layout, inputs: look(finding.case, layout, inputs, allowed).shows(finding),
        )
        if confirmation.flaky:
            return None
        confirmation = confirmation.with_tier(tier, heard(finding, evidence))
        if confirmation.withheld:
            return None
        return bundle_compilation(
            directory,
            executor,
            programs,
            finding,
            stored,
            executor.limits,
            confirmation,
            evidence,
            lambda case: look(case).findings,
            environment,
        )

    # Wrong code is walked along its passes each time that it shows: one heap, on which fresh memory is filled.
    few = (LAYOUTS[-1],) if kind == "wrong-code" else (LAYOUTS[0], LAYOUTS[-1]) if layouts == LAYOUTS else layouts
    spent = replace(effort or executor.effort, layout=few[0])
    # What takes all of some limit would take it from the cases behind it.
    clean = None if kind in ("hang", "oom") else partial(executor.clean, limits=limits, effort=spent)
    return Retrial(look, write, layouts, few, lambda finding: tier_of_case(finding, executor, programs), clean)


def _of_probe(bundle: Bundle, probe: Probe, executor: ForkExecutor, programs: Programs) -> Retrial:
    held = bundle.environment
    look = partial(look_again, executor, probe, held)

    def write(directory: Path, finding: Finding, stored: StoredCase, environment: Environment) -> Path | None:
        found = look(finding.case)
        if not found.shows(finding):
            return None
        path = bundle_examined(directory, executor, programs, probe, found, stored, environment)
        return None if path is not None and read_record(path).confirmed.flaky and not bundle.flaky else path

    # What is wrong with a schedule may be that it reads fresh memory.
    few = (LAYOUTS[-1],) if bundle.kind == "wrong-code" else (LAYOUTS[0],)
    excluded = probe.excluded(held)
    tier = lambda finding: tier_of_look(finding, executor, programs, excluded)  # noqa: E731
    return Retrial(look, write, few=few, tier=tier, clean=ruling_out(probe, ask_for(probe, executor.call)))
