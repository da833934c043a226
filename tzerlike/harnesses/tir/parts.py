"""Source text shared by the scripts of several kinds of findings."""

from __future__ import annotations

import json

from tzerlike.core.case import Case, ContextConfig
from tzerlike.core.limits import Limits
from tzerlike.findings.issue.literal import python_source
from tzerlike.findings.repro import LIMIT, quotable
from tzerlike.passes.catalog import constructor_source
from tzerlike.systems.tvm_api import HAS_TILES, SYSTEM
from tzerlike.systems.tvm_build import pipeline_parts_source
from tzerlike.systems.tvm_passes import grouped_options
from tzerlike.tir.constructed import is_calls, parts_called

_DEFAULT_OPT_LEVEL = 2
"""What TVM takes where no PassContext says otherwise; no pass of tensor IR asks for more."""

_HEAD = '''\
"""{title}

{behaviour}
"""

import json
import resource
import signal
{imports}
{system}

{program}

SECONDS = {seconds!r}
MEMORY = {memory!r}


{limit}
'''

_BUILD = """
def {name}():
    text = {target!r}
    target = tvm.target.Target(json.loads(text) if text.startswith("{{") else {{"kind": text}})
    host = target if target.kind.name == "llvm" else tvm.target.Target({{"kind": "llvm", "opt-level": 0}})
    target = target.with_host(host)
    context = tvm.transform.PassContext({context})
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

        {parts}
        host_mod, device_mods = split_host_device_mods(mod)
        device_mods = {kind: finalize_device()(device) for kind, device in device_mods.items()}
        runtime = tir_to_runtime(finalize_host()(host_mod), device_mods, target.host or target)
        return tvm.runtime.Executable(runtime)""",
    "tiles": """\
        device = tirx.transform.Filter(lambda func: int((func.attrs or {}).get("calling_conv", 0)) == 2)(mod)
        device = tvm.get_global_func("tl.transform.LowerIntrin")()(device)
        device = tirx.transform.Simplify()(device)
        return tvm.get_global_func(f"target.build.tilelang_{target.kind.name}_without_compile")(device, target)""",
}
"""How the program is built after its own passes, by `ContextConfig.pipeline`; see `tvm_build.build`."""


_EXTENSIONS = """
import ctypes
import pathlib

# TileLang's operators and passes are in a library beside TVM's
ctypes.CDLL(str(pathlib.Path(tvm.__file__).with_name("lib") / "libtilelang.so"), ctypes.RTLD_GLOBAL)"""


def head_source(title: str, behaviour: str, program: str, limits: Limits, imports: str = "") -> str:
    """Return the start of a script: a docstring, imports, `program`, which makes `module`, and `limit`."""
    return _HEAD.format(
        title=quotable(title),
        behaviour=behaviour,
        imports=imports,
        system=SYSTEM.imports + _EXTENSIONS * HAS_TILES,
        program=program,
        seconds=limits.seconds,
        memory=limits.memory,
        limit=LIMIT,
    )


def context_arguments(config: ContextConfig) -> list[str]:
    """Return the arguments of a PassContext; none where TVM's default is the same."""
    arguments = [f"opt_level={config.opt_level}"] if config.opt_level < _DEFAULT_OPT_LEVEL else []
    if options := grouped_options(config):
        arguments.append(f"config={python_source(options)}")
    if config.disabled_passes:
        arguments.append(f"disabled_pass={python_source(list(config.disabled_passes))}")
    return arguments


def build_source(name: str, case: Case, more: str = "") -> str:
    """Return the definition of a function that builds `module` as `case` says, with `more` options of PassContext."""
    return _BUILD.format(
        name=name,
        target=case.target,
        context=", ".join((*context_arguments(case.config), *filter(None, [more]))),
        passes="".join(f"\n        {constructor_source(spec)}," for spec in case.passes) + "\n    " * bool(case.passes),
        lowering=_LOWERING[case.config.pipeline].replace("{parts}", pipeline_parts_source()),
    )


def program_source(case: Case, script: str) -> str:
    """Return the statement that makes `module`: from `script` where that is given and can be quoted, else from JSON."""
    if is_calls(script):
        return f"from tvm import {parts_called(script)}\n\n{script}module = Module"
    if script and "'''" not in script and "\\" not in script:
        return f"module = tvm.script.from_source(r'''\n{script.rstrip()}\n''')"
    return f"module = tvm.ir.load_json({json.dumps(case.ir)})"
