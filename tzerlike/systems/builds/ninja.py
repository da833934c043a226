"""Running ninja: its progress, an estimate, and an error in one line."""

from __future__ import annotations

import re
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tzerlike.core.errors import UserError
from tzerlike.systems.builds.interruptions import GOES_ON

_STATUS = re.compile(r"\[(\d+)/(\d+)\]")
_TAIL = 400


@dataclass(frozen=True, slots=True)
class Progress:
    """Of this run: steps done and in all, seconds gone, and seconds left by the pace so far."""

    done: int
    total: int
    elapsed: float
    left: float

    def line(self) -> str:
        gone, left = _minutes(self.elapsed), _minutes(self.left)
        return f"{self.done} of {self.total} steps, {gone} elapsed, about {left} left"


def progress_of(line: str, elapsed: float) -> Progress | None:
    """Return what a line of ninja's says of how far it is; None when it says nothing."""
    match = _STATUS.match(line)
    if match is None or int(match[1]) == 0:
        return None
    done, total = int(match[1]), int(match[2])
    return Progress(done, total, elapsed, elapsed / done * (total - done))


def run_ninja(
    build: Path,
    targets: Sequence[str],
    jobs: int,
    log: Path,
    show: Callable[[Progress], None],
    environment: Mapping[str, str],
) -> None:
    """Build `targets` in `build`, and append all that is said to `log`.

    UserError that says what to do when it fails, KeyboardInterrupt when it was interrupted; whatever has been compiled
    stays, and the next run goes on from there.
    """
    began = time.monotonic()
    tail: deque[str] = deque(maxlen=_TAIL)
    with log.open("a", encoding="utf-8") as record:
        process = subprocess.Popen(
            ["ninja", "-C", str(build), f"-j{jobs}", *targets],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**environment, "NINJA_STATUS": "[%f/%t] "},
        )
        try:
            assert process.stdout is not None
            for line in process.stdout:
                record.write(line)
                tail.append(line.rstrip())
                if (progress := progress_of(line, time.monotonic() - began)) is not None:
                    show(progress)
            status = process.wait()
        except BaseException:
            # Ctrl-C reaches ninja too; whatever else ends this run must end it as well.
            process.terminate()
            process.wait()
            raise
    if status != 0 and any("interrupted by user" in line for line in tail):
        raise KeyboardInterrupt
    if status != 0:
        raise UserError(failure(tail, log))


def failure(lines: Sequence[str], log: Path) -> str:
    """Return one line on why a build failed, by the last lines of what was said."""
    said = "\n".join(lines)
    if "No space left on device" in said:
        return f"no space left for the build; make room and {GOES_ON} ({log})"
    if re.search(r"\bKilled\b|signal 9|out of memory", said):
        return f"a compiler ran out of memory; run the same command again with a smaller --jobs ({log})"
    error = next((line for line in lines if "error:" in line), "")
    failed = next((line.removeprefix("FAILED: ").strip() for line in lines if line.startswith("FAILED: ")), "the build")
    reason = f"{failed} failed" + (f": {error.strip()}" if error else "")
    return f"{reason}; fix that and {GOES_ON} ({log})"


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
