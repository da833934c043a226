"""What the documentation of primitives asks of the block that they are called on: schedule.py of TVM's s_tir."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ASKED: Mapping[str, str] = MappingProxyType(
    {
        "reverse_compute_inline": "the indices of each `BufferLoad` on the RHS are all distinct atomic variables, "
        "and no variables other than those indexing variables are allowed in the statement",
        "decompose_padding": "The input block is a block which match padding pattern.",
    }
)
"""In its own words, by the names of primitives."""
