"""The `repro.py` of a bundle: one file that needs tvm and numpy alone, and for wrong code the inputs next to it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tzerlike.case import Case
from tzerlike.inputs import Parameter
from tzerlike.limits import Limits
from tzerlike.observation import Exit, Stage
from tzerlike.oracles.finding import Finding
from tzerlike.passes.catalog import constructor_source
from tzerlike.repro_run import RUN_IMPORTS, SLOW, SLOW_END, WRONG, WRONG_END, run_source
from tzerlike.results import REFERENCE_CONFIG, REFERENCE_TARGET
from tzerlike.targets import arch_of_target, kind_of_target
from tzerlike.tvm_api import grouped_options

_HEAD = '''\
"""{title}

{behaviour}
"""

import json
import resource
import signal
{imports}
import tvm
from tvm import s_tir, tirx

{program}

SECONDS = {seconds!r}
MEMORY = {memory!r}


def limit():
    mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)

'''

_BUILD = """
def {name}():
    text = {target!r}
    target = tvm.target.Target(json.loads(text) if text.startswith("{{") else {{"kind": text}})
    host = target if target.kind.name == "llvm" else tvm.target.Target({{"kind": "llvm", "opt-level": 0}})
    target = target.with_host(host)
    context = tvm.transform.PassContext(opt_level={opt_level!r}, config={options!r}, disabled_pass={disabled!r}{more})
    passes = [{passes}]
    with target, context:
        mod = tirx.transform.BindTarget(target)(module)
        for step in passes:
            mod = step(mod)
{lowering}

"""

_LOWERING = {
    "default": "        return tvm.compile(mod, target)",
    "none": """\
        from tvm.tirx.build import split_host_device_mods, tir_to_runtime

        _, finalize_host, finalize_device = tirx.get_default_tir_pipeline(target)
        host_mod, device_mods = split_host_device_mods(mod)
        device_mods = {kind: finalize_device()(device) for kind, device in device_mods.items()}
        runtime = tir_to_runtime(finalize_host()(host_mod), device_mods, target.host or target)
        return tvm.runtime.Executable(runtime)""",
}
"""How the program is built after its own passes, by `ContextConfig.pipeline`; see `tvm_api.build`."""

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
    if finding.kind == "wrong-code" and kind_of_target(finding.case.target) == "cuda":
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


_REFERENCE = Case("", config=REFERENCE_CONFIG, target=REFERENCE_TARGET)


def _head(finding: Finding, limits: Limits, script: str, behaviour: str, imports: str = "") -> str:
    return _HEAD.format(
        title=finding.title.replace("\\", "/").replace('"""', "'''"),
        behaviour=behaviour,
        imports=imports,
        program=program_source(finding.case, script),
        seconds=limits.seconds,
        memory=limits.memory,
    )


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
    blamed = seen.results is not None and seen.results.blame == "reference"
    return seen.stage is Stage.BUILD_REFERENCE or (finding.kind == "wrong-code" and blamed)


def build_source(name: str, case: Case, more: str = "") -> str:
    """Return the definition of a function that builds `module` as `case` says, with `more` options of PassContext."""
    return _BUILD.format(
        name=name,
        target=case.target,
        opt_level=case.config.opt_level,
        options=grouped_options(case.config),
        disabled=list(case.config.disabled_passes),
        more=more,
        passes="".join(f"\n        {constructor_source(spec)}," for spec in case.passes) + "\n    " * bool(case.passes),
        lowering=_LOWERING[case.config.pipeline],
    )


def program_source(case: Case, script: str) -> str:
    """Return the statement that makes `module`: from `script` where that is given and can be quoted, else from JSON."""
    if script and "'''" not in script and "\\" not in script:
        return f"module = tvm.script.from_source(r'''\n{script.rstrip()}\n''')"
    return f"module = tvm.ir.load_json({json.dumps(case.ir)})"
