"""The regression tests of schedule primitives: one kills the process, raises what it should not, leaves ill-typed IR,
or makes another program.

Cured is the schedule without the last call, or with the right results where it makes another program.
"""

from __future__ import annotations

import io
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy

from tzerlike.core.case import ContextConfig
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit
from tzerlike.execution.compare.inputs import Parameter
from tzerlike.findings.issue.calls import needed, schedule_of
from tzerlike.findings.issue.pytest_file import pytest_file, snake_case
from tzerlike.harnesses.proof import Regression
from tzerlike.harnesses.tir.checks import Run, run_of
from tzerlike.harnesses.tir.regression import build_statements, pieces_of
from tzerlike.oracles.metamorphic import LIES, OTHER_VALUES
from tzerlike.oracles.primitives.script import ill_typed_source
from tzerlike.oracles.schedule_trace import SCHEDULE
from tzerlike.oracles.schedules.examiner import UNDECLARED, UNSAID, intrinsics_in
from tzerlike.oracles.schedules.stray import STRAYING, stray_source

_USUAL = "llvm"
"""The target that a test is built for where that will do."""

_TRACE = f"""\
trace = tvm.ir.load_json({{trace}})
s_tir.schedule.Trace.apply_json_to_schedule(trace, {SCHEDULE})"""

_DECLARED = f"""\
blocks = []
tvm_ffi.structural_walk({SCHEDULE}.mod["main"].body.block.body, (s_tir.SBlock, blocks.append))
assert not [f"{{block.name_hint}}: {{buffer.name}}" for block in blocks for buffer in undeclared(block)]
"""


def crash_test(method: str, script: str, calls: Sequence[str]) -> Regression:
    """Return the test of a schedule primitive that kills the process: the last of `calls`, statements on `sch`."""
    return _of_calls(f"{method.rpartition('.')[2]}_crash", script, calls)


def primitive_test(finding: Finding, script: str, calls: Sequence[str]) -> Regression:
    """Return the test of a schedule primitive that raises something else than a ScheduleError, or leaves ill-typed IR.

    It is that of the last of `calls`.
    """
    name = finding.observation.pass_name.rpartition(".")[2]
    if finding.observation.exit is Exit.REJECTED:
        return _of_calls(f"{name}_internal_error", script, calls)
    imports = ["import tvm_ffi", "from tvm import tirx"]
    check, source = f"assert not ill_typed({SCHEDULE}.mod)\n", ill_typed_source(finding.observation.offences[0].rule)
    return _of_calls(f"{name}_ill_typed", script, calls, check, source, imports)


def _of_calls(
    name: str, script: str, calls: Sequence[str], check: str = "", helpers: str = "", imports: Sequence[str] = ()
) -> Regression:
    """The test of the last of `calls`, which may say no: of what it does, or of the `check` behind it."""
    program = pieces_of(script)
    calls = needed(calls)

    def written(steps: Sequence[str]) -> str:
        body = "\n".join((schedule_of("Module", calls), *steps))
        needed = ["import contextlib", "from tvm import s_tir", *program.imports, *imports]
        return pytest_file(f"schedule_{name}", [program.inside, body, check], needed, [helpers, program.outside])

    return Regression(written(_or_refused(calls)), written(calls[:-1]))


def _or_refused(steps: Sequence[str]) -> Sequence[str]:
    """Steps on a schedule, of which the last may say no."""
    guard = "with contextlib.suppress(s_tir.ScheduleError):\n"
    return [*steps[:-1], *(guard + textwrap.indent(step, "    ") for step in steps[-1:])]


def schedule_tests(
    finding: Finding, script: str, held: Mapping[str, Any], parameters: Sequence[Parameter], archive: bytes
) -> Iterator[Regression]:
    """Yield tests of a schedule that makes another program: as calls, which people read, and as a trace.

    `held` has both. What such a program does that it may not is looked for in its loops first, since what it computes
    may be right by chance; what computes something else is built with default options first.
    """
    calls, trace = needed(held["calls"]), _TRACE.format(trace=json.dumps(held["trace"]))
    intrinsics = intrinsics_in(held["trace"])
    ways: list[tuple[Sequence[str], Sequence[str]]] = [(calls, calls[:-1]), ([trace], [])]
    message = finding.observation.message
    if message.partition(":")[0] in (*STRAYING, LIES) and UNSAID not in message:
        yield from (_of_course(finding, script, intrinsics, *way) for way in ways)
    for way in ways:
        if message.startswith(OTHER_VALUES):
            usual = replace(finding, case=replace(finding.case, config=ContextConfig(), target=_USUAL))
            yield _of_steps(usual, script, intrinsics, way, parameters, archive)
        yield _of_steps(finding, script, intrinsics, way, parameters, archive)


def _of_course(
    finding: Finding, script: str, intrinsics: str, steps: Sequence[str], fewer: Sequence[str]
) -> Regression:
    """The test of what the program does, without running it; cured is that of one step less."""
    program, lies = pieces_of(script), finding.observation.message.startswith(LIES)

    def written(steps: Sequence[str]) -> str:
        body = "\n".join((schedule_of("Module", steps), *_or_refused(steps), f'assert stray({SCHEDULE}.mod) == ""\n'))
        name = f"schedule_{snake_case(finding.observation.pass_name)}_{'regions' if lies else 'undefined'}"
        imports = ["import contextlib", "from tvm import s_tir", *program.imports]
        return pytest_file(name, [program.inside, intrinsics, body], imports, [stray_source(lies), program.outside])

    return Regression(written(steps), written(fewer))


def _of_steps(
    finding: Finding,
    script: str,
    intrinsics: str,
    way: tuple[Sequence[str], Sequence[str]],
    parameters: Sequence[Parameter],
    archive: bytes,
) -> Regression:
    steps, fewer = way
    program, lies = pieces_of(script), finding.observation.message.startswith(LIES)
    if lies:
        run = Run(_DECLARED, UNDECLARED, ("import tvm_ffi", "from tvm import tirx"), _DECLARED)
        build, imports = "", list[str]()
    else:
        run = run_of(finding, parameters, dict(numpy.load(io.BytesIO(archive))))
        build, imports = build_statements(finding.case, "func", True, f"{SCHEDULE}.mod")

    def written(steps: Sequence[str], check: str) -> str:
        return pytest_file(
            f"schedule_{snake_case(finding.observation.pass_name)}_{'regions' if lies else 'wrong_code'}",
            [program.inside, intrinsics, "\n".join((schedule_of("Module", steps), *_or_refused(steps))), build, check],
            ["import contextlib", "from tvm import s_tir", *program.imports, *imports, *run.imports],
            [run.helpers, program.outside],
        )

    return Regression(written(steps, run.body), written(fewer if lies else steps, run.cured))
