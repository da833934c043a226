"""A campaign whose records are damaged is resumed: what it covers is found again, and its corpus is whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.conftest import Command
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.state import read_state
from tzerlike.coverage.snapshot import read_snapshot, snapshot_bytes


@pytest.mark.long
def test_what_a_damaged_campaign_covers_is_found_again(tmp_path: Path, tzerlike: Command) -> None:
    directory = CampaignDir(tmp_path / "c")
    options = ("--seed", "3", "--jobs", "1", "--oracles", "crash", "--ui", "plain")
    first = tzerlike("fuzz", *options, "--iterations", "8", "--out", directory.root)
    assert first.returncode == 0, first.stderr
    state, corpus = read_state(directory.worker_state(0)), directory.corpus_ids()
    bits = directory.worker_coverage(0)
    whole = bits.read_bytes()

    snapshot = read_snapshot(bits)
    assert snapshot.identity is not None
    bits.write_bytes(snapshot_bytes(replace(snapshot.identity, library="another"), snapshot.bits))
    refused = tzerlike("fuzz", "--resume", "--iterations", "9", "--out", directory.root, "--ui", "plain")
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
    assert "of library another" in refused.stderr

    bits.write_bytes(whole[:-9] + b"\xff" + whole[-8:])
    directory.coverage_csv.write_bytes(b"\0" * 99)
    resumed = tzerlike("fuzz", "--resume", "--iterations", "9", "--out", directory.root, "--ui", "plain")
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.count("set aside as") == 2
    assert "Traceback" not in resumed.stderr
    again = read_state(directory.worker_state(0))
    assert again.iterations == 9
    # Programs and passes reach the same again; what schedule primitives reached while they made one is lost.
    assert again.coverage > 0.9 * state.coverage
    assert set(corpus) <= set(directory.corpus_ids())
