"""A campaign whose directory is outside the cluster: machines leave their messages with an actor, which the coordinator
polls.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tzerlike.campaign.cluster.actors import ANSWER_SECONDS, Gauges
from tzerlike.campaign.cluster.coordinator import Coordinator
from tzerlike.campaign.cluster.parcel import Parcel, as_bytes, from_bytes
from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.errors import StorageError, UserError

Letter = tuple[int, str, tuple[Any, ...]]
"""A message by its number, what is asked for, and the arguments."""

_ASK_AGAIN = 1.0


class Post:
    """The actor in the cluster: answers machines as the coordinator's would, once the coordinator has answered it."""

    def __init__(self) -> None:
        # Where this is begun again, an answer to a message of before is nobody's.
        self._numbers = itertools.count(secrets.randbits(48))
        self._letters: list[Letter] = []
        self._answers: dict[int, asyncio.Future[bytes]] = {}
        self._lines: list[str] = []
        self._arrived = asyncio.Event()
        self._gauges = Gauges()

    async def join(self, node: int) -> bytes:
        return await self._answered("join", node)

    async def exchange(self, node: int, epoch: int, parcel: bytes) -> bytes:
        return await self._answered("exchange", node, epoch, parcel)

    async def tell(self, line: str) -> None:
        self._lines.append(line)
        self._arrived.set()

    async def fetch(self) -> tuple[list[Letter], list[str]]:
        """The messages, and the lines to be shown, that have come since the last time; waits for one for a while."""
        try:
            await asyncio.wait_for(self._arrived.wait(), _ASK_AGAIN)
        except TimeoutError:
            return [], []
        self._arrived.clear()
        letters, lines = self._letters, self._lines
        self._letters, self._lines = [], []
        return letters, lines

    async def answer(self, number: int, data: bytes) -> None:
        if (waiting := self._answers.pop(number, None)) is not None and not waiting.done():
            waiting.set_result(data)

    async def refuse(self, number: int, why: str) -> None:
        """Have a message end in an error where it came from."""
        if (waiting := self._answers.pop(number, None)) is not None and not waiting.done():
            waiting.set_exception(UserError(why))

    async def measure(self, stats: Mapping[str, Any]) -> None:
        self._gauges.set(stats)

    async def _answered(self, what: str, *arguments: Any) -> bytes:
        number = next(self._numbers)
        waiting = self._answers[number] = asyncio.get_running_loop().create_future()
        self._letters.append((number, what, arguments))
        self._arrived.set()
        try:
            # By then whoever asked has given up as well.
            return await asyncio.wait_for(waiting, 2 * ANSWER_SECONDS)
        finally:
            self._answers.pop(number, None)


class Outside:
    """The coordinator in this process, and the thread that answers what machines have left with the actor `post`.

    Where there is no room for a message it has no answer, so it comes again.
    """

    def __init__(self, ray: Any, root: Path, tvm: str, post: Any) -> None:
        self._ray = ray
        self._post = post
        self._coordinator = Coordinator(CampaignDir(root), tvm)
        self._turn = threading.Lock()
        self._lines: list[str] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def keep_books(self) -> dict[str, Any]:
        with self._turn:
            stats = self._coordinator.keep_books()
        self._post.measure.remote(stats)
        return stats

    def campaign(self) -> str:
        return self._coordinator.campaign

    def silence(self) -> list[float]:
        with self._turn:
            return self._coordinator.silence()

    def end(self) -> None:
        with self._turn:
            self._coordinator.end()

    def told(self) -> list[str]:
        with self._turn:
            lines, self._lines = self._lines, []
        return lines

    def _serve(self) -> None:
        """Answer until the connection is gone, which the main thread hears of as well."""
        while True:
            try:
                letters, lines = self._ray.get(self._post.fetch.remote(), timeout=ANSWER_SECONDS)
                with self._turn:
                    self._lines += lines
                for letter in letters:
                    self._deal_with(*letter)
            except self._ray.exceptions.RayError:
                time.sleep(_ASK_AGAIN)
            except ConnectionError:
                return

    def _deal_with(self, number: int, what: str, arguments: tuple[Any, ...]) -> None:
        try:
            data = self._answer(what, *arguments)
        except StorageError:
            return
        except Exception as error:  # noqa: BLE001 - it is the end of that machine's part, and of nothing else
            self._post.refuse.remote(number, str(error) if isinstance(error, UserError) else repr(error))
        else:
            self._post.answer.remote(number, data)

    def _answer(self, what: str, node: int, *rest: Any) -> bytes:
        with self._turn:
            if what == "join":
                return as_bytes(self._coordinator.join(node))
            epoch, parcel = rest
            return as_bytes(self._coordinator.exchange(node, epoch, from_bytes(Parcel, parcel)))
