"""Whether a stored case can be judged here, checked in a child: a stranger may have written it.

What TVM does with the program is not asked here. That it dies of it, or refuses it, is what running the case shows.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.observation import Observation
from tzerlike.execution.compare.inputs import unpack_inputs
from tzerlike.passes.catalog import steps_of
from tzerlike.processes.channel import Channel
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import load
from tzerlike.systems.refusal import CompilerRefused, ask_compiler

_JOB = "fit-case"

Call = Callable[[str, Mapping[str, Any]], tuple[list[dict[str, Any]], Observation | None]]
"""`ForkExecutor.call`."""


def require_fit(call: Call, case: Case, inputs: str = "") -> None:
    """UserError in one line unless this TVM has the passes of `case`, and `inputs`, a path or "", fit its program."""
    records, _ = call(_JOB, {"case": case.to_json(), "inputs": inputs})
    if records and records[0]["fault"]:
        raise UserError(records[0]["fault"])


def fit_case(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """Lay down what is in the way of judging a case, "" for nothing: the job of `require_fit`."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        ask_compiler(lambda: _look(Case.from_json(item["case"]), item["inputs"]))
        fault = ""
    except CompilerRefused as refusal:
        cause = refusal.cause
        fault = str(cause) if isinstance(cause, UserError) else f"case.ir: {type(cause).__name__} when it was looked at"
    signal.setitimer(signal.ITIMER_PROF, 0)
    channel.add_result({"fault": fault})


def _look(case: Case, inputs: str) -> None:
    steps_of(case.passes)
    try:
        module = load(case.ir)
    except CompilerRefused:
        return
    if not isinstance(module, tvm_api.IRModule):
        raise UserError("case.ir: not the JSON of an IRModule")
    try:
        func = tvm_api.entry_of(module)
    except KeyError as error:
        raise UserError(f"case.ir: no function {tvm_api.ENTRY!r}") from error
    if not isinstance(func, tvm_api.PrimFunc):
        raise UserError(f"case.ir: {tvm_api.ENTRY!r} is not a PrimFunc")
    if inputs:
        unpack_inputs(Path(inputs), func)


JOBS = {_JOB: fit_case}
