"""The campaign directory: every path, atomic writes, and the numbers read from it.

One writer per file: a worker writes its own shard under `workers/<n>/` and files named by content; the
supervisor writes the rest.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tzerlike.core.errors import UserError
from tzerlike.core.schema import VERSION, Count, Scalar, Schema, Text, converted
from tzerlike.core.storage import TEMPORARY, locked, make_directories, remove, write_atomic, write_together
from tzerlike.core.stored import StoredCase
from tzerlike.core.untrusted import is_directory
from tzerlike.findings.cases import read_case

_KEPT_ASIDE = 200

MIRROR = ".mirror"
"""The file that a mirror has."""

FOUND_ELSEWHERE = "elsewhere"
"""The file of a machine's mirror that lists the signatures of bundles that others have."""


def existing(root: Path) -> CampaignDir:
    """Return the campaign in a directory; UserError where there is none."""
    directory = CampaignDir(root)
    if not root.is_dir():
        raise UserError(f"{root}: not a campaign (no such directory)")
    if not any(path.exists() for path in (directory.config, directory.stats, directory.findings)):
        raise UserError(f"{root}: not a campaign (neither campaign.toml nor stats.json nor findings/)")
    return directory


@dataclass(frozen=True, slots=True)
class CampaignDir:
    """All paths of a campaign; creating one touches nothing."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "campaign.toml"

    @property
    def environment(self) -> Path:
        return self.root / "environment.json"

    @property
    def stats(self) -> Path:
        return self.root / "stats.json"

    @property
    def against(self) -> Path:
        """What another TVM makes of the findings, where that was asked for."""
        return self.root / "against.json"

    @property
    def focus(self) -> Path:
        """The functions that the TVM under test does not have in common with that other one."""
        return self.root / "focus.json"

    @property
    def coverage_csv(self) -> Path:
        return self.root / "coverage.csv"

    @property
    def corpus(self) -> Path:
        return self.root / "corpus"

    @property
    def corrupt(self) -> Path:
        return self.root / "corrupt"

    @property
    def aside(self) -> Path:
        return self.root / "set-aside"

    @property
    def findings(self) -> Path:
        return self.root / "findings"

    @property
    def faults(self) -> Path:
        return self.root / "faults"

    @property
    def merged_coverage(self) -> Path:
        """In a machine's mirror, what all machines cover together."""
        return self.root / "coverage.bits"

    @property
    def claims(self) -> Path:
        """What is being confirmed, and by whom."""
        return self.root / "claims"

    @property
    def cluster(self) -> Path:
        """What the coordinator of a cluster goes by, beyond what the machines have saved."""
        return self.root / "cluster.json"

    @property
    def nodes(self) -> Path:
        """What the machines of a campaign say of themselves, a file each."""
        return self.root / "nodes"

    def node(self, number: int) -> Path:
        return self.nodes / f"{number}.json"

    def lock(self, node: int) -> Path:
        return self.root / (f".lock-{node}" if node else ".lock")

    def held(self, node: int = 0, part: str = "") -> contextlib.AbstractContextManager[None]:
        """Within, no other process is at work here, or on this `part`; UserError where one is."""
        return alone_with(self.lock(node), f"{part}{self.root}")

    def pause(self, node: int = 0) -> Path:
        """The workers of a machine rest while this file is there."""
        return self.root / (f".pause-{node}" if node else ".pause")

    def worker(self, number: int) -> Path:
        return self.root / "workers" / str(number)

    def worker_numbers(self) -> list[int]:
        """The workers that the campaign has had, on all machines."""
        try:
            return sorted(int(name) for name in os.listdir(self.root / "workers") if name.isdecimal())
        except FileNotFoundError:
            return []

    def worker_state(self, number: int) -> Path:
        return self.worker(number) / "state.json"

    def worker_pool(self, number: int) -> Path:
        return self.worker(number) / "pool.json"

    def worker_coverage(self, number: int) -> Path:
        return self.worker(number) / "coverage.bits"

    def create(self, jobs: int, first: int = 0) -> None:
        """Make the directories of a campaign with so many workers, numbered from `first` on.

        UserError when that is not possible.
        """
        workers = (self.worker(number) for number in range(first, first + jobs))
        make_directories("--out", self.corpus, self.findings, self.faults, *workers)

    def sweep(self) -> None:
        """Remove the temporary files that an interrupted writer left."""
        for path in list(self.root.rglob(f"{TEMPORARY}*")):
            remove(path)

    def save_case(self, stored: StoredCase) -> None:
        self.save_cases([stored])

    def save_cases(self, stored: Iterable[StoredCase]) -> None:
        """Write the corpus files of cases that have none yet."""
        named = {f"{one.case.id}.json": one for one in stored}
        new = {name: one for name, one in named.items() if not (self.corpus / name).exists()}
        files = {name: json.dumps(one.to_json(), ensure_ascii=False) for name, one in new.items()}
        write_together(self.corpus, files)

    def load_case(self, case_id: str) -> StoredCase:
        """Read one corpus file; UserError that names the file when it is missing, corrupt or misnamed."""
        path = self.corpus / f"{case_id}.json"
        stored = read_case(path)
        if stored.case.id != case_id:
            raise UserError(f"{path}: its content does not match its name")
        return stored

    def corpus_ids(self) -> list[str]:
        try:
            return sorted(name[:-5] for name in os.listdir(self.corpus) if len(name) == 69 and name.endswith(".json"))
        except FileNotFoundError:
            return []

    def set_aside(self, case_id: str) -> Path:
        """Move a corpus file that cannot be used out of the corpus; returns where it lies now."""
        self.corrupt.mkdir(exist_ok=True)
        target = self.corrupt / f"{case_id}.json"
        os.replace(self.corpus / f"{case_id}.json", target)
        return target

    def keep_aside(self, stored: StoredCase) -> None:
        """Keep a case that could not be judged twice, for somebody to run it; of very many, the first."""
        self.aside.mkdir(exist_ok=True)
        if len(os.listdir(self.aside)) < _KEPT_ASIDE:
            write_atomic(self.aside / f"{stored.case.id}.json", json.dumps(stored.to_json(), ensure_ascii=False))

    def bundles(self) -> Iterator[Path]:
        """The bundle directories, in order of name; links are none."""
        if self.findings.is_dir():
            yield from sorted(p for p in self.findings.iterdir() if is_directory(p) and not p.name.startswith("."))

    def bundled(self) -> set[str]:
        """The signatures that have a bundle, whichever worker wrote it, and on whatever machine."""
        path = self.root / FOUND_ELSEWHERE
        elsewhere = path.read_text().split() if path.exists() else ()
        return {*map(signature_in_name, self.bundles()), *elsewhere}

    def read_environment(self) -> dict[str, Any]:
        """Return what environment.json says that the campaign ran under; UserError where it cannot be read."""
        return read_environment(self.environment)


