"""Running bundles again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.core.observation import Exit
from tzerlike.core.progress import Steps, counted, untold
from tzerlike.core.results import Results
from tzerlike.core.untrusted import one_line
from tzerlike.findings.bundles.bundle import Bundle, OtherBundle, read_bundle, read_other_bundle
from tzerlike.findings.cases import harness_of
from tzerlike.findings.faults.bundle import FaultBundle, is_fault, read_fault
from tzerlike.oracles import loads_for, make_oracles
from tzerlike.plugins import harness_named
from tzerlike.processes.client import Client
from tzerlike.systems import TVM


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of one bundle: `same` of `times` runs showed its signature; `seen` says what the last one did.

    `otherwise` says what the first run came to that neither showed it nor had nothing wrong, "" where there is none:
    another finding, or an end that says nothing of the compiler. `unfit` says why it was not run at all: what it holds
    does not fit together, or this TVM.
    """

    bundle: Bundle | OtherBundle | FaultBundle
    times: int
    same: int
    seen: str
    otherwise: str = ""
    unfit: str = ""

    @property
    def kind(self) -> str:
        return "fault" if isinstance(self.bundle, FaultBundle) else self.bundle.kind

    @property
    def verdict(self) -> str:
        if self.unfit:
            return "cannot run"
        if self.same == self.times:
            return "shows"
        if self.same:
            return "flaky"
        return "cured" if isinstance(self.bundle, FaultBundle) else "does not show"

    def line(self) -> str:
        last = self.unfit or f"last run: {self.seen}"
        tail = "" if self.same == self.times else f" ({last})"
        flaky = " [flaky when it was found]" if self.bundle.flaky else ""
        return f"{self.verdict} {self.same}/{self.times}  {self.bundle.path}{flaky}{tail}"

    def to_json(self) -> dict[str, Any]:
        return {
            "bundle": str(self.bundle.path),
            "signature": self.bundle.signature,
            "times": self.times,
            "same": self.same,
            "verdict": self.verdict,
            "flaky": self.bundle.flaky,
            "last": self.unfit or self.seen,
        }


def load_bundle(path: Path) -> Bundle | OtherBundle:
    """Read a bundle of any harness with all that a replay goes by; UserError in one line that names the file."""
    harness = harness_of(path)
    if not harness.has_cases:
        return read_other_bundle(path, harness)
    bundle = read_bundle(path)
    if bundle.probe is None:
        oracles_of(bundle)
        return bundle
    try:
        bundle.probe.check(bundle.environment)
    except UserError as error:
        raise UserError(f"{path / 'observation.json'}: {error}") from error
    return bundle


def replay_bundles(
    paths: Sequence[Path],
    times: int,
    open_client: Callable[..., AbstractContextManager[Client]],
    steps: Steps = untold,
) -> list[Replayed]:
    """Run each bundle `times` times, each in a fresh child with a heap of its own; UserError on an unreadable one."""
    bundles = {path: _fault_in(path) if is_fault(path) else load_bundle(path) for path in paths}
    with open_client(**start_for(bundles.values())) as client:
        return [_replayed(bundles[path], times, client) for path in counted(paths, steps)]


def _replayed(bundle: Bundle | OtherBundle | FaultBundle, times: int, client: Client) -> Replayed:
    try:
        return replay_bundle(bundle, times, client)
    except UserError as error:
        return Replayed(bundle, times, 0, "", unfit=str(error))


def start_for(bundles: Iterable[Bundle | OtherBundle | FaultBundle]) -> dict[str, Any]:
    """What TVM is to be started with for bundles: their system, and what the oracles that found them load.

    UserError where there are several systems.
    """
    found = list(bundles)
    compilations = (one for one in found if isinstance(one, Bundle) and one.probe is None)
    loads = frozenset().union(*(loads_for(oracles_of(one)) for one in compilations))
    return {"system": system_of(found)} | ({"loads": loads} if loads else {})


def system_of(bundles: Iterable[Bundle | OtherBundle | FaultBundle]) -> str:
    """The system that bundles were found on; UserError where there are several."""
    names = {str(bundle.environment.get("system", TVM.name)) for bundle in bundles if isinstance(bundle, Bundle)}
    if len(names) > 1:
        raise UserError(f"bundles of several systems: {', '.join(sorted(names))}; name bundles of one system")
    return next(iter(names), TVM.name)


def _fault_in(path: Path) -> FaultBundle:
    """A fault of our own that was kept; UserError where there is nothing to run again."""
    kept = read_fault(path)
    if not kept.occasion.whole and harness_named(kept.file.campaign.harness).has_cases:
        raise UserError(
            f"{path}: this fault ({one_line(kept.file.doing, 40)}) did not occur on a case that can be run again"
        )
    return kept


def replay_bundle(bundle: Bundle | OtherBundle | FaultBundle, times: int, client: Client) -> Replayed:
    """Run a bundle `times` times; UserError where what it holds does not fit together, or this TVM."""
    if isinstance(bundle, FaultBundle):
        answers = _asked("repeat-fault", bundle.path, times, client)
        same = sum(bundle.signature in answer["faults"] for answer in answers)
        others = ", ".join(sorted(set(answers[-1]["faults"]) - {bundle.signature}))
        return Replayed(bundle, times, same, f"other faults: {others}" if others else "no fault")
    answers = _asked("judge-again", bundle.path, times, client)
    other = [each for each in answers if not any(bundle.shown_by(found["signatures"]) for found in each["findings"])]
    otherwise = next((_describe(each) for each in other if not _all_well(bundle, each)), "")
    return Replayed(bundle, times, times - len(other), _describe(answers[-1]), otherwise)


def _asked(role: str, path: Path, times: int, client: Client) -> Sequence[Mapping[str, Any]]:
    try:
        return client.ask(role, {"path": str(path.resolve()), "times": times})
    except UserError as error:
        told = str(error)
        raise UserError(told if str(path.resolve()) in told else f"{path}: {told}") from error


def _all_well(bundle: Bundle | OtherBundle, answer: Mapping[str, Any]) -> bool:
    """Whether nothing is wrong in a run: it has an end of the compiler's own, and computed what it is compared by."""
    if answer["findings"]:
        return False
    if "word" in answer:
        return True
    seen = answer["observation"]
    if seen["exit"] == Exit.OK.value and seen["results"] and bundle.kind in ("wrong-code", "slow-code"):
        return Results.from_json(seen["results"]).defined
    return seen["exit"] in (Exit.OK.value, Exit.REJECTED.value)


def oracles_of(bundle: Bundle) -> list[str]:
    """The oracles of the campaign that found it; a crash may have occurred in what only some of them do."""
    named = bundle.environment.get("oracles", ["crash"])
    where = f"{bundle.path / 'observation.json'}: environment.oracles"
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named) or not named:
        raise UserError(f"{where} is not a list of oracles")
    try:
        make_oracles(named)
    except UserError as error:
        raise UserError(f"{where} is not a list of oracles: {error}") from error
    return named


def _describe(answer: Mapping[str, Any]) -> str:
    if answer["findings"]:
        finding = answer["findings"][0]
        return f"{finding['kind']} {finding['signature']}: {' / '.join(finding['parts'])}"
    if "word" in answer:
        return f"nothing ({answer['word']})"
    seen = answer["observation"]
    not_run = Results.from_json(seen["results"]).not_run if seen["results"] else ""
    why = f", {not_run}" if not_run else f": {seen['message']}" if seen["exit"] == Exit.CONFINED.value else ""
    return f"{seen['exit']} in {seen['stage']}{why}"
