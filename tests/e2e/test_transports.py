"""One campaign of two workers, whatever carries what they tell each other."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.e2e.conftest import Command, start, wait_until
from tests.e2e.ray_cluster import Cluster
from tzerlike.campaign.directory import CampaignDir, finding_in_name
from tzerlike.campaign.state import read_pool, read_state

Campaign = Callable[..., list[subprocess.Popen[str]]]
"""Starts what does a campaign in a directory, with these options: a process, or one for each machine."""

OF_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`")


def workers(out: Path, *options: str) -> list[subprocess.Popen[str]]:
    return [start("fuzz", "--out", out, *options, *(() if "--resume" in options else ("--jobs", "2")))]


def shared(out: Path, *options: str) -> list[subprocess.Popen[str]]:
    jobs = () if "--resume" in options else ("--jobs", "1")
    return [start("fuzz", "--out", out, "--shard", f"{part}/2", *options, *jobs) for part in (1, 2)]


@pytest.fixture(
    params=[
        pytest.param("workers", marks=pytest.mark.long),
        pytest.param("shared", marks=pytest.mark.long),
        pytest.param("ray", marks=[pytest.mark.long, OF_RAY]),
        pytest.param("outside", marks=[pytest.mark.long, OF_RAY]),
    ]
)
def campaign(request: pytest.FixtureRequest) -> Iterator[Campaign]:
    if request.param in ("workers", "shared"):
        yield workers if request.param == "workers" else shared
        return
    cluster = Cluster(2)
    try:
        yield on(cluster.address if request.param == "ray" else cluster.client)
    finally:
        cluster.close()


def on(address: str) -> Campaign:
    def begin(out: Path, *options: str) -> list[subprocess.Popen[str]]:
        new = () if "--resume" in options else ("--nodes", "2", "--jobs", "1")
        return [start("fuzz", "--out", out, "--cluster", address, *options, *new)]

    return begin


NEW = ("--seed", "3", "--ui", "plain")


def ended(processes: list[subprocess.Popen[str]], status: int = 0) -> None:
    for process in processes:
        printed, errors = process.communicate(timeout=400)
        assert process.returncode == status, printed + errors


def test_both_workers_do_their_part_and_tell_each_other(campaign: Campaign, tmp_path: Path, tzerlike: Command) -> None:
    out = tmp_path / "campaign"
    ended(campaign(out, *NEW, "--oracles", "crash", "--iterations", "300", "--budget", "1h"))
    directory = CampaignDir(out)
    states = [read_state(directory.worker_state(number)) for number in (0, 1)]
    stats = json.loads(directory.stats.read_text())
    assert [state.iterations for state in states] == [150, 150]
    assert stats["workers"] == 2 and stats["iterations"] == 300 and not stats["faults"]
    made = {case_id: directory.load_case(case_id).provenance.worker for case_id in directory.corpus_ids()}
    assert set(made.values()) == {0, 1}
    for number in (0, 1):
        entries = read_pool(directory.worker_pool(number)).entries
        assert {made[case_id] for case_id, _ in entries if case_id in made} == {0, 1}, number
    for command in ("report", "triage"):
        assert tzerlike(command, out).returncode == 0


def test_a_campaign_that_was_ended_goes_on_and_bundles_nothing_twice(campaign: Campaign, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    directory = CampaignDir(out)
    done = lambda: sum(read_state(path).iterations for path in out.glob("workers/*/state.json"))  # noqa: E731
    processes = campaign(out, *NEW, "--budget", "1h")
    wait_until(lambda: done() > 60)
    for process in processes:
        process.send_signal(signal.SIGINT)
    ended(processes, 130)
    before, cases, bundles = done(), set(directory.corpus_ids()), set(directory.bundles())
    processes = campaign(out, "--resume", "--ui", "plain")
    wait_until(lambda: done() > before + 60)
    for process in processes:
        process.send_signal(signal.SIGINT)
    ended(processes, 130)
    assert cases <= set(directory.corpus_ids()) and bundles <= set(directory.bundles())
    found = [finding_in_name(bundle) for bundle in directory.bundles()]
    assert len(found) == len(set(found))


@pytest.mark.long
@OF_RAY
def test_a_campaign_on_ray_in_short(tmp_path: Path, tzerlike: Command) -> None:
    """What a change is tried with; the rest is long."""
    cluster = Cluster(1)
    try:
        out = tmp_path / "campaign"
        options = ("--nodes", "1", "--jobs", "1", "--oracles", "crash", "--iterations", "4", "--budget", "5m")
        ended([start("fuzz", "--out", out, "--cluster", cluster.address, *NEW, *options)])
        assert json.loads(CampaignDir(out).stats.read_text())["iterations"] == 4
        assert CampaignDir(out).corpus_ids()
        (row,) = json.loads(tzerlike("cluster", "status", out, "--json").stdout)
        assert row["iterations"] == 4 and row["machine"] and "ago" in row["last word"]
    finally:
        cluster.close()
