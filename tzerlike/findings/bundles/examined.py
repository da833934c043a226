"""The bundle of a probe's finding: confirmed by examining it again, then written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.finding import FIRST_TIER
from tzerlike.core.stored import StoredCase
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Confirmation, write_bundle
from tzerlike.findings.programs import Programs
from tzerlike.findings.tiers import tier_of_look
from tzerlike.oracles.documented import is_documented
from tzerlike.oracles.examiner import Look, ask_for, examiner_of
from tzerlike.oracles.protocol import Environment, Probe
from tzerlike.processes.heap import layouts_for

_CONFIRMATIONS = 3


def look_again(
    executor: ForkExecutor, probe: Probe, held: Environment, case: Case, layout: int = 0, inputs: str = ""
) -> Look:
    """Look at a case as the probe of a bundle does, with what the bundle's environment holds."""
    return examiner_of(probe).look_again(ask_for(probe, executor.call), case, held, inputs, layout)


def tiered_look(executor: ForkExecutor, programs: Programs, probe: Probe, look: Look) -> tuple[Look, int]:
    """The look with the tier of what it found: at a program with nothing odd about it where that shows the same."""
    (finding,) = look.findings
    tier = tier_of_look(finding, executor, programs, probe.excluded(look.held))
    if tier == FIRST_TIER or is_documented(finding):
        return look, tier
    for case in programs.mended(executor, finding.case):
        better = look_again(executor, probe, look.held, case)
        if better.shows(finding):
            (found,) = better.findings
            if tier_of_look(found, executor, programs, probe.excluded(better.held)) == FIRST_TIER:
                return better, FIRST_TIER
    return look, tier


def bundle_examined(
    directory: Path,
    executor: ForkExecutor,
    programs: Programs,
    probe: Probe,
    look: Look,
    stored: StoredCase,
    environment: Mapping[str, Any],
) -> Path | None:
    """Confirm what a probe found and write its bundle; None when it does not show again, or has one.

    `stored` is the case that was looked at, for its provenance.
    """
    look, tier = tiered_look(executor, programs, probe, look)
    (finding,) = look.findings
    layouts = layouts_for(finding.kind)[:_CONFIRMATIONS]
    again = [look_again(executor, probe, look.held, finding.case, layout=layout) for layout in layouts]
    same = sum(other.shows(finding) for other in again)
    # Speed is the one thing that noise alone could fake.
    if same < (len(again) if finding.kind == "slow-code" else 1):
        return None
    confirmation = Confirmation(len(again), same).with_tier(tier, None)
    texts = programs.texts_of_look(executor, finding, look)
    kept = StoredCase(finding.case, stored.provenance)
    held = {**environment, **look.held}
    return write_bundle(directory, finding, kept, executor.limits, confirmation, texts, held, look.archive)
