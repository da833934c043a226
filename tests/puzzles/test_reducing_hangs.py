"""Programs that hang, or take all memory, made smaller: under a part of the limit, then as far as they still do."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.puzzles.confirming import NoTexts, confirming
from tzerlike.core.case import Case, Provenance
from tzerlike.core.effort import Effort
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Stage
from tzerlike.core.shrink import Attempt, Reducer
from tzerlike.core.stored import StoredCase
from tzerlike.findings import growth
from tzerlike.findings.bundles.bundle import read_bundle
from tzerlike.findings.reduction.role import reduce_bundle
from tzerlike.oracles.crash import judge_crash
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import RunContext

LIMITS = Limits(seconds=0.5, memory=64 << 20)
ENDLESS = 8
"""The extent from which on a program has no end; smaller ones take half of a limit."""


def spin(n: int) -> None:
    until = time.process_time() + (0.5 * LIMITS.seconds if n < ENDLESS else 1e9)
    while time.process_time() < until:
        pass


def hog(n: int) -> None:
    kept = []
    while n >= ENDLESS or len(kept) < 8:
        kept.append(bytearray(4 << 20))


def compiled(case: Case, channel: Channel, around: RunContext, effort: Effort, known: bool) -> dict[str, Any]:
    kind, _, extent = case.ir.partition(":")
    channel.enter_stage(Stage.PASSES)
    channel.note_pass("tirx.Planted")
    {"hang": spin, "oom": hog}[kind](int(extent))
    channel.enter_stage(Stage.DONE)
    return {"exit": "ok"}


@dataclass(frozen=True, order=True)
class Extent:
    extent: int

    @property
    def numbers(self) -> dict[str, int]:
        return {"extent": self.extent}


def halved(case: Case) -> Iterator[Attempt[Case]]:
    kind, _, extent = case.ir.partition(":")
    if int(extent) > 1:
        yield partial(Case, f"{kind}:{int(extent) // 2}")


class Extents(NoTexts):
    """Programs that are a kind of compiler and an extent."""

    reducers: Mapping[str, Reducer[Case]] = {"halved": halved}

    def size(self, case: Case) -> Extent:
        return Extent(int(case.ir.partition(":")[2]))


@pytest.mark.parametrize("kind", [pytest.param("hang", marks=pytest.mark.long), "oom"])
def test_the_smallest_that_shows_under_the_whole_limit_is_kept(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "PATIENCE", 2.0)
    told: list[dict[str, Any]] = []
    with confirming(tmp_path / "c", compiled, LIMITS, [judge_crash], Extents()) as (worker,):
        case = Case(f"{kind}:64")
        (found,) = worker._judge(case)
        assert found.kind == kind
        worker.report(found, StoredCase(case, Provenance("made")))
        (path,) = worker.directory.bundles()
        executor = worker.executor
        params = {"seconds": 600.0, "oracles": ["crash"], "environment": {}}
        reduce_bundle(read_bundle(path), Extents(), executor._lane, executor._line._line, told.append, params)
    assert [end["status"] for end in told] == ["reduced"]
    assert told[0]["after"] == {"extent": ENDLESS}, "half of it shows under a part of the limit alone"
    assert json.loads((path / "reduced" / "case.json").read_text())["case"]["ir"] == f"{kind}:{ENDLESS}"
