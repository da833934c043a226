"""A campaign's reductions on a fake compiler whose one signature has two causes."""

from __future__ import annotations

import json
import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.data.toy_harness.tzerlike_lists import PASSES, ListHarness
from tests.puzzles.conftest import LIMITS, served
from tzerlike.campaign import reducing
from tzerlike.campaign.reducing import Reductions
from tzerlike.campaign.state import ToReduce, WorkerState
from tzerlike.core.archive import no_arrays
from tzerlike.core.case import Case, PassSpec, Provenance
from tzerlike.core.effort import Effort
from tzerlike.core.finding import FIRST_TIER, SECOND_TIER, Finding
from tzerlike.core.harness import HARNESSES, HarnessRow
from tzerlike.core.observation import Exit, Stage
from tzerlike.core.stored import StoredCase
from tzerlike.coverage import NoCoverage
from tzerlike.execution.compare.evidence import Evidence
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings import growth
from tzerlike.findings.bundles.bundle import Confirmation, read_bundle, read_record
from tzerlike.findings.bundles.compilation import bundle_plainly
from tzerlike.findings.known import Known
from tzerlike.findings.reduction import ROUGHLY
from tzerlike.oracles.crash import judge_crash
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunContext
from tzerlike.processes.lane import Lane
from tzerlike.reporting.triage.groups import triage
from tzerlike.reporting.triage.sightings import collect

LISTS = "lists"

LATE = 0.5
"""Seconds of processor time: more than the part of its limit that a hang gets while a smaller one is searched."""


def essence(ir: str) -> list[str]:
    """What there is in a list: one number twice, a large one, a negative one."""
    numbers = json.loads(ir)
    tells = {"twice": len(set(numbers)) < len(numbers), "large": max(numbers) > 99, "negative": min(numbers) < 0}
    return [what for what, there in tells.items() if there]


def run_case(case: Case, channel: Channel, around: RunContext, effort: Effort, known: bool) -> dict[str, Any]:
    """Sort dies of negative numbers, and of large ones; DropNegative has no end with four numbers and more, and comes
    late to one with two."""
    channel.enter_stage(Stage.PASSES)
    numbers = json.loads(case.ir)
    for spec in case.passes:
        channel.note_pass(spec.name)
        if spec.name == "toy.DropNegative":
            until = time.process_time() + (math.inf if len(numbers) > 3 else LATE if len(numbers) > 1 else 0.0)
            while time.process_time() < until:
                pass
        if spec.name == "toy.Sort" and numbers and (min(numbers) < 0 or max(numbers) > 99):
            os.kill(os.getpid(), signal.SIGSEGV)
        numbers = PASSES[spec.name](numbers)
    return {"exit": Exit.OK.value}


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForkExecutor]:
    row = HarnessRow(LISTS, "List", "tests.data.toy_harness.tzerlike_lists:HARNESS", essence=f"{__name__}:essence")
    monkeypatch.setitem(HARNESSES, LISTS, row)
    with served(Lane.prepare(0, NoCoverage(), run_case), LIMITS) as made:
        yield made


class Campaign:
    """A worker's reductions, its state, and what it bundled besides."""

    def __init__(self, directory: Path, executor: ForkExecutor, pairs: int = 10_000) -> None:
        self.directory, self.executor = directory, executor
        self.state = WorkerState(iterations=0, elapsed=0.0)
        self.state.pairs = pairs
        self.others: list[Finding] = []
        self.begin()

    def begin(self) -> None:
        how = (self.state, self.directory, self.executor, ListHarness(), ["crash"], lambda step: step())
        self.reductions = Reductions(*how, self.bundled_apart)

    def bundled_apart(self, finding: Finding, stored: StoredCase) -> None:
        self.others.append(finding)
        self.write(finding)

    def finding(self, numbers: list[int], *passes: str) -> Finding:
        specs = tuple(PassSpec(f"toy.{name}") for name in passes)
        case = Case(json.dumps(numbers), specs, harness=LISTS)
        (seen,) = self.executor.run([case])
        found = judge_crash(case, seen)
        assert found is not None
        return found

    def write(self, finding: Finding) -> Path:
        evidence = Evidence(no_arrays())
        kept = stored(finding)
        path = bundle_plainly(self.directory, finding, kept, LIMITS, Confirmation(1, 1), evidence, {"tvm": "1"})
        assert path is not None
        return path

    def go_on_until(self, so: Callable[[], bool]) -> None:
        for _ in range(1000):
            if so():
                return
            self.reductions.go_on()
        raise AssertionError("it never comes to that")

    def go_on(self) -> None:
        for _ in range(1000):
            self.reductions.go_on()
        assert not self.state.to_reduce


def stored(finding: Finding) -> StoredCase:
    return StoredCase(finding.case, Provenance("s"))


NUMBERS = [9, 3, 150, 7, 6, 5]
MANY = [*range(90, 97), 150, *range(40)]


@pytest.fixture
def campaign(tmp_path: Path, executor: ForkExecutor) -> Campaign:
    return Campaign(tmp_path, executor)


