"""The bundle of a mutation that killed its process: TVM died while a program was built in memory.

The worker, or the one that takes a dead one's place, repeats the mutation in children and bundles it if it dies again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.mutation import Mutation
from tzerlike.core.stored import StoredCase
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.rendering import rendered
from tzerlike.findings.bundles.bundle import Confirmation, write_bundle
from tzerlike.findings.issue.regression import schedule_test
from tzerlike.findings.repro.parts import program_source, replaying
from tzerlike.oracles.crash import PROBE
from tzerlike.oracles.examiner import ask_for
from tzerlike.oracles.mutation import repeat
from tzerlike.processes.heap import LAYOUTS


def bundle_mutation(
    mutation: Mutation,
    number: int,
    stored: StoredCase,
    directory: Path,
    executor: ForkExecutor,
    environment: Mapping[str, Any],
    known: Callable[[Finding], bool] = lambda finding: False,
) -> Path | None:
    """Repeat a mutation of `stored` that died of signal `number`, and bundle it under `directory` if it dies again.

    None when it does not, when it is `known`, or when its signature has a bundle already.
    """
    ask = ask_for(PROBE, executor.call)
    repetitions = [repeat(ask, mutation, stored.case, layout) for layout in LAYOUTS]
    same = [tried for tried in repetitions if tried.signal == number]
    if not same:
        return None
    finding = same[0].finding(stored.case)
    if known(finding):
        return None
    provenance = replace(
        stored.provenance,
        parent=mutation.parent,
        mutator=mutation.mutator,
        worker=mutation.worker,
        iteration=mutation.iteration,
    )
    printed, calls = rendered(executor, stored.case), same[0].calls
    script = printed.script if printed.faithful else ""
    return write_bundle(
        directory,
        finding,
        StoredCase(stored.case, provenance),
        executor.limits,
        Confirmation(len(repetitions), len(same)),
        printed.script,
        _repro(finding.title, stored.case, script, calls),
        {**environment, "mutation": mutation.to_json()},
        test=schedule_test(same[0].culprit, script, calls) if _repeatable(calls) else "",
    )


_SCHEDULE_REPRO = '''\
"""{title}

Exits non-zero when the bug shows: the process dies in the last of these calls.
"""

import tvm
from tvm import s_tir

{program}

sch = s_tir.Schedule(module, seed=1, debug_mask=0)
{calls}
print("every call returned or was refused: the bug does not show")
'''


def _repeatable(calls: tuple[str, ...]) -> bool:
    """Whether a script can make the same calls on a schedule."""
    return bool(calls) and not any(call.startswith("raise") for call in calls)


def _repro(title: str, case: Case, script: str, calls: tuple[str, ...]) -> str:
    if not _repeatable(calls):
        return replaying(title)
    program = program_source(case, script)
    last = f"try:\n    {calls[-1]}\nexcept s_tir.ScheduleError as error:\n    print('refused:', error)"
    return _SCHEDULE_REPRO.format(title=title, program=program, calls="\n".join((*calls[:-1], last)))
