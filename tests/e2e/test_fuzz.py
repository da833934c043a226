"""Campaigns on the real compiler."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Command, kill_group, start, wait_until
from tzerlike.campaign.directory import CampaignDir

FUZZ = ("fuzz", "--seed", "7", "--ui", "none")

LONG_TOO = pytest.mark.parametrize("harness", ["tir", pytest.param("graph", marks=pytest.mark.long)])
"""The loop is the same for programs and for models."""

CONTRACT = {
    "elapsed_s", "iterations", "iterations_per_s", "valid_rate", "coverage", "coverage_total", "coverage_backend",
    "corpus", "valuable_tests", "findings", "rejected", "mutators", "passes", "stage_seconds",
}  # fmt: skip


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def check_whole(root: Path) -> None:
    """Every file of the campaign is whole: it parses, and a case lies under its own name."""
    directory = CampaignDir(root)
    for case_id in directory.corpus_ids():
        directory.load_case(case_id)
    for path in root.rglob("*.json"):
        if not path.name.startswith(".tmp-"):
            read(path)
    for bundle in directory.bundles():
        names = {p.name for p in bundle.iterdir()}
        assert {"case.json", "module.py", "inputs.npz", "observation.json", "repro.py", "report.md"} <= names


def signatures(root: Path) -> list[str]:
    return [path.name for path in CampaignDir(root).bundles()]


@pytest.mark.long
@pytest.mark.parametrize("harness, iterations", [("tir", "250"), ("graph", "60")])
def test_one_seed_gives_one_campaign(tzerlike: Command, tmp_path: Path, harness: str, iterations: str) -> None:
    # The first run has to find the blocks and make the seeds, the second finds both in the cache.
    for name in ("a", "b"):
        options = ("--harness", harness, "--iterations", iterations, "--jobs", "1", "--out", tmp_path / name)
        done = tzerlike(*FUZZ, *options, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stderr
        check_whole(tmp_path / name)
    first, second = CampaignDir(tmp_path / "a"), CampaignDir(tmp_path / "b")
    assert first.corpus_ids() == second.corpus_ids() != []
    assert signatures(first.root) == signatures(second.root)
    one, two = read(first.stats), read(second.stats)
    assert one["coverage"] == two["coverage"] > 50_000
    assert one["mutators"] == two["mutators"]


@pytest.mark.long
def test_another_seed_gives_another_campaign(tzerlike: Command, tmp_path: Path) -> None:
    ids = []
    for seed in ("0", "1"):
        done = tzerlike("fuzz", "--seed", seed, "--iterations", "30", "--jobs", "1", "--out", tmp_path / seed)
        assert done.returncode == 0, done.stderr
        assert f"seed {seed}" in done.stdout
        directory = CampaignDir(tmp_path / seed)
        stats = read(directory.stats)
        assert set(stats) >= CONTRACT
        assert stats["iterations"] == 30
        header = "elapsed_s,iterations,blocks,corpus,valuable_tests,findings\n"
        assert directory.coverage_csv.read_text().startswith(header)
        ids.append(directory.corpus_ids())
    assert ids[0] != ids[1]


@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.long), "2"])
@LONG_TOO
def test_a_killed_campaign_resumes_with_all_that_it_had(
    tzerlike: Command, tmp_path: Path, harness: str, jobs: str
) -> None:
    root = tmp_path / "c"
    moments = random.Random(int(jobs))
    process = start(*FUZZ, "--harness", harness, "--budget", "1h", "--jobs", jobs, "--out", root)
    for _ in range(2):
        before = corpus_files(root)
        wait_for_more(root, process, len(before) + 5)
        time.sleep(moments.random() * 1.5)
        old = {name for name in corpus_files(root) if time.time() - (root / "corpus" / name).stat().st_mtime > 5}
        iterations = sum(read(path)["iterations"] for path in root.glob("workers/*/state.json"))
        bundles = set(signatures(root))
        kill_group(process)
        check_whole(root)
        assert old <= corpus_files(root)
        process = start("fuzz", "--resume", "--budget", "1h", "--out", root, "--ui", "none")
        wait_for_iterations(root, process, iterations)
        assert bundles <= set(signatures(root))
        assert before <= corpus_files(root)
    kill_group(process)


def corpus_files(root: Path) -> set[str]:
    """The entries; what is being written bears another name until it is whole."""
    return {path.name for path in root.glob("corpus/[!.]*.json")}


def wait_for_more(root: Path, process: subprocess.Popen[str], number: int) -> None:
    wait_until(lambda: process.poll() is not None or len(corpus_files(root)) > number)
    assert process.poll() is None, process.stderr.read() if process.stderr else ""


def wait_for_iterations(root: Path, process: subprocess.Popen[str], number: int) -> None:
    """Wait until the resumed campaign's own statistics are there and no smaller than before."""
    since = time.time()
    stats = root / "stats.json"
    wait_until(lambda: process.poll() is not None or (stats.exists() and stats.stat().st_mtime > since))
    assert process.poll() is None, process.stderr.read() if process.stderr else ""
    assert read(stats)["iterations"] >= number


@pytest.mark.long
@pytest.mark.parametrize("harness", ["tir", "graph"])
def test_workers_exchange_what_they_find(tzerlike: Command, tmp_path: Path, harness: str) -> None:
    root = tmp_path / "c"
    done = tzerlike(
        *FUZZ, "--harness", harness, "--iterations", "200", "--jobs", "2", "--oracles", "crash", "--out", root
    )
    assert done.returncode == 0, done.stderr
    directory = CampaignDir(root)
    for number in (0, 1):
        entries = [directory.load_case(case_id) for case_id, _ in read(directory.worker_pool(number))["entries"]]
        assert {entry.provenance.worker for entry in entries} == {0, 1}


