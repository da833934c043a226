"""Judging cases outside a campaign: `tzerlike run` and `tzerlike replay`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tzerlike.core.errors import UserError
from tzerlike.core.harness import TIR, harness_of
from tzerlike.core.limits import Limits
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Exit
from tzerlike.core.results import Results
from tzerlike.core.untrusted import one_line
from tzerlike.findings.bundles.bundle import About, Bundle, OtherBundle, read_bundle, read_other_bundle
from tzerlike.findings.faults.bundle import FaultBundle, is_fault, read_fault
from tzerlike.oracles import ORACLES, make_oracles
from tzerlike.processes.client import Client
from tzerlike.tir.allowlist.stored import require_graph
from tzerlike.tir.stored import read_stored_case


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of one bundle: `same` of `times` runs showed its signature; `seen` says what the last one did."""

    bundle: Bundle | OtherBundle | FaultBundle
    times: int
    same: int
    seen: str

    @property
    def verdict(self) -> str:
        if self.same == self.times:
            return "shows"
        if self.same:
            return "flaky"
        return "cured" if isinstance(self.bundle, FaultBundle) else "does not show"

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


def load_bundle(path: Path) -> Bundle | OtherBundle:
    """Read a bundle of any harness with all that a replay goes by; UserError in one line that names the file."""
    harness = harness_of(path)
    if harness.name != TIR:
        return read_other_bundle(path, harness)
    bundle = read_bundle(path)
    if bundle.about is About.SCHEDULE:
        _trace_of(bundle)
    elif bundle.about is About.MUTATION:
        _mutation_of(bundle)
    else:
        oracles_of(bundle)
    return bundle


def replay_bundles(paths: Sequence[Path], times: int, open_client: Callable[[], Client]) -> list[Replayed]:
    """Run each bundle `times` times, each in a fresh child with a heap of its own; UserError on an unreadable one."""
    bundles = [_fault_in(path) if is_fault(path) else load_bundle(path) for path in paths]
    with open_client() as client:
        return [replay_bundle(bundle, times, client) for bundle in bundles]


def _fault_in(path: Path) -> FaultBundle:
    """A fault of our own that was kept; UserError where there is nothing to run again."""
    kept = read_fault(path)
    if not kept.occasion.whole and kept.file.campaign.harness == "tir":
        raise UserError(
            f"{path}: this fault ({one_line(kept.file.doing, 40)}) came about on no case that could be run again"
        )
    return kept


def replay_bundle(bundle: Bundle | OtherBundle | FaultBundle, times: int, client: Client) -> Replayed:
    """Run a bundle `times` times; UserError where what it holds does not fit together, or this TVM."""
    if isinstance(bundle, FaultBundle):
        answers = client.ask("repeat-fault", {"path": str(bundle.path.resolve()), "times": times})
        same = sum(bundle.signature in answer["faults"] for answer in answers)
        others = ", ".join(sorted(set(answers[-1]["faults"]) - {bundle.signature}))
        return Replayed(bundle, times, same, f"other faults: {others}" if others else "no fault")
    if isinstance(bundle, OtherBundle):
        return _asked(bundle, times, client, bundle.harness.judge)
    match bundle.about:
        case About.SCHEDULE:
            given = {"inputs": _inputs_of(bundle), "trace": _trace_of(bundle)}
            return _asked(bundle, times, client, "judge-schedule", given)
        case About.TEXT:
            return _asked(bundle, times, client, "judge-text")
        case About.MUTATION:
            return _replay_mutation(bundle, times, client)
        case About.COMPILATION:
            # What is timed is left the heap of the campaign.
            item = _item(bundle, times) | {"inputs": _inputs_of(bundle), "still": bundle.kind == "slow-code"}
            answers = client.ask("judge-files", {"items": [item], "oracles": oracles_of(bundle)})
            return _replayed(bundle, times, answers)


def _item(bundle: Bundle | OtherBundle, times: int) -> dict[str, Any]:
    """What every role that runs a case again is asked."""
    return {
        "path": str(bundle.path.resolve() / "case.json"),
        "seconds": bundle.limits.seconds,
        "memory": bundle.limits.memory,
        "times": times,
    }


def _inputs_of(bundle: Bundle) -> str:
    return str(bundle.path.resolve() / "inputs.npz")


def oracles_of(bundle: Bundle) -> list[str]:
    """The oracles of the campaign that found it; a crash may have come about in what only some of them do."""
    named = bundle.environment.get("oracles", ["crash"])
    if not isinstance(named, list) or not all(isinstance(name, str) and name in ORACLES for name in named) or not named:
        raise UserError(f"{bundle.path / 'observation.json'}: environment.oracles is not a list of oracles")
    return named


def _mutation_of(bundle: Bundle) -> Mutation:
    try:
        return Mutation.from_json(bundle.environment.get("mutation", {}))
    except UserError as error:
        raise UserError(f"{bundle.path / 'observation.json'}: {error}") from error


def _replay_mutation(bundle: Bundle, times: int, client: Client) -> Replayed:
    mutation = _mutation_of(bundle).to_json()
    params = {"path": str(bundle.path.resolve() / "case.json"), "mutation": mutation, "times": times}
    answers = client.ask("mutate-again", params)
    same = sum(answer["signal"] == bundle.observation.signal for answer in answers)
    return Replayed(bundle, times, same, f"signal {answers[-1]['signal']}" if answers[-1]["signal"] else "no crash")


def _trace_of(bundle: Bundle) -> str:
    schedule = bundle.environment["schedule"]
    if not isinstance(schedule, dict) or not isinstance(schedule.get("trace"), str):
        raise UserError(f"{bundle.path / 'observation.json'}: environment.schedule has no trace")
    require_graph(schedule["trace"], f"{bundle.path / 'observation.json'}: environment.schedule.trace")
    return str(schedule["trace"])


def _asked(
    bundle: Bundle | OtherBundle, times: int, client: Client, role: str, given: Mapping[str, str] = MappingProxyType({})
) -> Replayed:
    """Replay what a role of its own looks at: a schedule, the text of a program, or a claim of the analyzer."""
    return _replayed(bundle, times, client.ask(role, {**_item(bundle, times), **given}))


def _replayed(bundle: Bundle | OtherBundle, times: int, answers: Sequence[Mapping[str, Any]]) -> Replayed:
    same = sum(any(f["signature"] == bundle.signature for f in answer["findings"]) for answer in answers)
    return Replayed(bundle, times, same, _describe(answers[-1]))


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


def judge_file(
    path: Path,
    open_client: Callable[[], Client],
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
    with open_client() as client:
        if path.suffix == ".json":
            read_stored_case(path)
            item = {
                "path": str(path),
                "seconds": limits.seconds,
                "memory": limits.memory,
                "times": 1,
            }
            (answer,) = client.ask("judge-files", {"items": [item], "oracles": list(oracles)})
        else:
            params = {
                "path": str(path),
                "passes": passes,
                "function": function,
                "target": target,
                "input_seed": input_seed,
                "oracles": list(oracles),
                "seconds": limits.seconds,
                "memory": limits.memory,
            }
            (answer,) = client.ask("judge-script", params)
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
    """What the interpreter says; `unknown` without a rule where it was not asked."""
    supported = (seen["rejection"] or {}).get("support") == "defined"
    results = seen["results"] or {"verdict": "defined" if supported else "unknown", "rule": "", "where": ""}
    return {"verdict": results["verdict"], "rule": results["rule"] or None, "where": results["where"] or None}
