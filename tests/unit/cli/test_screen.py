import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.state import STATE, WorkerState
from tzerlike.campaign.stats import CurvePoint, add_up
from tzerlike.campaign.supervisor import View
from tzerlike.cli.screen import make_screen, render, sparkline, stats_line
from tzerlike.core.config import CampaignConfig
from tzerlike.core.units import duration


def state(number: int = 0, **changes: Any) -> WorkerState:
    data = {
        "worker": number,
        "time": 100.0 + number,
        "elapsed": 50.0,
        "iterations": 100,
        "pairs": 105,
        "valid": 60,
        "valuable": 10,
        "exits": {"ok": 60, "rejected": 39, "crash": 1},
        "rejected": {"passes tirx.X: no": 39},
        "labels": {"illegal-order": 39},
        "verdicts": {"defined": 300, "undefined race": 4},
        "internal_errors": {"ice-on-valid": 2},
        "seconds": {"build": 20.0, "fork": 2.0},
        "mutators": {"constants": [50, 30, 5], "swap": [50, 30, 5]},
        "passes": {"tirx.UnrollLoop": [10, 5, 2]},
        "findings": {"crash": 1},
        "unconfirmed": {},
        "last_finding": "",
        "problems": [],
        "coverage": 5000 + number,
        "coverage_total": 100_000,
        "coverage_backend": "breakpoint",
        "pending": 0,
        **changes,
    }
    return STATE.of(data)


def view(stats: dict[str, Any]) -> View:
    curve = tuple(CurvePoint(float(i), i, i * i, i, i, 0) for i in range(40))
    return View(CampaignConfig(seed=1), CampaignDir(Path("campaign")), stats, curve, "fuzzing")


def drawn(stats: dict[str, Any], width: int, height: int = 40) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False, color_system=None)
    console.print(render(view(stats), width, height))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def stats(**changes: Any) -> dict[str, Any]:
    from collections import Counter

    return add_up([state(0, **changes), state(1)], 44, Counter(crash=2, hang=1))


def test_workers_add_up() -> None:
    total = stats()
    assert total["iterations"] == 200
    assert total["iterations_per_s"] == 4.0
    assert total["valid_rate"] == 0.6
    assert total["coverage"] == 5001, "coverage is shared: the largest count is the newest"
    assert total["mutators"]["swap"] == {"tried": 100, "valid": 60, "valuable": 10}
    assert total["stage_seconds"]["build"] == 40.0
    assert total["findings"] == {"crash": 2, "hang": 1}


@pytest.mark.parametrize("width", [40, 58, 80, 120, 200])
def test_the_screen_fits_every_width(width: int) -> None:
    text = drawn(stats(last_finding="crash-" + "x" * 200), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "elapsed" in text
    assert "2 crash" in text


@pytest.mark.parametrize(("width", "height"), [(60, 20), (80, 24), (120, 40), (200, 60)])
def test_the_screen_fits_every_height(width: int, height: int) -> None:
    many = {f"name{number}": [50, 30, 5] for number in range(20)}
    full = stats(last_finding="crash-" + "x" * 200, problems=["p"], mutators=many, passes=many)
    lines = drawn(full, width, height - 1).splitlines()
    assert len(lines) <= height - 1, "a line of what happened last stands below"
    assert "last finding" in lines[-3]
    assert "name0" in "".join(lines)


def test_a_screen_before_the_first_numbers() -> None:
    assert "fuzzing" in drawn({}, 60)


def test_without_a_terminal_there_are_plain_lines() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80)
    with make_screen("rich", console) as screen:
        screen.show(view(stats()))
        screen.tell("finding: x")
    lines = out.getvalue().splitlines()
    assert lines[0] == stats_line(stats())
    assert "finding: x" in lines
    assert "\x1b" not in out.getvalue()


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (65.9, "1:05"), (3725, "1:02:05")])
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_sparklines() -> None:
    assert sparkline([], 10) == ""
    assert sparkline([0, 7], 10) == "▁█"
    assert sparkline([5, 5, 5], 10) == "▁▁▁"
    assert len(sparkline(list(range(1000)), 24)) == 24
