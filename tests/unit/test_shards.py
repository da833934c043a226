"""Scripts that share their work out among processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "scripts"

WORK = """
import sys, time
from dataclasses import dataclass
from pathlib import Path
from shards import run_shards

@dataclass
class Sleeper:
    directory: Path
    number: int
    taken_up: bool = False

    def load(self):
        self.taken_up = True

    def work(self, items, root):
        assert self.taken_up and (items, root) == (100, 7)
        time.sleep(self.number / 5)
        (self.directory / f"done-{self.number}").touch()
        if self.number in map(int, sys.argv[2:]):
            raise ValueError("broken")

here = Path(sys.argv[1])
completed = run_shards([Sleeper(here, number) for number in range(3)], 100, 7)
print(completed, *sorted(path.name for path in here.iterdir()))
"""


def ran(directory: Path, *broken: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", WORK, directory, *broken], cwd=SCRIPTS, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def test_all_shards_are_waited_for_whichever_breaks(tmp_path: Path) -> None:
    assert ran(tmp_path, "0") == ["False", "broken-0.txt", "done-0", "done-1", "done-2"]
    assert "ValueError: broken" in (tmp_path / "broken-0.txt").read_text()


def test_none_that_breaks_is_a_run_that_completed(tmp_path: Path) -> None:
    assert ran(tmp_path) == ["True", "done-0", "done-1", "done-2"]
