"""Looks at programs that TVM's verifiers or the compiler may die of: what the worker makes of each end of the child."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import pytest

from tzerlike.core.case import Case, PassSpec
from tzerlike.core.effort import Check, Effort
from tzerlike.core.limits import Limits
from tzerlike.core.observation import NOT_KEPT, Exit, Observation, Offence, Stage
from tzerlike.core.results import Rejection
from tzerlike.execution import rejection
from tzerlike.execution.diagnosis.ask import ask_walk
from tzerlike.execution.diagnosis.walk import VERIFYING, Change, Walk
from tzerlike.execution.origin import as_record, with_origin
from tzerlike.execution.rejection import weighed
from tzerlike.oracles.crash import judge_crash
from tzerlike.oracles.internal_error import judge_internal_error
from tzerlike.passes.label import Label
from tzerlike.processes.channel import Channel
from tzerlike.systems import tvm_api

INTERNAL = Label.INTERNAL_ERROR.value
EFFORT = Effort(frozenset({Check.REJECTIONS}))
REFUSED = Observation(Exit.REJECTED, Stage.BUILD, "InternalError: no", "tirx.P", rejection=Rejection(INTERNAL))
DIED = Observation(Exit.CRASH, Stage.BUILD_BASELINE, "SIGSEGV", signal=11)

Answer = tuple[list[dict[str, Any]], Observation | None]


def record(well_formed: bool = False, support: str = "") -> dict[str, Any]:
    return Rejection(INTERNAL, well_formed, support).to_json()


def after(answer: Answer, seen: Observation = REFUSED, effort: Effort = EFFORT) -> Observation:
    def call(job: str, item: Mapping[str, Any], limits: Limits | None = None) -> Answer:
        return answer

    return weighed(call, Case("{}"), seen, Limits(), effort)


@pytest.mark.parametrize(
    ("answer", "well_formed", "support"),
    [
        (([], DIED), False, ""),
        (([record()], None), False, ""),
        (([record()], DIED), False, ""),
        (([record(), record(True), record(True, "defined")], None), True, "defined"),
        (([record(), record(True), record(True)], None), True, ""),
        (([record(), record(True), record(True, "defined") | {"sources": []}], DIED), True, "defined"),
    ],
    ids=["died at once", "ill-formed", "a verifier died", "defined", "nothing speaks for it", "died over the origin"],
)
def test_a_refusal_is_weighed_by_how_far_the_look_came(answer: Answer, well_formed: bool, support: str) -> None:
    seen = after(answer)
    assert seen.rejection == Rejection(INTERNAL, well_formed, support)
    assert (seen.exit, seen.stage, seen.message) == (REFUSED.exit, REFUSED.stage, REFUSED.message)


def test_a_compiler_that_dies_of_it_without_optimisation_is_what_counts() -> None:
    assert after(([record(), record(True)], DIED)) is DIED


ORIGIN = Offence("types", "tirx.Q", "buffer", "a buffer laid out by int32x8")


def test_who_broke_what_the_failing_pass_was_given_is_to_blame() -> None:
    seen = after(([record(), record(True), record(True, "defined") | as_record(ORIGIN)], None))
    assert (seen.origin, seen.culprit, seen.pass_name) == (ORIGIN, "tirx.Q", "tirx.P")
    assert after(([record(), record(True), record(True, "defined") | as_record(None)], None)).culprit == "tirx.P"
    finding = judge_internal_error(Case("{}"), seen)
    assert finding is not None
    assert finding.parts[0] == "Q"
    assert Observation.from_json(json.loads(json.dumps(seen.to_json()))).origin == ORIGIN


@pytest.mark.parametrize(
    ("answer", "culprit"),
    [
        (([as_record(ORIGIN)], DIED), "tirx.Q"),
        (([as_record(ORIGIN), as_record(None)], DIED), "tirx.P"),
        (([], DIED), "tirx.P"),
        (([as_record(ORIGIN)], None), "tirx.P"),
    ],
    ids=["given as it was left", "mended before", "nothing broken", "it does not die again"],
)
def test_a_crash_is_due_to_what_was_left_to_the_pass(answer: Answer, culprit: str) -> None:
    crash = Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV", "tirx.P", 11)
    seen = with_origin(lambda *_, **__: answer, Case("{}"), crash, Limits(), EFFORT)
    assert seen.culprit == culprit
    finding = judge_crash(Case("{}"), seen)
    assert finding is not None
    assert finding.parts[:2] == ("passes", culprit.removeprefix("tirx."))


@pytest.mark.parametrize(
    ("without", "culprit"),
    [(([{"built": True}], None), "tirx.Q"), (([], DIED), "tirx.P"), (([as_record(None)], None), "tirx.P")],
    ids=["all is well without it", "it dies without it too", "it is refused without it"],
)
def test_who_is_under_suspicion_of_a_crash_is_blamed_where_there_is_none_without(without: Answer, culprit: str) -> None:
    crash = Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV", "tirx.P", 11)
    asked: list[Case] = []

    def call(job: str, item: Mapping[str, Any], limits: Limits | None = None) -> Answer:
        asked.append(Case.from_json(item["case"]))
        suspicion = asdict(replace(ORIGIN, check=NOT_KEPT))
        return without if len(asked) > 1 else ([as_record(None) | {"suspicion": suspicion}], DIED)

    seen = with_origin(call, Case("{}", (PassSpec("tirx.Q"),)), crash, Limits(), EFFORT)
    assert seen.culprit == culprit
    assert (asked[1].passes, asked[1].config.disabled_passes) == ((), ("tirx.Q",))


def test_nothing_else_is_looked_at() -> None:
    asked = ([record(True, "defined")], None)
    other = Observation(Exit.REJECTED, Stage.BUILD, rejection=Rejection(Label.DOCUMENTED_REFUSAL.value))
    assert after(asked, other) is other
    assert after(asked, effort=Effort()) is REFUSED
    assert after(asked, DIED) is DIED


@pytest.mark.parametrize("change", [Change.ILL_FORMED, Change.ILL_TYPED, Change.LEFTOVER, Change.RAISED])
def test_the_walk_of_a_death_names_who_broke_what_the_pass_was_given(change: Change) -> None:
    died = Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", signal=11)
    before = Walk(2, change, ("tirx.Q",), 0)

    def call(job: str, item: Mapping[str, Any], limits: Limits | None = None) -> Answer:
        if item["stop"] is None:
            return [{"at": 0, "name": "tirx.Q"}, {"at": None, "name": ""}, {"at": 1, "name": "tirx.P"}], died
        return [{"walk": json.loads(json.dumps(before.to_json()))}], None

    walk = ask_walk(call, Case("{}"))
    assert walk is not None
    assert walk.suspects == (("tirx.P",) if change is Change.RAISED else ("tirx.Q",))


def test_a_module_that_a_verifier_dies_of_is_as_good_as_refused() -> None:
    found = Walk(3, Change.ILL_FORMED, ("tirx.P",), 1)
    given: list[list[int]] = []

    def call(job: str, item: Mapping[str, Any], limits: Limits | None = None) -> Answer:
        given.append(list(item["fatal"]))
        deadly = next((place for place in (2, 1) if place not in item["fatal"]), None)
        if deadly is None:
            return [{VERIFYING: 0}, {"walk": json.loads(json.dumps(found.to_json()))}], None
        return [{VERIFYING: deadly}], DIED

    assert ask_walk(call, Case("{}")) == found
    assert given == [[], [2], [2, 1]]


@pytest.mark.parametrize(("verdict", "asked"), [("defined", True), ("undefined", False)])
def test_whose_fault_a_refusal_is_is_asked_only_of_what_something_speaks_for(
    monkeypatch: pytest.MonkeyPatch, verdict: str, asked: bool
) -> None:
    guilty = Offence(NOT_KEPT, "tirx.Guilty", "", "")
    planted = {
        "label_rejection": lambda *how: Rejection(INTERNAL),
        "_maker_of_ill_formed": lambda *how: "",
        "verdict_of": lambda *how: verdict,
        "_origin": lambda *how: guilty if asked else pytest.fail("nobody asks"),
    }
    for name, answer in planted.items():
        monkeypatch.setattr(rejection, name, answer)
    monkeypatch.setattr(tvm_api, "load_ir", lambda text: None)
    monkeypatch.setattr(signal, "setitimer", lambda which, seconds: None)
    channel = Channel()
    case = Case('{"root_index": 0, "nodes": [{"type": "None"}]}')
    item = {"case": case.to_json(), "effort": EFFORT.to_json(), "pass": "", "message": "no", "of source": False}
    rejection.weigh(item, channel, 1.0)
    seen = after((list(channel.results()), None))
    assert seen.rejection == Rejection(INTERNAL, True, "defined" if asked else "")
    assert seen.origin == (guilty if asked else None)
