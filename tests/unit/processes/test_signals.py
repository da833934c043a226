"""Signals to a command from its first line on: how it ends, and that it says so in one line."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tzerlike.processes import signals

READY = "print('ready', flush=True); import time; time.sleep(1000)"

PHASES = {
    "while it is imported": f"from tzerlike.processes import signals; signals.end_at_once(); {READY}",
    "in a command": f"""
import sys, tzerlike.cli.main, click
@tzerlike.cli.main.cli.command()
def wait():
    {READY}
sys.argv = ["tzerlike", "wait"]
tzerlike.cli.main.main()
""",
    "while it ends": f"""
import sys, tzerlike.cli.main, click, os, signal
@tzerlike.cli.main.cli.command()
def wait():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        {READY}
sys.argv = ["tzerlike", "wait"]
tzerlike.cli.main.main()
""",
}


@pytest.mark.parametrize("number", signals.STOPPING)
@pytest.mark.parametrize("phase", PHASES)
def test_a_signal_is_one_line_and_its_status(phase: str, number: signal.Signals) -> None:
    command = [sys.executable, "-c", PHASES[phase]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert [line for line in err.splitlines() if line] == ["tzerlike: interrupted"]


def test_a_sighup_that_nohup_switched_off_does_nothing() -> None:
    code = """
import os, signal
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from tzerlike.processes import signals
signals.end_at_once()
signals.raise_stopped()
os.kill(os.getpid(), signal.SIGHUP)
with signals.StopRequest() as stop:
    os.kill(os.getpid(), signal.SIGHUP)
    assert not stop
"""
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_one_request_may_be_several_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(signals.time, "monotonic", lambda: now[0])
    with signals.StopRequest() as stop:
        assert not stop
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
        assert (bool(stop), stop.number, stop.urgent) == (True, signal.SIGTERM, False)
        now[0] += 2.0
        signal.raise_signal(signal.SIGTERM)
        assert (stop.number, stop.urgent) == (signal.SIGTERM, True)


def test_the_command_starts_with_its_signals() -> None:
    """Nothing that takes time is imported before they are handled."""
    code = (
        "import sys, tzerlike.__main__\n"
        "print(sorted(name for name in sys.modules if name.startswith(('tzerlike', 'click', 'rich'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "['tzerlike', 'tzerlike.__main__', 'tzerlike.processes', 'tzerlike.processes.signals']\n"
