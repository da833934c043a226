"""One campaign on several machines: with a shared directory, and on a Ray cluster."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Command, environment, start
from tests.e2e.ray_cluster import python_without
from tzerlike.campaign.directory import CampaignDir

FUZZ = ("fuzz", "--jobs", "1", "--oracles", "crash", "--ui", "plain")


@pytest.mark.long
def test_two_machines_share_a_directory(tmp_path: Path, tzerlike: Command) -> None:
    out = tmp_path / "campaign"
    machines = [
        start(*FUZZ, "--seed", "5", "--iterations", "240", "--shard", f"{part}/2", "--out", out, cwd=tmp_path)
        for part in (1, 2)
    ]
    ends = [machine.communicate(timeout=900) for machine in machines]
    assert [machine.returncode for machine in machines] == [0, 0], ends
    directory = CampaignDir(out)
    assert directory.worker_numbers() == [0, 1]
    states = [json.loads(directory.worker_state(number).read_text()) for number in (0, 1)]
    stats = json.loads(directory.stats.read_text())
    assert all(state["iterations"] > 0 for state in states)
    assert stats["workers"] == 2 and stats["iterations"] == sum(state["iterations"] for state in states)
    made = {case_id: directory.load_case(case_id).provenance.worker for case_id in directory.corpus_ids()}
    assert set(made.values()) == {0, 1}
    for number in (0, 1):
        entries = json.loads(directory.worker_pool(number).read_text())["entries"]
        assert {made[case_id] for case_id, _ in entries if case_id in made} == {0, 1}, f"worker {number}"

    listed = tzerlike("cluster", "status", out, "--json")
    rows = json.loads(listed.stdout)
    assert [row["part"] for row in rows] == ["1/2", "2/2"]
    assert [row["iterations"] for row in rows] == [state["iterations"] for state in states]
    assert all(row["machine"] and "ago" in row["last word"] for row in rows)
    assert "1/2" in tzerlike("cluster", "status", out).stdout


@pytest.mark.long
def test_a_machine_that_does_not_fit_is_told_why(tmp_path: Path, tzerlike: Command) -> None:
    out = tmp_path / "campaign"
    first = tzerlike(*FUZZ, "--seed", "5", "--iterations", "2", "--shard", "1/2", "--out", out)
    assert first.returncode == 0, first.stderr
    again = (*FUZZ, "--out", out)
    for options, why in (
        (("--shard", "2/2", "--seed", "6"), "--seed: .* keeps its own value, 5"),
        (("--shard", "2/3"), "--shard: .* keeps its own value, 2"),
        (("--resume",), "--shard: .* is a campaign of 2 shards; say which one this is"),
        (("--shard", "3/2"), "--shard: '3/2' is not a shard"),
        (("--shard", "1/2", "--nodes", "2"), "--nodes is for campaigns with --cluster"),
    ):
        done = tzerlike(*again, *options)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
        assert re.search(why, done.stderr), done.stderr
    environment = json.loads((out / "environment.json").read_text())
    (out / "environment.json").write_text(json.dumps({**environment, "cpu": "Another"}))
    done = tzerlike(*again, "--shard", "2/2")
    assert done.returncode == 2
    assert "this machine cannot join: its cpu is" in done.stderr and "the campaign's is Another" in done.stderr


@pytest.mark.long
def test_a_machine_says_what_it_is_before_it_prepares_seeds(tmp_path: Path, tzerlike: Command) -> None:
    """So that a cluster refuses one with another TVM at once."""
    directory = CampaignDir(tmp_path / "campaign")
    first = tzerlike(*FUZZ, "--seed", "5", "--iterations", "2", "--shard", "1/2", "--out", directory.root)
    assert first.returncode == 0, first.stderr
    directory.environment.unlink()
    words = ["fuzz", "--resume", "--shard", "2/2", "--ui", "plain", "--out", str(directory.root)]
    fresh = environment(XDG_CACHE_HOME=str(tmp_path / "cache"))
    with subprocess.Popen([sys.executable, "-m", "tzerlike", *words], env=fresh, stdout=subprocess.PIPE) as machine:
        assert machine.stdout is not None
        try:
            assert any(b"preparing seeds" in line for line in machine.stdout)
            assert directory.environment.exists()
        finally:
            machine.terminate()


@pytest.mark.long
def test_a_campaign_at_a_uri_is_resumed_and_fetched(tmp_path: Path, tzerlike: Command) -> None:
    uri = f"file://{tmp_path}/kept"
    first = tzerlike(*FUZZ, "--seed", "5", "--iterations", "2", "--out", uri)
    assert first.returncode == 0 and f"tzerlike cluster fetch {uri} DIRECTORY" in first.stdout, first.stderr
    again = tzerlike(*FUZZ, "--seed", "5", "--out", uri)
    assert again.returncode == 2 and f"--out: {uri} is not empty" in again.stderr
    more = tzerlike("fuzz", "--resume", "--iterations", "4", "--out", uri, "--ui", "plain")
    assert more.returncode == 0, more.stderr
    assert tzerlike("cluster", "fetch", uri, tmp_path / "copy").returncode == 0
    directory = CampaignDir(tmp_path / "copy")
    assert json.loads(directory.stats.read_text())["iterations"] == 4 and directory.corpus_ids()
    assert tzerlike("report", directory.root).returncode == 0
    shared = tzerlike(*FUZZ, "--shard", "1/2", "--out", uri)
    assert shared.returncode == 2 and "--out: --shard needs a directory that all machines see" in shared.stderr


def test_without_ray_there_is_one_line(tmp_path: Path) -> None:
    words = [python_without(tmp_path / "environment", "ray", "ray-*"), "-m", "tzerlike", *FUZZ]
    words += ["--cluster", "auto", "--nodes", "2", "--out", tmp_path / "campaign"]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["tzerlike: --cluster: Ray is not installed; pip install 'tzerlike[ray]'"]
    assert not (tmp_path / "campaign").exists()
