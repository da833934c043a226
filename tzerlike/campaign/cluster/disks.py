"""The disks of a Ray cluster, each of which may hold files of a campaign."""

from __future__ import annotations

import time
from typing import Any

from tzerlike.campaign.cluster.actors import deliver_left

_EVERY = 10.0
"""Seconds between two looks at which machines there are."""


class Disks:
    """Has each machine that comes send what an earlier one of the campaign has left on its disk.

    `campaign` is the campaign's identity, and `coordinator` the name of the actor that takes messages.
    """

    def __init__(self, ray: Any, coordinator: str, campaign: str) -> None:
        self._ray = ray
        self._coordinator = coordinator
        self._campaign = campaign
        self._asked: dict[str, Any] = {}
        self._looked = -_EVERY

    def look(self) -> None:
        """Ask the machines that have come since the last look."""
        if time.monotonic() - self._looked > _EVERY:
            self._looked = time.monotonic()
            self._ask_new()

    def ask_all(self) -> list[Any]:
        """Ask all machines once more; returns what is done once they have sent it."""
        self._asked = {}
        self._ask_new()
        return list(self._asked.values())

    def _ask_new(self) -> None:
        alive = {node["NodeID"] for node in self._ray.nodes() if node["Alive"]}
        for node in alive - self._asked.keys():
            there = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
            task = self._ray.remote(deliver_left).options(num_cpus=0, scheduling_strategy=there)
            self._asked[node] = task.remote(self._campaign, self._coordinator)
