"""Judging cases outside a campaign: `tzerlike run` and `tzerlike replay`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tzerlike.arith.case import ArithBundle, is_arith_bundle, read_arith_bundle
from tzerlike.bundle import Bundle, read_bundle
from tzerlike.campaign import read_stored_case
from tzerlike.errors import UserError
from tzerlike.family import Family
from tzerlike.limits import Limits
from tzerlike.mutation import Mutation
from tzerlike.observation import Stage
from tzerlike.oracles import ORACLES, make_oracles
from tzerlike.oracles.finding import ROUND_TRIP


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of one bundle: `same` of `times` runs showed its signature; `seen` says what the last one did."""

    bundle: Bundle | ArithBundle
    times: int
    same: int
    seen: str

    @property
    def verdict(self) -> str:
        if self.same == self.times:
            return "shows"
        return "flaky" if self.same else "does not show"

    def line(self) -> str:
        tail = "" if self.same == self.times else f" (last run: {self.seen})"
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
            "last": self.seen,
        }


def load_bundle(path: Path) -> Bundle | ArithBundle:
    """Read a bundle of either harness with all that a replay goes by; UserError in one line that names the file."""
    if is_arith_bundle(path):
        return read_arith_bundle(path)
    bundle = read_bundle(path)
    if "schedule" in bundle.environment:
        _trace_of(bundle)
    elif bundle.observation.stage is Stage.MUTATE:
        _mutation_of(bundle)
    else:
        _oracles_of(bundle)
    return bundle


def replay_bundles(paths: Sequence[Path], times: int, open_family: Callable[[], Family]) -> list[Replayed]:
    """Run each bundle `times` times, each in a fresh child with a heap of its own; UserError on an unreadable one."""
    bundles = [load_bundle(path) for path in paths]
    results = []
    with open_family() as family:
        for bundle in bundles:
            if isinstance(bundle, ArithBundle):
                results.append(_replay_arith(bundle, times, family))
                continue
            if "schedule" in bundle.environment:
                results.append(_replay_schedule(bundle, times, family))
                continue
            if bundle.parts[:1] == (ROUND_TRIP,):
                results.append(_asked(bundle, times, family, "judge-text", {}))
                continue
            if bundle.observation.stage is Stage.MUTATE:
                results.append(_replay_mutation(bundle, times, family))
                continue
            item = {
                "path": str((bundle.path / "case.json").resolve()),
                "seconds": bundle.limits.seconds,
                "memory": bundle.limits.memory,
                "times": times,
                "inputs": str((bundle.path / "inputs.npz").resolve()),
                # What is timed is left the heap of the campaign.
                "still": bundle.kind == "slow-code",
            }
            answers = family.ask("judge-files", {"items": [item], "oracles": _oracles_of(bundle)})
            same = sum(any(f["signature"] == bundle.signature for f in answer["findings"]) for answer in answers)
            results.append(Replayed(bundle, times, same, _describe(answers[-1])))
    return results


def _replay_arith(bundle: ArithBundle, times: int, family: Family) -> Replayed:
    params = {
        "path": str((bundle.path / "case.json").resolve()),
        "seconds": bundle.limits.seconds,
        "memory": bundle.limits.memory,
        "times": times,
    }
    answers = family.ask("judge-arith", params)
    same = sum(any(f["signature"] == bundle.signature for f in answer["findings"]) for answer in answers)
    return Replayed(bundle, times, same, _describe(answers[-1]))


def _oracles_of(bundle: Bundle) -> list[str]:
    """The oracles of the campaign that found it; a crash may have come about in what only some of them do."""
    named = bundle.environment.get("oracles", ["crash"])
    if not isinstance(named, list) or not all(isinstance(name, str) and name in ORACLES for name in named):
        raise UserError(f"{bundle.path / 'observation.json'}: environment.oracles is not a list of oracles")
    return named


def _mutation_of(bundle: Bundle) -> Mutation:
    try:
        return Mutation.from_json(bundle.environment.get("mutation", {}))
    except UserError as error:
        raise UserError(f"{bundle.path / 'observation.json'}: {error}") from error


