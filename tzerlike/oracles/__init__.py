"""Oracles judge observations. Each is pure: a case and its observation in, a finding or None out.

The literal table of oracles; `--oracles` takes its names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tzerlike.core.case import Case
from tzerlike.core.effort import Check, Effort
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation
from tzerlike.oracles.crash import judge_crash
from tzerlike.oracles.inconsistency import judge_inconsistency
from tzerlike.oracles.internal_error import judge_internal_error
from tzerlike.oracles.metamorphic import judge_metamorphic
from tzerlike.oracles.performance import judge_performance
from tzerlike.oracles.round_trip import judge_round_trip

Oracle = Callable[[Case, Observation], Finding | None]


@dataclass(frozen=True, slots=True)
class OracleInfo:
    """An oracle, and what a child has to look at for it."""

    judge: Oracle
    needs: frozenset[Check] = frozenset()


ORACLES: dict[str, OracleInfo] = {
    "crash": OracleInfo(judge_crash),
    "inconsistency": OracleInfo(judge_inconsistency, frozenset({Check.RESULTS})),
    "internal-error": OracleInfo(judge_internal_error, frozenset({Check.REJECTIONS, Check.DEVICE_SOURCE})),
    "performance": OracleInfo(judge_performance, frozenset({Check.RESULTS, Check.SPEED})),
    "roundtrip": OracleInfo(judge_round_trip, frozenset({Check.TEXT})),
    "metamorphic": OracleInfo(judge_metamorphic, frozenset({Check.SCHEDULES})),
}


def make_oracles(names: Sequence[str]) -> tuple[Oracle, ...]:
    """Return the named oracles; UserError that lists the known ones for a name that is none of them."""
    return tuple(info.judge for info in _named(names))


def judged(oracles: Sequence[Oracle], case: Case, seen: Observation) -> list[Finding]:
    """Return what the oracles find in an observation, in their order.

    A case that tried what it may not is nobody's finding, whatever it did before.
    """
    if seen.exit is Exit.CONFINED:
        return []
    return [finding for finding in (oracle(case, seen) for oracle in oracles) if finding is not None]


def effort_for(names: Sequence[str]) -> Effort:
    """Return the effort that the named oracles take; UserError as make_oracles."""
    return Effort(frozenset().union(*(info.needs for info in _named(names))))


def _named(names: Sequence[str]) -> list[OracleInfo]:
    for name in names:
        if name not in ORACLES:
            raise UserError(f"--oracles: no oracle {name!r}; there are {', '.join(ORACLES)}")
    return [ORACLES[name] for name in names]
