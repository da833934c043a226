"""The rules of statements: those that TVM's constructors check on their operands (`src/tirx/ir/stmt.cc`).

Of blocks they say little; an axis that is given a value of another dtype is replaced by it later on
(`s_tir.ConvertBlocksToOpaque`), and then its users are ill-typed. So that counts here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from tzerlike.core.dtypes import parse
from tzerlike.systems.tvm_api import array_items, s_tir, tirx
from tzerlike.tir.scope import THREAD_BINDING
from tzerlike.tir.typecheck.expressions import check_access, check_binding, lanes_of
from tzerlike.tir.typecheck.rule import BadType, require

if TYPE_CHECKING:
    from tzerlike.tir.typecheck.checker import TypeChecker

StatementRule = Callable[["TypeChecker", Any], None]


@cache
def _is_whole(dtype: str) -> bool:
    """Whether a dtype is that of one integer."""
    parsed = parse(dtype)
    return parsed is not None and parsed.is_int and lanes_of(dtype) == ""


def check_layout(checker: TypeChecker, ty: Any) -> None:
    """The shape, strides and offset of a buffer's type."""
    rank, strides = len(array_items(ty.shape)), len(array_items(ty.strides))
    require(strides in (0, rank), "strides", f"{strides} strides for {rank} dimensions")
    offset = [] if ty.elem_offset is None else [ty.elem_offset]
    for expr in [*array_items(ty.shape), *array_items(ty.strides), *offset]:
        dtype = checker.dtype(expr)
        require(_is_whole(dtype), "buffer", f"a buffer laid out by {dtype or 'no dtype'}")
    for extent in array_items(ty.shape):
        overflowed = type(extent) is tirx.IntImm and int(extent.value) < 0
        require(not overflowed, "buffer", "a buffer of a negative extent")


def _loop(checker: TypeChecker, node: Any) -> None:
    var = checker.stated(node.loop_var)
    bounds = {"min": node.min, "extent": node.extent, "step": node.step}
    require(_is_whole(var), "loop", f"a loop over {var or 'no dtype'}")
    named = int(node.kind) != THREAD_BINDING or node.thread_binding is not None
    require(named, "loop", "a loop over threads that names none")
    for name, bound in bounds.items():
        dtype = var if bound is None else checker.dtype(bound)
        require(dtype == var, "loop", f"a loop over {var} with a {name} of {dtype}")
    checker.visit(node.body)


def _condition(checker: TypeChecker, node: Any) -> None:
    dtype = checker.dtype(node.condition)
    require(lanes_of(dtype) == "", "condition", f"{type(node).__name__} of {dtype}")


def _while(checker: TypeChecker, node: Any) -> None:
    _condition(checker, node)
    checker.visit(node.body)


def _branch(checker: TypeChecker, node: Any) -> None:
    _condition(checker, node)
    checker.visit(node.then_case)
    if node.else_case is not None:
        checker.visit(node.else_case)


def _sequence(checker: TypeChecker, node: Any) -> None:
    for stmt in array_items(node.seq):
        checker.visit(stmt)


def _store(checker: TypeChecker, node: Any) -> None:
    held, value = check_access(checker, node.buffer, node.indices), checker.dtype(node.value)
    require(held == value or not held, "access", f"a store of {value} where there is {held}")


def _value(checker: TypeChecker, node: Any) -> None:
    checker.dtype(node.value)


def _attribute(checker: TypeChecker, node: Any) -> None:
    checker.dtype(node.value)
    checker.visit(node.body)


def _declaration(checker: TypeChecker, node: Any) -> None:
    checker.dtype(node.data)
    checker.visit_buffer(node.buffer)


def _realize(checker: TypeChecker, node: Any) -> None:
    given = []
    for place, value in enumerate(array_items(node.iter_values)):
        try:
            given.append(checker.dtype(value))
        except BadType as bad:
            raise bad.at(_binding(node, place)) from None
    axes = [checker.stated(axis.var) for axis in array_items(node.block.iter_vars)]
    if given != axes:
        wrong = next(place for place, (axis, value) in enumerate(zip(axes, given, strict=True)) if axis != value)
        raise BadType("axis", f"axes of {', '.join(axes)} for {', '.join(given)}", _binding(node, wrong))
    predicate = checker.dtype(node.predicate)
    require(predicate == "bool", "condition", f"SBlockRealize of {predicate}")
    checker.visit(node.block)


def _binding(node: Any, place: int) -> str:
    axis, value = array_items(node.block.iter_vars)[place], array_items(node.iter_values)[place]
    return f"the axis {axis.var.name} = {value} of the block {node.block.name_hint}"


def _block(checker: TypeChecker, node: Any) -> None:
    for axis in array_items(node.iter_vars):
        var = checker.stated(axis.var)
        for bound in (axis.dom.min, axis.dom.extent):
            dtype = checker.dtype(bound)
            require(dtype == var and _is_whole(var), "axis", f"an axis of {var} over {dtype}")
    for region in [*array_items(node.reads), *array_items(node.writes)]:
        _region(checker, region)
    for match in array_items(node.match_buffers):
        checker.visit_buffer(match.buffer)
        _region(checker, match.source)
    for buffer in array_items(node.alloc_buffers):
        checker.visit_buffer(buffer)
    if node.init is not None:
        checker.visit(node.init)
    checker.visit(node.body)


def _region(checker: TypeChecker, region: Any) -> None:
    for extent in array_items(region.region):
        checker.dtype(extent.min)
        checker.dtype(extent.extent)


RULES: Mapping[type, StatementRule] = {
    tirx.For: _loop,
    tirx.While: _while,
    tirx.IfThenElse: _branch,
    tirx.SeqStmt: _sequence,
    tirx.BufferStore: _store,
    tirx.Bind: lambda checker, node: check_binding(checker, node.var, node.value),
    tirx.AttrStmt: _attribute,
    tirx.AssertStmt: _condition,
    tirx.DeclBuffer: _declaration,
    tirx.AllocBuffer: lambda checker, node: checker.visit_buffer(node.buffer),
    tirx.Evaluate: _value,
    tirx.Return: _value,
    s_tir.SBlockRealize: _realize,
    s_tir.SBlock: _block,
}
"""The rules, by the type of the node."""
