"""Constructs that a lowering pass removes completely, and the later passes that rely on it.

To the later one, a bfloat16 is 16 bits: a cast from bfloat16 that was left to it becomes one from an integer. Such a
program still means what it did before, and it is the pass that left it so that has not done its work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tzerlike.systems.tvm_api import tirx
from tzerlike.tir.node import dtype_of
from tzerlike.tir.tree import BINARY, LOGIC, Kind, Site, Tree


@dataclass(frozen=True, slots=True)
class Left:
    """What a pass has left: the rule that this breaks, with the kind of statement that holds it, and its text."""

    rule: str
    where: str


@dataclass(frozen=True, slots=True)
class Promise:
    """The pass `by` leaves nothing that is computed in, or cast from or to, dtypes that begin with `small`;
    `trusted_by` relies on that."""

    by: str
    trusted_by: str
    small: str

    def broken_by(self, func: Any) -> Left | None:
        """What a function that the pass has left still computes; None where it is nothing."""
        site = next(filter(self._computes, Tree(func).sites), None)
        if site is None:
            return None
        holder = next(above.node for above in site.ancestors() if above.kind is not Kind.EXPR)
        return Left(f"no {self.small} in {type(holder).__name__}", str(site.node))

    def _computes(self, site: Site) -> bool:
        node = site.node
        if type(node) is tirx.Cast:
            return self._is_small(node) or self._is_small(node.value)
        return type(node) in BINARY and type(node) not in LOGIC and self._is_small(node.a)

    def _is_small(self, expr: Any) -> bool:
        return dtype_of(expr).startswith(self.small)


_ALL = (
    Promise("tirx.BF16ComputeLegalize", "tirx.BF16StorageLegalize", "bfloat16"),
    Promise("tirx.FP8ComputeLegalize", "tirx.FP8StorageLegalize", "float8"),
)

MADE: Mapping[str, Promise] = {promise.by: promise for promise in _ALL}
"""By the names of the passes that make them."""

TRUSTED: Mapping[str, Promise] = {promise.trusted_by: promise for promise in _ALL}
"""By the names of the passes that rely on them."""
