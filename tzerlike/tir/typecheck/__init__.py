"""Whether a PrimFunc is typed as TVM's own constructors would type it.

Constructors see to that for IR that is built; what is loaded, or changed in place by a pass, may lack it. A node that
nothing is known of breaks no rule.
"""

from __future__ import annotations

from typing import Any

from tzerlike.tir.typecheck.checker import TypeChecker
from tzerlike.tir.typecheck.rule import BadType

__all__ = ["BadType", "TypeChecker", "is_well_typed"]


def is_well_typed(func: Any) -> bool:
    """Whether a PrimFunc breaks no rule."""
    return TypeChecker().check(func) is None
