"""Mutations that killed their process: TVM died while a program was built in memory.

The worker, or the one that takes a dead one's place, repeats the mutation in children and bundles it if it dies again.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.forks import die_with_parent, fork, wait_for
from tzerlike.core.limits import Limits, bound_memory, mapped_bytes
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.stored import StoredCase
from tzerlike.core.targets import kind_of_target
from tzerlike.execution.rendering import Rendering
from tzerlike.findings.bundles.bundle import Confirmation, write_bundle
from tzerlike.findings.issue.regression import schedule_test
from tzerlike.findings.repro.parts import program_source
from tzerlike.findings.repro.schedule_trace import SCHEDULE, record_schedule_calls, without_refused
from tzerlike.mutators import MutationEnv, make_mutators
from tzerlike.processes.confine import close_all_but, confine_where_possible
from tzerlike.processes.forked import silence
from tzerlike.processes.heap import LAYOUTS, stir
from tzerlike.systems import tvm_api

_TRACE_SIZE = 1 << 20


@dataclass(frozen=True, slots=True)
class Repetition:
    """What became of a repeated mutation: the signal its process died of, or 0, and the calls on a schedule."""

    signal: int
    calls: tuple[str, ...]


def repeat(mutation: Mutation, case: Case, layout: int = 0) -> Repetition:
    """Repeat `mutation` on the program of `case` in a forked, limited child, without donors from a corpus.

    `layout` stirs the child's heap; see tzerlike.processes.heap.
    """
    (mutator,) = make_mutators([mutation.mutator])
    shared = mmap.mmap(-1, _TRACE_SIZE)
    parent = os.getpid()
    child = fork()
    if child == 0:
        try:
            die_with_parent(parent)
            faulthandler.disable()
            limits = Limits()
            signal.setitimer(signal.ITIMER_PROF, limits.seconds)
            signal.setitimer(signal.ITIMER_REAL, 10 * limits.seconds)
            bound_memory(mapped_bytes(), limits.memory)
            silence()
            close_all_but()
            confine_where_possible()
            stir(layout)
            record_schedule_calls(_appender(shared))
            func = tvm_api.entry_of(tvm_api.load_ir(case.ir))
            mutator(func, mutation.rng, MutationEnv(target=kind_of_target(case.target)))
        finally:
            os._exit(0)
    status = wait_for(child)
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    length = int.from_bytes(shared[:8], "little")
    lines = shared[8 : 8 + length].decode().splitlines()
    shared.close()
    return Repetition(number, tuple(without_refused(lines)))


def _appender(shared: mmap.mmap) -> Callable[[str], None]:
    def append(line: str) -> None:
        length = int.from_bytes(shared[:8], "little")
        data = line.encode() + b"\n"
        if 8 + length + len(data) <= len(shared):
            shared[8 + length : 8 + length + len(data)] = data
            shared[:8] = (length + len(data)).to_bytes(8, "little")

    return append


def bundle_mutation(
    mutation: Mutation,
    number: int,
    stored: StoredCase,
    directory: Path,
    limits: Limits,
    render: Callable[[Case], Rendering],
    environment: Mapping[str, Any],
    known: Callable[[Finding], bool] = lambda finding: False,
) -> Path | None:
    """Repeat a mutation of `stored` that died of signal `number`, and bundle it under `directory` if it dies again.

    None when it does not, when it is `known`, or when its signature has a bundle already.
    """
    repetitions = [repeat(mutation, stored.case, layout) for layout in LAYOUTS]
    same = [tried for tried in repetitions if tried.signal == number]
    if not same:
        return None
    name = signal.Signals(number).name
    calls = same[0].calls
    culprit = _method(calls[-1]) if calls else mutation.mutator
    seen = Observation(
        Exit.CRASH,
        Stage.MUTATE,
        message=f"{name} in {culprit}",
        pass_name=mutation.mutator,
        signal=number,
    )
    finding = Finding("crash", (Stage.MUTATE.value, culprit, name), stored.case, seen)
    if known(finding):
        return None
    provenance = replace(
        stored.provenance,
        parent=mutation.parent,
        mutator=mutation.mutator,
        worker=mutation.worker,
        iteration=mutation.iteration,
    )
    printed = render(stored.case)
    script = printed.script if printed.faithful else ""
    return write_bundle(
        directory,
        finding,
        StoredCase(stored.case, provenance),
        limits,
        Confirmation(len(repetitions), len(same)),
        printed.script,
        _repro(finding.title, stored.case, script, calls),
        {**environment, "mutation": mutation.to_json()},
        test=schedule_test(culprit, script, calls) if _repeatable(calls) else "",
    )


def _method(line: str) -> str:
    """`v3 = sch.compute_at(v1, v2)` calls `Schedule.compute_at`."""
    return "Schedule." + line.partition(f"= {SCHEDULE}.")[2].partition("(")[0]


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

_MUTATION_REPRO = '''\
"""{title}

TVM dies while a program is built in memory, before any pass runs; it takes tzerlike to build it.
"""

import pathlib
import subprocess
import sys

bundle = pathlib.Path(__file__).resolve().parent
sys.exit(1 if subprocess.run([sys.executable, "-m", "tzerlike", "replay", bundle]).returncode == 0 else 0)
'''


def _repeatable(calls: tuple[str, ...]) -> bool:
    """Whether a script can make the same calls on a schedule."""
    return bool(calls) and not any(call.startswith("raise") for call in calls)


def _repro(title: str, case: Case, script: str, calls: tuple[str, ...]) -> str:
    if not _repeatable(calls):
        return _MUTATION_REPRO.format(title=title)
    program = program_source(case, script)
    last = f"try:\n    {calls[-1]}\nexcept s_tir.ScheduleError as error:\n    print('refused:', error)"
    return _SCHEDULE_REPRO.format(title=title, program=program, calls="\n".join((*calls[:-1], last)))
