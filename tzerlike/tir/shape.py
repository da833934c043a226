"""What kinds of nodes a program has, read from its text alone."""

from __future__ import annotations

import json


def shape_of(ir: str) -> tuple[str, ...]:
    """Return the kinds of statements and expressions of a program in canonical JSON, sorted, each once.

    Loops by their kind, calls by their operator; types, literals, variables and containers are left out. Empty
    where the text is no program.
    """
    found: set[str] = set()
    try:
        for node in json.loads(ir)["nodes"]:
            kind, data = node["type"], node.get("data")
            if kind == "tirx.For":
                found.add(f"{kind} of kind {data['kind']}")
            elif kind == "ir.Op":
                found.add(str(data))
            elif kind.partition(".")[0] in ("tirx", "s_tir", "prim", "ir") and kind not in _NO_SHAPE:
                found.add(kind)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return ()
    return tuple(sorted(found))


_NO_SHAPE = {
    "ir.Call", "ir.DictAttrs", "ir.FloatImm", "ir.GlobalVar", "ir.IRModule", "ir.IntImm", "ir.PointerType",
    "ir.PrimType", "ir.Range", "ir.SourceMap", "ir.StringImm", "ir.StringType", "ir.TensorRegion", "ir.TupleType",
    "ir.Type", "ir.Var", "tirx.BufferRegionType", "tirx.BufferType", "tirx.Iter", "tirx.IterVar", "tirx.PrimFunc",
    "tirx.SeqStmt",
}  # fmt: skip
