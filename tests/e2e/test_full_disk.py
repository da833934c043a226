"""A disk that fills up in the middle of a campaign: it pauses, goes on when there is room, and loses nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Command, kill_group, start, wait_until
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.state import read_state
from tzerlike.campaign.stats import read_stats
from tzerlike.coverage.snapshot import read_snapshot

pytestmark = pytest.mark.long

ITERATIONS = 40
OPTIONS = ("--seed", "5", "--jobs", "1", "--ui", "plain", "--iterations", str(ITERATIONS))


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for a short campaign and no more."""
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", place], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def fill(place: Path) -> Path:
    """Write until the disk is full."""
    path = place / "filling"
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    assert os.statvfs(place).f_bavail == 0
    return path


def begun(directory: CampaignDir) -> bool:
    """Whether a few iterations are done and saved."""
    state = directory.worker_state(0)
    return state.exists() and read_state(state).iterations >= 2


def check_whole(directory: CampaignDir) -> None:
    for case_id in directory.corpus_ids():
        directory.load_case(case_id)
    read_snapshot(directory.worker_coverage(0))
    read_stats(directory.stats)
    assert not list(directory.root.rglob(".tmp-*"))


def test_a_campaign_pauses_and_goes_on_and_finds_the_same(small: Path, tmp_path: Path, tzerlike: Command) -> None:
    undisturbed = CampaignDir(tmp_path / "undisturbed")
    assert tzerlike("fuzz", *OPTIONS, "--out", undisturbed.root).returncode == 0
    directory = CampaignDir(small / "campaign")
    process = start("fuzz", *OPTIONS, "--out", directory.root)
    assert process.stdout is not None
    try:
        wait_until(lambda: begun(directory))
        filling = fill(small)
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("paused: no space left"):
                filling.unlink()
                break
        lines += process.stdout
        assert process.wait() == 0
    except BaseException:
        kill_group(process)
        raise
    assert sum("there is room again" in line for line in lines) == 1
    assert read_state(directory.worker_state(0)).iterations == ITERATIONS
    assert directory.corpus_ids() == undisturbed.corpus_ids()
    assert [path.name for path in directory.bundles()] == [path.name for path in undisturbed.bundles()]
    check_whole(directory)


def test_a_campaign_whose_disk_stays_full_ends_in_one_line(small: Path, tzerlike: Command) -> None:
    directory = CampaignDir(small / "campaign")
    process = start("fuzz", *OPTIONS, "--out", directory.root, "--budget", "10s")
    assert process.stdout is not None and process.stderr is not None
    try:
        wait_until(lambda: begun(directory))
        filling = fill(small)
        process.stdout.read()
        complaint = process.stderr.read()
        assert process.wait() == 2
    except BaseException:
        kill_group(process)
        raise
    assert "no space left" in complaint
    assert "Traceback" not in complaint
    assert len(complaint.splitlines()) == 1
    filling.unlink()
    done = tzerlike("fuzz", "--out", directory.root, "--resume", "--budget", "1h", "--ui", "none")
    assert done.returncode == 0, done.stderr
    assert read_state(directory.worker_state(0)).iterations == ITERATIONS
    check_whole(directory)
