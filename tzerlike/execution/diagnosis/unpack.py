"""A function whose arguments were packed, with its original parameters again, for the interpreter to call."""

from __future__ import annotations

from typing import Any

from tzerlike.systems import tvm_api
from tzerlike.systems.tvm_api import tirx
from tzerlike.tir.tree import Tree

_COMPUTE = "compute_scope"
"""The attribute that tirx.MakePackedAPI puts around what the function did before."""


def unpacked(func: Any, original: Any) -> Any | None:
    """Return what `func` does behind its wrapper as a function of the parameters of `original`, which it was made from.

    Buffers may have other dtypes by now. None where the wrapper does not look as expected,
    or TVM refuses such a function.
    """
    buffers = []
    body = None
    for site in Tree(func).sites:
        if type(site.node) is tirx.DeclBuffer:
            buffers.append(site.node.buffer)
        elif type(site.node) is tirx.AttrStmt and str(site.node.attr_key) == _COMPUTE:
            body = site.node.body
            break
    given = tvm_api.params_of(original)
    if body is None or len(buffers) != sum(map(tvm_api.is_buffer, given)):
        return None
    declared = iter(buffers)
    params = [next(declared) if tvm_api.is_buffer(param) else param for param in given]
    try:
        return tirx.PrimFunc(params, body)
    except tvm_api.CONSTRUCTION_ERRORS as error:
        if not tvm_api.raised_by_tvm(error):
            raise
        return None
