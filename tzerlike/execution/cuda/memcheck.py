"""The messages of NVIDIA's compute-sanitizer on a kernel, if it is installed: bad accesses, races, misused barriers.

It runs a bundle's `repro.py`. What it says is more for a reader, and no part of what a finding is.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

COMPUTE_SANITIZER = "compute-sanitizer"
SANITIZER_REPORT = "compute-sanitizer.txt"

_TOOLS = ("memcheck", "racecheck", "synccheck")
_COMPLAINS = 86
_MARK = "========="
_SECONDS = 120.0
_LINES = 40


def checked(script: Path, find: Callable[[str], str | None] = shutil.which) -> str:
    """Run `script` under each tool and return the complaints; "" where there are none, or no compute-sanitizer.

    A tool that takes more than two minutes, as a kernel without end does, has nothing to say.
    """
    program = find(COMPUTE_SANITIZER)
    if program is None:
        return ""
    complaints = {tool: _complaint(program, tool, script) for tool in _TOOLS}
    return "\n".join(f"{tool}:\n{text}\n" for tool, text in complaints.items() if text)


def _complaint(program: str, tool: str, script: Path) -> str:
    command = [program, "--tool", tool, "--error-exitcode", str(_COMPLAINS), "--target-processes", "all"]
    command += [sys.executable, str(script)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
            text=True,
            errors="replace",
        )
    except (subprocess.TimeoutExpired, OSError):
        return ""
    if done.returncode != _COMPLAINS:
        return ""
    said = [line.removeprefix(_MARK).rstrip() for line in done.stdout.splitlines() if line.startswith(_MARK)]
    return "\n".join([line for line in said if line][:_LINES])