def first(campaign: Campaign) -> tuple[Path, Finding]:
    finding = campaign.finding(NUMBERS, "Unique", "Double", "Double", "Sort")
    path = campaign.write(finding)
    campaign.reductions.found(path, finding)
    return path, finding


def test_two_causes_of_one_signature_come_apart(campaign: Campaign) -> None:
    path, finding = first(campaign)
    campaign.go_on()
    assert read_bundle(path / "reduced").stored.case.ir == "[150]"
    alike = campaign.finding([*NUMBERS, 4, 4], "Double", "Sort")
    other = campaign.finding([2, -3, 2, 8], "Sort", "Double")
    assert {finding.signature} == {alike.signature, other.signature}
    campaign.reductions.seen_again(alike, stored(alike))
    campaign.go_on()
    assert campaign.others == []
    campaign.reductions.seen_again(other, stored(other))
    campaign.go_on()
    (kept,) = campaign.others
    assert (kept.apart, kept.case.ir) == (("negative",), "[-3]")
    assert kept.signature == finding.signature and kept.directory != finding.directory
    for again in (alike, other):
        campaign.reductions.seen_again(again, stored(again))
        campaign.go_on()
    assert len(campaign.others) == 1, "each of the two has its bundle"
    assert len(triage(collect([campaign.directory]), Known()).groups) == 2


def test_what_is_reduced_roughly_and_to_the_end_is_bisected_and_its_report_written_anew(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[str, Path, bool]] = []

    def note(step: str, path: Path) -> None:
        small = path / "reduced" / "observation.json"
        steps.append((step, path, small.exists() and not json.loads(small.read_text())["environment"].get(ROUGHLY)))

    monkeypatch.setattr(reducing, "has_culprit", lambda bundle: True)
    monkeypatch.setattr(reducing, "bisect_by", lambda executor, bundle, oracles: note("bisected", bundle.path))
    path, _ = first(campaign)
    monkeypatch.setattr(reducing, "refresh_report", lambda path: note("written", path))
    campaign.go_on()
    assert steps[-2:] == [("bisected", path, True), ("written", path, True)]
    assert [fine for step, _, fine in steps if step == "bisected"] == [False, True]


@pytest.mark.long
def test_a_hang_stays_one_where_the_smallest_case_ends_after_all(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "PATIENCE", 2.0)
    finding = campaign.finding([8, 7, 6, 5, 4, 3, 2, 1], "DropNegative")
    path = campaign.write(finding)
    campaign.reductions.found(path, finding)
    campaign.go_on()
    assert finding.kind == "hang"
    assert 4 <= len(json.loads(read_bundle(path / "reduced").stored.case.ir)) < 8


def test_they_take_no_more_than_their_share_and_a_little_at_a_time(tmp_path: Path, executor: ForkExecutor) -> None:
    campaign = Campaign(tmp_path, executor, pairs=0)
    first(campaign)
    most = 0
    for pairs in range(1, 200):
        before, campaign.state.pairs = campaign.state.reducing, pairs
        assert before < ListHarness.reducing_share * pairs + 16
        campaign.reductions.go_on()
        most = max(most, campaign.state.reducing - before)
    assert 0 < most <= 16
    assert campaign.state.to_reduce, "it goes on with the next cases"


def test_a_child_that_takes_all_of_a_limit_counts_as_many(campaign: Campaign) -> None:
    finding = campaign.finding([8, 7, 6, 5], "DropNegative")
    campaign.reductions.found(campaign.write(finding), finding)
    before = campaign.executor.children
    campaign.go_on_until(lambda: campaign.state.reducing > 0)
    assert finding.kind == "hang"
    assert campaign.state.reducing >= 10 * (campaign.executor.children - before) > 0


def test_an_iteration_of_many_cases_is_followed_by_as_many_candidates(tmp_path: Path, executor: ForkExecutor) -> None:
    spent = []
    for batch in (1, 16):
        (tmp_path / str(batch)).mkdir()
        campaign = Campaign(tmp_path / str(batch), executor)
        first(campaign)
        for _ in range(6):
            campaign.state.pairs += batch
            campaign.reductions.go_on()
        spent.append(campaign.state.reducing)
    assert spent[0] <= 6 * 2 + 16 < spent[1], spent


def test_what_may_yet_be_of_the_first_tier_is_reduced_first(campaign: Campaign) -> None:
    paths = []
    for passes, tier in ((("Unique", "Double", "Sort"), FIRST_TIER), (("Double", "Unique", "Sort"), SECOND_TIER)):
        finding = replace(campaign.finding(NUMBERS, *passes), apart=(str(tier),))
        paths.append(campaign.write(finding))
        campaign.reductions.found(paths[-1], finding, tier)
    waiting = campaign.state.to_reduce
    campaign.go_on_until(lambda: any(item.rough for item in waiting))
    (rough,) = (item.bundle for item in waiting if item.rough)
    assert rough == paths[0].name
    campaign.go_on_until(lambda: len(waiting) < len(paths))
    assert [item.bundle for item in waiting] == [paths[1].name], "and so it is to the end"


