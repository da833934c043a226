"""The regression test of a finding from a compilation, in the style of TVM's own: pytest, tvm and numpy, the program as
TVMScript.

It fails, or takes the process with it, as long as the bug is there. One of a build that does not end well is cured by
another program, one of wrong code by the right results.
"""

from __future__ import annotations

import io
import json
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Stage
from tzerlike.core.targets import arch_of_target, kind_of_target
from tzerlike.execution.compare.inputs import Parameter
from tzerlike.execution.cuda.toolchain import CudaCompiler
from tzerlike.findings.issue.listing import PARSED_ONLY
from tzerlike.findings.issue.literal import python_source
from tzerlike.findings.issue.pytest_file import PROBLEMS, pytest_file, snake_case
from tzerlike.findings.issue.results import has_no_end
from tzerlike.harnesses.proof import Regression
from tzerlike.harnesses.tir.checks import Run, emulated_run, run_of
from tzerlike.harnesses.tir.parts import context_arguments
from tzerlike.harnesses.tir.script import (
    LOWERED,
    case_of,
    emulator_source,
    nvrtc_source,
    of_lowered_kernel,
    refusing_compiler,
)
from tzerlike.passes.catalog import constructor_source
from tzerlike.passes.naming import short_name
from tzerlike.systems.tvm_build import pipeline_parts_source
from tzerlike.tir.constructed import is_calls, parts_called

_ALARM = """\
# {what} does not come back to Python here: the alarm ends the process.
signal.alarm({seconds})
"""

_MEMORY = """\
# Of address space, of which TVM takes some when it is loaded.
resource.setrlimit(resource.RLIMIT_AS, ({bytes}, {bytes}))
"""

_WITH_ENOUGH_MEMORY = """\
try:
{build}except Exception as error:  # it may be refused, but not for want of memory
    assert not isinstance(error, MemoryError) and "bad_alloc" not in str(error), error
"""

_OFFERED = """\
if shutil.which("nvcc") is None:
    pytest.skip("there is no nvcc here")
with target:
    for device in executable.mod.imports:
        nvcc.compile_cuda(device.inspect_source(), target_format="cubin", compiler="nvcc")
"""

_WITH_NVRTC = """\
for device in executable.mod.imports:
    log = nvrtc_log(device.inspect_source(), {arch})
    if log is None:
        pytest.skip("there is no NVRTC here")
    assert not log, log
"""

_STAND_IN = """\
# from tvm.script import ir as I
# from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in {loop}:
            B[i] = A[i]
"""

_MAY_BE_REFUSED = ("crash", "hang")
"""Kinds of findings that are as well mended by an exception."""

_NAMED_EXTENT = re.compile(r"Buffer\(\((?:[^()]|\([^()]*\))*\"")

_WIDTH = 100
"""Characters of a call in one line."""

_NO_PIPELINE = """\
host_mod, device_mods = split_host_device_mods(mod)
device_mods = {kind: finalize_device()(device) for kind, device in device_mods.items()}
"""


