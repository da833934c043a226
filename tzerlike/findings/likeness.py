"""Whether two findings fail in the same place, so that one may stand for the other although the callers differ."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from tzerlike.core.finding import Finding, Signed
from tzerlike.core.observation import Stage
from tzerlike.systems import under_test

_FAULTS = (signal.SIGSEGV.name, signal.SIGBUS.name, signal.SIGFPE.name)


def same_failure(one: Finding, other: Finding) -> bool:
    """Whether they have one signature, or died in the same function of the same pass of the same, or raised the same
    there; where what failed is the analyzer or the folding of constants, in whatever pass."""
    if one.signature == other.signature:
        return True
    if one.kind != other.kind or Stage.BUILD_BASELINE in (one.observation.stage, other.observation.stage):
        return False
    if one.kind == "crash":
        return _death(one) is not None and _death(one) == _death(other)
    if one.kind == "ice-on-valid":
        return _error(one) is not None and _error(one) == _error(other)
    return False


def _death(finding: Signed) -> tuple[str, ...] | None:
    """The pass, the signal and the innermost function; None where an instruction outside of a pass failed, or none."""
    parts = finding.parts
    return parts[:4] if parts[0] == Stage.PASSES.value and parts[2] in _FAULTS and len(parts) > 3 else None


def _error(finding: Signed) -> tuple[Sequence[str], ...] | None:
    """What was said, the innermost function, its caller where it makes a node, and the pass where that counts; None
    where TVM does not say."""
    where, said, *functions = finding.bare or finding.parts
    if not functions:
        return None
    place = functions[: 2 if _makes_node(functions[0]) else 1]
    shared = not _makes_node(place[-1]) and re.match(under_test().code.shared, place[-1])
    return ("" if shared else where, said), tuple(place), finding.marks


def _makes_node(function: str) -> bool:
    """Whether a function is a constructor."""
    owner, _, own = function.rpartition("::")
    return owner.rpartition("::")[2] == own
