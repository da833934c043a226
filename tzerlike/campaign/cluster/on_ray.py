"""A campaign on the machines of a Ray cluster, from the side of the command that started it."""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import re
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tzerlike.campaign.cluster.actors import ANSWER_SECONDS, NAMESPACE, CoordinatorActor, MachineActor, imported
from tzerlike.campaign.cluster.disks import Disks
from tzerlike.campaign.cluster.outside import Outside, Post
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.recovery import recover
from tzerlike.campaign.shard import Part
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.core.storage import write_atomic
from tzerlike.coverage.focus import Focus, write_focus
from tzerlike.processes.signals import StopRequest

_CLIENT = "ray://"
_ADDRESS = re.compile(r"auto|(?:ray://)?([^:/]+):([0-9]{1,5})")
_CONNECT_SECONDS = 5.0
_TRIES = 3
_BUSY = "Starting Ray client server failed"
_LOOK_EVERY = 2.0
_WAITS = 60.0
"""Seconds after which parts that no machine has begun with are named."""

_SILENT = 120.0
"""Seconds without a word after which a part is waited for no longer, where all others have come to their end."""

_TO_BEGIN = 120.0
_TO_END = 60.0

_T = TypeVar("_T")

Show = Callable[[Mapping[str, Any]], None]


class _Campaign(Protocol):
    """The coordinator, wherever it runs."""

    def keep_books(self) -> dict[str, Any]:
        """Add up and save; UserError where that is not possible, or not written."""

    def campaign(self) -> str:
        """The campaign's identity."""

    def silence(self) -> list[float]:
        """For each part, how many seconds nothing has been heard of a machine that has it."""

    def end(self) -> None: ...

    def told(self) -> list[str]:
        """The lines that have come to be shown."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Runs a campaign on the cluster at `address`: "auto" for the one that this machine is in, HOST:PORT of its head,
    or ray://HOST:PORT of one that this machine is not in.

    `tvm` is the version that machines have to have, "" for that of the first of them.
    `tell` is called with a line for each event, `show` every two seconds or so, and at the end, with the contents of
    stats.json. What first reaches the `focus` is mutated most.
    """

    config: CampaignConfig
    directory: CampaignDir
    address: str
    tell: Callable[[str], None]
    show: Show
    tvm: str = ""
    focus: Focus | None = None

    def run(self) -> tuple[dict[str, Any], int]:
        """Run to the end of the budget; returns the final statistics, and the signal that stopped it, 0 if none did.

        UserError where there is no such cluster, and then nothing is left behind; where another process has the
        campaign, the cluster cannot be reached any more, or none of its machines can take part.
        """
        ray = imported()
        with StopRequest() as stop, _connected(ray, self.address, self.tell), self._ours():
            name = f"tzerlike {secrets.token_hex(8)}"
            try:
                campaign = self._coordinator(ray, name)
                at_work = self._begin(ray, name)
                disks = Disks(ray, name, campaign.campaign())
                self._watch(ray, campaign, at_work, disks, stop)
                # Of a campaign that has ended the books are added up anew.
                _insist(ray, campaign.end)
                _await(ray, list(at_work) if stop else [], stop)
                with contextlib.suppress(ray.exceptions.RayError):
                    _await(ray, disks.ask_all(), stop)
                stats = _insist(ray, campaign.keep_books)
                self.show(stats)
                self._hear(campaign)
            except (ConnectionError, ray.exceptions.RayError) as error:
                raise UserError(
                    f"--cluster: {self.address} can no longer be reached ({_last_line(error)}); continue with --resume"
                ) from error
            return stats, stop.number

    @contextlib.contextmanager
    def _ours(self) -> Iterator[None]:
        """Within, the campaign's directory is there, with no damaged file, and this process's alone."""
        directory = self.directory
        directory.create(0)
        with directory.held():
            if directory.config.exists():
                for problem in recover(directory):
                    self.tell(problem)
            else:
                write_atomic(directory.config, self.config.to_toml())
            if self.focus is not None:
                write_focus(directory.focus, self.focus)
            yield

    def _coordinator(self, ray: Any, name: str) -> _Campaign:
        """Begin the coordinator: in the cluster where this machine is in it, and else in this process."""
        root = self.directory.root.resolve()
        if not self.address.startswith(_CLIENT):
            return _Inside(ray, root, self.tvm, name)
        post = ray.remote(Post).options(**_lasting(name)).remote()
        ray.get(post.__ray_ready__.remote(), timeout=_TO_BEGIN)
        return Outside(ray, root, self.tvm, post)

    def _begin(self, ray: Any, name: str) -> dict[Any, Part]:
        """Have each part done on a machine of its own; of CUDA kernels as many with a GPU as there are."""
        machine = ray.remote(MachineActor)
        gpus = _gpus(ray.nodes(), self.config.jobs) if self.config.target == "cuda" else 0
        at_work = {}
        for node in range(self.config.nodes):
            part = Part(self.config.jobs, node, self.config.nodes)
            needs = {"num_cpus": part.jobs, "num_gpus": int(node < gpus)}
            actor = machine.options(**needs, **_RESTARTED, scheduling_strategy="SPREAD").remote(part, name)
            at_work[actor.work.remote()] = part
        return at_work

    def _watch(self, ray: Any, campaign: _Campaign, at_work: dict[Any, Part], disks: Disks, stop: StopRequest) -> None:
        """Say and show what happens until every part has come to its end, or a signal asks for an end."""
        failed: list[str] = []
        total = len(at_work)
        began, waiting, unsaved = time.monotonic(), True, False
        last_end = math.inf
        silence = [0.0] * total
        while at_work and not stop:
            done, _ = ray.wait(list(at_work), timeout=_LOOK_EVERY)
            for reference in done:
                part = at_work.pop(reference)
                if why := _outcome(ray, reference):
                    failed.append(f"machine {part.node + 1} of {part.nodes}: {why}")
                    self.tell(failed[-1])
            try:
                with contextlib.suppress(ray.exceptions.RayError):
                    self.show(campaign.keep_books())
                    self._hear(campaign)
                    disks.look()
                    silence = campaign.silence()
                unsaved = False
            except UserError as error:
                if not unsaved:
                    self.tell(f"no statistics for now: {error}")
                unsaved = True
            now = time.monotonic()
            if waiting and now - began > _WAITS:
                waiting = False
                if missing := sum(silence[part.node] > _WAITS / 2 for part in at_work.values()):
                    self.tell(f"{missing} of {total} shards wait for a machine with {self.config.jobs} free cores")
            if done:
                last_end = now
            if at_work and min(now - last_end, *(silence[part.node] for part in at_work.values())) > _SILENT:
                self.tell(f"{len(at_work)} of {total} shards have no machine any more, and the others are done")
                break
        if len(failed) == total:
            raise UserError(f"--cluster: no machine could take part; {failed[0]}")

    def _hear(self, campaign: _Campaign) -> None:
        for line in campaign.told():
            self.tell(line)


