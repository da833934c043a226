"""A campaign on the machines of a Ray cluster: an actor for each machine's part, and one that has the directory."""

from __future__ import annotations

import contextlib
import importlib
import platform
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tzerlike.campaign.cluster.at_work import Unreachable, work
from tzerlike.campaign.cluster.coordinator import Coordinator
from tzerlike.campaign.cluster.parcel import News, Parcel, Welcome, as_bytes, from_bytes
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.shard import Part
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.processes.signals import StopRequest

_NAMESPACE = "tzerlike"

_ANSWER_SECONDS = 20.0
"""How long a machine waits for an answer before it goes on without."""

_CONNECT_SECONDS = 5.0
_LOOK_EVERY = 1.0
_WAITS = 60.0
"""Seconds after which parts that no machine has begun with are named."""

_TO_END = 60.0

Show = Callable[[Mapping[str, Any]], None]


def imported() -> Any:
    """Return the module `ray`; UserError where it is not installed."""
    try:
        import ray
    except ImportError as error:
        raise UserError("--cluster: Ray is not installed; pip install 'tzerlike[ray]'") from error
    return ray


@dataclass(frozen=True, slots=True)
class Cluster:
    """Runs a campaign on the cluster at `address`: "auto" for the one that this machine is in, or HOST:PORT.

    `tell` is called with a line for each event, `show` about once a second with the contents of stats.json.
    """

    config: CampaignConfig
    directory: CampaignDir
    address: str
    tell: Callable[[str], None]
    show: Show

    def run(self) -> tuple[dict[str, Any], int]:
        """Run to the end of the budget; returns the final statistics, and the signal that stopped it, 0 if none did.

        UserError where there is no such cluster, or none of its machines can take part.
        """
        ray = imported()
        with StopRequest() as stop, _connected(ray, self.address):
            name = f"tzerlike {secrets.token_hex(8)}"
            here = ray.get_runtime_context().get_node_id()
            pinned = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
            coordinator = (
                ray.remote(CoordinatorActor)
                .options(name=name, num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy=pinned)
                .remote(str(self.directory.root.resolve()))
            )
            machine = ray.remote(MachineActor).options(
                num_cpus=self.config.jobs,
                max_restarts=-1,
                max_task_retries=-1,
                scheduling_strategy="SPREAD",
            )
            parts = [Part(self.config.jobs, node, self.config.nodes) for node in range(self.config.nodes)]
            actors = [machine.remote(part.jobs, part.node, part.nodes, name) for part in parts]
            at_work = {actor.work.remote(): part for actor, part in zip(actors, parts, strict=True)}
            self._watch(ray, coordinator, at_work, stop)
            if stop:
                ray.get(coordinator.end.remote(), timeout=_ANSWER_SECONDS)
                ray.wait(list(at_work), num_returns=len(at_work), timeout=_TO_END)
            stats: dict[str, Any] = ray.get(coordinator.keep_books.remote(), timeout=_ANSWER_SECONDS)
            self._hear(ray, coordinator)
            return stats, stop.number

    def _watch(self, ray: Any, coordinator: Any, at_work: dict[Any, Part], stop: StopRequest) -> None:
        """Say and show what happens until every part has come to its end, or a signal asks for an end."""
        failed: list[str] = []
        total = len(at_work)
        began, waiting = time.monotonic(), True
        while at_work and not stop:
            done, _ = ray.wait(list(at_work), timeout=_LOOK_EVERY)
            for reference in done:
                part = at_work.pop(reference)
                if why := _outcome(ray, reference):
                    failed.append(f"machine {part.node + 1} of {part.nodes}: {why}")
                    self.tell(failed[-1])
            if waiting and time.monotonic() - began > _WAITS:
                waiting = False
                if missing := [part for part in at_work.values() if not self.directory.node(part.node).exists()]:
                    self.tell(f"{len(missing)} of {total} parts wait for a machine with {self.config.jobs} free cores")
            with contextlib.suppress(ray.exceptions.RayError):
                self.show(ray.get(coordinator.keep_books.remote(), timeout=_ANSWER_SECONDS))
                self._hear(ray, coordinator)
        if len(failed) == total:
            raise UserError(f"--cluster: no machine could take part; {failed[0]}")

    def _hear(self, ray: Any, coordinator: Any) -> None:
        with contextlib.suppress(ray.exceptions.RayError):
            for line in ray.get(coordinator.told.remote(), timeout=_ANSWER_SECONDS):
                self.tell(line)


class CoordinatorActor:
    """The coordinator, on the machine that has the directory; where it dies, Ray starts it again from the directory."""

    def __init__(self, root: str) -> None:
        self._coordinator = Coordinator(CampaignDir(Path(root)))
        self._lines: list[str] = []
        gauge = importlib.import_module("ray.util.metrics").Gauge
        self._gauges = {name: gauge(f"tzerlike_{name}", description=what) for name, what in _METRICS.items()}

    def join(self, node: int) -> bytes:
        return as_bytes(self._coordinator.join(node))

    def exchange(self, node: int, epoch: int, parcel: bytes) -> bytes:
        return as_bytes(self._coordinator.exchange(node, epoch, from_bytes(Parcel, parcel)))

    def keep_books(self) -> dict[str, Any]:
        stats = self._coordinator.keep_books()
        for name, gauge in self._gauges.items():
            gauge.set(_number(stats.get(name, 0)))
        return stats

    def end(self) -> None:
        self._coordinator.end()

    def tell(self, line: str) -> None:
        self._lines.append(line)

    def told(self) -> list[str]:
        lines, self._lines = self._lines, []
        return lines


_METRICS = {
    "iterations": "cases tried, on all machines",
    "coverage": "blocks of the compiler that were reached",
    "corpus": "cases in the corpus",
    "findings": "bundles",
    "faults": "faults of tzerlike's own",
}
"""What Ray's dashboard and Prometheus show of a campaign, of all that stats.json has."""


def _number(value: Any) -> float:
    return float(sum(value.values()) if isinstance(value, dict) else value)


class MachineActor:
    """A machine at work on one part; where it is lost, Ray has another machine begin with the part again."""

    def __init__(self, jobs: int, node: int, nodes: int, coordinator: str) -> None:
        self._part = Part(jobs, node, nodes)
        self._coordinator = coordinator

    def work(self) -> str:
        return work(self._part, _RayLink(imported().get_actor(self._coordinator, _NAMESPACE), self._part.node))


class _RayLink:
    """Messages as calls of the coordinator's actor."""

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
        ray = imported()
        try:
            answer: bytes = ray.get(method.remote(*what), timeout=_ANSWER_SECONDS)
        except (ray.exceptions.GetTimeoutError, ray.exceptions.RayActorError, ray.exceptions.RaySystemError) as error:
            raise Unreachable(str(error)) from error
        return answer


@contextlib.contextmanager
def _connected(ray: Any, address: str) -> Iterator[None]:
    if address.startswith("ray://"):
        raise UserError("--cluster: run tzerlike on a machine of the cluster, with --cluster auto or HOST:PORT")
    host, _, port = address.rpartition(":")
    try:
        if port.isdecimal():
            # Ray itself would try for minutes.
            socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
        ray.init(address=address, namespace=_NAMESPACE, logging_level="ERROR", log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        raise UserError(f"--cluster: no Ray cluster at {address}: {_first_line(error)}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _outcome(ray: Any, reference: Any) -> str:
    """Why a part has ended early, "" where it has not."""
    try:
        why: str = ray.get(reference)
    except ray.exceptions.RayError as error:
        return _first_line(error)
    return why


def _first_line(error: object) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
