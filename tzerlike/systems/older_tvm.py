"""What TVM before 0.27 has by another name or not at all, for the parts of tzerlike that work with it.

Those are compiling, applying passes, seeds, coverage, most mutators, the interpreter, and what is odd. There an
expression has a dtype and no type, a buffer is no variable, and a function's parameters are handles that a map takes to
their buffers. What looks at types, and at schedules, knows the latest version only.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import ModuleType, SimpleNamespace
from typing import Any

import tvm
import tvm_ffi
from tvm import s_tir, tirx
from tvm.script import tirx as script

from tzerlike.systems import older_map
from tzerlike.systems.text import CALLED_OPERATORS


def _no_node(name: str, make: Callable[..., Any]) -> type:
    """A class that nothing is an instance of; calling it makes what stands for the node."""
    return type(name, (), {"__new__": lambda _, *operands: make(*operands)})


class ModuleView(ModuleType):
    """A module of TVM, and besides what it lacks; nothing is put into the module itself."""

    def __init__(self, module: ModuleType, lacking: Mapping[str, Any]) -> None:
        super().__init__(module.__name__)
        self.__dict__.update({name: value for name, value in lacking.items() if not hasattr(module, name)})
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def views() -> tuple[Any, Any, Any]:
    """Return `tvm`, `tirx` and `s_tir` with what is called otherwise here, or is a call and no node."""
    nodes = {
        **{node: getattr(tirx, name) for node, name in CALLED_OPERATORS.items()},
        "Break": lambda: tirx.Evaluate(tirx.break_loop()),
        "Continue": lambda: tirx.Evaluate(tirx.continue_loop()),
        "Return": lambda value: tirx.Evaluate(tirx.ret(value)),
    }
    functions = {
        "is_buffer_var": lambda node: isinstance(node, tirx.Buffer),
        "buffer_data": lambda buffer: buffer.data,
    }
    tir = ModuleView(tirx, functions | {name: _no_node(name, make) for name, make in nodes.items()})
    if "layout" not in inspect.signature(tirx.decl_buffer).parameters:
        tir.__dict__["decl_buffer"] = partial(_without_layout, tirx.decl_buffer)
    analysis = ModuleView(s_tir.analysis, {"verify_well_formed": tirx.analysis.verify_well_formed})
    blocks = ModuleView(
        s_tir, {name: getattr(tirx, name) for name in ("SBlock", "SBlockRealize") if hasattr(tirx, name)}
    )
    blocks.__dict__["analysis"] = analysis
    ir = {
        "TensorLoad": tirx.BufferLoad,
        "TensorRegion": tirx.BufferRegion,
        "Call": getattr(tirx, "Call", None),
        "StringImm": tirx.StringImm,
    }
    whole = ModuleView(tvm, {"sym": tvm.arith})
    whole.__dict__["ir"] = ModuleView(tvm.ir, ir | {"Expr": getattr(tvm.ir, "PrimExpr", None)})
    return whole, tir, blocks


MARKS_S_TIR = "s_tir" in inspect.signature(script.prim_func).parameters
"""Whether a function says that it is in S-TIR; up to 0.25.dev0 all of them are, until their blocks are lowered."""

_MARK = re.compile(r"(?<=prim_func\()s_tir=True(, )?|, s_tir=True")


def unmarked(text: str) -> str:
    """TVMScript as this TVM reads it."""
    return text if MARKS_S_TIR else _MARK.sub("", text)


def has_blocks(func: Any) -> bool:
    """Whether a function that does not say so is in S-TIR."""
    return not MARKS_S_TIR and isinstance(func.body, tirx.SBlockRealize)


MODULES = {"sym": "arith"}
"""Modules of 0.27, with what they are called here."""

LATER_NAMES = {f"tirx.{name}": f"prim.{name}" for name in ("ceil", "clz", "if_then_else", "likely", "log2", "vscale")}
"""Operators by the names that 0.27 has for them."""


def called_nodes(tir: Any) -> dict[str, Any]:
    """The operators that stand for nodes of 0.27, with those as a view of tirx has them."""
    names = {name: node for node, name in CALLED_OPERATORS.items()}
    names |= {"break_loop": "Break", "continue_loop": "Continue"}
    return {f"tirx.{name}": getattr(tir, node) for name, node in names.items()}


def expression_constructor(tir: Any, name: str) -> Any:
    """What makes the expression `name` of its operands and None, a call where 0.27 has a node."""
    made = tvm_ffi.get_global_func(f"tirx.{name}", allow_missing=True)
    node = getattr(tir, name)
    # A fork's casts have annotations before the span.
    if made is None or (name == "Cast" and "annotations" in inspect.signature(node).parameters):
        return lambda *operands: node(*operands[:-1])
    return made


@cache
def _prim_type(dtype: str) -> Any:
    return tvm.ir.PrimType(dtype)


def _type_of_buffer(buffer: Any) -> SimpleNamespace:
    """What the type of a buffer variable says in 0.27."""
    return SimpleNamespace(
        dtype=SimpleNamespace(dtype=str(buffer.dtype)),
        shape=buffer.shape,
        strides=buffer.strides,
        elem_offset=buffer.elem_offset,
        storage_scope=str(buffer.scope()),
        data_alignment=buffer.data_alignment,
        offset_factor=buffer.offset_factor,
        layout=getattr(buffer, "layout", None),
    )


def _without_layout(declare: Callable[..., Any], *arguments: Any, layout: Any = None, **others: Any) -> Any:
    return declare(*arguments, **others)


def _type_of_expression(expr: Any) -> Any:
    """The type of an expression, None for what 0.27 gives none of those that values have."""
    if isinstance(expr, tirx.Var):
        return expr.type_annotation
    dtype = str(expr.dtype)
    return None if dtype == "void" or isinstance(expr, tirx.StringImm) else _prim_type(dtype)


def type_of(node: Any) -> Any:
    """What `ty` of a buffer, a variable or an expression is in 0.27."""
    if isinstance(node, tirx.Buffer):
        return _type_of_buffer(node)
    return _type_of_expression(node) if isinstance(node, tvm.ir.PrimExpr) else node.ty


def name_of(var: Any) -> Any:
    """The name of a variable or a buffer."""
    return var.name if hasattr(var, "name") else var.name_hint


def params_of(func: Any) -> list[Any]:
    """The parameters of a function, of a buffer the buffer."""
    buffers = dict(func.buffer_map.items())
    return [buffers.get(param, param) for param in func.params]


def function(func: Any, body: Any, params: Sequence[Any] | None, attrs: Any) -> Any:
    """`func` with another body, other attributes, and other parameters unless they are None."""
    if params is None:
        return tirx.PrimFunc(func.params, body, func.ret_type, func.buffer_map, attrs)
    return tirx.PrimFunc(list(params), body, func.ret_type, None, attrs)


def call(op: Any, args: Sequence[Any], dtype: str) -> Any:
    """A call of an operator, whose name may be one of 0.27's."""
    name = op.replace("prim.", "tirx.", 1) if isinstance(op, str) else op
    return tirx.Call(dtype or "void", name, list(args))


def call_with(node: Any, args: Sequence[Any], ty: Any = None) -> Any:
    """The call `node` with other arguments, and of another type where one is given; a fork's calls have annotations."""
    annotations = getattr(node, "annotations", None)
    dtype = str(node.dtype if ty is None else ty.dtype)
    if not annotations:
        return call(node.op, args, dtype)
    return tirx.Call(dtype, node.op, list(args), annotations)


def structural_walk(root: Any, *callbacks: Any) -> None:
    """Call the first of `callbacks` that fits, (type or types, function) each, for each node; children come first.

    It stands for tvm_ffi.structural_walk on functions, statements, expressions and ranges, as far as statements and
    expressions go.
    """
    entries = list(older_map.pairs(callbacks))

    def visit(node: Any) -> None:
        for types, call in entries:
            if isinstance(node, types):
                call(node)
                return

    parts = (root.min, root.extent) if isinstance(root, tvm.ir.Range) else (root,)
    for part in parts:
        tirx.stmt_functor.post_order_visit(part.body if isinstance(part, tirx.PrimFunc) else part, visit)