class _Inside:
    """The coordinator as an actor on this machine, which has the directory."""

    def __init__(self, ray: Any, root: Path, tvm: str, name: str) -> None:
        self._ray = ray
        here = ray.get_runtime_context().get_node_id()
        pinned = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(here, soft=False)
        options = {**_lasting(name), "scheduling_strategy": pinned}
        self._actor = ray.remote(CoordinatorActor).options(**options).remote(str(root), tvm)
        try:
            ray.get(self._actor.__ray_ready__.remote(), timeout=_TO_BEGIN)
        except ray.exceptions.RayError as error:
            raise UserError(f"--cluster: the coordinator does not start: {_last_line(error)}") from error

    def keep_books(self) -> dict[str, Any]:
        try:
            return dict(self._answer(self._actor.keep_books))
        except self._ray.exceptions.RayTaskError as error:
            cause = error.cause
            raise cause if isinstance(cause, UserError) else UserError(_last_line(error)) from error

    def campaign(self) -> str:
        return str(self._answer(self._actor.campaign))

    def silence(self) -> list[float]:
        return list(self._answer(self._actor.silence))

    def end(self) -> None:
        self._answer(self._actor.end)

    def told(self) -> list[str]:
        return list(self._answer(self._actor.told))

    def _answer(self, method: Any) -> Any:
        return self._ray.get(method.remote(), timeout=ANSWER_SECONDS)


_RESTARTED = {"max_restarts": -1, "max_task_retries": -1}


def _lasting(name: str) -> dict[str, Any]:
    """How an actor of that name runs that needs no core, and is begun again where it is lost."""
    return {"name": name, "namespace": NAMESPACE, "num_cpus": 0, **_RESTARTED}


def _gpus(nodes: list[dict[str, Any]], jobs: int) -> int:
    """How many parts of so many workers find a machine that has a GPU for each."""
    alive = [node["Resources"] for node in nodes if node["Alive"]]
    return sum(min(int(has.get("GPU", 0)), int(has.get("CPU", 0)) // jobs) for has in alive)


@contextlib.contextmanager
def _connected(ray: Any, address: str, tell: Callable[[str], None]) -> Iterator[None]:
    form = _ADDRESS.fullmatch(address)
    if form is None:
        raise UserError(f"--cluster: {address!r} is neither auto, HOST:PORT nor ray://HOST:PORT")
    try:
        if address != "auto":
            # Ray itself would try for minutes.
            socket.create_connection((form[1], int(form[2])), _CONNECT_SECONDS).close()
        tell(f"connecting to the Ray cluster at {address}")
        with _unheard():
            _init(ray, address)
    except (ConnectionError, ValueError, RuntimeError, ImportError, OSError) as error:
        raise UserError(f"--cluster: no Ray cluster at {address}: {_last_line(error)}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _init(ray: Any, address: str) -> None:
    """Connect this process to a cluster, whose head on a busy machine now and then gives up on its own client server;
    RuntimeError and the like where that cannot be."""
    # What raylets have to say is printed here, whatever `log_to_driver` is.
    vars(importlib.import_module("ray._private.worker"))["print_to_stdstream"] = lambda *_, **__: None
    for tries in reversed(range(_TRIES)):
        try:
            ray.init(address=address, namespace=NAMESPACE, logging_level="ERROR", log_to_driver=False)
            return
        except RuntimeError as error:
            if not tries or _BUSY not in str(error):
                raise


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Within, what Ray's libraries write to standard error, a line for each try, is dropped."""
    kept = os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def _insist(ray: Any, ask: Callable[[], _T]) -> _T:
    """Ask the coordinator until it answers; RayError where it does not for long."""
    until = time.monotonic() + _TO_END
    while True:
        try:
            return ask()
        except ray.exceptions.RayTaskError:
            raise
        except ray.exceptions.RayError:
            if time.monotonic() > until:
                raise


def _await(ray: Any, references: list[Any], stop: StopRequest) -> None:
    """Wait until all of these are done, for a while at most, and no longer than the signals that ask for an end
    allow."""
    until = time.monotonic() + _TO_END
    while references and time.monotonic() < until and not stop.urgent:
        _, references = ray.wait(references, num_returns=len(references), timeout=_LOOK_EVERY)


def _outcome(ray: Any, reference: Any) -> str:
    """Why a part has ended early, "" where it has not."""
    try:
        why: str = ray.get(reference)
    except ray.exceptions.RayError as error:
        return _last_line(error)
    return why


def _last_line(error: object) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
