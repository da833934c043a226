"""The repro.py of a schedule primitive: the calls, and what is wrong with the last one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit
from tzerlike.oracles.examiner import Pieces
from tzerlike.oracles.schedule_trace import SCHEDULE

_HEAD = '''\
"""{title}

Exits non-zero when the bug shows: {shows}.
"""

import sys

import tvm
import tvm_ffi
from tvm import s_tir, tirx

{program}

{schedule} = s_tir.Schedule(module, seed=1, debug_mask=0, error_render_level="none")
{calls}
'''

_RAISES = """
try:
    {last}
except s_tir.ScheduleError as error:
    print("refused:", error)
except Exception as error:
    print(f"{{type(error).__name__}}: {{error}}")
    print("the bug shows")
    sys.exit(1)
print("the bug does not show")
"""

_ILL_TYPED = """

def dtype(expr):
    return str(getattr(expr.ty, "dtype", ""))


def look(node):
    if isinstance(node, s_tir.SBlockRealize):
        pairs = [*zip(node.iter_values, (axis.var for axis in node.block.iter_vars))]
        pairs += [(axis.dom.extent, axis.var) for axis in node.block.iter_vars]
    elif isinstance(node, tirx.For):
        pairs = [(node.extent, node.loop_var)]
    else:
        pairs = [(node.a, node.b)] if hasattr(node, "a") and hasattr(node, "b") else []
    wrong.extend(f"{{a}} of {{dtype(a)}}, {{b}} of {{dtype(b)}}" for a, b in pairs if dtype(a) != dtype(b))
    for buffer in getattr(node, "alloc_buffers", ()):
        if len(buffer.ty.strides) not in (0, len(buffer.ty.shape)):
            wrong.append(f"{{buffer.name}}: shape {{buffer.ty.shape}}, strides {{buffer.ty.strides}}")


wrong = []
tvm_ffi.structural_walk({schedule}.mod["main"].body, ((tvm.ir.Expr, tirx.Stmt), look))
print(*wrong, sep="\\n")
print("the bug shows" if wrong else "all is typed: the bug does not show")
sys.exit(1 if wrong else 0)
"""

_RULES_SHOWN = frozenset({"axis", "operands", "loop", "strides"})
"""The rules of types that the script can look for by itself."""


def script_of_calls(finding: Finding, calls: Sequence[str]) -> Callable[[Pieces], str] | None:
    """Return what makes the script of `calls`; None where it takes more than tvm."""
    seen = finding.observation
    shown = seen.exit is Exit.REJECTED or seen.offences[0].rule in _RULES_SHOWN
    if not calls or not shown or any(call.startswith("raise") for call in calls):
        return None
    return partial(_script, seen.exit is Exit.REJECTED, calls)


def _script(raises: bool, calls: Sequence[str], pieces: Pieces) -> str:
    shows = "the last call raises something else than a ScheduleError" if raises else "it leaves ill-typed nodes"
    made = calls[:-1] if raises else calls
    head = _HEAD.format(
        title=pieces.title, shows=shows, program=pieces.program, schedule=SCHEDULE, calls="\n".join(made)
    )
    return head + (_RAISES.format(last=calls[-1]) if raises else _ILL_TYPED.format(schedule=SCHEDULE))