def test_the_second_tier_is_reduced_to_the_end_where_little_was_spent(campaign: Campaign) -> None:
    for tier, ends in ((SECOND_TIER, False), (FIRST_TIER, True)):
        finding = replace(campaign.finding(MANY, "Unique", "Double", "Sort"), apart=(str(tier),))
        path = campaign.write(finding)
        campaign.reductions.found(path, finding, tier)
        campaign.go_on_until(lambda: all(item.rough for item in campaign.state.to_reduce))
        campaign.state.reducing = int(0.8 * ListHarness.reducing_share * campaign.state.pairs)
        for _ in range(100):
            campaign.reductions.go_on()
        assert (read_bundle(path / "reduced").stored.case.ir == "[150]") == ends
        campaign.state.to_reduce.clear()


def test_a_bundle_is_counted_in_the_tier_that_its_reduced_program_has(campaign: Campaign) -> None:
    path, _ = first(campaign)
    campaign.state.tiers["0"] = 1
    campaign.go_on()
    assert read_record(path).tier == 0 and read_record(path / "reduced").tier == SECOND_TIER
    assert +campaign.state.tiers == {"2": 1}


def test_as_a_campaign_ends_the_first_tier_is_reduced_whatever_it_takes(campaign: Campaign) -> None:
    paths = []
    for tier in (SECOND_TIER, FIRST_TIER):
        finding = replace(campaign.finding(MANY, "Unique", "Double", "Sort"), apart=(str(tier),))
        paths.append(campaign.write(finding))
        campaign.reductions.found(paths[-1], finding, tier)
    campaign.state.pairs = 1
    for _ in range(1000):
        campaign.reductions.go_on(to_the_end=True)
    assert read_bundle(paths[1] / "reduced").stored.case.ir == "[150]"
    assert [item.bundle for item in campaign.state.to_reduce] == [paths[0].name]
    assert not campaign.reductions.urgent and not (paths[0] / "reduced").exists()


def test_everything_is_reduced_roughly_before_anything_is_reduced_to_the_end(campaign: Campaign) -> None:
    paths = []
    for mark in ("one", "two"):
        finding = replace(campaign.finding(MANY, "Unique", "Double", "Sort"), apart=(mark,))
        paths.append(campaign.write(finding))
        campaign.reductions.found(paths[-1], finding, SECOND_TIER)
    campaign.go_on_until(lambda: all(item.rough for item in campaign.state.to_reduce))
    assert len(campaign.state.to_reduce) == len(paths)
    rough = [read_bundle(path / "reduced").stored.case for path in paths]
    assert all("150" in case.ir and 1 < len(json.loads(case.ir)) < len(MANY) for case in rough)
    campaign.go_on()
    assert {read_bundle(path / "reduced").stored.case.ir for path in paths} == {"[150]"}


def test_what_is_found_meanwhile_is_reduced_roughly_before_the_rest_goes_on(campaign: Campaign) -> None:
    path, _ = first(campaign)
    campaign.go_on_until(lambda: campaign.state.to_reduce[0].rough)
    campaign.reductions.go_on()
    finding = replace(campaign.finding(NUMBERS, "Double", "Sort"), apart=("other",))
    other = campaign.write(finding)
    campaign.reductions.found(other, finding, SECOND_TIER)
    campaign.go_on_until((other / "reduced").exists)
    assert [item.bundle for item in campaign.state.to_reduce] == [other.name, path.name]
    campaign.go_on()
    assert read_bundle(path / "reduced").stored.case.ir == "[150]"


def test_nothing_is_compared_with_what_was_reduced_roughly(campaign: Campaign) -> None:
    path, finding = first(campaign)
    campaign.go_on_until(lambda: campaign.state.to_reduce[0].rough)
    assert (path / "reduced").exists()
    campaign.state.to_reduce.clear()
    campaign.begin()
    other = campaign.finding([2, -3, 2, 8], "Sort", "Double")
    campaign.reductions.seen_again(other, stored(other))
    campaign.go_on()
    assert campaign.others == [] and other.signature == finding.signature


def test_a_campaign_that_ends_in_between_goes_on_later(campaign: Campaign) -> None:
    path, _ = first(campaign)
    campaign.reductions.go_on()
    campaign.reductions.go_on()
    assert campaign.state.to_reduce and not (path / "reduced").exists()
    campaign.reductions.rest()
    campaign.state = msgspec.convert(msgspec.to_builtins(campaign.state), WorkerState)
    campaign.begin()
    campaign.go_on()
    assert read_bundle(path / "reduced").stored.case.ir == "[150]"


def test_what_ends_several_workers_is_left_alone_and_so_is_a_bundle_that_is_gone(campaign: Campaign) -> None:
    path, finding = first(campaign)
    campaign.state.to_reduce[0].tries = 2
    campaign.state.to_reduce.append(ToReduce(signature=finding.signature, bundle="gone"))
    campaign.go_on()
    assert not (path / "reduced").exists()