def test_a_kill_leaves_no_process_behind(tmp_path: Path) -> None:
    root = tmp_path / "c"
    process = start(*FUZZ, "--budget", "1h", "--jobs", "2", "--out", root)
    wait_until(lambda: len(list(root.glob("corpus/*.json"))) > 3)
    group = {pid for pid in _descendants(process.pid)}
    assert len(group) >= 5, "a zygote, two workers, two runners"
    kill_group(process)
    wait_until(lambda: not any(Path(f"/proc/{pid}/stat").exists() and not _zombie(pid) for pid in group), 30)


def _descendants(root: int) -> set[int]:
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {root}


def _children(parent: int) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def _zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize(
    ("number", "to"),
    [
        (signal.SIGINT, os.killpg),
        pytest.param(signal.SIGTERM, os.killpg, marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, os.kill, marks=pytest.mark.long),
    ],
)
def test_a_signal_saves_all_and_is_the_exit_status(
    tzerlike: Command, tmp_path: Path, number: signal.Signals, to: Callable[[int, int], None]
) -> None:
    """As a terminal, systemd and Slurm send it to the whole group, or somebody to the command alone."""
    root = tmp_path / "c"
    process = start(*FUZZ[:-1], "plain", "--budget", "1h", "--jobs", "2", "--out", root)
    wait_until(lambda: len(list(root.glob("corpus/*.json"))) > 5)
    everybody = _descendants(process.pid)
    to(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert err == ""
    assert "--resume" in out
    assert all(_zombie(pid) for pid in everybody)
    check_whole(root)
    entries = sum(len(read(p)["entries"]) for p in root.glob("workers/*/pool.json"))
    assert entries >= read(root / "stats.json")["corpus"] > 5
    assert not list(root.rglob(".tmp-*"))
    before = read(root / "stats.json")["iterations"]
    done = tzerlike("fuzz", "--resume", "--iterations", str(before + 20), "--out", root, "--ui", "none")
    assert done.returncode == 0, done.stderr
    assert read(root / "stats.json")["iterations"] >= before + 20


def _handles(process: subprocess.Popen[str], number: signal.Signals) -> bool:
    """Whether a process has its own handler of a signal: it has come to the first line of ours."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    (caught,) = (int(line.split()[1], 16) for line in lines if line.startswith("SigCgt"))
    return bool(caught >> (number - 1) & 1)


def _has_begun(process: subprocess.Popen[str], number: signal.Signals) -> bool:
    return bool(_children(process.pid))


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
@pytest.mark.parametrize("moment", [_handles, _has_begun])
def test_a_signal_during_set_up_leaves_nothing(
    tmp_path: Path, number: signal.Signals, moment: Callable[[subprocess.Popen[str], signal.Signals], bool]
) -> None:
    root = tmp_path / "c"
    process = start(*FUZZ, "--budget", "1h", "--out", root)
    wait_until(lambda: moment(process, number))
    os.killpg(process.pid, number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert err.strip() == "tzerlike: interrupted"
    assert not root.exists()


@pytest.mark.long
@LONG_TOO
def test_a_campaign_outlives_its_processes(tmp_path: Path, harness: str) -> None:
    root = tmp_path / "c"
    options = ("--harness", harness, "--iterations", "80", "--jobs", "1", "--oracles", "crash")
    process = start(*FUZZ[:-1], "plain", *options, "--out", root)
    seen: set[str] = set()
    for kind in ("worker", "zygote", "runner"):
        wait_for_more(root, process, len(seen) + 3)
        seen |= corpus_files(root)
        (zygote,) = _children(process.pid)
        forks = _children(zygote)
        runners = [pid for pid in forks if any(os.getpgid(child) == child for child in _children(pid))]
        victims = {"zygote": [zygote], "runner": runners, "worker": [pid for pid in forks if pid not in runners]}
        os.kill(victims[kind][0], signal.SIGKILL)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    check_whole(root)
    assert seen <= corpus_files(root)
    stats = read(root / "stats.json")
    assert stats["iterations"] == 80
    assert stats["restarts"] == {"runner": 1, "worker": 1, "zygote": 1}
    assert "the zygote ended by SIGKILL; started again with its workers" in out


@pytest.mark.long
def test_a_corrupt_corpus_file_is_set_aside_and_named(tzerlike: Command, tmp_path: Path) -> None:
    root = tmp_path / "c"
    assert tzerlike(*FUZZ, "--iterations", "40", "--jobs", "1", "--out", root).returncode == 0
    victim = sorted(root.glob("corpus/*.json"))[0]
    victim.write_text("{")
    done = tzerlike("fuzz", "--resume", "--iterations", "60", "--out", root, "--ui", "plain")
    assert done.returncode == 0, done.stderr
    assert f"{victim.name}: not JSON" in done.stdout
    assert (root / "corrupt" / victim.name).read_text() == "{"
    assert not victim.exists()


@pytest.mark.long
def test_a_campaign_of_another_tvm_is_not_resumed(tzerlike: Command, tmp_path: Path) -> None:
    root = tmp_path / "c"
    assert tzerlike(*FUZZ, "--iterations", "5", "--jobs", "1", "--out", root).returncode == 0
    facts = read(root / "environment.json") | {"tvm": "0.26.0"}
    (root / "environment.json").write_text(json.dumps(facts))
    done = tzerlike("fuzz", "--resume", "--iterations", "9", "--out", root)
    assert done.returncode == 2
    assert "tvm 0.26.0" in done.stderr
    assert len(done.stderr.splitlines()) == 1
