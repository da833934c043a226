import io
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.bundles import add_bundle, crashed
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.state import STATE, WorkerState
from tzerlike.campaign.stats import CurvePoint, add_up
from tzerlike.campaign.supervisor import Core, View, Wishes
from tzerlike.cli.keys import Keys
from tzerlike.cli.screen import KEYS, FindingLines, RichScreen, listing, make_screen, render, sparkline, stats_line
from tzerlike.core.config import CampaignConfig
from tzerlike.core.finding import Signed
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
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(render(view(full), width, height - 1, KEYS, [f"finding {number}" for number in range(30)]))
    assert isinstance(console.file, io.StringIO)
    busy = console.file.getvalue().splitlines()
    assert len(busy) <= height - 1, "more findings only where there is room"
    assert "finding 0" in "".join(busy) and "q end" in busy[-1]


def test_what_does_not_fit_ends_with_an_ellipsis() -> None:
    full = stats() | {"findings": {"crash": 11, "ice-on-valid": 58, "invalid-ir": 9, "slow-code": 3, "wrong-code": 15}}
    [line] = [line for line in drawn(full, 80, 23).splitlines() if "wrong-code" in line]
    assert "96   15 wrong-code, 11 crash, 58 ice-on-valid, 9 invalid-ir, 3 …" in line.replace(", last 0:05 ago", "")


def test_findings_fill_a_high_screen() -> None:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    console.print(render(view(stats()), 200, 59, KEYS, [f"finding {number}" for number in range(60)]))
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert len(lines) == 59
    assert "finding 40" in "".join(lines)


def test_a_narrow_screen_has_room_for_a_title() -> None:
    line = "tier 2  b65b7ae03215  ice-on-valid  VerifyGPUCode fails: check extent"
    for width, shown in ((60, "last finding  tier 2  VerifyGPUCode fails: check e"), (120, f"last finding  {line}")):
        console = Console(file=io.StringIO(), width=width, color_system=None)
        console.print(render(view(stats()), width, 19, KEYS, [line]))
        assert isinstance(console.file, io.StringIO)
        assert shown in console.file.getvalue()


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


def test_the_screen_says_how_long_nothing_new_came_and_how_fast_each_worker_is() -> None:
    points = [(0.0, 5, 0), (10.0, 9, 1), (20.0, 9, 2), (40.0, 9, 2)]
    curve = tuple(CurvePoint(at, 0, blocks, 0, 0, found) for at, blocks, found in points)
    cores = (Core(0, 2.5), Core(1, 1.5, in_hand=812))
    seen = View(CampaignConfig(seed=1), CampaignDir(Path("c")), stats(), curve, "fuzzing", cores)
    console = Console(file=io.StringIO(), width=120, color_system=None)
    console.print(render(seen, 120, 40))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "new 0:40 ago" in text and "last 0:30 ago" in text
    assert "(2.5 + 1.5)" in text
    assert "worker 1 (iteration 812)" in text


def test_findings_are_listed_by_title_the_newest_first(tmp_path: Path) -> None:
    directory = CampaignDir(tmp_path)
    directory.create(1)
    for number in range(4):
        path = add_bundle(directory.findings, Signed("crash", (f"part{number}",)), crashed("tirx.A", "f"))
        (path / "report.md").write_text(f"# [Bug][TIR] Pass{number}\n\nmore")
        os.utime(path, (number, number))
    lines = FindingLines().of(directory)
    assert [line.rpartition("Pass")[2] for line in lines] == ["3", "2", "1", "0"]
    console = Console(file=io.StringIO(), width=60, color_system=None)
    console.print(listing(view(stats()), lines, 60, 5))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "4 findings" in text and "Pass2" in text and "... and 2 more" in text and "Pass0" not in text
    assert len(text.splitlines()) == 5


@pytest.mark.parametrize("tier", ["tier 2", "      "])
def test_a_narrow_list_has_room_for_titles(tier: str) -> None:
    lines = [f"{tier}  59a70afe1b38  wrong-code    Wrong code (LowerTIRxCleanup)"]
    console = Console(file=io.StringIO(), width=60, color_system=None)
    console.print(listing(view(stats()), lines, 60, 20))
    console.print(listing(view(stats()), lines, 120, 20))
    assert isinstance(console.file, io.StringIO)
    narrow, wide = (text for text in console.file.getvalue().splitlines() if "59a70afe1b38" in text)
    assert f"│ {tier}  59a70afe1b38  Wrong code (LowerTIRxCleanup) " in narrow
    assert "  wrong-code    Wrong" in wide


def test_a_narrow_screen_says_how_many_seeds_are_left() -> None:
    text = drawn(stats() | {"corpus": 2894, "valuable_tests": 2018, "seeds_pending": 1115}, 60)
    assert "2,894   2,018 valuable   1,115 seeds left" in text


def test_while_it_rests_the_screen_says_which_key_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Keys, "heard", True)
    console = Console(file=io.StringIO(), width=80, height=24)
    screen = RichScreen(console)
    shown: list[str] = []

    def update(drawn: Any) -> None:
        with console.capture() as captured:
            console.print(drawn)
        shown.append(captured.get())

    monkeypatch.setattr(screen._live, "update", update)
    for _ in range(2):
        screen.show(view(stats()))
        screen.press("p")
    assert ["p pause" in text for text in shown] == [True, False]
    assert "p resume" in shown[1]


def test_keys_end_pause_and_list() -> None:
    screen = RichScreen(Console(file=io.StringIO()))
    for key in "pxf":
        screen.press(key)
    assert screen.wishes == Wishes(end=False, pause=True)
    screen.press("p")
    screen.press("q")
    assert screen.wishes == Wishes(end=True, pause=False)


PRESSED = """
import os, termios
from tzerlike.cli.keys import Keys
before, heard = termios.tcgetattr(0), ""
with Keys() as keys:
    os.write(1, b"ready")
    while keys.heard and len(heard) < 2:
        heard += keys.pressed()
assert heard == "fq" and termios.tcgetattr(0) == before
"""


def test_keys_come_without_return_and_the_terminal_is_as_before() -> None:
    pid, terminal = pty.fork()
    if pid == 0:  # in a terminal of its own
        os.execv(sys.executable, [sys.executable, "-c", PRESSED])
    while b"ready" not in os.read(terminal, 64):
        pass
    os.write(terminal, b"fq")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(terminal)


def test_where_nobody_types_nothing_is_read() -> None:
    with Keys() as keys:
        assert not keys.heard
        assert keys.pressed() == ""


def test_a_log_that_cannot_be_written_ends_no_campaign() -> None:
    """A pipe whose reader has gone, and a full disk."""
    program = """if True:
        import os, sys
        from rich.console import Console
        from tzerlike.cli.screen import PlainScreen
        read, write = os.pipe()
        os.close(read)
        for log in (write, os.open("/dev/full", os.O_WRONLY)):
            screen = PlainScreen(Console(file=os.fdopen(log, "w")))
            screen.tell("a line")
            screen.tell("another")
        sys.stderr.write("went on")
        sys.stderr.flush()
        os._exit(0)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "went on")
