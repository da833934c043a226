"""The real command on the real TVM; caches are kept in the checkout's build directory between runs."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tzerlike.systems.builds import Store

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "test-cache"

Command = Callable[..., subprocess.CompletedProcess[str]]


def environment(**changes: str) -> dict[str, str]:
    CACHE.mkdir(parents=True, exist_ok=True)
    return {**os.environ, "XDG_CACHE_HOME": str(CACHE), "COLUMNS": "120", **changes}


def install(project: Path, site: Path) -> Path:
    """Leave what an installer leaves of a plug-in, but for its code; returns `site`, which has to be on the path."""
    described = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    info = site / f"{described['name'].replace('-', '_')}-{described['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {described['name']}\nVersion: {described['version']}\n"
    )
    points = [f"{key} = {value}" for key, value in described["entry-points"]["tzerlike.plugins"].items()]
    (info / "entry_points.txt").write_text("\n".join(["[tzerlike.plugins]", *points, ""]))
    return site


def there(variables: Mapping[str, str], name: str, script: str, *arguments: str | Path) -> str:
    """What a script prints in the environment of an added TVM; `variables` are those of the command that added it."""
    python = Store(Path(variables["XDG_CACHE_HOME"]) / "tzerlike" / "tvm").named(name).python
    line = [str(python), "-c", script, *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, env=variables, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def start(*arguments: str | Path, **options: object) -> subprocess.Popen[str]:
    """Start the command in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tzerlike", *map(str, arguments)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,  # type: ignore[call-overload]
    )


@pytest.fixture(scope="session")
def tzerlike() -> Command:
    def run(*arguments: str | Path, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tzerlike", *map(str, arguments)],
            env=environment(**changes),
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return run


def kill_group(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
    if process.stderr is not None:
        process.stderr.close()


def wait_until(condition: Callable[[], bool], patience: float = 300.0) -> None:
    """Poll until `condition` holds; fails after `patience` seconds, which no healthy machine needs."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "gave up waiting"
        time.sleep(0.05)


@pytest.fixture(scope="session", autouse=True)
def seeds_are_cached() -> None:
    """Make the seeds once, so that no test measures or interrupts their making by accident."""
    around = environment()
    with (CACHE / ".making-seeds").open("w") as lock:
        # One process of the tests makes them, and the others read what it made.
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(
            [sys.executable, "-m", "tzerlike", "seeds", "list", "--json"],
            env=around,
            capture_output=True,
            check=True,
            timeout=600,
        )
