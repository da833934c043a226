"""The work of `tzerlike reduce`: bundles go to worker processes, one each, and the answers come in order."""

from __future__ import annotations

import math
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tzerlike.core.progress import Steps, untold
from tzerlike.core.units import duration
from tzerlike.findings.bundles.bundle import Bundle, OtherBundle
from tzerlike.findings.reduction import REDUCED
from tzerlike.findings.replay import load_bundle, oracles_of, start_for
from tzerlike.processes.client import Client
from tzerlike.processes.signals import StopRequest

_STOP_PATIENCE = 30.0
_REFRESH = 0.2

_WORDS = {"budget": "out of budget, best so far", "interrupted": "interrupted, best so far"}


@dataclass(frozen=True, slots=True)
class Reduction:
    """What became of one bundle.

    `status` is reduced, budget or interrupted (the best so far is on disk), flaky, does not show, failed, not begun,
    or left alone; `why` says more. `before` and `after` are counts, of statements and passes for example.
    """

    path: Path
    kind: str
    signature: str
    status: str = "not begun"
    why: str = ""
    before: Mapping[str, int] | None = None
    after: Mapping[str, int] | None = None
    seconds: float = 0.0
    tried: int = 0

    @property
    def good(self) -> bool:
        return self.status in ("reduced", "budget", "interrupted", "left alone")

    def line(self) -> str:
        status = _WORDS.get(self.status, self.status)
        why = f" ({self.why})" if self.why else ""
        if self.before is None or self.after is None:
            return f"{status}: {self.path}{why}"
        sizes = ", ".join(f"{count} → {self.after[what]} {what}" for what, count in self.before.items())
        return f"{status}: {sizes} in {self.seconds:.0f} s  {self.path / REDUCED}{why}"

    def to_json(self) -> dict[str, Any]:
        return {
            "bundle": str(self.path),
            "kind": self.kind,
            "signature": self.signature,
            "status": self.status,
            "why": self.why,
            "before": self.before,
            "after": self.after,
            "seconds": self.seconds,
            "tried": self.tried,
            "reduced": None if self.after is None else str(self.path / REDUCED),
        }


def reduce_bundles(
    paths: Sequence[Path],
    jobs: int,
    seconds: float,
    open_client: Callable[..., Client],
    tell: Callable[[Reduction], None] = lambda reduction: None,
    steps: Steps = untold,
) -> tuple[list[Reduction], int]:
    """Reduce each bundle for at most `seconds`, `jobs` at a time; returns what became of each, and the signal that
    stopped it, 0 if none did. The start of TVM counts as time of the first ones.

    `tell` is called with each as it ends. UserError on a bundle that cannot be read, before anything is done.
    """
    began = time.monotonic()
    pending: deque[tuple[int, Bundle]] = deque()
    results: list[Reduction] = []
    for path in dict.fromkeys(paths):
        bundle, result = _looked_at(path)
        results.append(result)
        if bundle is None:
            tell(result)
        else:
            pending.append((len(results) - 1, bundle))
    if not pending:
        return results, 0
    slots = min(jobs, len(pending))
    start = start_for(bundle for _, bundle in pending)
    with StopRequest() as stop, open_client(slots, **start) as client:
        desk = _Desk(client, results, pending, seconds, tell, slots, len(pending))
        for slot in range(slots):
            desk.begin(slot, time.monotonic() - began)
        deadline: float | None = None
        while desk.busy and not stop.urgent and (deadline is None or time.monotonic() < deadline):
            desk.show(steps, time.monotonic() - began)
            for packet in client.events(_REFRESH):
                desk.hear(packet)
            if stop and deadline is None:
                pending.clear()
                client.stop_workers()
                deadline = time.monotonic() + _STOP_PATIENCE
        return results, stop.number


def _looked_at(path: Path) -> tuple[Bundle | None, Reduction]:
    """Read a bundle; None in its place where there is nothing to reduce."""
    bundle = load_bundle(path)
    if isinstance(bundle, OtherBundle):
        why = "it was reduced when found"
        return None, Reduction(path, bundle.harness.name, bundle.signature, "left alone", why)
    if path.name == REDUCED and (path.parent / "case.json").is_file():
        return None, Reduction(path, bundle.kind, bundle.signature, "left alone", "it is a reduced bundle")
    return bundle, Reduction(path, bundle.kind, bundle.signature)


@dataclass(slots=True)
class _Desk:
    """Hands out bundles to slots and notes what comes back."""

    client: Client
    results: list[Reduction]
    pending: deque[tuple[int, Bundle]]
    seconds: float
    tell: Callable[[Reduction], None]
    jobs: int
    total: int
    under_way: dict[int, int] = field(default_factory=dict)

    @property
    def busy(self) -> bool:
        return bool(self.under_way)

    def begin(self, slot: int, spent: float = 0.0) -> None:
        """Give the slot the next bundle, if there is one; so many seconds of its budget are spent."""
        if not self.pending:
            return
        index, bundle = self.pending.popleft()
        self.under_way[slot] = index
        params = {
            "path": str(bundle.path.resolve()),
            "seconds": max(0.0, self.seconds - spent),
            "oracles": oracles_of(bundle),
            "environment": self.client.facts,
        }
        self.client.spawn("reduce", params, slot)

    def show(self, steps: Steps, elapsed: float) -> None:
        """Tell how many bundles are done, how long the others may take at most, and which are under way."""
        left = len(self.pending) + len(self.under_way)
        rounds = math.ceil(self.total / min(self.jobs, self.total))
        most = max(0.0, rounds * self.seconds - elapsed)
        names = ", ".join(self.results[index].path.name for index in self.under_way.values())
        steps(self.total - left, self.total, f"{duration(most)} at most; {names}")

    def hear(self, packet: dict[str, Any]) -> None:
        slot = packet["slot"]
        index = self.under_way[slot]
        if packet["event"] == "reduced":
            fields = {key: packet[key] for key in ("status", "why", "before", "after", "tried", "seconds")}
            self.results[index] = replace(self.results[index], **fields)
        elif packet["event"] == "failed":
            why = packet["message"].strip().splitlines()[-1]
            self.results[index] = replace(self.results[index], status="failed", why=why)
        elif packet["event"] == "exited":
            if packet["signal"] and self.results[index].status == "not begun":
                why = f"TVM died of {signal.Signals(packet['signal']).name} while making a smaller program"
                self.results[index] = replace(self.results[index], status="failed", why=why)
            del self.under_way[slot]
            self.tell(self.results[index])
            self.begin(slot)
