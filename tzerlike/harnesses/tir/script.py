"""The `repro.py` of a finding from a compilation."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Stage
from tzerlike.core.results import BASELINE
from tzerlike.core.targets import arch_of_target, kind_of_target
from tzerlike.execution.compare.inputs import Parameter
from tzerlike.execution.cuda.nvrtc import PREAMBLE
from tzerlike.execution.cuda.toolchain import CudaCompiler, find_cuda_toolchain
from tzerlike.findings.repro import ALWAYS_ZERO, quotable, without_idle_imports
from tzerlike.harnesses.tir import emulator, invalid, nvrtc
from tzerlike.harnesses.tir.parts import build_source, head_source, program_source
from tzerlike.harnesses.tir.running import (
    ON_DEVICE,
    ON_DEVICE_END,
    RUN_IMPORTS,
    SLOW,
    SLOW_END,
    WRONG,
    differing_end,
    parameters_source,
    run_source,
    wrong_end,
)
from tzerlike.systems.baseline import baseline_case
from tzerlike.systems.optional import LEVELS

_DIES = """\
Exits non-zero when the bug shows: the process dies of the crash itself, or of its time or memory limit.
Exits 0 when TVM compiles the program, or refuses it with an ordinary exception."""

_DIES_END = """
try:
    limit()
    {call}
except MemoryError:
    raise
except Exception as error:
    if "bad_alloc" in str(error) or "llocate memory" in str(error):
        raise
    print(f"TVM refuses the program ({{type(error).__name__}}): the bug does not show")
else:
    print("TVM compiles the program: the bug does not show")
"""

_RAISES = """\
Shows an exception of TVM's own on a well-formed program, and exits non-zero.
Exits 0 when TVM compiles the program."""

_RAISES_END = """
limit()
build()
print("TVM compiles the program: the bug does not show")
"""

_LOWERED = f"""\
Prints what the device passes make of the program, up to the first pass behind the barriers. That was interpreted, and
does not mean the same as the program. It takes a GPU to see the kernel go wrong, {ALWAYS_ZERO}."""

_EMULATED = """\
Runs what the device passes make of the program, up to the first pass behind the barriers, thread by thread in Python:
it takes no GPU. Exits non-zero while the threads do what no kernel may do, or compute something else than the program
does; inputs.npz, next to this file, has its inputs and its results."""

LOWERED = """\
@tvm.ir.instrument.pass_instrument
class Lowered:
    def run_before_pass(self, module, info):
        if info.name == "s_tir.LowerThreadAllreduce":
            self.func = module["main"]


lowered = Lowered()
"""
"""Keeps the kernel as it is judged without a device (tzerlike.execution.cuda.lowered)."""

_LOWERED_END = """
build()
print(lowered.func.script())
"""

_EMULATED_END = """\
build()
args = []
for i, (name, dtype, shape, strides, element) in enumerate(PARAMETERS):
    values = ARCHIVE[f"argument{i}"]
    args.append(values.item() if shape is None else values.astype(element))
try:
    Kernel(lowered.func)(*args)
except NotImplementedError as error:
    print(f"cannot tell: this script knows no {error}")
    sys.exit(2)
wrong = False
for i, (name, dtype, shape, strides, element) in enumerate(PARAMETERS):
    if shape is not None:
        wrong |= differs(i, name, args[i])
"""

_REFUSED = """\
Shows that a CUDA compiler refuses the source that TVM generates for a well-formed program, and exits non-zero.
Exits 0 when it compiles. The compiler is the one that was asked: {compiler}."""

_WHERE = {CudaCompiler.NVCC: "nvcc on the PATH", CudaCompiler.NVRTC: "NVRTC, of CUDA or of NVIDIA's packages for pip"}

_OFFERED_TO = {
    CudaCompiler.NVCC: """
        nvcc.compile_cuda(source, target_format="cubin", arch={arch!r}, compiler="nvcc")
""",
    CudaCompiler.NVRTC: """
        log = nvrtc_log(source, {arch!r})
        if log is None:
            print("cannot tell: there is no NVRTC here")
            sys.exit(2)
        if log:
            sys.exit(log)
""",
}

_REFUSED_END = """
with tvm.target.Target(json.loads({target!r})):
    for device in build().mod.imports:
        source = device.inspect_source()
        print(source){offered}
