"""How the shards of a campaign send each other their new corpus entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from tzerlike.campaign.directory import CampaignDir
from tzerlike.core.stored import StoredCase


class Transport(Protocol):
    """Between one shard and the others. A message may come late, in any order, more than once, or never.

    Whatever is sent is in the sender's own files by then, so nothing is lost with a message.
    """

    def send(self, stored: StoredCase) -> None:
        """Let the other shards have a pair that has entered this shard's corpus."""

    def received(self) -> Iterator[StoredCase]:
        """Yield what others have sent since the last call; UserError at one that cannot be read, which is let go."""

    def skip(self, case_ids: Iterable[str]) -> None:
        """Take pairs as received: those that this shard knows from its own files."""


class SharedDirectory:
    """The transport between the processes of one machine: all write into one corpus directory, where each looks."""

    def __init__(self, directory: CampaignDir) -> None:
        self._directory = directory
        self._seen: set[str] = set()

    def send(self, stored: StoredCase) -> None:
        self._seen.add(stored.case.id)

    def received(self) -> Iterator[StoredCase]:
        for case_id in self._directory.corpus_ids():
            if case_id not in self._seen:
                self._seen.add(case_id)
                yield self._directory.load_case(case_id)

    def skip(self, case_ids: Iterable[str]) -> None:
        self._seen.update(case_ids)
