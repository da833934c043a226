"""The regression test of a finding, in the style of TVM's own: pytest, tvm and numpy, the program as TVMScript.

It fails, or takes the process with it, as long as the bug is there.
"""

from __future__ import annotations

import io
import json
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Stage
from tzerlike.core.targets import kind_of_target
from tzerlike.execution.compare.inputs import Parameter
from tzerlike.findings.issue.literal import python_source
from tzerlike.findings.issue.pytest_file import pytest_file, snake_case
from tzerlike.harnesses.tir.checks import Run, run_of
from tzerlike.harnesses.tir.script import case_of
from tzerlike.oracles.schedule_trace import SCHEDULE
from tzerlike.passes.catalog import constructor_source
from tzerlike.systems.tvm_api import grouped_options

_DEFAULT_OPT_LEVEL = 2
"""What TVM takes where no PassContext says otherwise."""

_PROBLEMS = {
    "crash": "crash",
    "hang": "hang",
    "oom": "memory",
    "wrong-code": "wrong_code",
    "ice-on-valid": "internal_error",
}
"""What the name of a test ends in, by kind; there is no test of speed."""

_ALARM = """\
# TVM does not come back to Python here: the alarm ends the process.
signal.alarm({seconds})
"""

_MEMORY = """\
resource.setrlimit(resource.RLIMIT_AS, ({bytes}, {bytes}))
"""

_OFFERED = """\
with target:
    for device in executable.mod.imports:
        nvcc.compile_cuda(device.inspect_source(), target_format="cubin", compiler="nvcc")
"""

_NO_PIPELINE = """\
_, finalize_host, finalize_device = tirx.get_default_tir_pipeline(target)
host_mod, device_mods = split_host_device_mods(mod)
device_mods = {kind: finalize_device()(device) for kind, device in device_mods.items()}
"""


@dataclass(frozen=True, slots=True)
class _Program:
    """How a test gets at its module: statements at the top of the file, or in the test itself."""

    outside: str = ""
    inside: str = ""
    imports: tuple[str, ...] = ()


def regression_test(
    finding: Finding,
    limits: Limits,
    script: str,
    parameters: Sequence[Parameter] = (),
    archive: bytes = b"",
    baseline: str = "",
) -> str:
    """Return the text of the test, "" where there is none: speed is no matter for a unit test, a kernel takes a GPU.

    `script` is TVMScript that parses back to the program, or empty: the test then reads case.json. `archive` is the
    contents of inputs.npz, which the test reads too where arrays are large, and `parameters` say what it is for.
    """
    seen, kernel = finding.observation, kind_of_target(finding.case.target) == "cuda"
    if finding.kind not in _PROBLEMS or (kernel and finding.kind == "wrong-code"):
        return ""
    run, name = Run(), ""
    if finding.kind == "wrong-code":
        run, name = run_of(finding, parameters, dict(numpy.load(io.BytesIO(archive)))), "func"
    if seen.stage is Stage.COMPILE_DEVICE:
        run, name = Run(body=_OFFERED, imports=("from tvm.support import nvcc",)), "executable"
    # Where results were asked for, a build ends with the look-up that generates machine code.
    lookup = finding.kind == "wrong-code" or (finding.kind != "ice-on-valid" and seen.results is not None)
    build, imports = _build(case_of(finding, baseline), name, lookup)
    guard, guard_imports = _guard(finding.kind, limits)
    program = _program(script)
    place = seen.culprit.rpartition(".")[2] or (seen.results.guilty.rpartition(".")[2] if seen.results else "")
    return pytest_file(
        f"{snake_case(place) or 'compile'}_{_PROBLEMS[finding.kind]}",
        [program.inside, guard + build, run.body],
        [*program.imports, *imports, *guard_imports, *run.imports],
        [run.helpers, program.outside],
    )


def schedule_test(method: str, script: str, calls: Sequence[str]) -> str:
    """Return the test of a schedule primitive that kills the process: the last of `calls`, statements on `sch`."""
    program = _program(script)
    calls = _needed(calls)
    last = f"with contextlib.suppress(s_tir.ScheduleError):\n    {calls[-1]}\n"
    body = "\n".join(("sch = s_tir.Schedule(Module, seed=1, debug_mask=0)", *calls[:-1], last))
    imports = ["import contextlib", "from tvm import s_tir", *program.imports]
    name = f"schedule_{method.rpartition('.')[2]}_crash"
    return pytest_file(name, [program.inside, body], imports, [program.outside])


def round_trip_test() -> str:
    """Return the test of a program that does not come back from its text; the test reads case.json."""
    program = _program("")
    body = "again = tvm.script.from_source(Module.script())\ntvm.ir.assert_structural_equal(again, Module)\n"
    return pytest_file("script_round_trip", [program.inside, body], program.imports)


