"""What TVM before 0.27 has by another name or not at all, for the parts of tzerlike that work with it all the same.

Those are compiling, applying passes, seeds, and coverage. Mutators and the interpreter know the nodes of 0.27 only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tvm
from tvm import s_tir, tirx

_BY_ANOTHER_NAME = (
    (tvm.ir, "Expr", tvm.ir, "PrimExpr"),
    (tvm.ir, "Call", tirx, "Call"),
    (tvm.ir, "StringImm", tirx, "StringImm"),
    (s_tir.analysis, "verify_well_formed", tirx.analysis, "verify_well_formed"),
    (s_tir, "SBlock", tirx, "SBlock"),
    (s_tir, "SBlockRealize", tirx, "SBlockRealize"),
)
_NOT_AT_ALL = (
    (tvm.ir, "TensorLoad"),
    *((tirx, f"Bitwise{name}") for name in ("And", "Or", "Xor", "Not")),
    *((tirx, name) for name in ("LShift", "RShift", "Break", "Continue", "Return")),
)


def fill_in() -> bool:
    """Whether this TVM has the nodes of 0.27; if not, what is missing gets a class that nothing is an instance of."""
    if hasattr(tirx, "BitwiseAnd"):
        return True
    for module, name, home, old in _BY_ANOTHER_NAME:
        if not hasattr(module, name) and hasattr(home, old):
            setattr(module, name, getattr(home, old))
    for module, name in _NOT_AT_ALL:
        if not hasattr(module, name):
            setattr(module, name, type(name, (), {}))
    return False


def structural_walk(root: Any, *callbacks: Any) -> None:
    """Call the first of `callbacks` that fits, (type or types, function) each, for each node; children come first.

    It stands for tvm_ffi.structural_walk on functions and statements, as far as statements and expressions go.
    """
    entries = _entries(callbacks)

    def visit(node: Any) -> None:
        for types, call in entries:
            if isinstance(node, types):
                call(node)
                return

    tirx.stmt_functor.post_order_visit(getattr(root, "body", root), visit)


def _entries(callbacks: tuple[Any, ...]) -> list[tuple[Any, Callable[[Any], object]]]:
    """Return the callbacks given as one pair, as several, or as a tuple of pairs."""
    found = []
    for entry in callbacks:
        if callable(entry[-1]):
            found.append(entry)
        else:
            found.extend(entry)
    return found
