"""The `repro.py` of a bundle: one file that needs tvm and numpy alone."""

from __future__ import annotations

import json

from tzerlike.case import Case
from tzerlike.limits import Limits
from tzerlike.oracles.finding import Finding
from tzerlike.passes.catalog import constructor_source
from tzerlike.tvm_api import grouped_options

_TEMPLATE = '''\
"""{title}

Exits non-zero when the bug shows: the process dies of the crash itself, or of its time or memory limit.
Exits 0 when TVM compiles the program, or refuses it with an ordinary exception.
"""

import json
import resource
import signal

import tvm
from tvm import s_tir, tirx

{program}

OPT_LEVEL = {opt_level!r}
CONFIG = {options!r}
DISABLED_PASSES = {disabled!r}
TARGET = {target!r}
SECONDS = {seconds!r}
MEMORY = {memory!r}


def passes():
    return [{passes}]


def main():
    mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY, mapped + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    target = tvm.target.Target(json.loads(TARGET) if TARGET.startswith("{{") else {{"kind": TARGET}})
    host = target if target.kind.name == "llvm" else tvm.target.Target({{"kind": "llvm"}})
    target = target.with_host(host)
    context = tvm.transform.PassContext(
        opt_level=OPT_LEVEL, config=CONFIG, disabled_pass=DISABLED_PASSES
    )
    with target, context:
        mod = tirx.transform.BindTarget(target)(module)
        for step in passes():
            mod = step(mod)
{build}


try:
    main()
except MemoryError:
    raise
except Exception as error:
    if "bad_alloc" in str(error) or "llocate memory" in str(error):
        raise
    print(f"TVM refuses the program ({{type(error).__name__}}): the bug does not show")
else:
    print("TVM compiles the program: the bug does not show")
'''

_BUILD = {
    "default": "        tvm.compile(mod, target)",
    "none": """\
        from tvm.tirx.build import split_host_device_mods, tir_to_runtime

        _, finalize_host, finalize_device = tirx.get_default_tir_pipeline(target)
        host_mod, device_mods = split_host_device_mods(mod)
        device_mods = {kind: finalize_device()(device) for kind, device in device_mods.items()}
        tir_to_runtime(finalize_host()(host_mod), device_mods, target.host or target)""",
}
"""How the program is built after its own passes, by `ContextConfig.pipeline`; see `tvm_api.build`."""


def repro_script(finding: Finding, limits: Limits, script: str) -> str:
    """Return the text of `repro.py`; `script` is TVMScript that parses back to the program, or empty."""
    title = finding.title.replace("\\", "/").replace('"""', "'''")
    case = finding.case
    return _TEMPLATE.format(
        title=title,
        program=program_source(case, script),
        passes="".join(f"\n        {constructor_source(spec)}," for spec in case.passes) + "\n    " * bool(case.passes),
        build=_BUILD[case.config.pipeline],
        opt_level=case.config.opt_level,
        options=grouped_options(case.config),
        disabled=list(case.config.disabled_passes),
        target=case.target,
        seconds=limits.seconds,
        memory=limits.memory,
    )


def program_source(case: Case, script: str) -> str:
    """Return the statement that makes `module`: from `script` where that is given and can be quoted, else from JSON."""
    if script and "'''" not in script and "\\" not in script:
        return f"module = tvm.script.from_source(r'''\n{script.rstrip()}\n''')"
    return f"module = tvm.ir.load_json({json.dumps(case.ir)})"
