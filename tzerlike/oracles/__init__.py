"""Oracles judge observations. Each is pure: a case and its observation in, a finding or None out.

The literal table of oracles; `--oracles` takes its names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tzerlike.case import Case
from tzerlike.errors import UserError
from tzerlike.observation import Observation
from tzerlike.oracles.crash import judge_crash
from tzerlike.oracles.finding import Finding

Oracle = Callable[[Case, Observation], Finding | None]

ORACLES: dict[str, Oracle] = {
    "crash": judge_crash,
}


def make_oracles(names: Sequence[str]) -> tuple[Oracle, ...]:
    """Return the named oracles; UserError that lists the known ones for a name that is none of them."""
    for name in names:
        if name not in ORACLES:
            raise UserError(f"--oracles: no oracle {name!r}; there are {', '.join(ORACLES)}")
    return tuple(ORACLES[name] for name in names)
