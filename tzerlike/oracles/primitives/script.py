"""The repro.py of a schedule primitive: the calls, and what is wrong with the last one."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType

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

_LEAVES = """

{ill_typed}

wrong = ill_typed({schedule}.mod)
print(*wrong, sep="\\n")
print("the bug shows" if wrong else "all is typed: the bug does not show")
sys.exit(1 if wrong else 0)
"""

_ILL_TYPED = """\
def ill_typed(module):
    wrong = []

    def look(node):
{look}

    tvm_ffi.structural_walk(module["main"].body, ((tvm.ir.Expr, tirx.Stmt), look))
    return wrong
"""

_AXIS = """\
if isinstance(node, s_tir.SBlockRealize):
    axes = node.block.iter_vars
    pairs = [*zip(node.iter_values, (axis.var for axis in axes)), *((axis.dom.extent, axis.var) for axis in axes)]
    wrong.extend(f"{a} of {a.ty}, {b} of {b.ty}" for a, b in pairs if a.ty != b.ty)"""

_LOOP = """\
if isinstance(node, tirx.For) and node.extent.ty != node.loop_var.ty:
    wrong.append(f"{node.extent} of {node.extent.ty}, {node.loop_var} of {node.loop_var.ty}")"""

_OPERANDS = """\
if hasattr(node, "a") and hasattr(node, "b") and node.a.ty != node.b.ty:
    wrong.append(f"{node.a} of {node.a.ty}, {node.b} of {node.b.ty}")"""

_ACCESS = """\
if isinstance(node, (tvm.ir.TensorLoad, tirx.BufferStore)):
    buffer = node.source if isinstance(node, tvm.ir.TensorLoad) else node.buffer
    if len(node.indices) != len(buffer.ty.shape):
        wrong.append(f"{len(node.indices)} indices of {buffer.name}, of {len(buffer.ty.shape)} dimensions")"""

_STRIDES = """\
for buffer in getattr(node, "alloc_buffers", ()):
    if len(buffer.ty.strides) not in (0, len(buffer.ty.shape)):
        wrong.append(f"{buffer.name}: shape {buffer.ty.shape}, strides {buffer.ty.strides}")"""

_BUFFER = """\
for buffer in getattr(node, "alloc_buffers", ()):
    if any(isinstance(extent, tirx.IntImm) and extent.value < 0 for extent in buffer.ty.shape):
        wrong.append(f"{buffer.name}: shape {buffer.ty.shape}")"""

_LOOKS = MappingProxyType(
    {
        "access": _ACCESS,
        "axis": _AXIS,
        "buffer": _BUFFER,
        "comparison": _OPERANDS,
        "loop": _LOOP,
        "operands": _OPERANDS,
        "strides": _STRIDES,
    }
)
"""What a script looks for at each node, by the rules of types that it can look for by itself."""


def ill_typed_source(rule: str) -> str:
    """Return the definition of a function that lists, in words, what breaks this rule of types in a module."""
    return _ILL_TYPED.format(look=textwrap.indent(_LOOKS[rule], " " * 8))


def script_of_calls(finding: Finding, calls: Sequence[str]) -> Callable[[Pieces], str] | None:
    """Return what makes the script of `calls`; None where it takes more than tvm."""
    seen = finding.observation
    shown = seen.exit is Exit.REJECTED or seen.offences[0].rule in _LOOKS
    if not calls or not shown or any(call.startswith("raise") for call in calls):
        return None
    ill_typed = "" if seen.exit is Exit.REJECTED else ill_typed_source(seen.offences[0].rule)
    return partial(_script, ill_typed, calls)


def _script(ill_typed: str, calls: Sequence[str], pieces: Pieces) -> str:
    shows = "it leaves ill-typed nodes" if ill_typed else "the last call raises something else than a ScheduleError"
    made = calls if ill_typed else calls[:-1]
    head = _HEAD.format(
        title=pieces.title, shows=shows, program=pieces.program, schedule=SCHEDULE, calls="\n".join(made)
    )
    end = _LEAVES.format(ill_typed=ill_typed, schedule=SCHEDULE) if ill_typed else _RAISES.format(last=calls[-1])
    return head + end
