"""A hint for a whole program, as schedules put it on the outermost loop."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tzerlike.core.schema import Scalar
from tzerlike.systems.tvm_api import array_items, function_with, s_tir, tirx
from tzerlike.tir.reducers.program import block_with
from tzerlike.tir.scope import SERIAL

HINTED: Mapping[str, str] = MappingProxyType({"tirx.UnrollLoop.auto_max_step": "pragma_auto_unroll_max_step"})
"""Options that a program may ask for as well, in the annotation of a loop."""


def hinted(func: Any, options: Mapping[str, Scalar]) -> Any | None:
    """Return the function in a loop that is run once and asks for those options that it can; None where it can ask for
    none."""
    asked = {HINTED[name]: value for name, value in options.items() if name in HINTED and value}
    if not asked:
        return None
    root = func.body
    if type(root) is not s_tir.SBlockRealize:
        return function_with(func, _around(root, asked))
    block = block_with(root.block, body=_around(root.block.body, asked))
    return function_with(func, s_tir.SBlockRealize(array_items(root.iter_values), root.predicate, block))


def _around(body: Any, annotations: Mapping[str, Any]) -> Any:
    return tirx.For(tirx.Var("once", "int32"), 0, 1, SERIAL, body, annotations=dict(annotations))