@dataclass(frozen=True, slots=True)
class ProgramPieces:
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
) -> Regression:
    """Return the test, an empty one where there is none: speed is no matter for a unit test, a GPU is not at hand.

    `script` is TVMScript that parses back to the program, or empty: the test then reads case.json. `archive` is the
    contents of inputs.npz, which the test reads too where arrays are large, and `parameters` say what it is for.
    """
    seen, kernel = finding.observation, kind_of_target(finding.case.target) == "cuda"
    wrong = finding.kind == "wrong-code"
    if finding.kind not in PROBLEMS:
        return Regression()
    run, name, instruments = Run(), "", ""
    if wrong and kernel:
        emulated = _emulated(finding, parameters, archive) if of_lowered_kernel(finding) else None
        if emulated is None:
            return Regression()
        run, instruments = emulated, "lowered"
    elif wrong:
        run, name = run_of(finding, parameters, dict(numpy.load(io.BytesIO(archive)))), "func"
    if seen.stage is Stage.COMPILE_DEVICE:
        run, name = _offered(finding.case.target), "executable"
    # Where results were asked for, a build ends with the look-up that generates machine code.
    lookup = bool(name) if wrong else finding.kind != "ice-on-valid" and seen.results is not None
    build, imports = build_statements(case_of(finding, baseline), name, lookup, instruments=instruments)
    if finding.kind == "oom":
        build = _WITH_ENOUGH_MEMORY.format(build=textwrap.indent(build, "    "))
    elif finding.kind in _MAY_BE_REFUSED:
        build = "with contextlib.suppress(Exception):\n" + textwrap.indent(build, "    ")
        imports = [*imports, "import contextlib"]
    guard, guard_imports = _guard(finding, limits)
    place = short_name(seen.culprit) or (short_name(seen.results.guilty) if seen.results else "")

    def written(program: ProgramPieces, check: str) -> str:
        return pytest_file(
            f"{snake_case(place) or 'compile'}_{PROBLEMS[finding.kind]}",
            [program.inside, guard + build, check, "signal.alarm(0)\n" * ("signal.alarm(" in guard)],
            [*program.imports, *imports, *guard_imports, *run.imports],
            [run.helpers, program.outside],
        )

    program = pieces_of(script)
    return Regression(
        written(program, run.body), written(program if wrong else stand_in(finding.case.target), run.cured)
    )


def _emulated(finding: Finding, parameters: Sequence[Parameter], archive: bytes) -> Run | None:
    """Runs the lowered kernel thread by thread, where the emulator takes its arguments."""
    run = emulated_run(finding, parameters, dict(numpy.load(io.BytesIO(archive))))
    if run is None:
        return None
    (imports, helpers), call = emulator_source(), "func = Kernel(lowered.func)\n"
    return Run(call + run.body, f"{helpers}\n\n{LOWERED}", (*imports, *run.imports), call + run.cured)


def _offered(target: str) -> Run:
    """Hands the source to the compiler that refused it; another one may take it."""
    if refusing_compiler() is CudaCompiler.NVCC:
        return Run(_OFFERED, imports=("import shutil", "import pytest", "from tvm.support import nvcc"), cured=_OFFERED)
    imports, helpers = nvrtc_source()
    offered = _WITH_NVRTC.format(arch=python_source(arch_of_target(target)))
    return Run(offered, helpers, (*imports, "import pytest"), cured=offered)


def stand_in(target: str) -> ProgramPieces:
    """Return a program that any TVM compiles."""
    loop = 'T.thread_binding(8, thread="threadIdx.x")' if kind_of_target(target) == "cuda" else "range(8)"
    return pieces_of(_STAND_IN.format(loop=loop))


def pieces_of(script: str) -> ProgramPieces:
    """Return the pieces of a test whose module a script makes, as TVMScript or by calls; of case.json without one."""
    if not script:
        source = (
            "# TVMScript does not give this program back as it is; its JSON does.\n"
            'CASE = json.loads(pathlib.Path(__file__).with_name("case.json").read_text())["case"]\n'
            'Module = tvm.ir.load_json(CASE["ir"])\n'
        )
        return ProgramPieces(inside=source, imports=("import json", "import pathlib"))
    if is_calls(script):
        return ProgramPieces(
            inside=script, imports=tuple(f"from tvm import {name}" for name in parts_called(script).split(", "))
        )
    lines = script.strip("\n").splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("@")), len(lines))
    head, body = lines[:start], "\n".join(lines[start:]) + "\n"
    body = re.sub(r"(?m)^class (?!Module\b)\w+:", "class Module:", body)
    imports = [line[2:] for line in head if re.match(r"# (from|import) ", line) and _used(line, script)]
    preamble = [line for line in head if line.strip() and not line.startswith("#")]
    if preamble or '"""' in body or "'''" in body:
        text = "\n".join(preamble) + "\n\n\n" + body
        return ProgramPieces(outside=text, imports=(*imports, PARSED_ONLY))
    named = [PARSED_ONLY] if _NAMED_EXTENT.search(body) else []
    return ProgramPieces(inside=body, imports=(*imports, *named))


