"""The state of one worker: a value that is updated as the worker runs, saved, read again, and added up."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec
from msgspec import Meta

from tzerlike.core.bandit import Yields
from tzerlike.core.case import Case, Provenance
from tzerlike.core.finding import FIRST_TIER
from tzerlike.core.schema import Count, Schema, Seconds, Text
from tzerlike.core.storage import write_atomic
from tzerlike.core.stored import StoredCase

_REJECTIONS = 500
"""Messages of rejections that are saved: the most frequent."""

_STATE_BYTES = 1 << 30

_YIELDS = ("mutators", "passes")

_Id = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
Counts = dict[Text, Count]


class Yield(msgspec.Struct, array_like=True):
    """How often something was tried, compiled, and found new coverage."""

    tried: Count = 0
    valid: Count = 0
    valuable: Count = 0

    def __add__(self, other: Yield) -> Yield:
        return Yield(self.tried + other.tried, self.valid + other.valid, self.valuable + other.valuable)


class Tally(msgspec.Struct, kw_only=True):
    """What is added up over workers. `pairs` are those run, which are more than iterations: sequences are shrunk.

    What is not in a table counts as 0.
    """

    iterations: Count = 0
    pairs: Count = 0
    valid: Count = 0
    valuable: Count = 0
    exits: Counts = {}
    rejected: Counts = {}
    labels: Counts = {}
    verdicts: Counts = {}
    internal_errors: Counts = {}
    seconds: dict[Text, float] = {}
    mutators: dict[Text, Yield] = {}
    passes: dict[Text, Yield] = {}
    unconfirmed: Counts = {}
    duplicates: Counts = {}
    tiers: Counts = {}
    kernels: Counts = {}
    witness: Counts = {}
    proofs: Counts = {}
    known: Counts = {}
    faults: Counts = {}
    recent_faults: list[Count] = []
    problems: list[Text] = []
    pending: Count = 0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            table = getattr(self, name)
            if isinstance(table, dict):
                setattr(self, name, defaultdict(Yield, table) if name in _YIELDS else Counter(table))

    def pass_yields(self) -> Yields:
        """What a source of sequences learns from: the cases that each pass had a part in, and those of value."""
        return {name: (row.tried, row.valuable) for name, row in self.passes.items()}

    @classmethod
    def total(cls, tallies: Iterable[Tally]) -> Self:
        """Return the sum of several workers' tallies."""
        total = cls()
        for tally in tallies:
            for name in cls.__struct_fields__:
                ours, more = getattr(total, name), getattr(tally, name)
                if isinstance(ours, dict):
                    for key, value in more.items():
                        ours[key] += value
                else:
                    setattr(total, name, ours + more)
        return total


class Kept(msgspec.Struct):
    """A case that something is still to be done with; `tries` counts the workers that have begun with that again."""

    case: dict[Text, Any]
    provenance: dict[Text, Any]
    tries: Count = 0

    @classmethod
    def of(cls, stored: StoredCase, tries: int = 0) -> Kept:
        return cls(stored.case.to_json(), stored.provenance.to_json(), tries)

    @property
    def stored(self) -> StoredCase:
        """UserError where it does not hold a case."""
        return StoredCase(Case.from_json(self.case), Provenance.from_json(self.provenance))


class ToReduce(Kept, kw_only=True):
    """What waits to be reduced: a `bundle` by its name, or the case of another finding of its signature.

    `tier` is that of the bundle, where it is known. `rough` is one that was reduced roughly, and waits for the rest.
    """

    signature: Text
    bundle: Text = ""
    tier: Count = 0
    case: dict[Text, Any] = {}
    provenance: dict[Text, Any] = {}
    rough: bool = False

    @property
    def urgent(self) -> bool:
        """Whether it is what people read first: a bundle of the first tier."""
        return bool(self.bundle) and self.tier == FIRST_TIER

    @classmethod
    def rival(cls, signature: str, stored: StoredCase) -> ToReduce:
        return cls(signature=signature, case=stored.case.to_json(), provenance=stored.provenance.to_json())


