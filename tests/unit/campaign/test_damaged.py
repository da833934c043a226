"""Campaigns whose files are damaged in any way: one line for each, and never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.bundles import add_bundle, crashed, write_case
from tzerlike.campaign.cluster.epochs import Epochs, read_epochs, write_epochs
from tzerlike.campaign.directory import ENVIRONMENT, CampaignDir
from tzerlike.campaign.events import EventLog
from tzerlike.campaign.recovery import recover
from tzerlike.campaign.state import STATE, WorkerPool, read_state, write_pool
from tzerlike.campaign.stats import CSV_HEADER, STATS, read_curve, read_stats
from tzerlike.cli.main import cli
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.core.finding import Signed
from tzerlike.core.schema import WrongVersion
from tzerlike.core.storage import write_json
from tzerlike.coverage.snapshot import Identity, read_snapshot, snapshot_bytes
from tzerlike.reporting.ci.carry import Carry
from tzerlike.reporting.source_coverage import read_covered

BLOCKS = 1000
LIBRARY = Identity("breakpoint", "0123456789abcdef", BLOCKS)
FACTS = {
    "tvm": "0.27.0",
    "compiler_library": LIBRARY.library,
    "coverage_backend": LIBRARY.backend,
    "coverage_total": BLOCKS,
}
FOUND = Signed("crash", ("passes", "X"))


def fresh(root: Path) -> CampaignDir:
    """A campaign of one worker that was interrupted, every file of it whole."""
    directory = CampaignDir(root)
    directory.create(1)
    directory.config.write_text(CampaignConfig(seed=1, budget=60).to_toml())
    write_json(directory.environment, ENVIRONMENT.stamped(FACTS))
    case = write_case(root / "case.json", '{"nodes": []}')
    (root / "case.json").rename(directory.corpus / f"{case.id}.json")
    write_pool(directory.worker_pool(0), WorkerPool([(case.id, 0)], [(1, 1)]))
    state = {"elapsed": 9.0, "iterations": 4, "mutators": {"a": [1, 1, 1]}}
    write_json(directory.worker_state(0), STATE.stamped(state))
    write_json(directory.stats, STATS.stamped({"elapsed_s": 9.0, "iterations": 4, "mutators": {"a": {"tried": 1}}}))
    directory.coverage_csv.write_text(f"{CSV_HEADER}\n9.0,4,500,1,1,1\n")
    bits = np.packbits(np.arange(BLOCKS) % 2, bitorder="little").tobytes()
    directory.worker_coverage(0).write_bytes(snapshot_bytes(LIBRARY, bits))
    log = EventLog(directory.worker(0))
    log.add({"t": 3.5, "i": 1, "finding": [FOUND.signature]})
    log.flush()
    add_bundle(directory.findings, FOUND, crashed("s_tir.X", "f"))
    write_epochs(directory.cluster, Epochs("0123456789abcdef", {"0": 2}))
    return directory


FILES = (
    "campaign.toml",
    "environment.json",
    "stats.json",
    "coverage.csv",
    "workers/0/state.json",
    "workers/0/pool.json",
    "workers/0/coverage.bits",
    "workers/0/events.jsonl",
    "cluster.json",
)


def _link_to_itself(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def _link_out(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-7]),
    "flipped": lambda path: path.write_bytes(path.read_bytes()[:-9] + b"\xff" + path.read_bytes()[-8:]),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 9),
    "null": lambda path: path.write_bytes(b"null"),
    "list": lambda path: path.write_bytes(b"[[]]"),
    "deep": lambda path: path.write_bytes(b'{"x":' + b"[" * 100_000),
    "nan": lambda path: path.write_bytes(b'{"elapsed": NaN, "tvm": NaN}'),
    "huge": lambda path: path.write_bytes(b'{"elapsed": 1e9999, "iterations": ' + b"9" * 5000 + b"}"),
    "nested": lambda path: path.write_bytes(b'{"elapsed": {"a": 1}, "iterations": [1], "known": 3, "tvm": []}'),
    "names": lambda path: path.write_bytes(b'{"elapsed": 1, "iterations": 1, "entries": [["../../x", 0]], "tvm": 3}'),
    "newer": lambda path: path.write_bytes(b'{"schema_version": 99}'),
    "a link to itself": _link_to_itself,
    "a link out": _link_out,
    "a directory": _directory,
    "a pipe": _pipe,
}


def _line(error: BaseException | None) -> str:
    """The one line that an error is."""
    assert isinstance(error, UserError), repr(error)
    assert "\n" not in str(error)
    return str(error)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", FILES)
def test_what_reads_a_campaign_says_what_is_wrong_in_a_line(tmp_path: Path, name: str, damage: str) -> None:
    directory = fresh(tmp_path / "c")
    DAMAGES[damage](directory.root / name)
    for command in (["report"], ["report", "--json"], ["triage"], ["corpus", "list"]):
        done = CliRunner().invoke(cli, [*command, str(directory.root)])
        if done.exit_code:
            assert name in _line(done.exception)
    for read in (
        lambda: read_covered(directory.root),
        lambda: read_stats(directory.stats),
        lambda: CampaignConfig.from_toml(directory.config),
        lambda: Carry(tmp_path / "carry").take_corpus(directory, 1),
    ):
        (tmp_path / "carry" / "corpus").mkdir(parents=True, exist_ok=True)
        try:
            read()
        except UserError as error:
            assert Path(name).name in _line(error)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", FILES[1:])
def test_a_campaign_is_fit_to_be_resumed_whatever_is_damaged(tmp_path: Path, name: str, damage: str) -> None:
    directory = fresh(tmp_path / "c")
    path = directory.root / name
    DAMAGES[damage](path)
    try:
        told = list(recover(directory))
    except WrongVersion as error:
        assert damage == "newer"
        assert str(path) in _line(error)
        return
    if damage == "gone":
        assert told == []
    for line in told:
        assert str(path) in line
        assert "set aside" in line
        assert "\n" not in line
        assert not os.path.lexists(path)
        assert os.path.lexists(f"{path}.damaged")
    # What is left reads, and all that was found is there.
    for reader, file in (
        (read_state, directory.worker_state(0)),
        (read_stats, directory.stats),
        (read_curve, directory.coverage_csv),
        (read_snapshot, directory.worker_coverage(0)),
        (read_epochs, directory.cluster),
    ):
        if file.exists():
            reader(file)
    EventLog(directory.worker(0)).flush()
    assert len(directory.corpus_ids()) == len(list(directory.bundles())) == 1


def test_a_whole_campaign_is_left_alone(tmp_path: Path) -> None:
    directory = fresh(tmp_path / "c")
    before = {path: path.read_bytes() for path in directory.root.rglob("*") if path.is_file()}
    assert list(recover(directory)) == []
    assert {path: path.read_bytes() for path in directory.root.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("damage", ["truncated", "flipped", "binary", "empty", "list"])
def test_damage_of_what_a_campaign_counts_by_is_noticed(tmp_path: Path, damage: str) -> None:
    directory = fresh(tmp_path / "c")
    DAMAGES[damage](directory.worker_coverage(0))
    with pytest.raises(UserError, match=r"coverage\.bits: "):
        read_covered(directory.root)


def test_coverage_of_something_else_is_refused(tmp_path: Path) -> None:
    directory = fresh(tmp_path / "c")
    found = read_snapshot(directory.worker_coverage(0))
    assert found.bits_of(LIBRARY, directory.root) == found.bits
    for other in (Identity("sancov", LIBRARY.library, BLOCKS), Identity("breakpoint", "another", BLOCKS)):
        with pytest.raises(UserError, match="it counts 1000 blocks"):
            found.bits_of(other, directory.root)


def test_coverage_of_an_older_tzerlike_is_read(tmp_path: Path) -> None:
    path = tmp_path / "coverage.bits"
    path.write_bytes(b"\x05" * 125)
    assert read_snapshot(path).bits_of(LIBRARY, path) == b"\x05" * 125
    path.write_bytes(b"\x05" * 124)
    with pytest.raises(UserError, match="124 bytes do not fit"):
        read_snapshot(path).bits_of(LIBRARY, path)


def test_a_report_says_what_it_could_not_read(tmp_path: Path) -> None:
    directory = fresh(tmp_path / "c")
    directory.stats.write_text('{"elapsed_s": ')
    done = CliRunner().invoke(cli, ["report", "--json", str(directory.root)])
    (note,) = json.loads(done.output)["notes"]
    assert "stats.json: not JSON" in note


def test_a_campaign_of_before_is_read(tmp_path: Path) -> None:
    """Files of tzerlike 0.1.0 stated no version, and coverage.bits held the bits alone."""
    directory = fresh(tmp_path / "c")
    for path in (directory.environment, directory.stats, directory.worker_state(0)):
        path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "schema_version"}))
    directory.config.write_text(directory.config.read_text().replace("schema_version = 1\n", ""))
    (stored,) = directory.corpus.iterdir()
    old = json.loads(stored.read_text())
    stored.write_text(json.dumps({"case": old["case"], "provenance": old["provenance"]}))
    directory.worker_coverage(0).write_bytes(read_snapshot(directory.worker_coverage(0)).bits)
    assert list(recover(directory)) == []
    assert CampaignConfig.from_toml(directory.config) == CampaignConfig(seed=1, budget=60)
    assert read_state(directory.worker_state(0)).iterations == 4
    assert read_covered(directory.root).reached.sum() == BLOCKS // 2
    (case_id,) = directory.corpus_ids()
    assert directory.load_case(case_id).case.id == case_id
    for command in ("report", "triage"):
        assert CliRunner().invoke(cli, [command, str(directory.root)]).exit_code == 0


def test_a_full_output_is_one_line(tmp_path: Path) -> None:
    directory = fresh(tmp_path / "c")
    command = [sys.executable, "-m", "tzerlike", "report", str(directory.root)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "tzerlike: No space left on device\n"
