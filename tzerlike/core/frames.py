"""Stack frames as a part of signatures."""

from __future__ import annotations

import re

from tzerlike.core.observation import Frame

GENERIC = (
    "tvm::ffi::",
    "TVMFFI",
    "tvm::ObjectVisitor::",
    "tvm::ObjectMutator::",
    "tvm::ExprVisitor::",
    "tvm::ExprMutator::",
    "tvm::runtime::detail::",
    "tvm::tirx::StmtVisitor::",
    "tvm::tirx::StmtMutator::",
    "tvm::tirx::ExprVisitor::",
    "tvm::tirx::ExprMutator::",
    "tvm::tirx::StmtExprVisitor::",
    "tvm::tirx::StmtExprMutator::",
    "tvm::s_tir::StmtExprVisitor::",
    "tvm::s_tir::StmtExprMutator::",
    "tvm::NodeFunctor<",
    "tvm::tirx::ExprFunctor<",
    "tvm::tirx::StmtFunctor<",
    "non-virtual thunk to ",
)
"""Visitors that every pass goes through: in a signature they would hide one failure behind another."""


def function_name(signature: str) -> str:
    """Return the qualified name in a C++ signature: `virtual void tvm::A::f(int) const` is `tvm::A::f`.

    What is no signature stays as it is.
    """
    head, parenthesis, _ = signature.partition("(")
    return head.rpartition(" ")[2] if parenthesis and re.fullmatch(r"[\w:~]+", head.rpartition(" ")[2]) else signature


def telling(frames: tuple[Frame, ...]) -> list[Frame]:
    """Return the frames that say where something went wrong; all of them when every one is generic."""
    return [frame for frame in frames if not frame.function.startswith(GENERIC)] or list(frames)
