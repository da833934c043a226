"""What a worker of an arithmetic campaign writes: each cause once, and once more where a user may meet it; and deaths
of TVM, which it survives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.puzzles.conftest import served, worker_here
from tzerlike.arith import batch
from tzerlike.arith import worker as of_worker
from tzerlike.arith.model import Expr, Problem, Variable, const
from tzerlike.arith.worker import ArithWorker
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.shard import Shard
from tzerlike.campaign.shard_worker import Assignment
from tzerlike.core.config import CampaignConfig
from tzerlike.core.limits import Limits
from tzerlike.core.storage import write_json
from tzerlike.coverage import NoCoverage
from tzerlike.findings.bundles.bundle import Record, read_record
from tzerlike.processes.lane import Lane

X = Expr("Var", "int32", (), "x")


def over(op: str, a: Expr, b: int) -> Problem:
    """A problem at `x` from 1 to 2."""
    return Problem((Variable("x", "int32", (1, 2)),), (Expr(op, "int32", (a, const(b, "int32"))),))


def minus(node: Expr) -> Expr:
    return Expr("Mul", "int32", (node, const(-1, "int32")))


DIVISOR, FACTOR = over("FloorDiv", X, -2), over("FloorDiv", minus(X), 2)
"""Analyses of iterators take the one for the other; only the second is of a program."""


def bundles(root: Path, monkeypatch: pytest.MonkeyPatch, problems: Mapping[int, Problem]) -> list[Record]:
    """Run a campaign on `problems` by their iterations, and return what it has found so far."""
    directory = CampaignDir(root)
    if not root.exists():
        directory.create(1)
        write_json(directory.environment, {"tvm": "0.27", "compiler_library": "0123456789abcdef"})
    config = CampaignConfig(seed=3, jobs=1, iterations=max(problems) + 1, harness="arith", coverage="none")

    def problem_of(seed: int, worker: int, iteration: int) -> Problem:
        return problems.get(iteration, Problem((), (const(1, "int32"),)))

    lane = Lane.prepare(0, NoCoverage(), jobs=batch.JOBS)
    with monkeypatch.context() as patched:
        patched.setattr(batch, "problem_of", problem_of)
        patched.setattr(of_worker, "problem_of", problem_of)
        with worker_here(), served(lane, Limits(5.0)) as executor:
            ArithWorker(Assignment(Shard(0, 1), config, directory), executor, lane.channel).run()
    return [*map(read_record, directory.bundles())]


def of_divisors(root: Path, monkeypatch: pytest.MonkeyPatch, problems: Mapping[int, Problem]) -> list[Record]:
    """What `bundles` returns of negative divisors."""
    found = bundles(root, monkeypatch, problems)
    return [record for record in found if record.bare[:3] == ("iterator map", "value", "negative divisor")]


def test_what_users_meet_is_written_where_its_cause_is_known_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = of_divisors(tmp_path / "c", monkeypatch, {0: DIVISOR})
    assert [record.tier for record in far] == [2]
    both = of_divisors(tmp_path / "c", monkeypatch, {10: FACTOR, 20: DIVISOR, 30: FACTOR})
    assert sorted(record.tier for record in both) == [1, 2]
    assert len({record.signature for record in both}) == 1
    again = of_divisors(tmp_path / "c", monkeypatch, {40: FACTOR, 50: DIVISOR})
    assert len(again) == 2
    assert [record.tier for record in of_divisors(tmp_path / "d", monkeypatch, {0: FACTOR, 10: DIVISOR})] == [1]


def test_a_check_that_raises_and_leaves_an_analyzer_behind_of_which_tvm_dies_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dtype = "uint8"
    x, y, z = (Expr("Var", dtype, (), name) for name in "xyz")
    least = Expr("Select", dtype, (Expr("GE", "bool", (y, z)), z, y))
    variables = (Variable("x", dtype, (0, 1, 2, 3)), Variable("y", dtype, (0, 1)), Variable("z", dtype, (0,)))
    deadly = Problem(variables, (x, least), (Expr("LT", "bool", (z, x)),))
    found = bundles(tmp_path / "c", monkeypatch, {1: deadly, 10: DIVISOR})
    assert [(record.kind, record.bare[0]) for record in found if record.kind == "crash"] == [("crash", "SIGABRT")]
    assert any(record.kind == "wrong-code" for record in found), "the scan does not go on"
