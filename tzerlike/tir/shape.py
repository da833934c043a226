"""The kinds of nodes in a program, read from its text alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator


def shape_of(ir: str) -> tuple[str, ...]:
    """Return the kinds of statements and expressions of a program in canonical JSON, sorted, each once.

    Loops by their kind; which operator or intrinsic it is does not count, and types, literals, variables and
    containers are left out. Empty where the text is no program.
    """
    try:
        return tuple(sorted(set(_kinds(ir))))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return ()


def essence_of(ir: str) -> tuple[str, ...]:
    """Return what in a reduced program tells its cause: its shape without what is in most programs.

    Threads are written as loops or as attributes.
    """
    kinds = {"threads" if kind in _THREADS else kind for kind in shape_of(ir)}
    return tuple(sorted(kinds - _EVERYDAY))


def change_of(before: str, after: str) -> tuple[str, ...]:
    """Return the kinds of statements that there are fewer of in the second of two programs, then those of more.

    `-tirx.For of kind 2` and `+tirx.DeclBuffer`: what a pass does, whatever the program is.
    """
    first, second = (Counter(kind for kind in _kinds(ir) if kind.startswith(_STATEMENTS)) for ir in (before, after))
    fewer, more = sorted((first - second).keys()), sorted((second - first).keys())
    return (*(f"-{kind}" for kind in fewer), *(f"+{kind}" for kind in more))


def _kinds(ir: str) -> Iterator[str]:
    for node in json.loads(ir)["nodes"]:
        kind, data = node["type"], node.get("data")
        if kind == "tirx.For":
            yield f"{kind} of kind {data['kind']}"
        elif kind == "ir.Op":
            yield str(data) if str(data).endswith(".if_then_else") else "intrinsic"
        elif kind.partition(".")[0] in ("tirx", "s_tir", "prim", "ir") and kind not in _NO_SHAPE:
            yield _OPERATORS.get(kind, kind)


_OPERATORS = {
    f"prim.{name}": group
    for group, names in {
        "arithmetic": "Add Sub Mul Div Mod FloorDiv FloorMod Min Max",
        "bits": "BitwiseAnd BitwiseOr BitwiseXor BitwiseNot LShift RShift",
        "comparison": "EQ NE LT LE GT GE",
        "logic": "And Or Not",
    }.items()
    for name in names.split()
}


_THREADS = ("tirx.For of kind 4", "tirx.AttrStmt")

_EVERYDAY = {
    "arithmetic", "comparison", "ir.TensorLoad", "logic", "prim.Cast", "s_tir.SBlockRealize", "tirx.Axis",
    "tirx.BufferStore", "tirx.Evaluate", "tirx.For of kind 0", "tirx.TileLayout",
}  # fmt: skip

_STATEMENTS = (
    "s_tir.SBlock", "tirx.AllocBuffer", "tirx.AssertStmt", "tirx.AttrStmt", "tirx.Bind", "tirx.Break",
    "tirx.BufferStore", "tirx.Continue", "tirx.DeclBuffer", "tirx.Evaluate", "tirx.For of", "tirx.IfThenElse",
    "tirx.Return", "tirx.While",
)  # fmt: skip


_NO_SHAPE = {
    "ir.Call", "ir.DictAttrs", "ir.FloatImm", "ir.GlobalVar", "ir.IRModule", "ir.IntImm", "ir.PointerType",
    "ir.PrimType", "ir.Range", "ir.SourceMap", "ir.StringImm", "ir.StringType", "ir.TensorRegion", "ir.TupleType",
    "ir.Type", "ir.Var", "tirx.BufferRegionType", "tirx.BufferType", "tirx.Iter", "tirx.IterVar", "tirx.PrimFunc",
    "tirx.SeqStmt",
}  # fmt: skip
