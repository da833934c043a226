"""A device to run kernels on, as a worker sees it: behind a process that may be lost."""

from __future__ import annotations

import json
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tzerlike.core.case import Case
from tzerlike.core.effort import Check, Effort
from tzerlike.core.errors import Fault
from tzerlike.core.limits import Limits
from tzerlike.core.results import OVER_TIME, Ending, Ran, Results
from tzerlike.core.targets import kind_of_target

DRIVER = Path("/proc/driver/nvidia/gpus")
"""A directory of the kernel driver with an entry for each GPU."""

FAULT = "fault"
"""The key of the first answer of a process: "" or why no kernel runs there; later on of a fault of ours."""

RUNNING = "running"
"""The key of the answer that says that everything is compiled and the kernel runs from now on."""

TAINTED = "tainted"
"""The key of a last answer: no more can be asked of the process."""

_TO_COMPILE = 120.0
_TO_LIST = 30.0
_FACTOR = 10.0
"""How many times the processor time of a case a kernel may take by the clock, what comes with it included."""


def devices(driver: Path = DRIVER) -> list[str]:
    """Return the NVIDIA GPUs of this machine by name, as its driver lists them; empty without one. Starts no CUDA."""
    names = []
    for file in sorted(driver.glob("*/information")):
        lines = (line.partition(":") for line in file.read_text(encoding="utf-8", errors="replace").splitlines())
        names += [value.strip() for key, _, value in lines if key == "Model"]
    tool = shutil.which("nvidia-smi") if not names else None
    if tool is None:
        return names
    try:
        done = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=_TO_LIST, check=False)
    except subprocess.TimeoutExpired:
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.startswith("GPU ")]


class Device:
    """Runs kernels compiled for `target`, in a process that is started when it is needed and after each loss.

    The target is one for cuda, or llvm in tests of everything but the device itself.
    """

    def __init__(self, target: str) -> None:
        self.kind = kind_of_target(target)
        self._target = target
        self.starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._read = b""
        self._end = Ran()

    def fault(self) -> str:
        """Start the process, if there is none, with a kernel that is known to be right.

        Returns what is wrong with the device; "" where nothing is.
        """
        if self._process is not None and self._process.poll() is None:
            return ""
        self.close()
        self.starts += 1
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tzerlike.execution.cuda.server", self._target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        hello = self._answer(_TO_COMPILE)
        said = "its process does not start" if hello is None else str(hello[FAULT])
        if said:
            self.close()
        return said

    def judged(self, case: Case, results: Results, archive: Path, effort: Effort, limits: Limits) -> Results:
        """Return `results` with what came of running the case there; `archive` has its inputs and what is expected.

        A kernel that runs on without end, or takes its process with it, DIED. Where it did not come to running, or the
        system killed the process, nothing changes.
        """
        item = {"case": case.to_json(), "archive": str(archive.resolve()), "checks": sorted(effort.checks)}
        begun = self._ask(item)
        if begun is None or RUNNING not in begun:
            return results
        answer = self._heard(_FACTOR * limits.seconds)
        if answer is None:
            return replace(results, optimised=self._end, device=self.kind) if self._end.ending.wrong else results
        if TAINTED in answer:
            self.close()
        if "optimised" not in answer:
            return results
        return Results.from_json(results.to_json() | {"device": self.kind} | answer)

    def close(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                pipe.close()
        self._process, self._read = None, b""

    def _ask(self, item: dict[str, Any]) -> dict[str, Any] | None:
        if self.fault():
            return None
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(item).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self.close()
            return None
        return self._heard(_TO_COMPILE)

    def _heard(self, seconds: float) -> dict[str, Any] | None:
        """The next answer to a case; Fault where it is one of ours."""
        answer = self._answer(seconds)
        if answer is not None and FAULT in answer:
            self.close()
            raise Fault("KernelProcess", ("execution/cuda/device.py",), str(answer[FAULT]))
        return answer

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        """The next answer; None when the process ends, or is ended since `seconds` pass without a word of it, and then
        `_end` says which."""
        assert self._process is not None and self._process.stdout is not None
        while b"\n" not in self._read:
            ready, _, _ = select.select([self._process.stdout], [], [], seconds)
            chunk = self._process.stdout.read1(1 << 16) if ready else b""  # type: ignore[attr-defined]
            if not chunk:
                self._end = self._ended() if ready else Ran(Ending.DIED, OVER_TIME)
                self.close()
                return None
            self._read += chunk
        line, _, self._read = self._read.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _ended(self) -> Ran:
        """What became of a case whose process ended by itself; NOT_RUN where the system killed it."""
        assert self._process is not None
        try:
            status = self._process.wait(_TO_LIST)
        except subprocess.TimeoutExpired:
            return Ran(Ending.DIED, OVER_TIME)
        if status == -signal.SIGKILL:
            return Ran()
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        return Ran(Ending.DIED, f"{how} in the process that launches the kernel")


class Devices:
    """Where kernels run, for each target that a case asks for: none without a GPU, or with one on which none runs."""

    def __init__(self, names: Callable[[], Sequence[str]] = devices) -> None:
        self._names = names
        self._devices: dict[str, Device | None] = {}

    def of(self, target: str, effort: Effort) -> Device | None:
        """Return the device for a case's target where results are looked at and kernels run."""
        if kind_of_target(target) == "llvm" or Check.RESULTS not in effort.checks:
            return None
        if target not in self._devices:
            self.problem(target)
        return self._devices[target]

    def problem(self, target: str) -> str:
        """Look whether kernels for a target run here, and say why not where there is a GPU; else ""."""
        self._devices[target] = None
        if kind_of_target(target) == "llvm" or not self._names():
            return ""
        device = Device(target)
        fault = device.fault()
        if fault:
            return f"kernels are not run, the first one fails: {fault}"
        self._devices[target] = device
        return ""
