"""The `repro.py` of what came about in a compilation."""

from __future__ import annotations

from collections.abc import Sequence

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Stage
from tzerlike.core.results import BASELINE
from tzerlike.core.targets import arch_of_target, kind_of_target
from tzerlike.execution.compare.inputs import Parameter
from tzerlike.findings.repro.parts import build_source, head_source, program_source
from tzerlike.findings.repro.running import (
    ON_DEVICE,
    ON_DEVICE_END,
    RUN_IMPORTS,
    SLOW,
    SLOW_END,
    WRONG,
    WRONG_END,
    run_source,
)
from tzerlike.systems.baseline import baseline_case

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

_LOWERED = """\
Prints what the device passes make of the program, up to the first pass behind the barriers. That was interpreted, and
does not mean the same: see report.md. It takes a GPU to see the kernel go wrong, so this always exits 0."""

_PRINTER = """
@tvm.ir.instrument.pass_instrument
class Printer:
    def run_before_pass(self, module, info):
        if info.name == "s_tir.LowerThreadAllreduce":
            self.module = module


printer = Printer()

"""

_LOWERED_END = """
build()
print(printer.module.script())
"""

_REFUSED = """\
Shows that a CUDA compiler refuses the source that TVM generates for a well-formed program, and exits non-zero.
Exits 0 when it compiles. It takes nvcc on the PATH, or NVRTC with the package cuda-bindings."""

_REFUSED_END = """
import shutil

from tvm.support import nvcc

with tvm.target.Target(json.loads({target!r})):
    for device in build().mod.imports:
        source = device.inspect_source()
        print(source)
        compiler = "nvcc" if shutil.which("nvcc") else "nvrtc"
        nvcc.compile_cuda(source, target_format="cubin", arch={arch!r}, compiler=compiler)
print("the CUDA compiler takes the source: the bug does not show")
"""


def repro_script(finding: Finding, limits: Limits, script: str, parameters: Sequence[Parameter] = ()) -> str:
    """Return the text of `repro.py`.

    `script` is TVMScript that parses back to the program, or empty; `parameters` those of the inputs in the bundle.
    """
    results = finding.observation.results
    of_kernel = results is not None and results.blame != BASELINE and kind_of_target(finding.case.target) == "cuda"
    if finding.kind == "wrong-code" and of_kernel and results is not None and results.device:
        head = _head(finding, limits, script, ON_DEVICE, RUN_IMPORTS)
        return head + run_source(parameters) + _build(finding) + ON_DEVICE_END
    if finding.kind == "wrong-code" and of_kernel:
        build = build_source("build", finding.case, ", instruments=[printer]")
        return _head(finding, limits, script, _LOWERED) + _PRINTER + build + _LOWERED_END
    if finding.kind == "wrong-code":
        return _head(finding, limits, script, WRONG, RUN_IMPORTS) + run_source(parameters) + _build(finding) + WRONG_END
    if finding.kind == "slow-code":
        reference = build_source("build_reference", _REFERENCE)
        builds = _build(finding) + reference
        return _head(finding, limits, script, SLOW, RUN_IMPORTS) + run_source(parameters) + builds + SLOW_END
    if finding.kind == "ice-on-valid" and finding.observation.stage is Stage.COMPILE_DEVICE:
        target = finding.case.target
        end = _REFUSED_END.format(target=target, arch=arch_of_target(target))
        return _head(finding, limits, script, _REFUSED) + _build(finding) + end
    if finding.kind == "ice-on-valid":
        return _head(finding, limits, script, _RAISES) + _build(finding) + _RAISES_END
    # Where results were asked for, a build ends with the look-up that generates machine code.
    call = "build()" if finding.observation.results is None else 'build()["main"]'
    return _head(finding, limits, script, _DIES) + _build(finding) + _DIES_END.format(call=call)


_REFERENCE = baseline_case(Case(""))


def _head(finding: Finding, limits: Limits, script: str, behaviour: str, imports: str = "") -> str:
    return head_source(finding.title, behaviour, program_source(finding.case, script), limits, imports)


def _build(finding: Finding) -> str:
    """The definition of `build`: of the build that the finding is about."""
    return build_source("build", case_of(finding))


def case_of(finding: Finding) -> Case:
    """Return the case whose build a finding is about; that of the reference has no program."""
    return _REFERENCE if _about_reference(finding) else finding.case


def _about_reference(finding: Finding) -> bool:
    seen = finding.observation
    if finding.kind == "ice-on-valid":
        return seen.exit is Exit.OK
    blamed = seen.results is not None and seen.results.blame == BASELINE
    return seen.stage is Stage.BUILD_BASELINE or (finding.kind == "wrong-code" and blamed)
