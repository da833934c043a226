"""A worker and compilers that do not end, or only late, by the processor time that they use: hangs and slow ones."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.puzzles.confirming import Confirming, NoTexts, confirming
from tzerlike.campaign.confirming import _SLOW
from tzerlike.core.case import Case, Provenance
from tzerlike.core.effort import Effort
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Observation, Stage
from tzerlike.core.stored import StoredCase
from tzerlike.findings import growth
from tzerlike.oracles.crash import judge_crash
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunContext

LIMIT = 0.1
"""Seconds of processor time."""

MUCH = 1e9

TAKES: dict[str, Callable[[int], float]] = {
    "no end": lambda n: MUCH,
    "no end of large ones": lambda n: MUCH if n > 4 else 0.0,
    "late": lambda n: 2.5 * LIMIT * (n / 16) ** 2,
    "much too late": lambda n: 30 * LIMIT * (n / 16) ** 2,
}


def burn(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def compiled(case: Case, channel: Channel, around: RunContext, effort: Effort, known: bool) -> dict[str, Any]:
    kind, _, extent = case.ir.partition(":")
    channel.enter_stage(Stage.PASSES)
    channel.note_pass("tirx.Planted")
    burn(TAKES[kind](int(extent)))
    channel.enter_stage(Stage.DONE)
    return {"exit": "ok"}


class Extents(NoTexts):
    """Programs that are a kind of compiler and an extent."""

    def smaller(self, case: Case) -> Iterator[Case]:
        kind, _, extent = case.ir.partition(":")
        n = int(extent)
        while n > 2:
            n //= 2
            yield Case(f"{kind}:{n}")


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Confirming]:
    monkeypatch.setattr(growth, "PATIENCE", 5.0)
    with confirming(tmp_path / "c", compiled, Limits(LIMIT, 1 << 30), [judge_crash], Extents()) as made:
        made[0].state.pairs = 1_000_000
        yield made[0]


def report(worker: Confirming, kind: str, extent: int = 16) -> str | None:
    case = Case(f"{kind}:{extent}")
    (seen,) = worker.executor.run([case], count=False)
    (found,) = worker._judge(case)
    assert (found.kind, seen.backtrace != ()) == ("hang", True)
    return worker.report(found, StoredCase(case, Provenance("made")))


def test_what_does_not_end_at_small_extents_is_a_hang(worker: Confirming) -> None:
    assert report(worker, "no end") is not None
    (bundle,) = worker.directory.bundles()
    said = json.loads((bundle / "observation.json").read_text())
    assert said["kind"] == "hang"
    assert said["observation"]["message"].startswith("does not end with extents 8 times smaller within")
    assert said["observation"]["backtrace"], "what the stacks have in common"
    told = (bundle / "report.md").read_text()
    assert re.search(r"is still running after \S+ s of CPU time, with all extents divided by 8", told)
    assert worker.state.unconfirmed == {}


def test_what_ends_late_is_counted_and_not_reported(worker: Confirming) -> None:
    assert [report(worker, kind) for kind in ("late", "much too late")] == [None, None]
    assert worker.state.unconfirmed == {"slow-compile": 2}
    assert list(worker.directory.bundles()) == []


def test_another_waits_until_the_campaign_has_gone_on(worker: Confirming) -> None:
    worker.state.pairs = 100
    assert [report(worker, kind) for kind in ("late", "no end")] == [None, None]
    assert worker.state.unconfirmed == {"slow-compile": 1}
    assert worker.state.exits["hang: postponed"] == 1
    worker.state.pairs = 10_000
    assert report(worker, "no end") is not None


def test_a_jump_that_is_no_growth_is_a_hang(worker: Confirming, monkeypatch: pytest.MonkeyPatch) -> None:
    # What a fork takes on a busy machine is no growth either.
    monkeypatch.setattr(growth, "_LEAST_JUMP", 1.0)
    assert report(worker, "no end of large ones") is not None


def test_a_pass_that_is_slow_again_and_again_is_looked_at_no_more(worker: Confirming) -> None:
    asked: list[Case] = []
    run = worker.executor.run

    def noted(cases: list[Case], **options: Any) -> list[Observation]:
        asked.extend(cases)
        return run(cases, **options)

    worker.executor.run = noted  # type: ignore[method-assign, assignment]
    for _ in range(_SLOW):
        report(worker, "much too late")
    asked.clear()
    assert report(worker, "much too late") is None
    assert len(asked) == 2, "those of this test alone"
    assert worker.state.unconfirmed == {"slow-compile": _SLOW + 1}
