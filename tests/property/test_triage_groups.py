"""Triage is a partition of the bundles that no order changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tzerlike.findings.known import Known, KnownEntry
from tzerlike.reporting.triage.cause import Cause
from tzerlike.reporting.triage.groups import agreed_cause, triage
from tzerlike.reporting.triage.sightings import Sighting, Sightings

KINDS = ("crash", "wrong-code", "ice-on-valid")


@st.composite
def sighting(draw: st.DrawFn) -> Sighting:
    kind = draw(st.sampled_from(KINDS))
    guilty = draw(st.sampled_from(["", "A", "B"]))
    number = draw(st.integers(0, 9))
    # As a signature is a hash of the kind among others, no two kinds share one.
    signature = f"{kind}{draw(st.integers(0, 5))}"
    return Sighting(
        path=Path(draw(st.sampled_from("xyz")), f"{number}-{draw(st.integers(0, 999))}"),
        kind=kind,
        signature=signature,
        signatures=(signature, f"old {signature}"),
        title=f"{kind}: {number}",
        message="",
        cause=Cause(kind, guilty, "failed") if guilty else None,
        bisected=bool(guilty) and draw(st.booleans()),
        case_id=str(number),
        size=draw(st.integers(1, 3)),
        version="0.27.0",
        first_seen=draw(st.none() | st.floats(0, 100)),
        runs=2,
        same=draw(st.integers(0, 2)),
    )


some = st.lists(sighting(), max_size=12, unique_by=lambda s: s.path)
KNOWN = Known((KnownEntry("https://x", pattern=": 3"), KnownEntry("https://y", signature="crash1")))


def of(bundles: list[Sighting]) -> Sightings:
    return Sightings(tuple(bundles), versions=("0.27.0",))


@given(some, st.randoms(use_true_random=False))
def test_no_order_changes_it(bundles: list[Sighting], random: object) -> None:
    shuffled = list(bundles)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert triage(of(shuffled), KNOWN) == triage(of(bundles), KNOWN)


@given(some)
def test_every_bundle_is_in_one_group_and_a_signature_too(bundles: list[Sighting]) -> None:
    groups = triage(of(bundles), Known()).groups
    members = [member.path for group in groups for member in group.members]
    assert sorted(members) == sorted(bundle.path for bundle in bundles)
    signatures = [signature for group in groups for signature in group.signatures]
    assert len(signatures) == len(set(signatures))
    assert all(len({member.kind for member in group.members}) == 1 for group in groups)


@given(some)
def test_signatures_are_together_if_and_only_if_they_have_one_cause(bundles: list[Sighting]) -> None:
    groups = triage(of(bundles), Known()).groups
    home = {signature: number for number, group in enumerate(groups) for signature in group.signatures}
    causes = {s: agreed_cause([b for b in bundles if b.signature == s]) for s in home}
    for first in home:
        for second in home:
            same = first == second or (causes[first] is not None and causes[first] == causes[second])
            assert (home[first] == home[second]) is same


@given(some)
def test_the_representative_is_the_smallest(bundles: list[Sighting]) -> None:
    for group in triage(of(bundles), Known()).groups:
        assert all(group.representative.rank <= member.rank for member in group.members)


@given(some.filter(bool))
def test_a_bundle_seen_twice_changes_no_group(bundles: list[Sighting]) -> None:
    again = replace(bundles[0], path=Path("copy"))
    before = {group.signatures for group in triage(of(bundles), Known()).groups}
    assert {group.signatures for group in triage(of([*bundles, again]), Known()).groups} == before


@given(some)
def test_a_group_is_known_when_one_of_it_is(bundles: list[Sighting]) -> None:
    found = triage(of(bundles), KNOWN)
    for group in found.groups:
        assert (group.known is not None) is any(m.signature == "crash1" or ": 3" in m.title for m in group.members)
    shown = {e.label for b in bundles if (e := KNOWN.match(b.signatures, b.title, "", "0.27.0"))}
    assert {entry.label for entry in found.silent} == {entry.label for entry in KNOWN.entries} - shown
