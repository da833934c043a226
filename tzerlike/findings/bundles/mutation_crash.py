"""The bundle of a mutation that killed its process: TVM died while a program was built in memory.

The worker, or the one that takes a dead one's place, repeats the mutation in children and bundles it if it dies again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tzerlike.core.finding import Finding
from tzerlike.core.mutation import Mutation
from tzerlike.core.stored import StoredCase
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import Confirmation, write_bundle
from tzerlike.findings.programs import Programs
from tzerlike.findings.tiers import tier_of_look
from tzerlike.oracles.crash import PROBE
from tzerlike.oracles.examiner import ask_for
from tzerlike.oracles.mutation import repeat
from tzerlike.oracles.primitives import CALLS
from tzerlike.processes.heap import LAYOUTS


def bundle_mutation(
    mutation: Mutation,
    number: int,
    stored: StoredCase,
    directory: Path,
    executor: ForkExecutor,
    programs: Programs,
    environment: Mapping[str, Any],
    known: Callable[[Finding], bool] = lambda finding: False,
) -> Path | None:
    """Repeat a mutation of `stored` that died of signal `number`, and bundle it under `directory` if it dies again.

    None when it does not, when it is `known`, which is asked as soon as it dies, or when its signature has a bundle.
    """
    ask = ask_for(PROBE, executor.call)
    repetitions = (repeat(ask, mutation, stored.case, layout) for layout in LAYOUTS)
    same = (tried for tried in repetitions if tried.signal == number)
    first = next(same, None)
    if first is None or known(finding := first.finding(stored.case)):
        return None
    # A mutator may die beside the calls that it makes.
    alone = repeat(ask, mutation, stored.case, calls=first.calls).signal == number
    return write_bundle(
        directory,
        finding,
        StoredCase(stored.case, mutation.descent(stored.provenance)),
        executor.limits,
        Confirmation(len(LAYOUTS), 1 + len(list(same))).with_tier(tier_of_look(finding, executor, programs), None),
        programs.texts_of_calls(executor, finding, first.culprit, first.calls),
        {**environment, "mutation": mutation.to_json(), CALLS: list(first.calls) * alone},
    )
