"""The parts of a `repro.py` for a pass that leaves invalid IR: an instrument that looks for just that."""

from __future__ import annotations

from tzerlike.core.effort import Check
from tzerlike.core.observation import Offence
from tzerlike.passes.catalog import own_name

INVALID = """\
Looks at the module around each pass, for what {name} does by the rule: {rule}.
Exits non-zero when the bug shows, and 0 when it does not."""

IMPORTS = "import sys\n\nimport tvm_ffi\n"

INSTRUMENTED = "instruments=[watch]"
"""What `build` takes beyond the case."""

_WATCH = """
@tvm.ir.instrument.pass_instrument
class Watch:
    def __init__(self):
        self.given = []
        self.shown = []{kept}

    def run_before_pass(self, module, info):
        self.given.append({given})

    def run_after_pass(self, module, info):
{look}


watch = Watch()

"""

_CHANGED = """\
        self.ran.append(info.name)
        before, hashed = self.given.pop()
        if info.name == {name!r} and tvm_ffi.structural_hash(before) != hashed:
            self.shown.append(f"{{info.name}} modified its input module in place")"""

_ILL_TYPED = """\
        bad_before = self.given.pop()
        if not self.shown and not bad_before:
            self.shown += [f"{info.name}: {line}" for line in bad_nodes(module)]"""

_DTYPE_OF = """
def dtype_of(expr):
    kind = type(expr.ty)
    return str(expr.ty.dtype) if kind is tvm.ir.PrimType else "handle" if kind is tvm.ir.PointerType else ""
"""

_BAD_CALL = '''
CALL = {call!r}


def is_bad(node):
    """Whether this is the call that was found: the constructor of calls checks nothing."""
    if not isinstance(node, tvm.ir.Call):
        return False
    name, operands = getattr(node.op, "name", ""), [dtype_of(operand) for operand in node.args]
{intrinsic}    return CALL == f"{{name}} of {{', '.join(operands) or 'nothing'}} typed {{dtype_of(node)}}"
'''

_INTRINSIC = """\
    if name.startswith("tirx.call_llvm") and isinstance(node.args[0], tirx.IntImm):
        number, operands = node.args[0].value, operands[1:]
        if not 0 < number <= tvm_ffi.get_global_func("target.llvm_lookup_intrinsic_id")("llvm.xcore.zext"):
            return True  # LLVM has no such intrinsic
        name = tvm_ffi.get_global_func("target.llvm_get_intrinsic_name")(number)
"""

_BAD_BUFFER = """
def is_bad_buffer(buffer):
    layout = buffer.ty
    sizes = [*layout.shape, *layout.strides, *([] if layout.elem_offset is None else [layout.elem_offset])]
    negative = any(isinstance(extent, tirx.IntImm) and extent.value < 0 for extent in layout.shape)
    whole = all(dtype_of(size).lstrip("u").startswith("int") and "x" not in dtype_of(size) for size in sizes)
    return negative or not whole or len(layout.strides) not in (0, len(layout.shape))


def is_bad(node):
    holders = (tvm.ir.TensorLoad, tirx.BufferStore, tirx.AllocBuffer, tirx.DeclBuffer)
    buffers = [node.source if hasattr(node, "source") else node.buffer] if isinstance(node, holders) else []
    return any(map(is_bad_buffer, [*buffers, *getattr(node, "alloc_buffers", ())]))
"""

_BAD_AXIS = """
def is_bad(node):
    if not isinstance(node, s_tir.SBlockRealize):
        return False
    axes = [(axis, value) for axis, value in zip(node.block.iter_vars, node.iter_values)]
    return any(dtype_of(axis.var) != dtype_of(e) for axis, value in axes for e in (value, axis.dom.extent))
"""

_BAD_CONDITION = """
def is_bad(node):
    if isinstance(node, s_tir.SBlockRealize):
        return dtype_of(node.predicate) != "bool"
    return isinstance(node, (tirx.AssertStmt, tirx.IfThenElse, tirx.While)) and "x" in dtype_of(node.condition)
"""

