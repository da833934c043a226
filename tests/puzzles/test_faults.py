"""Faults of our own planted wherever a worker goes: each ends its case and nothing else.

A whole worker runs here, with real mutators and children, on a fake compiler: what a case reaches is drawn from its id.
Planted code looks up in the worker's channel which iteration it is in.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.puzzles.conftest import served, worker_here
from tzerlike.campaign import confirming as of_confirming
from tzerlike.campaign import probing as of_probing
from tzerlike.campaign import worker as of_worker
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.events import event_lines
from tzerlike.campaign.loop import Import, Step
from tzerlike.campaign.shard import Shard
from tzerlike.campaign.shard_worker import Assignment
from tzerlike.campaign.transport import Transport
from tzerlike.campaign.worker import Worker
from tzerlike.core.case import Case
from tzerlike.core.config import CampaignConfig
from tzerlike.core.effort import Check, Effort
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Stage
from tzerlike.core.results import Results
from tzerlike.core.storage import write_json
from tzerlike.coverage import NoCoverage
from tzerlike.execution import executor as of_executor
from tzerlike.findings.bundles.bundle import read_bundle
from tzerlike.findings.faults import limit
from tzerlike.findings.faults.bundle import kept_faults, read_fault
from tzerlike.harnesses.tir import pairs as of_pairs
from tzerlike.harnesses.tir.harness import HARNESS
from tzerlike.harnesses.tir.pairs import TirPairs
from tzerlike.oracles.crash import judge_crash
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunCase, RunContext
from tzerlike.processes.lane import Lane
from tzerlike.processes.stop import STOP
from tzerlike.systems import tvm_api

ITERATIONS = 240
ALONE = Shard(0, 1)
LOOP = 0.3
"""Seconds of processor time after which a loop without end is one here."""

PROGRAMS = [
    f"""
@T.prim_func
def main(A: T.Buffer(({n},), "int32"), B: T.Buffer(({n},), "int32")):
    for i in range({n}):
        B[i] = A[i] + T.int32({n})
