"""The event log: bounded, read in order across its files, and nothing lost while the disk is full."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from tzerlike.campaign.events import FULL, EventLog, event_lines, mend_events
from tzerlike.core.storage import NoSpace
from tzerlike.reporting.triage.sightings import first_moments


def numbers(directory: Path) -> list[int]:
    return [event["i"] for event in map(json.loads, event_lines(directory)) if "i" in event]


def test_a_log_of_days_is_bounded_and_keeps_the_last(tmp_path: Path) -> None:
    log = EventLog(tmp_path, full=1000, kept=3)
    for number in range(2000):
        log.add({"i": number, "text": "x" * 40})
        log.flush()
        sizes = [path.stat().st_size for path in tmp_path.iterdir()]
        assert len(sizes) <= 4
        assert max(sizes) < 1200
    seen = numbers(tmp_path)
    assert seen == list(range(seen[0], 2000))
    assert 30 < len(seen) < 2000
    for path in (tmp_path / "events.jsonl", *tmp_path.glob("*.gz")):
        data = path.read_bytes()
        first = (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines()[0]
        assert json.loads(first) == {"schema_version": 1}


def test_a_log_that_is_taken_up_again_goes_on(tmp_path: Path) -> None:
    for start in (0, 50, 100):
        log = EventLog(tmp_path, full=800, kept=9)
        for number in range(start, start + 50):
            log.add({"i": number})
            log.flush()
    assert numbers(tmp_path) == list(range(150))


def test_findings_are_dated_across_files(tmp_path: Path) -> None:
    worker = tmp_path / "workers" / "0"
    worker.mkdir(parents=True)
    log = EventLog(worker, full=500, kept=3)
    for number in range(40):
        log.add({"t": float(number), "finding": ["a" * 12] if number in (25, 39) else []})
        log.flush()
    assert first_moments(tmp_path) == {"a" * 12: 25.0}


def test_nothing_is_lost_while_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = EventLog(tmp_path)
    write = os.write
    room = [25]

    def tight(descriptor: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        written = write(descriptor, data[: room[0]])
        room[0] -= written
        return written

    monkeypatch.setattr("os.write", tight)
    for number in range(5):
        log.add({"i": number})
        with pytest.raises(NoSpace):
            log.flush()
    room[0] = 1 << 20
    log.flush()
    assert numbers(tmp_path) == [0, 1, 2, 3, 4]


def test_a_torn_last_line_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    for whole, torn in ((b'{"i":1}\n{"i":2}\n', b'{"i"'), (b"", b"x" * 9), (b'{"i":1}\n', b"")):
        path.write_bytes(whole + torn)
        mend_events(path)
        assert path.read_bytes() == whole


def test_a_damaged_or_strange_log_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = gzip.compress(b'{"i":1}\n' * 1000)
    (tmp_path / "events-000001.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "events-000002.jsonl.gz").write_bytes(b"no archive")
    (tmp_path / "events-000003.jsonl.gz").symlink_to("/dev/zero")
    (tmp_path / "events-000004.jsonl.gz").write_bytes(gzip.compress(b'{"i":4}\n'))
    os.mkfifo(tmp_path / "events.jsonl")
    assert numbers(tmp_path)[-1] == 4


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "events-000001.jsonl.gz").write_bytes(gzip.compress(bytes(5 * FULL), 1))
    assert sum(map(len, event_lines(tmp_path))) <= 4 * FULL + (1 << 20)