def _replay_mutation(bundle: Bundle, times: int, family: Family) -> Replayed:
    mutation = _mutation_of(bundle).to_json()
    params = {"path": str((bundle.path / "case.json").resolve()), "mutation": mutation, "times": times}
    answers = family.ask("mutate-again", params)
    same = sum(answer["signal"] == bundle.observation.signal for answer in answers)
    return Replayed(bundle, times, same, f"signal {answers[-1]['signal']}" if answers[-1]["signal"] else "no crash")


def _trace_of(bundle: Bundle) -> str:
    schedule = bundle.environment["schedule"]
    if not isinstance(schedule, dict) or not isinstance(schedule.get("trace"), str):
        raise UserError(f"{bundle.path / 'observation.json'}: environment.schedule has no trace")
    return str(schedule["trace"])


def _replay_schedule(bundle: Bundle, times: int, family: Family) -> Replayed:
    given = {"inputs": str((bundle.path / "inputs.npz").resolve()), "trace": _trace_of(bundle)}
    return _asked(bundle, times, family, "judge-schedule", given)


def _asked(bundle: Bundle, times: int, family: Family, role: str, given: Mapping[str, str]) -> Replayed:
    """Replay what a role of its own looks at: a schedule, or the text of a program."""
    params = {
        "path": str((bundle.path / "case.json").resolve()),
        "seconds": bundle.limits.seconds,
        "memory": bundle.limits.memory,
        "times": times,
        **given,
    }
    answers = family.ask(role, params)
    same = sum(any(f["signature"] == bundle.signature for f in answer["findings"]) for answer in answers)
    last = answers[-1]
    return Replayed(bundle, times, same, f"nothing ({last['word']})" if not last["findings"] else _found(last))


def _describe(answer: dict[str, Any]) -> str:
    if answer["findings"]:
        return _found(answer)
    seen = answer["observation"]
    return f"{seen['exit']} in {seen['stage']}"


def _found(answer: dict[str, Any]) -> str:
    finding = answer["findings"][0]
    return f"{finding['kind']} {finding['signature']}: {' / '.join(finding['parts'])}"


def judge_file(
    path: Path,
    open_family: Callable[[], Family],
    *,
    passes: str,
    function: str | None,
    target: str,
    oracles: Sequence[str],
    input_seed: int,
    seconds: float,
    memory: int,
) -> dict[str, Any]:
    """Judge a case.json or a TVMScript file as a campaign would; returns what `tzerlike run --json` prints."""
    make_oracles(oracles)
    limits = Limits(seconds, memory)
    if not path.is_file():
        raise UserError(f"{path}: not found")
    path = path.resolve()
    with open_family() as family:
        if path.suffix == ".json":
            read_stored_case(path)
            item = {
                "path": str(path.resolve()),
                "seconds": limits.seconds,
                "memory": limits.memory,
                "times": 1,
            }
            (answer,) = family.ask("judge-files", {"items": [item], "oracles": list(oracles)})
        else:
            params = {
                "path": str(path.resolve()),
                "passes": passes,
                "function": function,
                "target": target,
                "input_seed": input_seed,
                "oracles": list(oracles),
                "seconds": limits.seconds,
                "memory": limits.memory,
            }
            (answer,) = family.ask("judge-script", params)
    seen = answer["observation"]
    found = answer["findings"]
    return {
        "exit": seen["exit"],
        "stage": seen["stage"],
        "message": seen["message"],
        "reference": _reference(seen),
        "finding": {key: found[0][key] for key in ("kind", "signature", "blame")} if found else None,
    }


def _reference(seen: dict[str, Any]) -> dict[str, Any]:
    """What the reference interpreter says; `unknown` without a rule where it was not asked."""
    supported = (seen["rejection"] or {}).get("support") == "defined"
    results = seen["results"] or {"verdict": "defined" if supported else "unknown", "rule": "", "where": ""}
    return {"verdict": results["verdict"], "rule": results["rule"] or None, "where": results["where"] or None}
