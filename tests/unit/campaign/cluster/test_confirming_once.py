"""One machine at a time confirms a finding, and answers come while it waits."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.unit.campaign.cluster.machines import Machine
from tzerlike.campaign.claims import Claims
from tzerlike.campaign.cluster import at_work
from tzerlike.campaign.cluster.coordinator import Coordinator


def claims_of(machine: Machine) -> Claims:
    """The claims of a machine's worker, to whom messages come while it waits."""

    def wait() -> None:
        machine.exchange()

    return Claims(machine.directory.root, machine.node, wait)


def test_one_machine_at_a_time_confirms_a_finding(pair: tuple[Coordinator, Machine, Machine]) -> None:
    _coordinator, one, other = pair
    with claims_of(one).held("abc") as first, claims_of(other).held("abc") as second:
        assert first and not second
        with claims_of(other).held("another") as ours:
            assert ours


def test_what_one_machine_could_not_confirm_another_may(
    pair: tuple[Coordinator, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    _coordinator, one, other = pair
    with claims_of(one).held("abc"), claims_of(other).held("abc") as ours:
        assert not ours
    # That the first is done may not be heard of.
    monkeypatch.setattr("tzerlike.campaign.cluster.coordinator._LAPSES", -1.0)
    with claims_of(other).held("abc") as ours:
        assert ours
    assert not list(other.directory.claims.iterdir())


def test_a_claim_lasts_as_long_as_it_is_wished_for(
    pair: tuple[Coordinator, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    _coordinator, one, other = pair
    now = 0.0
    monkeypatch.setattr("tzerlike.campaign.cluster.coordinator.time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr("tzerlike.campaign.cluster.merged.time", SimpleNamespace(monotonic=lambda: now))
    with claims_of(one).held("abc"):
        for now in (20.0, 40.0, 60.0):  # noqa: B007 - the clock
            one.exchange()
        with claims_of(other).held("abc") as ours:
            assert not ours


def test_a_worker_that_waits_is_answered_before_the_next_parcel_is_due(
    pair: tuple[Coordinator, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    _coordinator, one, _other = pair
    slept: list[float] = []
    monkeypatch.setattr(at_work, "EVERY", 1.0)
    monkeypatch.setattr(at_work, "time", SimpleNamespace(monotonic=lambda: 0.3 * len(slept), sleep=slept.append))

    def looks() -> int:
        slept.clear()
        at_work._pause(one.directory.claims)
        return len(slept)

    assert looks() == 4
    monkeypatch.setattr("tzerlike.campaign.claims._PATIENCE", 0.0)
    claims_of(one)._lay("abc")
    assert looks() == 1
    one.exchange()
    assert looks() == 4


def test_an_answer_that_comes_late_stands_in_nobodys_way(
    pair: tuple[Coordinator, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    _coordinator, one, other = pair
    with claims_of(one).held("abc"):
        monkeypatch.setattr("tzerlike.campaign.claims._PATIENCE", 0.0)
        claims = claims_of(other)
        claims._lay("abc")
        parcel = other.mirror.parcel()
        answer = other.coordinator.exchange(other.node, other.epoch, parcel)
        claims._give_up("abc")
        other.mirror.take(parcel, answer)
        assert parcel.wishes and not list(other.directory.claims.iterdir())
