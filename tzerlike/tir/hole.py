"""The typed hole: the requirements of a place on the expression or statement put there (section 3.2 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

from tzerlike.systems.tvm_api import s_tir, tirx, tvm
from tzerlike.tir import dtypes
from tzerlike.tir.scope import UNROLLED, VECTORIZED, Scope, scope_at
from tzerlike.tir.tree import Kind, Site, Tree


@dataclass(frozen=True, slots=True)
class Hole:
    """The constraints at a site.

    `dtype` is None for statements and for what has no dtype (strings, void calls). `constant` marks places
    where passes or the code generator take only constants. TVM lets no position have free variables,
    not even the value of a comment attribute, so everything in a hole must be in `scope`.
    """

    kind: Kind
    dtype: dtypes.DType | None
    scope: Scope
    constant: bool


def hole_at(tree: Tree, site: Site) -> Hole:
    """The hole that taking out `site` leaves."""
    dtype = dtypes.parse(site.dtype) if site.kind is Kind.EXPR else None
    return Hole(site.kind, dtype, scope_at(tree, site), needs_constant(site))


def needs_constant(site: Site) -> bool:
    """Whether only a constant makes sense at `site`: bounds of copied loops, indices of a Shuffle, immediates."""
    above = site.parent
    if above is None or site.kind is not Kind.EXPR:
        return False
    kind = type(above.node)
    if kind is tirx.For:
        return site.role == "step" or (site.role == "extent" and int(above.node.kind) in (VECTORIZED, UNROLLED))
    if kind is tirx.Shuffle:
        return site.role == "indices"
    if kind is tirx.AttrStmt:
        return True
    if kind is tvm.ir.Call:
        return type(site.node) is tvm.ir.StringImm or str(getattr(above.node.op, "name", "")) in IMMEDIATES
    return kind is s_tir.SBlockRealize and site.role == "predicate" and type(site.node) is tirx.IntImm


IMMEDIATES = frozenset(
    (
        "tirx.tvm_struct_get",
        "tirx.tvm_struct_set",
        "tirx.call_llvm_intrin",
        "tirx.call_llvm_pure_intrin",
        "tirx.q_multiply_shift",
        "tirx.q_multiply_shift_per_axis",
        "tirx.tvm_stack_alloca",
        "tirx.type_annotation",
    )
)
"""Intrinsics whose operands the code generator reads at compile time."""