def _needed(calls: Sequence[str]) -> list[str]:
    """The calls without look-ups whose result nothing uses: those change no schedule."""
    kept: list[str] = []
    for call in reversed(calls):
        variable, _, value = call.partition(" = ")
        looks_up = value.startswith(f"{SCHEDULE}.get")
        if not kept or not looks_up or any(re.search(rf"\b{re.escape(variable)}\b", other) for other in kept):
            kept.append(call)
    return kept[::-1]


def _program(script: str) -> _Program:
    """Source that defines `Module`."""
    if not script:
        source = (
            "# TVMScript does not give this program back as it is; its JSON does.\n"
            'CASE = json.loads(pathlib.Path(__file__).with_name("case.json").read_text())["case"]\n'
            'Module = tvm.ir.load_json(CASE["ir"])\n'
        )
        return _Program(inside=source, imports=("import json", "import pathlib"))
    lines = script.strip("\n").splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("@")), len(lines))
    head, body = lines[:start], "\n".join(lines[start:]) + "\n"
    body = re.sub(r"(?m)^class (?!Module\b)\w+:", "class Module:", body)
    imports = [line[2:] for line in head if re.match(r"# (from|import) ", line) and _used(line, script)]
    preamble = [line for line in head if line.strip() and not line.startswith("#")]
    if preamble or '"""' in body or "'''" in body:
        text = "\n".join(preamble) + "\n\n\n" + body
        # Python would evaluate annotations, which TVM only parses.
        imports.append("from __future__ import annotations")
        return _Program(outside=text, imports=tuple(imports))
    return _Program(inside=body, imports=tuple(imports))


def _used(line: str, script: str) -> bool:
    """Whether the name that a line imports occurs elsewhere in the script."""
    name = re.escape(line.split()[-1])
    return len(re.findall(rf"\b{name}\b", script)) > len(re.findall(rf"(?m)^# .*\b{name}\b", script))


def _guard(kind: str, limits: Limits) -> tuple[str, list[str]]:
    """What keeps a test of a hang or of a hunger for memory from taking the machine with it."""
    if kind == "hang":
        return _ALARM.format(seconds=math.ceil(3 * limits.seconds)), ["import signal"]
    if kind == "oom":
        # Address space, which an idle TVM takes some of too.
        return _MEMORY.format(bytes=f"{(limits.memory >> 30) + 4} << 30"), ["import resource"]
    return "", []


def _build(case: Case, name: str, lookup: bool) -> tuple[str, list[str]]:
    """Statements that build `Module` as `case` says, the function bound to `name` where that is given."""
    target = json.loads(case.target) if case.target.lstrip().startswith("{") else case.target
    kind = target["kind"] if isinstance(target, dict) else target
    context = _context(case)
    assign = f"{name} = " if name else ""
    tail = '["main"]' if lookup else ""
    if not case.passes and case.config.pipeline == "default" and kind == "llvm":
        return _within(context, [f"{assign}tvm.compile(Module, target={python_source(target)}){tail}"]), []
    host = target if kind == "llvm" else "llvm"
    lines = ["mod = tirx.transform.BindTarget(target)(Module)"]
    sources = [constructor_source(spec) for spec in case.passes]
    lines += [f"mod = {source}(mod)" for source in sources]
    imports = ["from tvm import tirx"]
    if any("s_tir." in source for source in sources):
        imports.append("from tvm import s_tir")
    if case.config.pipeline == "default":
        lines.append(f"{assign}tvm.compile(mod, target){tail}")
    else:
        imports.append("from tvm.tirx.build import split_host_device_mods, tir_to_runtime")
        lines += _NO_PIPELINE.splitlines()
        built = "tir_to_runtime(finalize_host()(host_mod), device_mods, target.host or target)"
        lines.append(f"{assign}tvm.runtime.Executable({built}){tail}" if tail else built)
    head = f"target = tvm.target.Target({python_source(target)}, host={python_source(host)})\n"
    return head + _within(["target", *context], lines), imports


def _within(contexts: Sequence[str], lines: Sequence[str]) -> str:
    if not contexts:
        return "\n".join(lines) + "\n"
    return f"with {', '.join(contexts)}:\n" + textwrap.indent("\n".join(lines), "    ") + "\n"


def _context(case: Case) -> list[str]:
    """The PassContext to build under; none where TVM's default is the same."""
    config = case.config
    arguments = [f"opt_level={config.opt_level}"] if config.opt_level != _DEFAULT_OPT_LEVEL else []
    if options := grouped_options(config):
        arguments.append(f"config={python_source(options)}")
    if config.disabled_passes:
        arguments.append(f"disabled_pass={python_source(list(config.disabled_passes))}")
    return [f"tvm.transform.PassContext({', '.join(arguments)})"] if arguments else []
