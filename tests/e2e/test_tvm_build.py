"""Campaigns on an instrumented TVM, wherever `tzerlike tvm build` has left one for this user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tzerlike.core.untrusted import read_json

ITERATIONS = 100


def tzerlike(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command with the user's own cache, where the builds are."""
    return subprocess.run(
        [sys.executable, "-m", "tzerlike", *map(str, arguments)],
        env={**os.environ, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@dataclass(frozen=True)
class Campaigns:
    """Two campaigns on one build with the same seed."""

    build: dict[str, Any]
    first: Path
    second: Path


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> Campaigns:
    ready = [b for b in json.loads(tzerlike("tvm", "list", "--json").stdout) if b["state"] == "ready" and b["edges"]]
    if not ready:
        pytest.skip("no instrumented TVM here: tzerlike tvm build makes one")
    build = ready[0]
    root = tmp_path_factory.mktemp("instrumented")
    options = ["--tvm", build["name"], "--iterations", str(ITERATIONS), "--seed", "7", "--jobs", "1", "--ui", "none"]
    # What every TVM can do, the oldest included.
    options += ["--oracles", "crash"]
    for name in ("first", "second"):
        done = tzerlike("fuzz", *options, "--out", root / name)
        assert done.returncode == 0, done.stderr
    return Campaigns(build, root / "first", root / "second")


def test_auto_takes_the_edges(campaigns: Campaigns, capsys: pytest.CaptureFixture[str]) -> None:
    stats = read_json(campaigns.first / "stats.json")
    assert stats["coverage_backend"] == "sancov"
    assert stats["coverage_total"] == campaigns.build["edges"]
    assert 5_000 < stats["coverage"] < stats["coverage_total"]
    with capsys.disabled():
        sys.stdout.write(
            f"\n{campaigns.build['name']}: {stats['coverage']:,} of {stats['coverage_total']:,} edges "
            f"after {stats['iterations']} iterations\n"
        )


def test_programs_are_changed_there_too(campaigns: Campaigns) -> None:
    tried = {name: row["valid"] for name, row in read_json(campaigns.first / "stats.json")["mutators"].items()}
    assert sum(count for name, count in tried.items() if name not in ("seed", "passes")) > ITERATIONS / 4
    assert any(tried.get(name, 0) for name in ("schedule-loops", "schedule-blocks"))


def test_the_same_seed_reaches_the_same_edges(campaigns: Campaigns) -> None:
    first, second = (path / "workers" / "0" / "coverage.bits" for path in (campaigns.first, campaigns.second))
    assert first.read_bytes() == second.read_bytes()
    corpora = [sorted(p.name for p in (path / "corpus").iterdir()) for path in (campaigns.first, campaigns.second)]
    assert corpora[0] == corpora[1]


def test_edges_have_their_places(campaigns: Campaigns) -> None:
    done = tzerlike("coverage", campaigns.first, "--against", campaigns.second, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    stats = read_json(campaigns.first / "stats.json")
    assert (told["covered"], told["total"], told["unique"], told["missed"]) == (
        stats["coverage"],
        stats["coverage_total"],
        0,
        0,
    )
    tables = {by: {row["name"]: row for row in rows} for by, rows in told["tables"].items()}
    assert sum(row["total"] for row in tables["file"].values()) == told["total"]
    assert 0 < tables["directory"]["src/tirx"]["covered"] < tables["directory"]["src/tirx"]["total"]
    assert "tirx.UnrollLoop" in tables["pass"]
    assert told["unreached_lines"]["src/tirx/transform/unroll_loop.cc"]
