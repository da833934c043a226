"""The bundle of what a probe found: confirmed by looking again, then written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.limits import Limits
from tzerlike.core.stored import StoredCase
from tzerlike.execution.compare.inputs import Parameter
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.rendering import rendered
from tzerlike.findings.bundles.bundle import Confirmation, write_bundle
from tzerlike.findings.repro.parts import build_source, head_source, program_source, quotable, replaying
from tzerlike.findings.repro.running import RUN_IMPORTS, WRONG_END, run_source
from tzerlike.oracles.examiner import Look, Pieces, ask_for, examiner_of
from tzerlike.oracles.protocol import Environment, Probe

_CONFIRMATIONS = 2


def look_again(
    executor: ForkExecutor, probe: Probe, held: Environment, case: Case, layout: int = 0, inputs: str = ""
) -> Look:
    """Look at a case as the probe of a bundle does, with what the bundle's environment holds."""
    return examiner_of(probe).look_again(ask_for(probe, executor.call), case, held, inputs, layout)


def bundle_examined(
    directory: Path,
    executor: ForkExecutor,
    probe: Probe,
    look: Look,
    stored: StoredCase,
    environment: Mapping[str, Any],
) -> Path | None:
    """Confirm what a probe found and write its bundle; None when it does not show again, or has one.

    `stored` is the case that was looked at, for its provenance.
    """
    (finding,) = look.findings
    again = [look_again(executor, probe, look.held, finding.case) for _ in range(_CONFIRMATIONS)]
    confirmation = Confirmation(_CONFIRMATIONS, sum(other.shows(finding) for other in again))
    if not confirmation.same:
        return None
    printed = rendered(executor, finding.case)
    program = program_source(finding.case, printed.script if printed.faithful else "")

    def run(behaviour: str, steps: str, parameters: Sequence[Parameter]) -> str:
        head = head_source(finding.title, quotable(behaviour), program, Limits(), RUN_IMPORTS)
        return head + steps + run_source(parameters) + build_source("build", finding.case) + WRONG_END

    pieces = Pieces(quotable(finding.title), program, run)
    return write_bundle(
        directory,
        finding,
        StoredCase(finding.case, stored.provenance),
        executor.limits,
        confirmation,
        printed.script,
        replaying(pieces.title) if look.repro is None else look.repro(pieces),
        {**environment, **look.held},
        look.archive,
    )
