"""Schedules of a campaign looked at, and bundled where they are wrong: the worker's side."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Results
from tzerlike.core.rng import rng_for
from tzerlike.core.stored import StoredCase
from tzerlike.execution.compare.inputs import parameters_of
from tzerlike.execution.executor import ForkExecutor
from tzerlike.execution.rendering import rendered
from tzerlike.findings.bundles.bundle import Confirmation, write_bundle
from tzerlike.findings.repro.parts import build_source, head_source, program_source, quotable
from tzerlike.findings.repro.running import RUN_IMPORTS, WRONG_END, run_source
from tzerlike.mutators.schedule import product_intrinsic
from tzerlike.oracles.metamorphic import judge_metamorphic
from tzerlike.oracles.schedules.judge import SUSPECT
from tzerlike.systems.baseline import baseline_case
from tzerlike.systems.tvm_api import entry_of, load_ir, s_tir, tvm

_CONFIRMATIONS = 2


@dataclass(frozen=True, slots=True)
class Looked:
    """What became of a look at a schedule. `word` is counted; `finding` is there where the schedule is wrong, with the
    instructions up to the one to blame (`trace` to apply, `calls` to read) and the `archive` of inputs and results."""

    word: str
    finding: Finding | None = None
    trace: str = ""
    calls: tuple[str, ...] = ()
    archive: bytes = b""


def look_at(executor: ForkExecutor, parent: Case, child: str, coordinates: Mapping[str, Any]) -> Looked:
    """Look at a mutation by schedule primitives; `coordinates` as `schedule_again` wants them."""
    case = baseline_case(parent)
    item = {"parent": case.ir, "child": child, "input_seed": case.input_seed, "coordinates": dict(coordinates)}
    return _looked(case, *executor.call("schedule", item))


def look_again(executor: ForkExecutor, case: Case, trace: str, inputs: str = "") -> Looked:
    """Look at a schedule given by its trace, on the inputs of an archive or on those of the case's seed."""
    item = {"parent": case.ir, "trace": trace, "input_seed": case.input_seed, "inputs": inputs}
    return _looked(case, *executor.call("schedule-again", item))


def _looked(case: Case, records: list[dict[str, Any]], death: Observation | None) -> Looked:
    if not records:
        return Looked("died")
    first = records[0]
    if first["word"] != SUSPECT:
        return Looked(first["word"])
    if len(records) > 1:
        results = Results.from_json(records[1]["results"])
    elif death is not None and death.results is not None:
        results = death.results
    else:
        return Looked("died")
    seen = Observation(
        Exit.OK,
        Stage.MUTATE,
        message=first["claim"],
        pass_name=first["primitive"],
        results=replace(results, guilty=first["primitive"]),
    )
    finding = judge_metamorphic(case, seen)
    if finding is None:
        return Looked(f"not borne out: {first['primitive']} {first['claim'].partition(':')[0]}")
    return Looked("wrong", finding, first["trace"], tuple(first["calls"]), base64.b64decode(first["archive"]))


def bundle_schedule(
    directory: Path,
    executor: ForkExecutor,
    looked: Looked,
    stored: StoredCase,
    environment: Mapping[str, Any],
) -> Path | None:
    """Confirm a wrong schedule by its trace and write its bundle; None when it does not show again, or has one.

    `stored` is the case that the schedule made, for its provenance.
    """
    finding = looked.finding
    assert finding is not None
    again = [look_again(executor, finding.case, looked.trace).finding for _ in range(_CONFIRMATIONS)]
    confirmation = Confirmation.of(finding, again)
    if not confirmation.same:
        return None
    printed = rendered(executor, finding.case)
    return write_bundle(
        directory,
        finding,
        StoredCase(finding.case, stored.provenance),
        executor.limits,
        confirmation,
        printed.script,
        _repro(looked, printed.script if printed.faithful else ""),
        {**environment, "schedule": {"trace": looked.trace, "calls": list(looked.calls)}},
        looked.archive,
    )


_BEHAVIOUR = """\
Applies a schedule to a program, builds the outcome without optimisation, runs it on the inputs in inputs.npz, next to
this file, and exits non-zero while a result differs from what the program computes without the schedule; inputs.npz has
that too, with the floating-point error that both orders of computation may make (bound). By the interpreter:
"""

_SCHEDULE = """
{intrinsics}# The schedule, in words:
{calls}
schedule = s_tir.Schedule(module, debug_mask=0)
trace = tvm.ir.load_json({trace})
s_tir.schedule.Trace.apply_json_to_schedule(trace, schedule)
module = schedule.mod
print(module.script())
"""


def _repro(looked: Looked, script: str) -> str:
    finding = looked.finding
    assert finding is not None
    parameters = parameters_of(entry_of(load_ir(finding.case.ir)), rng_for(finding.case.input_seed, "inputs")) or ()
    behaviour = _BEHAVIOUR + quotable(finding.observation.message)
    program = program_source(finding.case, script)
    head = head_source(finding.title, behaviour, program, Limits(), RUN_IMPORTS)
    schedule = _SCHEDULE.format(
        calls="\n".join(f"# {line}" for line in "\n".join(looked.calls).splitlines()),
        trace=json.dumps(looked.trace),
        intrinsics="".join(
            map(_intrinsic, (n for n in map(product_intrinsic, (False, True)) if json.dumps(n) in looked.trace))
        ),
    )
    return head + schedule + run_source(parameters) + build_source("build", finding.case) + WRONG_END


def _intrinsic(name: str) -> str:
    """The statement that registers a tensor intrinsic of ours, which a trace knows by name."""
    found = s_tir.TensorIntrin.get(name)
    parts = (f"tvm.ir.load_json({json.dumps(str(tvm.ir.save_json(part)))})" for part in (found.desc, found.impl))
    return f"s_tir.TensorIntrin.register({name!r}, {', '.join(parts)})\n"
