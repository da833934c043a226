"""Outcomes of schedule primitives that TVM's own documentation prints."""

from __future__ import annotations

from tzerlike.core.finding import Signed
from tzerlike.oracles.metamorphic import LIES

_DOCUMENTED = frozenset(
    {("schedule", "cache_index", "strides"), ("schedule", "CacheIndex", LIES), ("schedule", "LoopPartition", LIES)}
)
"""By their parts: buffers of several dimensions and one stride, blocks that do not declare the cached indices that they
read, blocks that declare nothing. All hurt later on, and are no oversight of a user's."""


def is_documented(finding: Signed) -> bool:
    """Whether TVM's documentation of the primitive prints the like of a finding as what comes out."""
    return finding.parts in _DOCUMENTED