_BAD_LOOP = """
def is_bad(node):
    if not isinstance(node, tirx.For):
        return False
    dtypes = {dtype_of(part) for part in (node.loop_var, node.min, node.extent, node.step) if part is not None}
    whole = all(dtype.lstrip("u").startswith("int") and "x" not in dtype for dtype in dtypes)
    unnamed = node.kind == tirx.ForKind.THREAD_BINDING and node.thread_binding is None
    return unnamed or len(dtypes) > 1 or not whole
"""

_BAD_NODE = '''
MADE_AGAIN = {
    tirx.Cast: lambda n: tirx.Cast(dtype_of(n), n.value),
    tirx.Select: lambda n: tirx.Select(n.condition, n.true_value, n.false_value),
    tirx.Ramp: lambda n: tirx.Ramp(n.base, n.stride, n.lanes),
    tirx.Broadcast: lambda n: tirx.Broadcast(n.value, n.lanes),
    tirx.Shuffle: lambda n: tirx.Shuffle(n.vectors, n.indices),
    tirx.Let: lambda n: tirx.Let(n.var, n.value, n.body),
    tirx.IntImm: lambda n: tirx.IntImm(dtype_of(n), n.value),
    tvm.ir.TensorLoad: lambda n: tirx.BufferLoad(n.source, n.indices),
    tirx.BufferStore: lambda n: tirx.BufferStore(n.buffer, n.value, n.indices),
    tirx.Bind: lambda n: tirx.Bind(n.var, n.value),
}
"""Each node, made again of its parts by TVM's own constructor."""


def is_bad(node):
    operands = [getattr(node, name) for name in "ab" if hasattr(node, name)]
    make = (lambda n: type(n)(*operands)) if operands else MADE_AGAIN.get(type(node))
    if make is None:
        return False
    try:
        made = make(node)
    except Exception as error:
        print(f"{type(node).__name__}: {str(error).strip().splitlines()[-1]}")
        return True
    typed = not hasattr(node, "ty") or dtype_of(made) == dtype_of(node)
    return not (typed and tvm_ffi.structural_equal(made, node))
'''

_BAD_NODES = """

def bad_nodes(module):
    found = []

    def look(node):
        if is_bad(node):
            found.append(f"ill-typed: {type(node).__name__}")

    for func in module.functions.values():
        if isinstance(func, tirx.PrimFunc):
            tvm_ffi.structural_walk(func.body, ((tvm.ir.Expr, tirx.Stmt), look))
    return found

"""

END = """
limit()
try:
    build()
except Exception as error:
    print(f"TVM raises {type(error).__name__}")
print("\\n".join(watch.shown) or "no such IR: the bug does not show")
sys.exit(1 if watch.shown else 0)
"""


_LOOKS = {
    "buffer": _BAD_BUFFER,
    "strides": _BAD_BUFFER,
    "axis": _BAD_AXIS,
    "condition": _BAD_CONDITION,
    "loop": _BAD_LOOP,
}
"""How the nodes that break a rule are found, where TVM's own constructors would make them again."""


def watch_source(offence: Offence) -> str:
    """Return the definition of `watch`, an instrument that keeps in `shown` what the pass did."""
    if offence.check == Check.IMMUTABILITY:
        look = _CHANGED.format(name=own_name(offence.pass_name))
        given, kept = "(module, tvm_ffi.structural_hash(module))", "\n        self.ran = []"
        return _WATCH.format(given=given, kept=kept, look=look)
    looks = _LOOKS | {"call": _bad_call(offence.where)}
    bad = f"{_DTYPE_OF}\n{looks.get(offence.rule, _BAD_NODE)}{_BAD_NODES}"
    return bad + _WATCH.format(given="self.shown or bad_nodes(module)", kept="", look=_ILL_TYPED)


def _bad_call(where: str) -> str:
    return _BAD_CALL.format(call=where, intrinsic=_INTRINSIC * ("llvm" in where.lower()))
