"""How many workers one coordinator can handle: recorded messages of real machines, replayed at a rising rate.

    python scripts/simulate_cluster.py record --out messages --seconds 60
    python scripts/simulate_cluster.py play messages --workers-per-machine 16

`record` runs a campaign of one machine with one worker and keeps the parcels that it would send. `play` has more and
more simulated machines, with separate names, send them at the recorded pace to the coordinator that a cluster uses. Ray
carries no messages here: its cost is additional.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import msgspec

from tzerlike.campaign.cluster.at_work import work
from tzerlike.campaign.cluster.coordinator import Coordinator
from tzerlike.campaign.cluster.link import EVERY
from tzerlike.campaign.cluster.parcel import News, Parcel, PiecesByPath, Welcome, as_bytes, from_bytes
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.shard import Part
from tzerlike.core.config import CampaignConfig


class Recording:
    """A link that keeps what passes."""

    def __init__(self, coordinator: Coordinator) -> None:
        self.coordinator = coordinator
        self.parcels: list[tuple[float, Parcel]] = []
        self.began = time.monotonic()

    def join(self) -> Welcome:
        return self.coordinator.join(0)

    def exchange(self, epoch: int, parcel: Parcel) -> News:
        self.parcels.append((time.monotonic() - self.began, parcel))
        return self.coordinator.exchange(0, epoch, parcel)

    def tell(self, line: str) -> None:
        sys.stderr.write(line + "\n")


def campaign(root: Path, config: CampaignConfig) -> Coordinator:
    directory = CampaignDir(root)
    directory.create(0)
    directory.config.write_text(config.to_toml())
    return Coordinator(directory)


def record(out: Path, seconds: float, seed: int) -> None:
    """Keep the parcels of a machine with one worker that fuzzes for so long."""
    with tempfile.TemporaryDirectory() as root:
        link = Recording(campaign(Path(root) / "campaign", CampaignConfig(seed=seed, budget=seconds)))
        thread = threading.Thread(target=work, args=(Part(1), link))
        thread.start()
        thread.join()
    out.write_bytes(msgspec.msgpack.encode(link.parcels))
    pieces = [(path, piece) for _, parcel in link.parcels for path, piece in parcel.pieces.items()]
    print(f"{len(link.parcels)} parcels, {len(pieces)} pieces, {sum(len(p.packed) for _, p in pieces)} bytes")


def renamed(parcel: Parcel, first: int, jobs: int) -> PiecesByPath:
    """The pieces of a machine with `jobs` workers, each of which does what the recorded one did."""
    pieces: PiecesByPath = {}
    for number in range(first, first + jobs):
        for path, piece in parcel.pieces.items():
            room, _, rest = path.partition("/")
            if room == "workers" and (number == first or not path.endswith("coverage.bits")):
                pieces[f"workers/{number}/{rest.partition('/')[2]}"] = piece
            elif room == "corpus":
                pieces[f"corpus/{hashlib.sha256(f'{number} {rest}'.encode()).hexdigest()}.json"] = piece
            elif room == "findings":
                # What one machine finds, most of the others find as well.
                pieces[path] = piece
            elif number == first:
                pieces[path] = piece
    return pieces


def play(messages: Path, jobs: int, begin: float, seconds: float, sizes: list[int]) -> None:
    """Play so many machines; where none are given, twice as many each time until the coordinator cannot follow."""
    recorded = msgspec.msgpack.decode(messages.read_bytes(), type=list[tuple[float, Parcel]])
    part = [parcel for at, parcel in recorded if at >= begin][: int(seconds / EVERY)]
    print(f"{'workers':>8} {'machines':>8} {'busy':>6} {'msg/s':>7} {'in MB/s':>8} {'out MB/s':>8} {'files/s':>8}")
    for machines in sizes or (2**power for power in range(11)):
        busy, sent, came, files = measured(part, machines, jobs)
        rate = machines / EVERY
        span = len(part) * EVERY
        print(
            f"{machines * jobs:8} {machines:8} {busy / span:6.2f} {rate:7.1f} {came / span / 1e6:8.2f} "
            f"{sent / span / 1e6:8.2f} {files / span:8.0f}",
            flush=True,
        )
        if busy > span and not sizes:
            return


def measured(parcels: list[Parcel], machines: int, jobs: int) -> tuple[float, int, int, int]:
    """Seconds of processor time that the coordinator is busy with so many machines, the bytes that it sends and gets,
    and the files that it gets."""
    with tempfile.TemporaryDirectory() as root:
        coordinator = campaign(Path(root) / "campaign", CampaignConfig(seed=1, nodes=machines, jobs=jobs))
        answers = [News() for _ in range(machines)]
        epochs = [coordinator.join(node).epoch for node in range(machines)]
        busy, sent, came, files = 0.0, 0, 0, 0
        for parcel in parcels:
            for node in range(machines):
                last = answers[node]
                pieces = renamed(parcel, node * jobs, jobs)
                files += len(pieces)
                message = as_bytes(replace(parcel, pieces=pieces, heard=last.heard, wishes=()))
                came += len(message)
                began = time.process_time()
                answer = as_bytes(coordinator.exchange(node, epochs[node], from_bytes(Parcel, message)))
                busy += time.process_time() - began
                sent += len(answer)
                answers[node] = from_bytes(News, answer)
            began = time.process_time()
            coordinator.keep_books()
            busy += time.process_time() - began
        return busy, sent, came, files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recorder = commands.add_parser("record", help="keep the messages of one worker")
    recorder.add_argument("--out", type=Path, required=True)
    recorder.add_argument("--seconds", type=float, default=60)
    recorder.add_argument("--seed", type=int, default=1)
    player = commands.add_parser("play", help="send them from more and more workers")
    player.add_argument("messages", type=Path)
    player.add_argument("--workers-per-machine", type=int, default=16)
    player.add_argument("--machines", type=int, nargs="+", default=[], help="so many at once, in place of doubling")
    player.add_argument("--begin", type=float, default=0, help="second of the recording to begin with")
    player.add_argument("--seconds", type=float, default=10, help="how much of the recording is played")
    given = parser.parse_args()
    if given.command == "record":
        record(given.out, given.seconds, given.seed)
    else:
        play(given.messages, given.workers_per_machine, given.begin, given.seconds, given.machines)


if __name__ == "__main__":
    main()