def _used(line: str, script: str) -> bool:
    """Whether the name that a line imports occurs elsewhere in the script."""
    name = re.escape(line.split()[-1])
    return len(re.findall(rf"\b{name}\b", script)) > len(re.findall(rf"(?m)^# .*\b{name}\b", script))


def _guard(finding: Finding, limits: Limits) -> tuple[str, list[str]]:
    """What keeps a test of what does not end, or of a hunger for memory, from taking the machine with it."""
    results = finding.observation.results
    if finding.kind == "hang" or (results is not None and has_no_end(results.blamed)):
        what = "TVM" if finding.kind == "hang" else "The function"
        return _ALARM.format(what=what, seconds=math.ceil(3 * limits.seconds)), ["import signal"]
    if finding.kind == "oom":
        # Address space, which an idle TVM takes some of too.
        return _MEMORY.format(bytes=f"{(limits.memory >> 30) + 4} << 30"), ["import resource"]
    return "", []


def build_statements(
    case: Case, name: str, lookup: bool, module: str = "Module", instruments: str = ""
) -> tuple[str, list[str]]:
    """Return statements that build `module` as `case` says, and their imports.

    The function is bound to `name` where that is given, looked up with `lookup`; `instruments` are those of the
    PassContext.
    """
    target, llvm = _target(case), kind_of_target(case.target) == "llvm"
    context = _context(case, instruments)
    assign = f"{name} = " if name else ""
    tail = '["main"]' if lookup else ""
    if not case.passes and case.config.pipeline == "default" and llvm:
        return _within(context, [f"{assign}tvm.compile({module}, target={python_source(target)}){tail}"]), []
    head, lines = applied_statements(case, module)
    if not case.passes and case.config.pipeline == "default":
        return head + _within(context, [f"{assign}tvm.compile({module}, target){tail}"]), []
    imports = ["from tvm import tirx"]
    if any("s_tir." in line for line in lines):
        imports.append("from tvm import s_tir")
    if case.config.pipeline == "default":
        lines.append(f"{assign}tvm.compile(mod, target){tail}")
    else:
        imports.append("from tvm.tirx.build import split_host_device_mods, tir_to_runtime")
        lines += [pipeline_parts_source(), *_NO_PIPELINE.splitlines()]
        built = "tir_to_runtime(finalize_host()(host_mod), device_mods, target.host or target)"
        lines.append(f"{assign}tvm.runtime.Executable({built}){tail}" if tail else built)
    return head + _within(["target", *context], lines), imports


def applied_statements(case: Case, module: str = "Module") -> tuple[str, list[str]]:
    """Return the statement that makes `target`, and those that make `mod` by the passes of a case, to be under it."""
    target = _target(case)
    host = target if kind_of_target(case.target) == "llvm" else "llvm"
    applied = (f"mod = {constructor_source(spec)}(mod)" for spec in case.passes)
    return (
        f"target = tvm.target.Target({python_source(target)}, host={python_source(host)})\n",
        [f"mod = tirx.transform.BindTarget(target)({module})", *applied],
    )


def _target(case: Case) -> Any:
    """The target as a test writes it: its options, or the name alone."""
    return json.loads(case.target) if case.target.lstrip().startswith("{") else case.target


def _within(contexts: Sequence[str], lines: Sequence[str]) -> str:
    if not contexts:
        return "\n".join(lines) + "\n"
    return f"with {', '.join(contexts)}:\n" + textwrap.indent("\n".join(lines), "    ") + "\n"


def _wrapped(call: str, arguments: Sequence[str]) -> str:
    """A call in one line, or where that is long, with an argument or more a line."""
    line = f"{call}({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    fold = textwrap.TextWrapper(_WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    inner = "\n".join(fold.fill(f"{each},") for each in arguments)
    return f"{call}(\n{textwrap.indent(inner, '    ')}\n)"


def _context(case: Case, instruments: str) -> list[str]:
    """The PassContext to build under; none where TVM's default is the same."""
    arguments = context_arguments(case.config)
    if instruments:
        arguments.append(f"instruments=[{instruments}]")
    return [_wrapped("tvm.transform.PassContext", arguments)] if arguments else []
