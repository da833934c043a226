"""The actors on a Ray cluster: one for each machine's shard, and one that owns the directory."""

from __future__ import annotations

import contextlib
import importlib
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tzerlike.campaign.cluster.at_work import work
from tzerlike.campaign.cluster.coordinator import Coordinator
from tzerlike.campaign.cluster.left import deliver
from tzerlike.campaign.cluster.link import Unreachable
from tzerlike.campaign.cluster.parcel import News, Parcel, Welcome, as_bytes, from_bytes
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.shard import Part
from tzerlike.core.errors import StorageError, UserError
from tzerlike.core.storage import locked

NAMESPACE = "tzerlike"

ANSWER_SECONDS = 20.0
"""How long to wait for an answer before going on without."""


def imported() -> Any:
    """Return the module `ray`; UserError where it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise UserError("--cluster: Ray is not installed; pip install 'tzerlike[ray]'") from error
    return ray


_TO_BE_ALONE = 60.0
"""Seconds to wait for another coordinator of the campaign to end."""

_METRICS = {
    "iterations": "cases tried, on all machines",
    "coverage": "blocks of the compiler that were reached",
    "corpus": "cases in the corpus",
    "findings": "bundles",
    "faults": "faults of tzerlike itself",
}
"""What Ray's dashboard and Prometheus show of a campaign, of all that stats.json has."""


class Gauges:
    """The metrics of one campaign."""

    def __init__(self) -> None:
        gauge = importlib.import_module("ray.util.metrics").Gauge
        self._gauges = {name: gauge(f"tzerlike_{name}", description=what) for name, what in _METRICS.items()}

    def set(self, stats: Mapping[str, Any]) -> None:
        for name, gauge in self._gauges.items():
            value = stats.get(name, 0)
            gauge.set(float(sum(value.values()) if isinstance(value, dict) else value))


class CoordinatorActor:
    """The coordinator, on the machine that has the directory; where it dies, Ray starts it again from the directory."""

    def __init__(self, root: str, tvm: str) -> None:
        # That of a command that was killed ends within seconds.
        self._alone = contextlib.ExitStack()
        self._alone.enter_context(locked(Path(root) / ".coordinator", _TO_BE_ALONE))
        self._coordinator = Coordinator(CampaignDir(Path(root)), tvm)
        self._lines: list[str] = []
        self._gauges = Gauges()

    def join(self, node: int) -> bytes:
        return as_bytes(self._coordinator.join(node))

    def exchange(self, node: int, epoch: int, parcel: bytes) -> bytes:
        return as_bytes(self._coordinator.exchange(node, epoch, from_bytes(Parcel, parcel)))

    def keep_books(self) -> dict[str, Any]:
        stats = self._coordinator.keep_books()
        self._gauges.set(stats)
        return stats

    def campaign(self) -> str:
        return self._coordinator.campaign

    def silence(self) -> list[float]:
        return self._coordinator.silence()

    def end(self) -> None:
        self._coordinator.end()

    def tell(self, line: str) -> None:
        self._lines.append(line)

    def told(self) -> list[str]:
        lines, self._lines = self._lines, []
        return lines


class MachineActor:
    """A machine at work on one part; where it is lost, Ray has another machine begin with the part again."""

    def __init__(self, part: Part, coordinator: str) -> None:
        self._part = part
        self._coordinator = coordinator

    def work(self) -> str:
        """Do the part; returns why it ended before it was done, "" where it is done."""
        coordinator = imported().get_actor(self._coordinator, NAMESPACE)
        why = work(self._part, _RayLink(coordinator, self._part.node))
        return why and f"{why} (on {platform.node()})"


def deliver_left(campaign: str, coordinator: str) -> int:
    """Send what lies on this machine of a campaign, and is nobody's."""
    actor = imported().get_actor(coordinator, NAMESPACE)
    return deliver(campaign, lambda node: _RayLink(actor, node))


class _RayLink:
    """Messages as calls of the coordinator's actor, or of whoever passes them on."""

    def __init__(self, coordinator: Any, node: int) -> None:
        self._coordinator = coordinator
        self._node = node

    def join(self) -> Welcome:
        return from_bytes(Welcome, self._ask(self._coordinator.join, self._node))

    def exchange(self, epoch: int, parcel: Parcel) -> News:
        return from_bytes(News, self._ask(self._coordinator.exchange, self._node, epoch, as_bytes(parcel)))

    def tell(self, line: str) -> None:
        self._coordinator.tell.remote(f"machine {self._node + 1} ({platform.node()}): {line}")

    def _ask(self, method: Any, *what: object) -> bytes:
        failures = imported().exceptions
        try:
            answer: bytes = imported().get(method.remote(*what), timeout=ANSWER_SECONDS)
        except failures.RayTaskError as error:
            if isinstance(error.cause, StorageError):
                # What could not be written there is sent again.
                raise Unreachable(str(error.cause)) from error
            raise
        except failures.RayError as error:
            raise Unreachable(str(error)) from error
        return answer
