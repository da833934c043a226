"""The oracles of types and of immutability on fabricated observations: no TVM."""

from __future__ import annotations

import json
from dataclasses import replace

from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.effort import Check
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, Offence, Stage
from tzerlike.execution.offences import SHARES, checks_due
from tzerlike.oracles import account_of, effort_for, judged, make_oracles
from tzerlike.oracles.ill_typed import wrong_in_words
from tzerlike.passes.naming import short_name
from tzerlike.reporting.triage.cause import cause_of

CASE = Case('{"nodes": []}')
TYPES = Offence("types", "tirx.A", "call", "tirx.popcount of int32 typed int64")
INPUT = Offence("immutability", "tirx.B", "input", "the module that it is given")
OTHER = replace(INPUT, pass_name="tirx.C")
SEEN = Observation(Exit.OK, Stage.DONE, offences=(TYPES, INPUT, OTHER))
ORACLES = make_oracles(("ill-typed", "immutability"))


def found(seen: Observation = SEEN, case: Case = CASE) -> list[Finding]:
    return judged(ORACLES, case, seen)


def test_each_offence_is_a_finding_of_its_own() -> None:
    assert [finding.kind for finding in found()] == ["invalid-ir"] * 3
    assert [finding.parts for finding in found()] == [
        ("ill-typed", "A", "call"),
        ("immutability", "B"),
        ("immutability", "C"),
    ]
    assert found(replace(SEEN, offences=())) == []


def test_a_program_that_was_refused_later_on_counts_as_well() -> None:
    assert len(found(replace(SEEN, exit=Exit.REJECTED, stage=Stage.BUILD))) == 3


def test_types_do_not_count_behind_a_pass_that_was_misused() -> None:
    misused = Case(CASE.ir, (PassSpec("tirx.SplitHostDevice"),), ContextConfig(pipeline="none"))
    assert [finding.parts[0] for finding in found(case=misused)] == ["immutability", "immutability"]


def test_a_bundle_says_what_its_own_pass_did() -> None:
    for finding in found():
        (offence,) = finding.observation.offences
        account = account_of(finding, finding.observation, {})
        assert account.place == offence.pass_name
        assert short_name(offence.pass_name) in account.headline
        again = Observation.from_json(json.loads(json.dumps(finding.observation.to_json())))
        assert again.offences == (offence,)
        cause = cause_of(finding.kind, again)
        assert cause is not None
        assert cause.guilty == offence.pass_name.rpartition(".")[2]


def test_what_is_ill_typed_or_was_changed_is_named_where_that_is_known() -> None:
    placed, named = (
        account_of(finding, replace(finding.observation, offences=(offence,)), {})
        for finding, offence in zip(
            found()[:2],
            (replace(TYPES, place="the store to B"), replace(INPUT, where="afterwards main has the attribute a")),
            strict=True,
        )
    )
    assert placed.quoted == "tirx.popcount(int32) -> int64 (the store to B)"
    assert named.actual == "modifies its input in place: afterwards main has the attribute a."


def test_a_damaged_bundle_has_no_account() -> None:
    for finding in found():
        assert account_of(finding, replace(finding.observation, offences=()), {}).headline == ""


def test_the_child_is_asked_for_what_the_oracles_need() -> None:
    assert effort_for(("ill-typed",)).checks == {Check.TYPES}
    assert effort_for(("crash",)).checks == frozenset()


def test_a_single_case_is_always_looked_at_and_of_a_campaign_a_share() -> None:
    checks = frozenset(SHARES)
    assert set(checks_due(checks, "00000001" * 8, exploring=False)) == checks
    assert checks_due(frozenset(), "00000000" * 8, exploring=True) == []
    due = [checks_due(checks, f"{number:08x}", exploring=True) for number in range(800)]
    assert {check: sum(check in one for one in due) for check in checks} == {
        check: 800 // share for check, share in SHARES.items()
    }


def test_one_stride_is_no_plural() -> None:
    assert wrong_in_words("1 strides for 2 dimensions") == "1 stride for 2 dimensions"
    assert wrong_in_words("11 strides for 12 dimensions") == "11 strides for 12 dimensions"
    assert wrong_in_words("tirx.popcount of int32 typed int64") == "tirx.popcount(int32) -> int64"
    assert wrong_in_words("tirx.f of nothing typed int64") == "tirx.f() -> int64"
    assert wrong_in_words("Let with a body of int32 typed int64") == "Let with a body of int32 that has dtype int64"
