"""Statements that no constructor of TVM makes, and passes that change what they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tzerlike.systems.tvm_api import ENTRY, op_call, s_tir, structural_map, tirx, tvm
from tzerlike.tir.scope import THREAD_BINDING

Make = Callable[[Any], Any]


def var(dtype: str) -> Any:
    return tirx.Var("v", dtype)


def number(value: int, dtype: str = "int32") -> Any:
    return tirx.IntImm(dtype, value)


def forced(dtype: str, make: Make, given: Any) -> Any:
    """What `make` makes of a `dtype`, with `given` put in its place later on, as a pass does that forgets the types."""
    place = var(dtype)
    return structural_map(make(place), (tirx.Var, lambda one: given if one.same_as(place) else one))


def evaluated(dtype: str, make: Make, given: str) -> Any:
    return tirx.Evaluate(forced(dtype, make, var(given)))


def called(op: str, dtype: str, *args: Any) -> Any:
    return tirx.Evaluate(op_call(op, list(args), dtype))


def intrinsic(name: str, dtype: str, *args: Any) -> Any:
    return tirx.Evaluate(tirx.call_llvm_pure_intrin(dtype, name, *args))


def buffer(dtype: str = "int32") -> Any:
    return tirx.decl_buffer((4,), dtype, "b")


def block(axis: str, extent: str, value: Any) -> Any:
    point = var(axis)
    domain = tvm.ir.Range.from_min_extent(number(0, axis), forced(axis, lambda p: p + number(0, axis), var(extent)))
    made = forced(
        axis, lambda p: tirx.IterVar(tvm.ir.Range.from_min_extent(number(0, axis), p), point, 0), domain.extent
    )
    return s_tir.SBlockRealize([value], True, s_tir.SBlock([made], [], [], "b", tirx.Evaluate(number(0))))


NOTHING = tirx.Evaluate(number(0))

ILL_TYPED: Mapping[str, tuple[str, Callable[[], Any]]] = {
    "buffer of a negative extent": ("buffer", lambda: tirx.AllocBuffer(tirx.decl_buffer((-4,), "int32", "b"))),
    "sum of two widths": ("operands", lambda: evaluated("int32", lambda p: tirx.Add(var("int32"), p), "int64")),
    "sum typed otherwise": ("operands", lambda: evaluated("int32", lambda p: tirx.Add(p, p), "int64")),
    "shift of a float": ("operands", lambda: evaluated("int32", lambda p: tirx.LShift(p, p), "float32")),
    "complement of a float": ("operands", lambda: evaluated("int32", tirx.BitwiseNot, "float32")),
    "comparison of two signs": ("comparison", lambda: evaluated("int8", lambda p: tirx.LT(var("int8"), p), "uint8")),
    "comparison of vectors": ("comparison", lambda: evaluated("int8", lambda p: tirx.EQ(p, p), "int8x4")),
    "both of two numbers": ("logic", lambda: evaluated("bool", lambda p: tirx.And(p, p), "int32")),
    "opposite of a number": ("logic", lambda: evaluated("bool", tirx.Not, "int32")),
    "cast of a vector to a scalar": ("cast", lambda: evaluated("int32", lambda p: tirx.Cast("int64", p), "int32x4")),
    "choice by a number": (
        "select",
        lambda: evaluated("bool", lambda p: tirx.Select(p, number(1), number(2)), "int32"),
    ),
    "choice of two widths": (
        "select",
        lambda: evaluated("int32", lambda p: tirx.Select(var("bool"), p, number(2)), "int64"),
    ),
    "ramp with a wide stride": ("vector", lambda: evaluated("int32", lambda p: tirx.Ramp(number(0), p, 4), "int64")),
    "broadcast of a vector": ("vector", lambda: evaluated("int32", lambda p: tirx.Broadcast(p, 4), "int32x2")),
    "shuffle of two dtypes": (
        "shuffle",
        lambda: evaluated("int32x2", lambda p: tirx.Shuffle([var("int32x2"), p], [number(0)]), "float32x2"),
    ),
    "let of another width": (
        "binding",
        lambda: evaluated("int32", lambda p: tirx.Let(var("int32"), p, number(0)), "int64"),
    ),
    "bind of another width": ("binding", lambda: forced("int32", lambda p: tirx.Bind(var("int32"), p), var("int64"))),
    "store of another width": (
        "access",
        lambda: forced("int32", lambda p: tirx.BufferStore(buffer(), p, [number(0)]), var("int8")),
    ),
    "load at a float": (
        "access",
        lambda: evaluated("int32", lambda p: tirx.BufferLoad(buffer(), [p]), "float32"),
    ),
    "masked store at too many indices": (
        "access",
        lambda: called("tirx.masked_store", "void", buffer(), number(1), number(0), number(0), tirx.IntImm("bool", 1)),
    ),
    "masked load of another type": (
        "access",
        lambda: called("tirx.masked_load", "float32", buffer(), number(0), tirx.IntImm("bool", 1)),
    ),
    "loop up to another width": (
        "loop",
        lambda: forced("int32", lambda p: tirx.For(var("int32"), number(0), p, 0, NOTHING), var("int64")),
    ),
    "loop over threads of no name": (
        "loop",
        lambda: tirx.For(var("int32"), number(0), number(4), THREAD_BINDING, NOTHING),
    ),
    "branch on a vector": (
        "condition",
        lambda: forced("bool", lambda p: tirx.IfThenElse(p, NOTHING, None), var("boolx4")),
    ),
    "axis with another value": ("axis", lambda: block("int32", "int32", var("int64"))),
    "axis over another domain": ("axis", lambda: block("int64", "int32", var("int64"))),
    "axis of a sum of two widths": (
        "operands",
        lambda: block("int32", "int32", forced("int32", lambda p: tirx.Add(var("int32"), p), var("int64"))),
    ),
    "arms of two widths": (
        "call",
        lambda: called("prim.if_then_else", "int32", var("bool"), var("int32"), var("int64")),
    ),
    "condition of lanes": (
        "call",
        lambda: called("prim.if_then_else", "int8x4", var("boolx4"), var("int8x4"), var("int8x4")),
    ),
    "function typed otherwise": ("call", lambda: called("tirx.popcount", "int64", var("int32"))),
    "function without operands": ("call", lambda: called("tirx.exp", "float32")),
    "test typed as its operand": ("call", lambda: called("tirx.isnan", "float32", var("float32"))),
    "bits of another width": ("call", lambda: called("tirx.reinterpret", "float32", var("int64"))),
    "llvm.abs of one operand": ("call", lambda: intrinsic("llvm.abs", "int32", number(1))),
    "llvm.acos of two operands": ("call", lambda: intrinsic("llvm.acos", "float32", var("float32"), var("float32"))),
    "intrinsic number 0": (
        "call",
        lambda: called("tirx.call_llvm_pure_intrin", "int32", number(0, "uint32"), number(1)),
    ),
    "intrinsic that LLVM has not": (
        "call",
        lambda: called("tirx.call_llvm_pure_intrin", "int32", number(2**32 - 1, "uint32"), number(1)),
    ),
}
"""What is wrong with a statement, the rule that it breaks, and the statement."""


def with_statement(func: Any, stmt: Any) -> Any:
    """`func` with one statement more at its end."""
    return tirx.PrimFunc(func.params, tirx.SeqStmt([func.body, stmt]), func.ret_type, func.attrs)


def _renewed(module: Any) -> None:
    func = module[ENTRY]
    module.update_func(module.get_global_var(ENTRY), func.with_attr("planted", 1))


def returned_as_it_is(module: Any) -> Any:
    _renewed(module)
    return module


def returned_as_another(module: Any) -> Any:
    other = tvm.IRModule(dict(module.functions.items()))
    _renewed(module)
    return other


def one_function_more(module: Any) -> Any:
    module.update({tvm.ir.GlobalVar("planted"): module[ENTRY].with_attr("global_symbol", "planted")})
    return module


def body_twice(module: Any) -> Any:
    func = module[ENTRY]
    body = tirx.SeqStmt([func.body, func.body])
    module.update_func(module.get_global_var(ENTRY), tirx.PrimFunc(func.params, body, func.ret_type, func.attrs))
    return module


def attribute_less(module: Any) -> Any:
    func = module[ENTRY]
    other = tvm.IRModule(dict(module.functions.items()))
    module.update_func(module.get_global_var(ENTRY), func.without_attr("global_symbol"))
    return other


def emptied(module: Any) -> Any:
    func = module[ENTRY]
    made = tvm.IRModule(dict(module.functions.items()))
    module.update_func(module.get_global_var(ENTRY), tirx.PrimFunc(func.params, NOTHING, func.ret_type, func.attrs))
    return made


CHANGES_INPUT: Mapping[str, Callable[[Any], Any]] = {
    "the input is returned with another function": returned_as_it_is,
    "a copy is returned and the input gets another function": returned_as_another,
    "the input gets one function more": one_function_more,
    "the function of the input does all twice": body_twice,
    "a copy is returned and the input's function loses an attribute": attribute_less,
    "a copy is returned and the input's function does nothing": emptied,
}


def changed_copy(module: Any) -> Any:
    other = tvm.IRModule(dict(module.functions.items()))
    _renewed(other)
    return other


KEEPS_INPUT: Mapping[str, Callable[[Any], Any]] = {
    "a copy is changed": changed_copy,
    "nothing is done": lambda module: module,
}
