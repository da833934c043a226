"""What `tzerlike bisect` does: one bundle after another, each in a worker process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tzerlike.arith.case import is_arith_bundle, read_arith_bundle
from tzerlike.bisect.record import BISECTION, Bisection, read_bisection
from tzerlike.bundle import Bundle, read_bundle
from tzerlike.errors import UserError
from tzerlike.family import Family
from tzerlike.observation import Stage
from tzerlike.oracles import ORACLES
from tzerlike.report.refresh import refresh_report

KINDS = ("crash", "hang", "oom", "ice-on-valid", "wrong-code", "slow-code")
"""Findings that come about in a compilation."""


@dataclass(frozen=True, slots=True)
class Bisected:
    """What became of one bundle: `bisection`, or in words why there is none."""

    path: Path
    why: str = ""
    bisection: Bisection | None = None

    def line(self) -> str:
        return f"{self.path}: {self.why if self.bisection is None else self.bisection.line()}"

    def to_json(self) -> dict[str, Any]:
        found = None if self.bisection is None else self.bisection.to_json()
        return {"bundle": str(self.path), "why": self.why, "bisection": found}


def bisect_bundles(
    paths: Sequence[Path], open_family: Callable[[], Family], tell: Callable[[Bisected], None] = lambda bisected: None
) -> list[Bisected]:
    """Bisect each bundle, and write its bisect.json and its report anew; `tell` hears of each as it ends.

    UserError on a bundle that cannot be read, before anything is done.
    """
    bundles = [(path, _compilation(path)) for path in paths]
    results = []
    with open_family() as family:
        for path, bundle in bundles:
            result = Bisected(path, "no finding of a compilation") if bundle is None else _bisected(bundle, family)
            tell(result)
            results.append(result)
    return results


def _compilation(path: Path) -> Bundle | None:
    """The bundle at `path`; None where what it holds did not come about in a compilation."""
    if is_arith_bundle(path):
        read_arith_bundle(path)
        return None
    bundle = read_bundle(path)
    if bundle.kind not in KINDS or bundle.observation.stage is Stage.MUTATE:
        return None
    _oracles_of(bundle)
    return bundle


def _bisected(bundle: Bundle, family: Family) -> Bisected:
    (answer,) = family.ask("bisect", {"path": str(bundle.path.resolve()), "oracles": _oracles_of(bundle)})
    if not answer["shows"]:
        return Bisected(bundle.path, f"does not show, so {BISECTION} stays as it is")
    refresh_report(bundle.path)
    return Bisected(bundle.path, bisection=read_bisection(bundle.path))


def _oracles_of(bundle: Bundle) -> list[str]:
    named = bundle.environment.get("oracles", ["crash"])
    if not isinstance(named, list) or not all(name in ORACLES for name in named):
        raise UserError(f"{bundle.path / 'observation.json'}: environment.oracles is not a list of oracles")
    return named
