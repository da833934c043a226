"""The same campaign from two callers who have nothing in common, on the real TVM."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import CACHE

COMMAND = Path(sys.executable).with_name("tzerlike")


def callers(tmp_path: Path) -> list[tuple[Path, dict[str, str], list[str]]]:
    """Directories to start in, environments and cores; the second caller's cache lacks the blocks of the library."""
    plain = tmp_path / "plain"
    other = tmp_path / "another directory, with a long name and files in it" / "deeper"
    cold = tmp_path / "cold"
    for path in (plain, other, cold / "tzerlike"):
        path.mkdir(parents=True)
    for number in range(40):
        (other / f"file-{number}").touch()
    for seeds in (CACHE / "tzerlike").glob("seeds-*"):
        shutil.copy(seeds, cold / "tzerlike")
    core = str(min(os.sched_getaffinity(0)))
    return [
        (plain, {"PATH": "/usr/bin:/bin", "HOME": "/", "XDG_CACHE_HOME": str(CACHE)}, []),
        (
            other,
            {
                "PATH": f"/some/where/else:{os.environ['PATH']}",
                "HOME": str(other),
                "LC_ALL": "C.UTF-8",
                "TMPDIR": str(plain),
                "XDG_CACHE_HOME": str(cold),
                "SOMETHING": "x" * 5000,
            },
            ["taskset", "-c", core],
        ),
    ]


@pytest.mark.long
def test_two_callers_with_nothing_in_common_find_the_same(tmp_path: Path) -> None:
    outcomes = []
    for number, (directory, environment, held) in enumerate(callers(tmp_path)):
        out = tmp_path / f"out-{number}"
        options = ["--seed", "7", "--iterations", "40", "--jobs", "1", "--oracles", "crash", "--out", str(out)]
        done = subprocess.run(
            [*held, str(COMMAND), "fuzz", *options], cwd=directory, env=environment, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        events = map(json.loads, (out / "workers" / "0" / "events.jsonl").read_text().splitlines())
        seen = [
            (event["i"], event["how"], event["exit"], event["new"], event["case"]) for event in events if "i" in event
        ]
        outcomes.append((seen, sorted(path.name for path in (out / "corpus").iterdir())))
    assert len(outcomes[0][0]) == 40
    assert outcomes[0] == outcomes[1]


MAPPED = """
import sys
from pathlib import Path
from tzerlike.processes.client import Client
from tzerlike.processes.caller import cache_directory, zygote_environment
given = dict(pair.split("=", 1) for pair in sys.argv[1:])
with Client(slots=1, coverage="none", cache_dir=cache_directory(), environment=zygote_environment() | given) as client:
    (child,) = (int(pid) for pid in Path(f"/proc/self/task/{__import__('os').getpid()}/children").read_text().split())
    sys.stdout.write(Path(f"/proc/{child}/maps").read_text())
"""


def mapped(directory: Path, environment: dict[str, str], *given: str) -> str:
    """The memory map of a zygote: addresses and sizes of all that it has allocated, in whole pages."""
    run = subprocess.run(
        [sys.executable, "-c", MAPPED, *given],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = (line.split() for line in run.stdout.splitlines())
    return "\n".join(" ".join((line[0], line[1], *line[5:])) for line in lines)


@pytest.mark.long
def test_zygotes_of_different_callers_have_the_same_heap(tmp_path: Path) -> None:
    (one, environment, _), (other, another, _) = callers(tmp_path)
    assert mapped(one, environment) == mapped(other, another)


@pytest.mark.long
def test_a_start_that_has_to_compile_byte_code_ends_like_the_next_one(tmp_path: Path) -> None:
    directory, environment, _ = callers(tmp_path)[0]
    prefix = f"PYTHONPYCACHEPREFIX={tmp_path / 'byte-code'}"
    cold = mapped(directory, environment, prefix)
    assert any((tmp_path / "byte-code").rglob("*.pyc"))
    assert cold == mapped(directory, environment, prefix)
