"""The corpus of an earlier campaign, brought into a new one pair by pair.

A pair is run as it is, and what compiles and still reaches new blocks goes into the new corpus: ordinary imports, of a
program with its passes. What this TVM does not know, or cannot load, stays behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from tzerlike.campaign.shard import Shard
from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.stored import StoredCase
from tzerlike.findings.cases import read_case

_NAME = re.compile(r"([0-9a-f]{64})\.json")
_MOST_PROBLEMS = 20


def corpus_directory(path: Path) -> Path:
    """Return the directory of the case files of a campaign, or of a corpus alone; UserError when it is neither."""
    if (path / "corpus").is_dir():
        return (path / "corpus").resolve()
    if not path.is_dir():
        raise UserError(f"--corpus: {path} is not a directory")
    if (path / "campaign.toml").exists() or (any(path.iterdir()) and not case_ids(path)):
        raise UserError(f"--corpus: {path} holds no corpus")
    return path.resolve()


def case_ids(directory: Path) -> list[str]:
    """Return the ids of the case files in a directory, in order."""
    return sorted(match[1] for file in directory.iterdir() if (match := _NAME.fullmatch(file.name)))


class Carried:
    """One shard's part of a corpus: each pair has one owner, and ids give the order, which no name prefers.

    `admit` is called with each case, and raises UserError for one that the campaign cannot take. `last` is the id of
    the pair that was given out last: a share that starts `after` it goes on where another stopped.
    """

    def __init__(self, directory: Path, shard: Shard, admit: Callable[[Case], object], after: str = "") -> None:
        self._directory = directory
        self._admit = admit
        ids = [i for i in case_ids(directory) if shard.owns(i) and i > after]
        self._waiting = ids[::-1]
        self.last = after
        self.problems: list[str] = []

    def __len__(self) -> int:
        """How many are still to come, those that will stay behind included."""
        return len(self._waiting)

    def __iter__(self) -> Iterator[StoredCase]:
        return self

    def __next__(self) -> StoredCase:
        while self._waiting:
            self.last = self._waiting.pop()
            try:
                stored = read_case(self._directory / f"{self.last}.json")
                self._admit(stored.case)
            except UserError as error:
                self._leave_out(str(error))
            else:
                return stored
        raise StopIteration

    def _leave_out(self, problem: str) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(f"corpus: left out: {problem}")