"""
    for n in range(2, 10)
]


class Blocks(NoCoverage):
    """Coverage of so many blocks as children say that they reached, in memory that all share."""

    total = 1000

    def __init__(self, channel: Channel) -> None:
        self._memory = channel.memory
        self._at = len(channel.memory) - 8
        self._covered = 0

    def _set(self, value: int) -> None:
        self._memory[self._at :] = value.to_bytes(8, "little")

    def new(self, slot: int) -> int:
        return int.from_bytes(self._memory[self._at :], "little")

    def begin(self, slot: int) -> None:
        self._set(0)

    def rearm(self, slot: int, start: int = 0) -> None:
        self._set(start)

    def commit(self, slot: int, start: int = 0) -> int:
        self._covered += self.new(slot) - start
        return self.new(slot) - start

    def covered(self) -> int:
        return self._covered

    def reach(self, number: int) -> None:
        self._set(self.new(0) + number)


MUTATORS = ("constants", "operators", "dtypes", "swap")


def _raise() -> None:
    raise ZeroDivisionError("planted")


def _loop() -> None:
    while True:
        pass


@dataclass
class Plan:
    """Which fault to plant in which iteration, as `place: what`."""

    channel: Channel
    faults: dict[int, str] = field(default_factory=dict)

    def at(self, place: str) -> None:
        beat = self.channel.last_beat()
        planted = self.faults.get(-1 if beat is None else beat.iteration, "")
        if planted == f"{place}: exception":
            _raise()
        elif planted == f"{place}: loop":
            _loop()
        elif planted == f"{place}: stop":
            os.kill(os.getpid(), STOP)
        elif planted == f"{place}: garbage":
            # What a wild store of compiled code may leave, wherever the worker looks.
            self.channel.memory[:384] = os.urandom(384)
            self.channel.memory[512:4096] = os.urandom(3584)
            self.channel.memory[(16 << 20) + 4096 : (16 << 20) + 8192] = os.urandom(4096)
            os._exit(0)


def fuzz(
    directory: CampaignDir,
    faults: dict[int, str],
    iterations: int = ITERATIONS,
    shard: Shard = ALONE,
    transport: Transport | None = None,
    width: int = 1,
) -> CampaignDir:
    """Run a shard of a campaign with a plan of faults, to so many iterations of all shards; in a directory that exists,
    go on."""
    config = CampaignConfig(
        seed=5, jobs=shard.total, iterations=iterations, mutator_choice="uniform", pass_mode="random",
        oracles=("crash",), mutators=MUTATORS, pairs_per_fork=width,
    )  # fmt: skip
    directory.create(shard.total)
    write_json(directory.environment, {"tvm": "0.27", "compiler_library": "0123456789abcdef"})
    channel = Channel()
    plan, coverage = Plan(channel, faults), Blocks(channel)
    stderr, run_case = os.memfd_create("stderr"), compiled(plan, coverage)
    lane = Lane(0, channel, stderr, NoDeath(), coverage, run_case, HARNESS.jobs, lambda: None)  # type: ignore[arg-type]
    with worker_here(), planted(plan), served(lane, Limits(LOOP, 1 << 30)) as executor:
        executor.effort = Effort(frozenset({Check.RESULTS}))
        assignment, pairs = Assignment(shard, config, directory), TirPairs(config, executor.explore)
        Worker(assignment, executor, pairs, HARNESS, seeds(), coverage, channel, transport).run()
    return directory


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> CampaignDir:
    """The campaign without faults."""
    return fuzz(CampaignDir(tmp_path_factory.mktemp("clean") / "c"), {})


class NoDeath:
    """A record of deaths that stays empty."""

    def clear(self) -> None: ...

    def watch(self) -> None: ...

    def read(self) -> None: ...


def seeds() -> list[Import]:
    modules = [tvm_api.module_of(tvm_api.parse_script(program)) for program in PROGRAMS]
    return [Import(f"s{n}", tvm_api.dump_ir(module)) for n, module in enumerate(modules)]


def compiled(plan: Plan, coverage: Blocks) -> RunCase:
    """A compiler that fails where the plan says so."""

    def run_case(case: Case, channel: Channel, around: RunContext, effort: Effort, known: bool) -> dict[str, Any]:
        channel.enter_stage(Stage.INTERPRET)
        plan.at("interpreter")
        channel.note_results(Results("defined"))
        channel.enter_stage(Stage.RUN)
        plan.at("run")
        channel.enter_stage(Stage.PASSES)
        number = int(case.id[:8], 16)
        if number % 40 == 0:
            faulthandler.disable()
            os.kill(os.getpid(), signal.SIGSEGV)
        if number % 4 == 0:
            coverage.reach(number % 3 + 1)
        return {"exit": "ok"}

    return run_case


@contextlib.contextmanager
def planted(plan: Plan) -> Iterator[None]:
    """Put the plan's faults into every place that has some, and a fake compiler into the children."""

    def before(place: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def planted(*arguments: Any, **named: Any) -> Any:
            plan.at(place)
            return call(*arguments, **named)

        return planted

    patched = pytest.MonkeyPatch()
    patched.setattr(limit, "LIMIT", LOOP)
    patched.setattr(of_pairs, "attempted", before("mutator", of_pairs.attempted))
    patched.setattr(of_executor, "localised", before("blame", of_executor.localised))
    patched.setattr(of_probing, "make_oracles", lambda names: (before("oracle", lambda *seen: None), judge_crash))
    patched.setattr(of_confirming, "confirmed", before("confirmation", of_confirming.confirmed))
    patched.setattr(of_confirming, "bundle_compilation", before("reporter", of_confirming.bundle_compilation))
    try:
        yield
    finally:
        patched.undo()


def state(directory: CampaignDir) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(directory.worker_state(0).read_text())
    return data


def events_of(directory: CampaignDir, worker: int = 0) -> list[dict[str, Any]]:
    return [event for line in event_lines(directory.worker(worker)) if "i" in (event := json.loads(line))]


def brought_nothing(directory: CampaignDir) -> list[int]:
    """The iterations that left neither an entry nor a finding behind."""
    events = events_of(directory)
    return [e["i"] for e in events if not e["new"] and not e["case"] and not e["finding"] and e["exit"] == "ok"]


def found(directory: CampaignDir) -> list[int]:
    """The iterations that brought a finding."""
    events = events_of(directory)
    return [event["i"] for event in events if event["finding"]]


def kept(directory: CampaignDir) -> Counter[tuple[str, str]]:
    """How many faults of which kind, and in what, a campaign kept and counted."""
    bundles = [read_fault(path) for path in kept_faults(directory.faults)]
    counts = state(directory)["faults"]
    assert set(counts) == {bundle.signature for bundle in bundles}
    total: Counter[tuple[str, str]] = Counter()
    for bundle in bundles:
        doing = "mutate" if bundle.fault.doing in MUTATORS else bundle.fault.doing
        total[doing, bundle.fault.kind] += counts[bundle.signature]
    return total


PLACES = [
    "interpreter: exception", "interpreter: loop", "run: garbage", "blame: exception", "blame: loop",
    "oracle: exception", "oracle: loop", "mutator: exception", "mutator: loop",
]  # fmt: skip


STOPS = ("oracle", "confirmation", "reporter")


def test_a_campaign_with_faults_everywhere_ends_as_one_without(clean: CampaignDir, tmp_path: Path) -> None:
    idle = brought_nothing(clean)
    assert len(idle) > 4 * len(PLACES) and clean.corpus_ids()
    # Each in more than one case in a hundred.
    plan = dict(zip(idle[:: len(idle) // (2 * len(PLACES))], PLACES * 2, strict=False))
    faulty = fuzz(CampaignDir(tmp_path / "c"), plan)
    assert state(faulty)["iterations"] == state(clean)["iterations"] == ITERATIONS
    assert faulty.corpus_ids() == clean.corpus_ids()
    assert [p.name for p in faulty.bundles()] == [p.name for p in clean.bundles()] != []
    places = Counter(plan.values())
    exits = state(faulty)["exits"]
    assert exits["fault"] == places["interpreter: exception"]
    # Both are what the clock, or the compiled program, brought about: no faults of ours.
    assert exits["timeout"] == places["interpreter: loop"]
    assert exits["crash"] == state(clean)["exits"]["crash"] + places["run: garbage"]
    assert kept(faulty) == {
        ("interpret", "ZeroDivisionError"): places["interpreter: exception"],
        ("blame", "ZeroDivisionError"): places["blame: exception"],
        ("blame", "TooLong"): places["blame: loop"],
        ("judge", "ZeroDivisionError"): places["oracle: exception"],
        ("judge", "TooLong"): places["oracle: loop"],
        ("mutate", "ZeroDivisionError"): places["mutator: exception"],
        ("mutate", "TooLong"): places["mutator: loop"],
    }


@pytest.mark.long
@pytest.mark.long
def test_a_resumed_campaign_goes_on_behind_its_faults(tmp_path: Path) -> None:
    plan = dict(zip(range(12, 39, 3), PLACES, strict=True))
    whole, parts = CampaignDir(tmp_path / "whole"), CampaignDir(tmp_path / "parts")
    fuzz(whole, plan, 42)
    for iterations in (20, 31, 42):
        fuzz(parts, plan, iterations)
    assert state(parts)["iterations"] == 42
    assert kept(parts) == kept(whole) != {}
    assert parts.corpus_ids() == whole.corpus_ids()


@pytest.mark.long
def test_a_resumed_campaign_of_batches_equals_one_without_a_break(whole: CampaignDir, tmp_path: Path) -> None:
    parts = CampaignDir(tmp_path / "parts")
    for iterations in (64, 96):
        fuzz(parts, {}, iterations, width=8)
    alike = ("i", "how", "exit", "new", "case", "finding")
    told, whole_told = ([[event[key] for key in alike] for event in events_of(one)] for one in (parts, whole))
    assert told == whole_told
    assert parts.corpus_ids() == whole.corpus_ids()
    assert state(parts)["bringing"] == state(whole)["bringing"] < 1.0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> CampaignDir:
    """A campaign of batches without a break."""
    return fuzz(CampaignDir(tmp_path_factory.mktemp("whole") / "c"), {}, 96, width=8)


@pytest.mark.parametrize("place", ["mutator", "blame", *(pytest.param(one, marks=pytest.mark.long) for one in STOPS)])
def test_a_campaign_that_is_stopped_anywhere_loses_nothing(whole: CampaignDir, tmp_path: Path, place: str) -> None:
    parts = CampaignDir(tmp_path / "parts")
    at_findings = place in ("confirmation", "reporter")
    for iteration in found(whole)[:3] if at_findings else (40, 64, 80):
        fuzz(parts, {iteration: f"{place}: stop"}, 96, width=8)
        assert state(parts)["iterations"] < 96 or at_findings
    fuzz(parts, {}, 96, width=8)
    assert state(parts)["iterations"] == 96
    assert parts.corpus_ids() == whole.corpus_ids()
    assert [path.name for path in parts.bundles()] == [path.name for path in whole.bundles()] != []
    assert not parts.aside.exists()


@pytest.mark.long
def test_a_case_that_cannot_be_recorded_costs_no_other_of_its_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fuzz(CampaignDir(tmp_path / "whole"), {}, 120, width=16)
    original = of_worker._origin_of

    def origin_of(step: Step) -> dict[str, Any]:
        if step.trial.provenance.iteration % 7 == 3:
            _raise()
        return original(step)

    monkeypatch.setattr(of_worker, "_origin_of", origin_of)
    faulty = fuzz(CampaignDir(tmp_path / "faulty"), {}, 120, width=16)
    told = [event["i"] for event in events_of(whole)]
    assert [event["i"] for event in events_of(faulty)] == [number for number in told if number % 7 != 3]
    assert faulty.corpus_ids() == whole.corpus_ids()
    assert set(kept(faulty)) == {("record", "ZeroDivisionError")}


@pytest.mark.parametrize("what", ["exception", "loop"])
def test_a_reporter_that_fails_does_not_lose_the_finding(clean: CampaignDir, tmp_path: Path, what: str) -> None:
    first = found(clean)[0]
    faulty = fuzz(CampaignDir(tmp_path / "c"), {first: f"reporter: {what}"}, first + 1)
    (bundle,) = faulty.bundles()
    assert bundle.name in {path.name for path in clean.bundles()}
    assert {"case.json", "observation.json", "repro.py", "inputs.npz"} <= {path.name for path in bundle.iterdir()}
    assert read_bundle(bundle).observation.signal == signal.SIGSEGV
    assert kept(faulty) == {("bundle", "TooLong" if what == "loop" else "ZeroDivisionError"): 1}


@pytest.mark.long
def test_a_confirmation_that_fails_is_a_fault_with_its_case_and_the_next_sight_counts(
    clean: CampaignDir, tmp_path: Path
) -> None:
    first = found(clean)[0]
    faulty = fuzz(CampaignDir(tmp_path / "c"), {first: "confirmation: exception"})
    assert kept(faulty) == {("report", "ZeroDivisionError"): 1}
    (path,) = kept_faults(faulty.faults)
    stored = read_fault(path).occasion.stored
    assert stored is not None and stored.provenance.iteration == first
    assert [p.name for p in faulty.bundles()] == [p.name for p in clean.bundles()]
