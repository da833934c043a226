"""A campaign on a Ray cluster of several nodes, all on this machine, of which any may be lost."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.e2e.conftest import ROOT, environment, start
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.state import read_state

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra `ray`"),
]

FUZZ = ("--jobs", "1", "--nodes", "2", "--seed", "3", "--oracles", "crash", "--ui", "plain")


class Cluster:
    """A head without cores, and nodes of one core each, in a process of their own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.ray_cluster"],
            cwd=ROOT,
            env=environment(PYTHONPATH=os.pathsep.join([str(ROOT), *filter(None, sys.path)])),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = self._ask("head")
        self.client = self._ask("client")
        self.nodes = [self.add(), self.add()]

    def add(self, **options: object) -> str:
        return self._ask(f"add {json.dumps(options)}")

    def remove(self, node: str) -> None:
        """Take a node away as a power cut would."""
        self._ask(f"remove {node}")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)

    def _ask(self, command: str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return next(line for line in self._process.stdout if line.startswith("> ")).removeprefix("> ").strip()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    yield made
    made.close()


def fuzz(cluster: Cluster, out: Path, *options: str, address: str = "") -> subprocess.Popen[str]:
    return start("fuzz", "--cluster", address or cluster.address, "--out", out, *options)


def until(condition: Callable[[], bool], what: str, seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.5)


def iterations(out: Path) -> list[int]:
    directory = CampaignDir(out)
    paths = [directory.worker_state(number) for number in (0, 1)]
    return [read_state(path).iterations if path.exists() else 0 for path in paths]


def beyond(out: Path, before: list[int]) -> Callable[[], bool]:
    return lambda: all(now > then + 20 for now, then in zip(iterations(out), before, strict=True))


def ended(process: subprocess.Popen[str]) -> None:
    printed, errors = process.communicate(timeout=300)
    assert process.returncode == 0, printed + errors


def launchers() -> list[psutil.Process]:
    command = "tzerlike.campaign.cluster.launcher"
    return [one for one in psutil.process_iter(["cmdline"]) if command in (one.info["cmdline"] or ())]


@pytest.mark.parametrize("outside", [False, True], ids=["inside", "outside"])
def test_a_campaign_ends_with_what_both_machines_brought(cluster: Cluster, tmp_path: Path, outside: bool) -> None:
    out = tmp_path / "campaign"
    address = cluster.client if outside else cluster.address
    ended(fuzz(cluster, out, *FUZZ, "--iterations", "300", "--budget", "1h", address=address))
    stats = json.loads((out / "stats.json").read_text())
    assert stats["workers"] == 2 and stats["iterations"] == 300 == sum(iterations(out))
    made = {CampaignDir(out).load_case(case_id).provenance.worker for case_id in CampaignDir(out).corpus_ids()}
    assert made == {0, 1}


def test_a_part_goes_on_when_its_machine_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    process = fuzz(cluster, out, *FUZZ, "--budget", "90s")
    until(beyond(out, [0, 0]), "no machine began")
    before, cases = iterations(out), set(CampaignDir(out).corpus_ids())
    cluster.add()
    cluster.remove(cluster.nodes[0])
    until(beyond(out, before), "a part did not go on")
    ended(process)
    assert cases <= set(CampaignDir(out).corpus_ids())


def test_a_campaign_whose_driver_is_killed_is_resumed(cluster: Cluster, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    process = fuzz(cluster, out, *FUZZ, "--budget", "1h")
    until(beyond(out, [0, 0]), "no machine began")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    until(lambda: not launchers(), "machines work on without a driver")
    before, cases = iterations(out), set(CampaignDir(out).corpus_ids())
    process = fuzz(cluster, out, "--resume", "--ui", "plain")
    until(beyond(out, before), "it did not go on")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert cases <= set(CampaignDir(out).corpus_ids())


def test_the_coordinator_is_started_again(cluster: Cluster, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    process = fuzz(cluster, out, *FUZZ, "--budget", "60s")
    until(beyond(out, [0, 0]), "no machine began")
    before = iterations(out)
    commands = ((one, " ".join(one.info["cmdline"] or ())) for one in psutil.process_iter(["cmdline"]))
    next(one for one, command in commands if "CoordinatorActor" in command).kill()
    until(beyond(out, before), "it did not go on")
    ended(process)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("127.0.0.1:9", "no Ray cluster at 127.0.0.1:9: .*refused"),
        ("ray://127.0.0.1:9", "no Ray cluster at ray://127.0.0.1:9: .*refused"),
        ("http://127.0.0.1:9", "'http://127.0.0.1:9' is neither auto, HOST:PORT nor ray://HOST:PORT"),
    ],
)
def test_a_wrong_address_is_one_line_and_leaves_nothing(address: str, why: str, tmp_path: Path) -> None:
    done = start("fuzz", "--cluster", address, "--out", tmp_path / "campaign", *FUZZ)
    _, errors = done.communicate(timeout=180)
    assert done.returncode == 2 and len(errors.splitlines()) == 1, errors
    assert re.match(f"tzerlike: --cluster: {why}", errors), errors
    assert not list(tmp_path.iterdir())


def test_an_address_of_something_else_is_one_line(cluster: Cluster, tmp_path: Path) -> None:
    head, outside = cluster.address, cluster.client
    for address in (outside.removeprefix("ray://"), f"ray://{head}"):
        done = fuzz(cluster, tmp_path / "campaign", *FUZZ, address=address)
        _, errors = done.communicate(timeout=180)
        assert done.returncode == 2 and len(errors.splitlines()) == 1, errors
        assert errors.startswith(f"tzerlike: --cluster: no Ray cluster at {address}: "), errors
        assert not list(tmp_path.iterdir())