class WorkerState(Tally, kw_only=True):
    """All that a worker of either harness saves of itself; what another harness has is empty.

    `elapsed` counts earlier runs of the campaign too, and `time` is when this was saved, in seconds since the epoch.
    `coverage` is that of all workers of a machine, and so is that in `libraries`, of each by its name where there are
    several: how many of its blocks are reached, and how many it has. `reducing` is how many cases reductions have
    taken, `seen_again` counts findings that had a bundle, by signature. `bringing` is the share of the last cases that
    brought something. `in_hand` is a case whose findings are being confirmed, `to_confirm` has those behind it in its
    batch, `to_examine` those that probes are to look at, several at a time. `idle` is who has nothing to mutate, and no
    seed left to begin with.
    """

    iterations: Count
    elapsed: Seconds
    worker: Count = 0
    time: float = 0.0
    findings: Counts = {}
    last_finding: Text = ""
    carried_through: Text = ""
    coverage: Count = 0
    coverage_total: Count = 0
    coverage_backend: Text = "none"
    libraries: dict[Text, tuple[Count, Count]] = {}
    corpus: Count = 0
    idle: bool = False
    superseded: list[_Id] = []
    in_hand: Kept | None = None
    to_confirm: list[Kept] = []
    to_examine: dict[Text, list[Kept]] = {}
    to_reduce: list[ToReduce] = []
    reducing: Count = 0
    bringing: Annotated[float, Meta(ge=0, le=1)] = 1.0
    seen_again: Counts = {}
    checks: dict[Text, Yield] = {}
    tried: Counts = {}
    claimed: Counts = {}
    suspected: Counts = {}
    hints: Counts = {}


STATE = Schema(WorkerState, "state", unstated=1)
"""A worker's state.json."""


def read_state(path: Path) -> WorkerState:
    """Read a worker's state.json, whole; UserError in one line that names the file and the place."""
    return STATE.read(path, _STATE_BYTES)


class WorkerPool(msgspec.Struct):
    """The corpus entries of a worker in their order, which grow with a campaign where its state does not.

    `entries` are their ids, each with its N, `yields` says of each how many mutations it had and how many of them found
    something, `focused` has those that are in the focus of the campaign.
    """

    entries: list[tuple[_Id, Count]] = []
    yields: list[tuple[Count, Count]] = []
    focused: list[_Id] = []


POOL = Schema(WorkerPool, "pool", unstated=1)
"""A worker's pool.json; before there was one, state.json had the same fields."""


def read_pool(path: Path) -> WorkerPool:
    """Read a worker's pool.json, whole; UserError in one line that names the file and the place."""
    return POOL.read(path, _STATE_BYTES)


def write_pool(path: Path, pool: WorkerPool) -> None:
    """Write a pool.json, whole or not at all; StorageError where it cannot be written."""
    write_atomic(path, json.dumps(POOL.stamped(msgspec.to_builtins(pool))))


class StatesRead:
    """States as they were last read: a file is read again once it has been written again."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[tuple[int, int], WorkerState]] = {}

    def of(self, path: Path) -> WorkerState:
        """What `read_state` returns, not to be changed; raises what that raises, and OSError where there is none."""
        about = path.stat()
        written = about.st_ino, about.st_mtime_ns
        if path not in self._read or self._read[path][0] != written:
            self._read[path] = written, read_state(path)
        return self._read[path][1]


def write_state(path: Path, state: WorkerState) -> None:
    """Write a state.json, whole or not at all; StorageError where it cannot be written."""
    rejected = dict(Counter(state.rejected).most_common(_REJECTIONS))
    write_atomic(path, json.dumps(STATE.stamped({**msgspec.to_builtins(state), "rejected": rejected})))
