"""Run the commands on mutated bundles: each command ends, and says in one line what is wrong.

    python scripts/fuzz_commands.py [--number N] [--start SEED] [--at-a-time SIZE] BUNDLE...

Makes N mutants (default: 3,000) of the BUNDLEs and of those that fuzz_bundles.py generates, in directories of SIZE
(default: 100), and takes each directory through replay, bisect, reduce and report, a bundle at a time in one client of
processes, and then through `triage`, `report` and `ci replay` as commands. Exits 1 if one ends in anything but a
UserError, or takes longer than its limits allow.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from fuzz_bundles import Files, mutant, put_something_else, samples

from tzerlike.core.errors import UserError
from tzerlike.core.untrusted import one_line
from tzerlike.findings.bisect.bundles import bisect_bundles
from tzerlike.findings.reduction.run import reduce_bundles
from tzerlike.findings.refresh import report_of
from tzerlike.findings.replay import load_bundle, replay_bundles
from tzerlike.processes.caller import open_client
from tzerlike.processes.client import Client

WALL = 180
"""Seconds that one bundle may take of one command, beyond what its own limits allow."""

SEARCH = 0.3
"""Seconds that a reduction may look for something smaller."""

_NAMES = ("case.json", "observation.json", "inputs.npz", "bisect.json", "reduced", "module.py", "report.md")


class TooLong(BaseException):
    """A command runs on; no handler is to take it for its own."""


class Kept(Client):
    """A client that stays when a command is done with it."""

    def __exit__(self, *error: object) -> None:
        pass


class Bench:
    """Runs commands on bundles in one client, and counts what came of them."""

    def __init__(self) -> None:
        self._client: Client | None = None
        self.ended: Counter[str] = Counter()
        self.faults: list[str] = []

    def client(self, *_: object, **__: object) -> Client:
        if self._client is None:
            self._client = open_client(coverage="none")
            # The commands leave the context of a client when they are done; this one is to stay.
            self._client.__class__ = Kept
        return self._client

    def drop(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def try_one(self, name: str, path: Path, command: Callable[[Path], object]) -> bool:
        """Run a command on a path; returns whether it went through."""
        signal.alarm(WALL)
        try:
            command(path)
            self.ended[f"{name}: done"] += 1
            return True
        except UserError as error:
            shown = one_line(str(error))
            if "\n" in str(error).strip() or len(shown) > 1100:
                self.faults.append(f"{name} {path}: {shown}")
            self.ended[f"{name}: refused"] += 1
        except (Exception, TooLong):  # noqa: BLE001 - whatever escapes is what is looked for
            self.faults.append(f"{name} {path}: {traceback.format_exc()}")
            self.ended[f"{name}: fault"] += 1
            self.drop()
        finally:
            signal.alarm(0)
        return False


def mutants(directory: Path, bundles: Mapping[str, Files], seeds: Sequence[int]) -> Iterator[Path]:
    """Write one mutant for each seed into `directory`."""
    for seed in seeds:
        rng = Random(seed)
        kind = rng.choice(sorted(bundles))
        path = directory / f"{Path(kind).name.rpartition('-')[0] or 'crash-x'}-{seed:012x}"
        path.mkdir()
        files = bundles[kind]
        for name, content in (mutant(files, rng, False) if rng.random() < 0.8 else files).items():
            (path / name).parent.mkdir(exist_ok=True)
            (path / name).write_bytes(content)
        if rng.random() < 0.15:
            put_something_else(path / rng.choice(_NAMES), rng)
        yield path


def read_files(path: Path) -> Files:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


@contextmanager
def _bystanders(place: Path) -> Iterator[None]:
    """What lies outside of the bundles has to stay as it is: a file, and a directory that links lead to."""
    outside = place / "outside"
    (outside / "reduced").mkdir(parents=True)
    (outside / "secret").write_text("as it was")
    before = sorted(str(path) for path in outside.rglob("*"))
    yield
    assert (outside / "secret").read_text() == "as it was"
    assert sorted(str(path) for path in outside.rglob("*")) == before, "something was written outside"


def take_through(directory: Path, paths: Sequence[Path], bench: Bench) -> None:
    """Take the bundles in the `directory` findings/ of a campaign through all commands."""

    def loaded(path: Path) -> None:
        seconds = load_bundle(path).limits.seconds
        if seconds > 5:
            raise UserError(f"{path}: left out here, it may take {seconds} s by its own word")

    for path in paths:
        bench.try_one("report", path, report_of)
        if not bench.try_one("load", path, loaded):
            continue
        bench.try_one("replay", path, lambda path: replay_bundles([path], 1, bench.client))
        bench.try_one("bisect", path, lambda path: bisect_bundles([path], bench.client))
        bench.try_one("reduce", path, lambda path: reduce_bundles([path], 1, SEARCH, bench.client))
        bench.try_one("report", path, report_of)
    campaign = directory.parent
    for command in ("triage", "triage --json", "report", "report --json", f"ci replay --output {campaign}/ci"):
        name = command.partition(" --output")[0]
        bench.try_one(name, campaign, partial(_command, command.split()))


def _command(command: Sequence[str], path: Path) -> None:
    """Run a command of the command line; it may end in any way that it says that it may."""
    done = subprocess.run(
        [sys.executable, "-m", "tzerlike", *command, str(path)],
        capture_output=True,
        text=True,
        timeout=WALL * 5,
        check=False,
    )
    if done.returncode not in (0, 1, 2, 3) or "Traceback" in done.stderr or "internal error" in done.stderr:
        raise AssertionError(f"status {done.returncode}: {done.stderr[-3000:]}")
    if done.returncode == 2:
        raise UserError(done.stderr.strip())


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TooLong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=3000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--at-a-time", type=int, default=100)
    parser.add_argument("bundles", type=Path, nargs="*")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", "Duplicate name", UserWarning)
    signal.signal(signal.SIGALRM, _too_long)
    bundles = samples() | {str(path): read_files(path) for path in given.bundles}
    bench = Bench()
    began = time.monotonic()
    for start in range(given.start, given.start + given.number, given.at_a_time):
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as scratch:
            place = Path(scratch)
            findings = place / "campaign" / "findings"
            findings.mkdir(parents=True)
            with _bystanders(place):
                paths = list(mutants(findings, bundles, range(start, start + given.at_a_time)))
                take_through(findings, paths, bench)
        told: dict[str, Any] = {"mutants": start + given.at_a_time - given.start, "faults": len(bench.faults)}
        print(json.dumps(told | {"seconds": round(time.monotonic() - began)}), flush=True)
        for fault in bench.faults[-5:]:
            print(fault, flush=True)
    bench.drop()
    for word, count in sorted(bench.ended.items()):
        print(f"{count:7}  {word}")
    print(f"{len(bench.faults)} faults in {time.monotonic() - began:.0f} s")
    for fault in bench.faults:
        print(fault)
    sys.exit(1 if bench.faults else 0)


if __name__ == "__main__":
    main()
