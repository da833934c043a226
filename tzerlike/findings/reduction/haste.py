"""The search for a smaller program that hangs or takes all memory: with a part of the limit that the finding uses up.

What shows under a part need not show under all of it: of the ever smaller programs that such a search accepts, the last
one that does is found by bisection (tzerlike.core.shrink.last_that).
"""

from __future__ import annotations

from dataclasses import replace

from tzerlike.core.limits import Limits

_HASTE = 0.2


def hasty(limits: Limits, kind: str) -> Limits | None:
    """Return the limits for the first search for a smaller program of a finding; None where none takes all of one."""
    if kind == "hang":
        return limits.relaxed(_HASTE)
    return replace(limits, memory=int(limits.memory * _HASTE)) if kind == "oom" else None
