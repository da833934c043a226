"""Machines of a cluster without processes: their messages go straight to a coordinator."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from tests.bundles import program
from tzerlike import __version__
from tzerlike.campaign.cluster.coordinator import Coordinator
from tzerlike.campaign.cluster.link import Unreachable
from tzerlike.campaign.cluster.mirror import Mirror
from tzerlike.campaign.cluster.parcel import News, Parcel, Welcome, as_bytes, from_bytes
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.shard import Part
from tzerlike.core.case import Case, Provenance
from tzerlike.core.config import CampaignConfig
from tzerlike.core.storage import NoSpace
from tzerlike.core.stored import StoredCase

PROGRAM = program("None")


ENVIRONMENT = {
    "tzerlike": __version__,
    "tvm": "0.27.0.post1",
    "compiler_library": "0123456789abcdef",
    "cpu": "one",
    "coverage_total": 8,
}


def campaign(root: Path, nodes: int = 2) -> CampaignDir:
    directory = CampaignDir(root / "campaign")
    directory.create(0)
    directory.config.write_text(CampaignConfig(seed=1, nodes=nodes).to_toml())
    return directory


def no_room(*_: object) -> None:
    raise NoSpace("no space left")


class Machine:
    """A machine whose messages go straight to a coordinator."""

    def __init__(self, root: Path, coordinator: Coordinator, node: int, nodes: int = 2, name: str = "") -> None:
        self.coordinator, self.node = coordinator, node
        self.mirror = Mirror(root / f"machine{name or node}", Part(1, node, nodes))
        welcome = from_bytes(Welcome, as_bytes(coordinator.join(node)))
        self.epoch = welcome.epoch
        self.mirror.begin(welcome.pieces)
        self.directory = self.mirror.directory
        self.directory.create(1, node)

    def exchange(self, lost: bool = False) -> News:
        parcel = from_bytes(Parcel, as_bytes(self.mirror.parcel()))
        answer = from_bytes(News, as_bytes(self.coordinator.exchange(self.node, self.epoch, parcel)))
        if not lost and not answer.end:
            self.mirror.take(parcel, answer)
        return answer

    def add(self, text: str) -> str:
        case = Case(PROGRAM, input_seed=zlib.crc32(text.encode()))
        self.directory.save_case(StoredCase(case, Provenance("test", worker=self.node)))
        return case.id

    def find(self, name: str, **files: str) -> Path:
        bundle = self.directory.findings / name
        bundle.mkdir(parents=True, exist_ok=True)
        stored = StoredCase(Case(PROGRAM), Provenance("test", worker=self.node))
        for file, text in {"case.json": json.dumps(stored.to_json()), **files}.items():
            (bundle / file).parent.mkdir(exist_ok=True)
            (bundle / file).write_text(text)
        return bundle


class Direct:
    """A link straight to a coordinator; `cut` times nobody answers, once what was sent has arrived."""

    def __init__(self, coordinator: Coordinator, node: int, cut: int = 0) -> None:
        self.coordinator, self.node, self.cut = coordinator, node, cut
        self.told: list[str] = []

    def join(self) -> Welcome:
        return self.coordinator.join(self.node)

    def exchange(self, epoch: int, parcel: Parcel) -> News:
        answer = self.coordinator.exchange(self.node, epoch, parcel)
        self.cut -= 1
        if self.cut >= 0:
            raise Unreachable
        return answer

    def tell(self, line: str) -> None:
        self.told.append(line)
