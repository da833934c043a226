import json
from pathlib import Path

import pytest

from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.events import EventLog
from tzerlike.core.case import Case, Provenance
from tzerlike.core.errors import UserError
from tzerlike.core.storage import write_atomic
from tzerlike.core.stored import StoredCase
from tzerlike.core.untrusted import read_json


@pytest.fixture
def directory(tmp_path: Path) -> CampaignDir:
    directory = CampaignDir(tmp_path / "campaign")
    directory.create(2)
    return directory


STORED = StoredCase(Case("{}", input_seed=4), Provenance("topi.add", worker=1, iteration=9))


def test_a_saved_case_reads_back(directory: CampaignDir) -> None:
    directory.save_case(STORED)
    assert directory.corpus_ids() == [STORED.case.id]
    assert directory.load_case(STORED.case.id) == STORED


@pytest.mark.parametrize("content", ["", "{", "[]", '{"case": 3}', '{"case": {"ir": 1}}', "[" * 100_000, "\x00"])
def test_a_corrupt_corpus_file_is_named_in_one_line(directory: CampaignDir, content: str) -> None:
    path = directory.corpus / f"{STORED.case.id}.json"
    path.write_text(content)
    with pytest.raises(UserError) as error:
        directory.load_case(STORED.case.id)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_case_under_another_name_is_refused(directory: CampaignDir) -> None:
    name = "0" * 64
    (directory.corpus / f"{name}.json").write_text(json.dumps(STORED.to_json()))
    with pytest.raises(UserError, match="does not match its name"):
        directory.load_case(name)


def test_one_process_at_a_time_works_in_a_directory(directory: CampaignDir) -> None:
    with directory.held(), pytest.raises(UserError, match="is in use by another tzerlike"), directory.held():
        pass
    with directory.held(), directory.held(1):
        pass


def test_set_aside_keeps_the_file_out_of_the_corpus(directory: CampaignDir) -> None:
    directory.save_case(STORED)
    kept = directory.set_aside(STORED.case.id)
    assert directory.corpus_ids() == []
    assert kept.is_file()


def test_writing_leaves_the_old_file_when_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.json"
    write_atomic(path, "old")

    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(UserError, match="no space left"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


def test_sweeping_removes_what_an_interrupted_writer_left(directory: CampaignDir) -> None:
    directory.save_case(STORED)
    (directory.corpus / ".tmp-1-x.json").write_text("half")
    (directory.findings / ".tmp-1-abc").mkdir()
    (directory.findings / ".tmp-1-abc" / "case.json").write_text("half")
    directory.sweep()
    assert not list(directory.root.rglob(".tmp-*"))
    assert directory.corpus_ids() == [STORED.case.id]


def test_events_are_lines_of_json(directory: CampaignDir) -> None:
    log = EventLog(directory.worker(0))
    for number in range(3):
        log.add({"i": number, "text": "a\nb"})
    log.flush()
    lines = (directory.worker(0) / "events.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines[:1]] == [{"schema_version": 1}]
    assert [json.loads(line)["i"] for line in lines[1:]] == [0, 1, 2]


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    path.write_text('"' + "x" * 100 + '"')
    with pytest.raises(UserError, match="larger than"):
        read_json(path, limit=50)
