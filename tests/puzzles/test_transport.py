"""Shards that talk over a transport that loses, repeats and delays messages: each still ends with whole files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import pytest

from tests.puzzles.test_faults import ITERATIONS, events_of, fuzz
from tzerlike.campaign import worker
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.shard import Shard
from tzerlike.campaign.state import read_pool, read_state
from tzerlike.campaign.stats import add_up
from tzerlike.core.observation import Exit
from tzerlike.core.stored import StoredCase


class Lossy:
    """The end of one shard of a network that loses a third of the messages, repeats a third, and keeps no order."""

    def __init__(self, air: list[StoredCase], seed: int = 1) -> None:
        self.air = air
        self.delivered: list[str] = []
        self._rng = Random(seed)
        self._heard = 0

    def send(self, stored: StoredCase) -> None:
        self.air.append(stored)

    def received(self) -> Iterator[StoredCase]:
        arriving = [stored for stored in self.air[self._heard :] for _ in range(self._rng.randrange(3))]
        self._heard = len(self.air)
        self._rng.shuffle(arriving)
        for stored in arriving:
            self.delivered.append(stored.case.id)
            yield stored

    def skip(self, case_ids: Iterable[str]) -> None:
        """What comes once more does no harm."""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[CampaignDir], list[Lossy]]:
    """A campaign of two shards on two machines, each with a directory of its own; the second runs after the first."""
    root, air = tmp_path_factory.mktemp("nodes"), list[StoredCase]()
    ends = [Lossy(air, 1), Lossy(air, 2)]
    places = [
        fuzz(CampaignDir(root / str(node)), {}, ITERATIONS, Shard(0, 2, node, first=node), end)
        for node, end in enumerate(ends)
    ]
    return places, ends


@pytest.mark.long
def test_each_shard_does_its_part_of_the_iterations(nodes: tuple[list[CampaignDir], list[Lossy]]) -> None:
    places, _ = nodes
    states = [read_state(place.worker_state(index)) for index, place in enumerate(places)]
    assert [state.worker for state in states] == [0, 1]
    assert [state.iterations for state in states] == [ITERATIONS // 2] * 2
    total = add_up(states, 0, Counter())
    assert total["iterations"] == ITERATIONS
    events = [event for index, place in enumerate(places) for event in events_of(place, index)]
    counted = Counter(event["exit"] for event in events)
    assert {exit_: count for exit_, count in total["exits"].items() if exit_ in list(Exit)} == counted
    assert total["pairs"] == counted.total() + total["exits"].get("shrink-ok", 0)


@pytest.mark.long
def test_what_came_through_is_in_the_corpus_and_every_file_is_whole(
    nodes: tuple[list[CampaignDir], list[Lossy]],
) -> None:
    places, ends = nodes
    arrived = set(ends[1].delivered)
    sent = {stored.case.id for stored in ends[0].air if stored.provenance.worker == 0}
    assert arrived & sent and sent - arrived, "some are lost, and some are not"
    for index, place in enumerate(places):
        stored = [place.load_case(case_id) for case_id in place.corpus_ids()]
        held = {case_id for case_id, _ in read_pool(place.worker_pool(index)).entries}
        assert held == {one.case.id for one in stored}
        assert {one.case.id for one in stored if one.provenance.worker != index} <= set(ends[index].delivered)
    assert arrived <= set(places[1].corpus_ids()) | {stored.case.id for stored in ends[1].air}


@pytest.mark.long
def test_a_shard_goes_on_with_what_it_got(nodes: tuple[list[CampaignDir], list[Lossy]], tmp_path: Path) -> None:
    places, ends = nodes
    before = read_pool(places[1].worker_pool(1))
    fuzz(places[1], {}, 2 * ITERATIONS, Shard(0, 2, 1, first=1), Lossy(ends[0].air))
    state, after = read_state(places[1].worker_state(1)), read_pool(places[1].worker_pool(1))
    assert state.iterations == ITERATIONS
    assert [case_id for case_id, _ in before.entries] == [case_id for case_id, _ in after.entries][
        : len(before.entries)
    ]
    assert state.problems == []
    # What mutations of an entry found before counts on.
    counted = list(zip(before.yields, after.yields, strict=False))
    assert any(tried for (tried, _), _ in counted)
    assert all(tried <= later and won <= found for (tried, won), (later, found) in counted)


@pytest.mark.long
def test_much_that_comes_at_once_is_taken_over_bit_by_bit(
    nodes: tuple[list[CampaignDir], list[Lossy]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, ends = nodes
    monkeypatch.setattr(worker, "ADOPTED_AT_ONCE", 2)
    monkeypatch.setattr(worker, "EXCHANGE_EVERY", ITERATIONS // 8)
    end = Lossy([one for one in ends[0].air if one.provenance.worker == 0])
    place = fuzz(CampaignDir(tmp_path / "late"), {}, ITERATIONS, Shard(0, 2, 1, first=1), end)
    taken = [one for one in map(place.load_case, place.corpus_ids()) if one.provenance.worker == 0]
    assert len({one.case.id for one in end.air if one.provenance.worker == 0}) > 20
    assert 2 < len(taken) <= 2 * 4, "what a look leaves comes with the next one, and no look takes more"


def test_shards_share_out_everything_once() -> None:
    shards = [Shard(slot, 5, node, first) for node, first, slots in ((0, 0, 2), (1, 2, 3)) for slot in range(slots)]
    assert [shard.index for shard in shards] == list(range(5))
    assert sorted(one for shard in shards for one in shard.of(range(23))) == list(range(23))
    assert sum(shard.quota(23) or 0 for shard in shards) == 23
    assert [shard.quota(None) for shard in shards] == [None] * 5
    assert [sum(shard.owns(f"{number:08x}") for shard in shards) for number in range(50)] == [1] * 50