@contextlib.contextmanager
def alone_with(lock: Path, what: str) -> Iterator[None]:
    """Within, this process alone has the campaign that is called `what`; UserError where another one has it."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(lock))
        except BlockingIOError as error:
            raise UserError(f"--out: {what} is in use by another tzerlike") from error
        yield


class _Environment(msgspec.Struct):
    """The facts that somebody goes by, of all that environment.json has."""

    tvm: Text
    tvm_ffi: Text = ""
    compiler_library: Text = ""
    coverage_backend: Text = "none"
    coverage_total: Count = 0


ENVIRONMENT = Schema(dict[str, Scalar], "environment", unstated=1)
"""environment.json: names and plain values."""


def read_environment(path: Path) -> dict[str, Any]:
    """Read an environment.json; UserError in one line that names the file and the place."""
    facts = {name: value for name, value in ENVIRONMENT.read(path).items() if name != VERSION}
    try:
        converted(facts, _Environment, "environment")
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return facts


def signature_in_name(bundle: Path) -> str:
    """Return the signature that the name of a bundle's directory ends with."""
    return bundle.name.rpartition("-")[2]


def finding_in_name(bundle: Path) -> str:
    """Return what one bundle of a campaign has: its signature, with what tells it apart from others of that one."""
    match = re.search(r"(other-[0-9a-f]{6}-)?[^-]*\Z", bundle.name)
    return match[0] if match else bundle.name
