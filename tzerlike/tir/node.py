"""What can be said of one node, and made of a few, without the tree that it stands in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tzerlike.systems.tvm_api import array_items, s_tir, source_of, structural_map, structural_walk, tirx, tvm, type_of

Node = Any
"""A TVM statement or expression."""

DEFINING: tuple[Any, ...] = (tirx.Bind, tirx.AllocBuffer, tirx.DeclBuffer)
"""The statements that define something for those that follow."""


def key(var: Node) -> int:
    """The identity of a variable as long as it lives; never an order."""
    return hash(var)


def dtype_of(expr: Node) -> str:
    """The dtype of an expression with lanes; `handle` for pointers, "" for what has none."""
    ty = type_of(expr)
    if type(ty) is tvm.ir.PrimType:
        return str(ty.dtype)
    if type(ty) is tvm.ir.PointerType:
        return "handle"
    return ""


def is_nop(stmt: Node) -> bool:
    """Whether `stmt` is TVM's spelling of the empty statement, Evaluate of a constant."""
    return type(stmt) is tirx.Evaluate and type(stmt.value) is tirx.IntImm


def is_jump(node: Node) -> bool:
    """Whether `node` is a break or continue, as a statement or as the call that stands for it."""
    kind = type(node)
    if kind is tvm.ir.Call:
        return str(getattr(node.op, "name", "")) in ("tirx.break_loop", "tirx.continue_loop")
    return kind is tirx.Break or kind is tirx.Continue


def is_choice(node: Node) -> bool:
    """Whether `node` is an if_then_else."""
    return type(node) is tvm.ir.Call and str(getattr(node.op, "name", "")).endswith(".if_then_else")


def seq(stmts: Sequence[Node]) -> Node:
    """One statement that runs `stmts` in turn: flattened, without empty ones, and legal for zero or one statement.

    TVM's own SeqStmt::Flatten drops empty statements too, and so does its parser.
    """
    flat: list[Node] = []
    for stmt in stmts:
        if type(stmt) is tirx.SeqStmt:
            flat.extend(part for part in array_items(stmt.seq) if not is_nop(part))
        elif not is_nop(stmt):
            flat.append(stmt)
    if not flat:
        return tirx.Evaluate(tirx.IntImm("int32", 0))
    return flat[0] if len(flat) == 1 else tirx.SeqStmt(flat)


def loop_with(node: Node, **fields: Any) -> Node:
    """The For `node` with other fields."""
    names = ("loop_var", "min", "extent", "kind", "body", "thread_binding", "annotations", "step")
    values = {name: fields[name] if name in fields else getattr(node, name) for name in names}
    return tirx.For(*(int(value) if name == "kind" else value for name, value in values.items()))


def accessed_by(node: Node) -> Node | None:
    """The buffer that a load or a store accesses; None of any other node."""
    if type(node) is tvm.ir.TensorLoad:
        return source_of(node)
    return node.buffer if type(node) is tirx.BufferStore else None


def declares_nothing(block: Node) -> bool:
    """Whether a block has neither axes nor regions, as the root has none."""
    return not any(map(len, (block.iter_vars, block.reads, block.writes)))


def fits(region: Node) -> bool:
    """Whether a region has as many dimensions as its buffer, without which no block is made (src/s_tir/stmt.cc).

    FlattenBuffer leaves others: it makes the buffers of blocks flat, and not their regions.
    """
    return len(region.region) == len(type_of(source_of(region)).shape)


def definitions(node: Node) -> list[Node]:
    """The variables and buffers that `node` itself defines for itself, its body or what follows it."""
    kind = type(node)
    if kind is tirx.For:
        binding = node.thread_binding
        return [node.loop_var] if binding is None else [node.loop_var, binding.var]
    if kind is tirx.Bind or kind is tirx.Let:
        return [node.var]
    if kind is tirx.AllocBuffer or kind is tirx.DeclBuffer:
        return [node.buffer]
    if kind is tirx.AttrStmt:
        return [node.node.var] if isinstance(node.node, tirx.IterVar) else []
    if kind is s_tir.SBlock:
        matched = [match.buffer for match in array_items(node.match_buffers)]
        return [iter_var.var for iter_var in array_items(node.iter_vars)] + array_items(node.alloc_buffers) + matched
    return []


def uses(node: Node) -> list[Node]:
    """The variables and buffers that `node` itself uses, children not counted."""
    kind = type(node)
    if kind is tirx.Var:
        return [node]
    if kind is tvm.ir.TensorLoad:
        return [source_of(node)]
    if kind is tirx.BufferStore:
        return [node.buffer]
    if kind is tirx.AttrStmt:
        return [node.node] if type(node.node) is tirx.Var else []
    if kind is tirx.AllocBuffer or kind is tirx.DeclBuffer:
        return variables_of_type(node.buffer)
    if kind is s_tir.SBlock:
        sources = [source_of(match.source) for match in array_items(node.match_buffers)]
        domains = [iter_var.dom for iter_var in array_items(node.iter_vars)]
        found = sources + [var for buffer in array_items(node.alloc_buffers) for var in variables_of_type(buffer)]
        return found + [
            var for domain in domains for bound in (domain.min, domain.extent) for var in variables_in(bound)
        ]
    return []


def variables_of_type(buffer: Node) -> list[Node]:
    """The variables in the shape, strides and offset of a buffer."""
    ty = type_of(buffer)
    return [v for e in [*array_items(ty.shape), *array_items(ty.strides), ty.elem_offset] for v in variables_in(e)]


def variables_in(expr: Node) -> list[Node]:
    """The variables in an expression that are not buffers."""
    found: list[Node] = []
    if type(expr) is not tirx.IntImm:
        structural_walk(expr, (tirx.Var, found.append))
    return found


def substitute(node: Node, values: Mapping[int, Node]) -> Node:
    """`node` with the expression `values[key(v)]` for each variable v that stands there; not for buffers."""
    return structural_map(node, (tirx.Var, lambda var: values.get(key(var), var)))
