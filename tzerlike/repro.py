"""The `repro.py` of a bundle: one file that needs tvm and numpy alone."""

from __future__ import annotations

import json

from tzerlike.limits import Limits
from tzerlike.observation import Stage
from tzerlike.oracles.finding import Finding

_TEMPLATE = '''\
"""{title}

Exits non-zero when the bug shows: the process dies of the crash itself, or of its time or memory limit.
Exits 0 when TVM compiles the program, or refuses it with an ordinary exception.
"""

import json
import resource
import signal

import numpy  # noqa: F401
import tvm
from tvm import s_tir, tirx

{program}

PASSES = {passes!r}
OPT_LEVEL = {opt_level!r}
CONFIG = {options!r}
DISABLED_PASSES = {disabled!r}
TARGET = {target!r}
SECONDS = {seconds!r}
MEMORY = {memory!r}


def instantiate(name, args):
    """A pass by its name; one that Python does not expose is made through the FFI registry."""
    namespace, _, short = name.partition(".")
    constructor = getattr({{"tirx": tirx, "s_tir": s_tir}}[namespace].transform, short, None)
    if constructor is None:
        return tvm.get_global_func(f"{{namespace}}.transform.{{short}}")(*args.values())
    return constructor(**args)


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
        for name, args in PASSES:
            mod = instantiate(name, args)(mod)
        tvm.compile(mod, target)


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

_MUTATION_TEMPLATE = '''\
"""{title}

TVM dies while a program is built in memory, before any pass runs, so this needs tzerlike to build it.
"""

import pathlib
import subprocess
import sys

bundle = pathlib.Path(__file__).resolve().parent
sys.exit(1 if subprocess.run([sys.executable, "-m", "tzerlike", "replay", bundle]).returncode == 0 else 0)
'''


def repro_script(finding: Finding, limits: Limits, script: str) -> str:
    """Return the text of `repro.py`; `script` is TVMScript that parses back to the program, or empty."""
    title = finding.title.replace("\\", "/").replace('"""', "'''")
    if finding.observation.stage is Stage.MUTATE:
        return _MUTATION_TEMPLATE.format(title=title)
    case = finding.case
    if script and "'''" not in script and "\\" not in script:
        program = f"module = tvm.script.from_source(r'''\n{script.rstrip()}\n''')"
    else:
        program = f"module = tvm.ir.load_json({json.dumps(case.ir)})"
    return _TEMPLATE.format(
        title=title,
        program=program,
        passes=[(spec.name, dict(spec.args)) for spec in case.passes],
        opt_level=case.config.opt_level,
        options=dict(case.config.options),
        disabled=list(case.config.disabled_passes),
        target=case.target,
        seconds=limits.seconds,
        memory=limits.memory,
    )
