"""The processes of a campaign, kept running: a zygote, and a worker with its runner in each slot.

Whichever dies or stops answering is started again, as often a minute as `Restarts` allows. What is lost with a worker
is what it had not saved.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.processes.client import Client, StartCancelled, WorkerEnded, ZygoteEnded
from tzerlike.processes.restarts import Restarts
from tzerlike.processes.vitals import Lasting, Vital, Watchdog

_LAST_TRY = 5
"""Starts of a zygote, or of a worker, that come to nothing one after the other before there is no sense in another."""

_PING_EVERY = 1.0
_PONG_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Death:
    """How the worker before this one ended: in which iteration, doing what, of which signal (0: of an error of ours).

    `times` counts the deaths in a row in that iteration. `mutation` are mutator, iteration, draw and parent of the
    mutation that was under way, if one was.
    """

    iteration: int
    doing: str
    how: str
    signal: int
    times: int
    mutation: tuple[str, int, int, str] | None = None


class _State(Enum):
    WANTED = "wanted"
    RUNNING = "running"
    DONE = "done"


@dataclass(slots=True)
class _Shard:
    state: _State = _State.WANTED
    restarts: Restarts = field(default_factory=Restarts)
    death: Death | None = None
    error: str = ""
    in_vain: int = 0
    vital: Vital | None = None


class Crew:
    """Keeps the workers of `jobs` shards running until each has come to its end.

    `start` starts a zygote; it may raise what `Client` raises. `order` returns the role and the parameters of a worker,
    given the death of the one before it. `tell` is called with a line for each death, and `pause` when the worker of a
    slot cannot write for now, with the reason, and with "" when it can again. `failure` is what nothing can go
    on after.
    """

    def __init__(
        self,
        jobs: int,
        start: Callable[[], Client],
        order: Callable[[int, Death | None], tuple[str, Mapping[str, Any]]],
        tell: Callable[[str], None],
        pause: Callable[[int, str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failure: UserError | TzerlikeError | None = None
        self.restarted: Counter[str] = Counter()
        self._start = start
        self._order = order
        self._tell = tell
        self._pause = pause
        self._clock = clock
        self._shards = [_Shard() for _ in range(jobs)]
        self._client: Client | None = None
        self._zygotes = Restarts()
        self._in_vain = 0
        self._watchdog = Watchdog()
        self._mute = Lasting(_PONG_SECONDS)
        self._asked = False
        self._answered = 0.0
        self._stopping = False

    @property
    def running(self) -> bool:
        """Whether a shard has not come to its end."""
        return any(shard.state is not _State.DONE for shard in self._shards)

    @property
    def doing(self) -> dict[int, str]:
        """What the worker of each slot that runs was at when it was last asked, a second ago at most."""
        return {
            slot: shard.vital.doing
            for slot, shard in enumerate(self._shards)
            if shard.state is _State.RUNNING and shard.vital is not None
        }

    def begin(self) -> Client:
        """Start the zygote, again if need be; raises what starting it raises when that is to no avail."""
        while self._client is None:
            self._revive()
            if self.failure is not None:
                raise self.failure
        return self._client

    def turn(self, seconds: float) -> None:
        """Hear for `seconds` what there is to hear, and start again what has died or does not answer."""
        if self._client is None:
            if not self._zygotes.allowed(self._clock()):
                time.sleep(seconds)
                return
            self._revive()
        client = self._client
        if client is None:
            return
        try:
            self._man(client)
            self._watch(client)
            for packet in client.events(seconds):
                self._hear(packet)
                self._man(client)
        except ZygoteEnded as error:
            self._bereave(str(error))

    def stop(self) -> None:
        """Ask every worker to save and end; from now on none is started."""
        self._stopping = True
        for shard in self._shards:
            if shard.state is _State.WANTED:
                shard.state = _State.DONE
        if self._client is not None:
            self._client.stop_workers()

    def close(self) -> None:
        """End all processes."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _revive(self) -> None:
        self._zygotes.note(self._clock())
        try:
            self._client = self._start()
        except StartCancelled:
            raise
        except UserError as error:
            self.failure = error
        except TzerlikeError as error:
            self._in_vain += 1
            if self._in_vain >= _LAST_TRY or not isinstance(error, (ZygoteEnded, WorkerEnded)):
                self.failure = error
            else:
                self._tell(f"{_first_line(error)}; started again")
                self.restarted["zygote"] += 1
        else:
            self._in_vain = 0
            self._mute, self._asked = Lasting(_PONG_SECONDS), False
            self._watchdog = Watchdog()

    def _bereave(self, why: str) -> None:
        """The zygote is gone, and all workers with it."""
        self.close()
        lost = [shard for shard in self._shards if shard.state is _State.RUNNING]
        for shard in lost:
            shard.state = _State.DONE if self._stopping else _State.WANTED
            shard.vital = shard.death = None
        if lost and not self._stopping:
            self._tell(f"{_first_line(why)}; started again with its workers")
            self.restarted["zygote"] += 1

    def _man(self, client: Client) -> None:
        """Have a worker forked for each shard that lacks one."""
        for slot, shard in enumerate(self._shards):
            now = self._clock()
            if shard.state is _State.WANTED and shard.restarts.allowed(now):
                shard.restarts.note(now)
                shard.state, shard.error, shard.vital = _State.RUNNING, "", None
                role, params = self._order(slot, shard.death)
                client.spawn(role, params, slot)

    def _watch(self, client: Client) -> None:
        """Ask for signs of life; a zygote that is stopped, or gives none, counts as gone."""
        client.look()
        now = self._clock()
        if self._mute.lasts(now, self._asked):
            raise ZygoteEnded("the zygote does not answer")
        if not self._asked and now - self._answered >= _PING_EVERY:
            self._asked = True
            client.ping()

    def _hear(self, packet: dict[str, Any]) -> None:
        slot = packet["slot"]
        match packet["event"]:
            case "pong":
                self._asked, self._answered = False, self._clock()
                self._look_at([Vital(**vital) for vital in packet["vitals"]])
            case "failed" if packet["user"]:
                self.failure = self.failure or UserError(packet["message"])
            case "failed" if slot < 0:
                raise ZygoteEnded(f"the zygote failed: {_last_line(packet['message'])}")
            case "failed":
                self._shards[slot].error = packet["message"]
            case "paused":
                self._pause(slot, packet["why"])
            case "exited":
                self._ended(slot, self._shards[slot], packet)

    def _look_at(self, vitals: list[Vital]) -> None:
        for vital in vitals:
            shard = self._shards[vital.slot]
            before = 0 if shard.vital is None else shard.vital.runners_lost
            if vital.runners_lost > before:
                self._tell(f"the runner of worker {vital.slot} died; restarted")
                self.restarted["runner"] += vital.runners_lost - before
            if shard.vital is not None and vital.iteration > shard.vital.iteration >= 0:
                shard.in_vain = 0
            shard.vital = vital
        assert self._client is not None
        for slot, role in self._watchdog.to_kill(self._clock(), vitals):
            self._tell(f"the {role} of slot {slot} does not answer and is killed")
            self._client.kill(slot, role)

    def _ended(self, slot: int, shard: _Shard, packet: dict[str, Any]) -> None:
        if packet["status"] == 0 or self._stopping or self.failure is not None:
            shard.state = _State.DONE
            return
        shard.in_vain += 1
        shard.state = _State.WANTED
        shard.death = self._death_of(shard, packet)
        self.restarted["worker"] += 1
        how = _last_line(shard.error) if shard.error else _how(packet)
        if shard.in_vain >= _LAST_TRY and shard.error:
            shard.state = _State.DONE
            self._tell(f"worker {slot} failed {shard.in_vain} times without progress, and is given up ({how})")
            if not self.running:
                self.failure = TzerlikeError(shard.error)
            return
        where = f"in mutator {shard.death.mutation[0]}" if shard.death.mutation else "outside a mutation"
        self._tell(f"worker {slot} died ({how}) {where}; restarted")

    def _death_of(self, shard: _Shard, packet: dict[str, Any]) -> Death:
        iteration, doing = packet["beat"]
        before = shard.death
        mutation = packet["mutation"]
        return Death(
            iteration,
            doing,
            f"of an error: {shard.error}" if shard.error else f"by {_how(packet)}",
            packet["signal"],
            before.times + 1 if before is not None and before.iteration == iteration >= 0 else 1,
            None if mutation is None else tuple(mutation),
        )


def _how(packet: Mapping[str, Any]) -> str:
    return signal.Signals(packet["signal"]).name if packet["signal"] else f"status {packet['status']}"


def _first_line(text: object) -> str:
    return str(text).strip().partition("\n")[0]


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]
