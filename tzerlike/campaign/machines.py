"""Facts about the machines of a campaign: a file each, `nodes/<n>.json`, beside their workers' states."""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.shard import Part
from tzerlike.core.errors import UserError
from tzerlike.core.schema import Count, Schema, Text
from tzerlike.core.storage import write_json

SAME_EVERYWHERE = ("system", "tvm", "tvm_ffi", "compiler_library", "cpu", "coverage_backend", "coverage_total")
"""What machines may not differ in: a stored result would be another one elsewhere."""


class Machine(msgspec.Struct):
    """A machine of a campaign, and when it last said so, in seconds since the epoch; `restarts` by process."""

    node: Count
    host: Text
    jobs: Count
    time: float = 0.0
    restarts: dict[Text, Count] = {}


MACHINE = Schema(Machine, "node", unstated=1)


def write_machine(directory: CampaignDir, part: Part, restarts: Mapping[str, int]) -> None:
    """Say that this machine is at work, and what it had to start again; StorageError where it cannot be written."""
    directory.nodes.mkdir(exist_ok=True)
    said = Machine(part.node, platform.node(), part.jobs, time.time(), dict(restarts))
    write_json(directory.node(part.node), MACHINE.stamped(msgspec.to_builtins(said)))


def machines(directory: CampaignDir) -> Iterator[Machine]:
    """The machines that can be read, in order of their numbers."""
    for path in sorted(directory.nodes.glob("[!.]*.json"), key=lambda path: (len(path.name), path.name)):
        try:
            yield MACHINE.read(path)
        except UserError:
            continue


def restarts_of(directory: CampaignDir) -> Counter[str]:
    """What had to be started again, on all machines."""
    return sum((Counter(machine.restarts) for machine in machines(directory)), Counter[str]())


def difference(here: Mapping[str, Any], there: Mapping[str, Any]) -> str:
    """What stops a machine with the environment `here` from joining a campaign that runs under `there`; "" if nothing
    does."""
    for name in SAME_EVERYWHERE:
        if here.get(name) != there.get(name):
            return f"its {name} is {here.get(name)}, but the campaign's is {there.get(name)}"
    return ""