print("the CUDA compiler takes the source: the bug does not show")
"""


def emulator_source() -> tuple[list[str], str]:
    """Return the imports that the emulator of kernels takes, and its definitions."""
    head, _, body = inspect.getsource(emulator).partition("# ---\n")[2].partition("\n_BINARY = ")
    lines = [line for line in head.splitlines() if line]
    return lines, "_BINARY = " + body.replace("  # fmt: skip\n", "\n")


def nvrtc_source() -> tuple[list[str], str]:
    """Return the imports that offering source to NVRTC takes, and its definitions."""
    definition = inspect.getsource(nvrtc.nvrtc_log)
    return ["import ctypes", "import glob", "import sys"], f'PREAMBLE = """\\\n{PREAMBLE}"""\n\n\n{definition}'


def of_lowered_kernel(finding: Finding) -> bool:
    """Whether a finding is wrong code of a kernel that no GPU ran."""
    results = finding.observation.results
    return finding.kind == "wrong-code" and _of_kernel(finding) and results is not None and not results.device


def _of_kernel(finding: Finding) -> bool:
    """Whether it is a kernel whose results are compared, and not what the baseline makes of the program."""
    results = finding.observation.results
    return results is not None and results.blame != BASELINE and kind_of_target(finding.case.target) == "cuda"


def refusing_compiler() -> CudaCompiler:
    """The CUDA compiler that source is offered to on this machine."""
    toolchain = find_cuda_toolchain()
    return CudaCompiler.NVCC if toolchain is None else toolchain.compiler


def repro_script(
    finding: Finding,
    limits: Limits,
    script: str,
    parameters: Sequence[Parameter] = (),
    baseline: str = "",
    *,
    emulated: bool = False,
) -> str:
    """Return the text of `repro.py`.

    `script` is TVMScript that parses back to the program, or empty; `parameters` those of the inputs in the bundle;
    `baseline` names the baseline that it was compared with. `emulated` says that the emulator shows what is wrong
    with a kernel that no GPU ran.
    """
    kind, results = finding.kind, finding.observation.results
    if kind == "invalid-ir":
        return _of_invalid_ir(finding, limits, script)
    build, extra = build_source("build", case_of(finding, baseline)), ""
    if of_lowered_kernel(finding):
        behaviour = _EMULATED if emulated else _LOWERED
        end = differing_end(_EMULATED_END) if emulated else _LOWERED_END
        build = f"\n{LOWERED}\n" + build_source("build", finding.case, "instruments=[lowered]")
    elif kind == "wrong-code":
        behaviour, end = (ON_DEVICE, ON_DEVICE_END) if _of_kernel(finding) else (WRONG, wrong_end())
    elif kind == "slow-code":
        behaviour, end = SLOW, build_source("build_reference", without_guilty(finding)) + SLOW_END
    elif kind == "ice-on-valid" and finding.observation.stage is Stage.COMPILE_DEVICE:
        target = finding.case.target
        compiler = refusing_compiler()
        behaviour = _REFUSED.format(compiler=_WHERE[compiler])
        offered = _OFFERED_TO[compiler].format(arch=arch_of_target(target)).rstrip("\n")
        imports, definitions = ["from tvm.support import nvcc"], ""
        if compiler is CudaCompiler.NVRTC:
            imports, definitions = nvrtc_source()
        extra = "\n".join(["import sys", *(line for line in imports if line != "import sys")])
        end = f"\n{definitions}" * bool(definitions) + _REFUSED_END.format(target=target, offered=offered)
    elif kind == "ice-on-valid":
        behaviour, end = _RAISES, _RAISES_END
    else:
        # Where results were asked for, a build ends with the look-up that generates machine code.
        behaviour, end = _DIES, _DIES_END.format(call="build()" if results is None else 'build()["main"]')
    program = program_source(finding.case, script)
    if behaviour is _EMULATED:
        imports, definitions = emulator_source()
        head = head_source(
            finding.title,
            behaviour,
            program,
            limits,
            "\n".join([RUN_IMPORTS, *(line for line in imports if line not in RUN_IMPORTS)]),
        )
        head += f"{parameters_source(parameters)}\n{definitions}\n"
    elif behaviour in (WRONG, ON_DEVICE, SLOW):
        head = head_source(finding.title, behaviour, program, limits, RUN_IMPORTS) + run_source(parameters)
    else:
        head = head_source(finding.title, behaviour, program, limits, extra)
    return without_idle_imports(head + build + end)


def _of_invalid_ir(finding: Finding, limits: Limits, script: str) -> str:
    (offence,) = finding.observation.offences
    behaviour = invalid.INVALID.format(name=offence.pass_name, rule=quotable(f"{offence.rule}, {offence.where}"))
    head = head_source(finding.title, behaviour, program_source(finding.case, script), limits, invalid.IMPORTS)
    build = build_source("build", finding.case, invalid.INSTRUMENTED)
    return without_idle_imports(head + invalid.watch_source(offence) + build + invalid.END)


def without_guilty(finding: Finding) -> Case:
    """The build that slow code is compared with, at the same level of LLVM: without the pass that is guilty."""
    case, results = finding.case, finding.observation.results
    without = () if results is None else (results.guilty,)
    return replace(case, passes=(), config=replace(case.config, pipeline="default", disabled_passes=without))


def case_of(finding: Finding, baseline: str = "") -> Case:
    """Return the case whose build a finding is about: its own, or its baseline."""
    seen = finding.observation
    plain = baseline_case(finding.case, baseline)
    if finding.kind == "ice-on-valid":
        # What the baseline is refused for is what TVM raises with all of its passes.
        return baseline_case(finding.case, LEVELS) if seen.exit is Exit.OK else finding.case
    blamed = finding.kind == "wrong-code" and seen.results is not None and seen.results.blame == BASELINE
    return plain if blamed or seen.stage is Stage.BUILD_BASELINE else finding.case
