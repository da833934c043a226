"""Work that a process with TVM does once before it forks, so that no child pays for lazy imports."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.effort import Check, Effort
from tzerlike.core.errors import TzerlikeError
from tzerlike.execution.rendering import render_module
from tzerlike.execution.stages import run_case, touch
from tzerlike.processes.channel import Channel
from tzerlike.systems import tvm_api, tvm_build

_PROGRAM = """
# from tvm.script import ir as I
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, j, k in T.grid(8, 8, 8):
        with T.sblock("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.exp(A[vi, vk]) * T.Select(vj < 4, B[vk, vj], T.float32(1))
"""


def warm_up(channel: Channel) -> Callable[[], None]:
    """Compile, run where that can be, refuse, print. Returns the first steps of a case that compiles (`touch`).

    From here on CUDA's source is generated and not compiled.
    """
    tvm_build.compile_cuda_with(lambda source: b"")
    ir = tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(_PROGRAM)))
    passes = (PassSpec("s_tir.LowerInitBlock"), PassSpec("s_tir.ConvertBlocksToOpaque"))
    checks = {Check.REJECTIONS} if tvm_api.LLVM_VERSION is None else {Check.RESULTS, Check.REJECTIONS}
    effort = Effort(frozenset(checks))
    for case in (Case(ir), Case(ir, passes, ContextConfig(options=(("tirx.disable_assert", True),)))):
        channel.begin_case(0)
        record = run_case(case, channel, effort=effort)
        if record["exit"] != "ok":
            raise TzerlikeError(f"TVM cannot compile a small function: {record.get('message')}")
        if Check.RESULTS in checks and record["results"]["optimised"]["ending"] != "agrees":
            raise TzerlikeError(f"a small function goes wrong: {record['results']}")
    run_case(Case(ir, (PassSpec("tirx.MakePackedAPI"),)), channel, effort=effort)
    render_module(ir)
    # Every regression test imports it, and pytest with it: a tenth of a second in each child that tries one.
    with suppress(ImportError):
        importlib.import_module("tvm.testing")
    # Tests compare with NumPy's, and what is in an archive has its name in that encoding.
    for name in ("numpy.testing", "encodings.cp437"):
        importlib.import_module(name)
    # TVMScript's decorators ask for the caller's frames and source; what both look up first is kept for all children.
    inspect.stack()
    inspect.getsource(warm_up)
    return partial(touch, case)
