"""Machines that share no files: what one has reaches the others, once, whatever becomes of messages and processes."""

from __future__ import annotations

import json
import time
import zlib
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from tests.unit.campaign.cluster.machines import ENVIRONMENT, PROGRAM, Direct, Machine, campaign, no_room
from tzerlike import __version__
from tzerlike.campaign.cluster.coordinator import Coordinator
from tzerlike.campaign.cluster.link import exchange
from tzerlike.campaign.cluster.mirror import Mirror
from tzerlike.campaign.cluster.parcel import ANOTHER, News, Parcel, Piece, lay_down
from tzerlike.campaign.directory import FOUND_ELSEWHERE
from tzerlike.campaign.shard import Part
from tzerlike.campaign.state import WorkerState, read_state, write_state
from tzerlike.core.case import Case, Provenance
from tzerlike.core.errors import StorageError, UserError
from tzerlike.core.storage import NoSpace
from tzerlike.core.stored import StoredCase
from tzerlike.coverage.focus import Focus, read_focus, write_focus
from tzerlike.coverage.snapshot import Identity, read_snapshot, snapshot_bytes


def test_a_case_of_one_machine_reaches_the_campaign_and_the_other_once(
    pair: tuple[Coordinator, Machine, Machine],
) -> None:
    coordinator, one, other = pair
    case_id = one.add("a")
    one.exchange()
    assert coordinator.directory.corpus_ids() == [case_id]
    assert list(other.exchange().pieces) == [f"corpus/{case_id}.json"]
    assert other.directory.load_case(case_id).case.id == case_id
    assert not other.exchange().pieces and not other.mirror.parcel().pieces and not one.exchange().pieces


def test_whatever_is_lost_on_the_way_comes_again_and_nothing_twice(tmp_path: Path) -> None:
    rng = Random(3)
    coordinator = Coordinator(campaign(tmp_path, 3))
    machines = [Machine(tmp_path, coordinator, node, 3) for node in range(3)]
    cases = set()
    for turn in range(60):
        machine = rng.choice(machines)
        if turn < 40:
            cases.add(machine.add(str(turn)))
        if turn == 30:
            coordinator = Coordinator(coordinator.directory)
            for each in machines:
                each.coordinator = coordinator
        machine.exchange(lost=rng.random() < 0.5)
    for machine in machines * 2:
        machine.exchange()
    assert all(set(machine.directory.corpus_ids()) == cases for machine in machines)
    assert set(coordinator.directory.corpus_ids()) == cases
    assert not any(machine.exchange().pieces for machine in machines)


def test_what_machines_cover_is_merged_and_each_gets_it_once(pair: tuple[Coordinator, Machine, Machine]) -> None:
    coordinator, one, other = pair
    identity = Identity("breakpoint", "0123456789abcdef", 8)
    for machine, bits in ((one, b"\x05"), (other, b"\x12")):
        machine.directory.worker_coverage(machine.node).write_bytes(snapshot_bytes(identity, bits))
        machine.exchange()
    one.exchange()
    for machine in (one, other):
        assert read_snapshot(machine.directory.merged_coverage).bits == b"\x17"
        assert not machine.exchange().pieces
    again = Machine(coordinator.directory.root.parent, Coordinator(coordinator.directory), 0, name="again")
    again.exchange()
    assert read_snapshot(again.directory.merged_coverage).bits == b"\x17"


def test_coverage_of_another_library_is_left_out(pair: tuple[Coordinator, Machine, Machine]) -> None:
    _, one, other = pair
    for machine, library in ((one, "0123456789abcdef"), (other, "fedcba9876543210")):
        data = snapshot_bytes(Identity("breakpoint", library, 8), b"\x05" if machine is one else b"\x12")
        machine.directory.worker_coverage(machine.node).write_bytes(data)
        machine.exchange()
    assert read_snapshot(other.directory.merged_coverage).bits == b"\x05"


def test_a_finding_of_two_machines_is_bundled_once_and_keeps_what_its_own_machine_adds(
    pair: tuple[Coordinator, Machine, Machine],
) -> None:
    coordinator, one, other = pair
    one.find("crash-a-0123456789ab", **{"report.md": "one"})
    other.find("crash-b-0123456789ab", **{"report.md": "other"})
    one.exchange()
    other.exchange()
    other.find("crash-b-0123456789ab", **{"reduced/case.json": "other"})
    other.exchange()
    one.find("crash-a-0123456789ab", **{"reduced/case.json": "smaller"})
    one.exchange()
    (bundle,) = coordinator.directory.bundles()
    assert bundle.name == "crash-a-0123456789ab"
    assert (bundle / "report.md").read_text() == "one" and (bundle / "reduced/case.json").read_text() == "smaller"


def test_a_finding_for_which_there_was_no_room_is_taken_from_another_machine(
    pair: tuple[Coordinator, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator, one, other = pair
    one.find("crash-a-0123456789ab")
    with monkeypatch.context() as full:
        full.setattr("tzerlike.campaign.cluster.coordinator.write_directory", no_room)
        with pytest.raises(NoSpace):
            one.exchange()
    other.exchange()
    assert not other.directory.bundled(), "it would not be bundled here, and the machine that has it may be lost"
    other.find("crash-b-0123456789ab")
    other.exchange()
    assert [bundle.name for bundle in coordinator.directory.bundles()] == ["crash-b-0123456789ab"]


def test_a_machine_knows_the_findings_of_others(pair: tuple[Coordinator, Machine, Machine]) -> None:
    _, one, other = pair
    one.find("crash-a-0123456789ab")
    one.exchange()
    other.exchange()
    assert other.directory.bundled() == {"0123456789ab"} and not list(other.directory.bundles())
    assert not (one.directory.root / FOUND_ELSEWHERE).exists()


def test_a_machine_that_is_not_told_of_a_late_bundle_of_its_part_does_not_bundle_it_twice(
    pair: tuple[Coordinator, Machine, Machine],
) -> None:
    coordinator, one, _ = pair
    one.find("crash-late-0123456789ab")
    one.find("crash-late-other-abcdef-0123456789ab")
    parcel = one.mirror.parcel()
    coordinator.exchange(0, one.epoch - 1, parcel)
    again = one.coordinator = Coordinator(coordinator.directory)
    one.mirror = Mirror(one.directory.root, Part(1, 0, 2))
    one.find("crash-second-0123456789ab")
    one.exchange()
    names = {bundle.name for bundle in again.directory.bundles()}
    assert names == {"crash-late-0123456789ab", "crash-late-other-abcdef-0123456789ab"}


def test_a_part_is_silent_that_no_machine_asks_for(
    pair: tuple[Coordinator, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator, one, other = pair
    began = time.monotonic()
    monkeypatch.setattr("tzerlike.campaign.cluster.coordinator.time", SimpleNamespace(monotonic=lambda: began + 100))
    one.exchange()
    coordinator.exchange(1, other.epoch - 1, Parcel())
    here, there = coordinator.silence()
    assert here == 0 and 99 < there <= 101


def test_books_are_added_up_now_and_then_and_once_more_at_the_end(pair: tuple[Coordinator, Machine, Machine]) -> None:
    coordinator, one, _ = pair
    before = coordinator.keep_books()
    write_state(one.directory.worker_state(0), WorkerState(worker=0, iterations=7, elapsed=3.0))
    one.exchange()
    assert coordinator.keep_books() is before and before["iterations"] == 0
    coordinator.end()
    assert coordinator.keep_books()["iterations"] == 7
    assert json.loads(coordinator.directory.stats.read_text())["iterations"] == 7


def test_what_one_machine_sends_amiss_is_no_trouble_of_the_others(pair: tuple[Coordinator, Machine, Machine]) -> None:
    coordinator, one, other = pair
    amiss = {"workers/0/state.json": Piece.of(b"{"), f"corpus/{'0' * 64}.json": Piece(0, b"not compressed")}
    with pytest.raises(zlib.error):
        coordinator.exchange(0, one.epoch, Parcel(amiss))
    case_id = other.add("a")
    write_state(other.directory.worker_state(1), WorkerState(worker=1, iterations=7, elapsed=3.0))
    assert not other.exchange().end
    assert coordinator.directory.corpus_ids() == [case_id] and coordinator.keep_books()["iterations"] == 7


def test_a_fault_of_one_machine_reaches_the_campaign(pair: tuple[Coordinator, Machine, Machine]) -> None:
    coordinator, one, other = pair
    (one.directory.faults / "0123456789ab").mkdir()
    (one.directory.faults / "0123456789ab" / "fault.json").write_text("{}")
    one.exchange()
    assert not other.exchange().end
    assert [path.name for path in coordinator.directory.faults.iterdir()] == ["0123456789ab"]


def test_each_machine_knows_the_focus_of_the_campaign(tmp_path: Path) -> None:
    directory = campaign(tmp_path)
    focus = Focus({"libtvm.so": [(0, 16)]})
    write_focus(directory.focus, focus)
    there = Machine(tmp_path, Coordinator(directory), 1)
    assert read_focus(there.directory.focus) == focus


def test_a_case_that_somebody_has_removed_is_told_to_nobody(pair: tuple[Coordinator, Machine, Machine]) -> None:
    coordinator, one, other = pair
    cases = [one.add("a"), one.add("b")]
    one.exchange()
    other.coordinator = again = Coordinator(coordinator.directory)
    (again.directory.corpus / f"{cases[0]}.json").unlink()
    assert list(other.exchange().pieces) == [f"corpus/{cases[1]}.json"]


def test_findings_survive_the_coordinator_and_keep_their_machines(
    tmp_path: Path, pair: tuple[Coordinator, Machine, Machine]
) -> None:
    coordinator, one, other = pair
    one.find("crash-a-0123456789ab", **{"report.md": "one"})
    one.exchange()
    again = Coordinator(coordinator.directory)
    one.coordinator = other.coordinator = again
    other.find("crash-a-0123456789ab", **{"report.md": "other"})
    other.exchange()
    one.find("crash-a-0123456789ab", **{"notes.txt": "more"})
    one.exchange()
    (bundle,) = coordinator.directory.bundles()
    assert (bundle / "report.md").read_text() == "one" and (bundle / "notes.txt").read_text() == "more"


def test_a_part_goes_on_elsewhere_from_what_was_saved_and_its_first_machine_gives_up(
    tmp_path: Path, pair: tuple[Coordinator, Machine, Machine]
) -> None:
    coordinator, one, _ = pair
    write_state(one.directory.worker_state(0), WorkerState(worker=0, iterations=7, elapsed=3.0))
    known = one.add("known")
    one.exchange()
    successor = Machine(tmp_path, coordinator, 0, name="successor")
    assert read_state(successor.directory.worker_state(0)).iterations == 7
    assert successor.directory.corpus_ids() == [known]
    write_state(one.directory.worker_state(0), WorkerState(worker=0, iterations=9, elapsed=4.0))
    late = one.add("late")
    assert one.exchange().end == ANOTHER
    assert set(coordinator.directory.corpus_ids()) == {known, late}
    assert read_state(coordinator.directory.worker_state(0)).iterations == 7
    successor.exchange()
    assert not successor.exchange().end


def test_what_there_is_no_room_for_on_a_machine_comes_again(
    pair: tuple[Coordinator, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator, one, other = pair
    monkeypatch.setattr("tzerlike.campaign.cluster.link.EVERY", 0.0)
    theirs, ours = one.add("theirs"), other.add("ours")
    one.exchange()
    link = Direct(coordinator, 1)
    with monkeypatch.context() as full:
        full.setattr("tzerlike.campaign.cluster.mirror.lay_down", no_room)
        assert exchange(other.mirror, link, other.epoch) == News()
    assert other.directory.corpus_ids() == [ours]
    exchange(other.mirror, link, other.epoch)
    assert set(other.directory.corpus_ids()) == set(coordinator.directory.corpus_ids()) == {theirs, ours}


def test_a_path_that_cannot_be_written_is_no_room(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "directory").mkdir()
    size = (tmp_path / "directory").stat().st_size
    for path, piece in (("file/x", Piece.of(b"x")), ("directory", Piece.of(b"x", size))):
        with pytest.raises(StorageError):
            lay_down(tmp_path, path, piece)


def test_a_machine_begins_with_a_bounded_number_of_cases(
    pair: tuple[Coordinator, Machine, Machine], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator, one, _ = pair
    cases = {one.add(str(number)) for number in range(5)}
    one.exchange()
    monkeypatch.setattr("tzerlike.campaign.cluster.coordinator.MOST_AT_FIRST", 2)
    begun = Machine(tmp_path, coordinator, 0, name="successor").directory.corpus_ids()
    assert len(begun) == 2 and set(begun) < cases


def test_what_could_not_be_judged_comes_too(pair: tuple[Coordinator, Machine, Machine]) -> None:
    coordinator, one, _ = pair
    stored = StoredCase(Case(PROGRAM), Provenance("test"))
    one.directory.keep_aside(stored)
    one.exchange()
    assert [path.name for path in coordinator.directory.aside.iterdir()] == [f"{stored.case.id}.json"]


def test_a_bundle_is_in_one_parcel(pair: tuple[Coordinator, Machine, Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    _, one, _ = pair
    monkeypatch.setattr("tzerlike.campaign.cluster.mirror.LARGEST", 10)
    for number in range(2):
        one.find(f"crash-a-{number:012}", **{"a.txt": "x" * 20, "reduced/b.txt": "y" * 20})
    assert {path.split("/")[1] for path in one.mirror.parcel().pieces} == {"crash-a-000000000000"}
    assert len(one.mirror.parcel().pieces) == 3


def test_what_a_log_has_more_is_sent_and_laid_down_once(pair: tuple[Coordinator, Machine, Machine]) -> None:
    coordinator, one, _ = pair
    log, there = (machine.worker(0) / "events.jsonl" for machine in (one.directory, coordinator.directory))
    log.write_bytes(b"one\n")
    one.exchange()
    with log.open("ab") as file:
        file.write(b"two\n")
    sent = one.mirror.parcel().pieces["workers/0/events.jsonl"]
    assert (sent.offset, sent.data) == (4, b"two\n")
    one.exchange(lost=True)
    one.exchange()
    assert there.read_bytes() == b"one\ntwo\n"
    there.write_bytes(b"o")
    with log.open("ab") as file:
        file.write(b"three\n")
    assert one.exchange().broken == ("workers/0/events.jsonl",)
    one.exchange()
    assert there.read_bytes() == b"one\ntwo\nthree\n"


def test_a_log_that_was_begun_anew_is_sent_whole(pair: tuple[Coordinator, Machine, Machine]) -> None:
    coordinator, one, _ = pair
    log = one.directory.worker(0) / "events.jsonl"
    log.write_bytes(b"long enough\n")
    one.exchange()
    log.write_bytes(b"new\n")
    one.exchange()
    assert (coordinator.directory.worker(0) / "events.jsonl").read_bytes() == b"new\n"


def test_a_machine_with_another_compiler_is_refused_by_name(pair: tuple[Coordinator, Machine, Machine]) -> None:
    coordinator, one, other = pair
    one.directory.environment.write_text(json.dumps(ENVIRONMENT))
    assert not one.exchange().end
    other.directory.environment.write_text(json.dumps({**ENVIRONMENT, "tvm": "0.26.0"}))
    other.add("tainted")
    assert other.exchange().end == "its tvm is 0.26.0, but the campaign's is 0.27.0.post1"
    assert coordinator.directory.corpus_ids() == [] and coordinator.directory.read_environment() == ENVIRONMENT


def test_a_machine_with_another_tzerlike_is_refused(pair: tuple[Coordinator, Machine, Machine]) -> None:
    _, one, other = pair
    one.directory.environment.write_text(json.dumps({**ENVIRONMENT, "tzerlike": "0.0.1"}))
    assert one.exchange().end == f"its tzerlike is 0.0.1, but the coordinator's is {__version__}"
    other.directory.environment.write_text(json.dumps(ENVIRONMENT))
    assert not other.exchange().end


def test_the_first_machine_has_the_tvm_of_whoever_began_the_campaign(tmp_path: Path) -> None:
    coordinator = Coordinator(campaign(tmp_path), "0.27.0.post1")
    one, other = (Machine(tmp_path, coordinator, node) for node in (0, 1))
    one.directory.environment.write_text(json.dumps({**ENVIRONMENT, "tvm": "0.26.0"}))
    assert one.exchange().end == "its tvm is 0.26.0, but the campaign's is 0.27.0.post1"
    other.directory.environment.write_text(json.dumps(ENVIRONMENT))
    assert not other.exchange().end and coordinator.directory.read_environment() == ENVIRONMENT


@pytest.mark.parametrize("path", ["../x", "/etc/x", "corpus/../../x", ""])
def test_nothing_is_written_outside_of_the_campaign(tmp_path: Path, path: str) -> None:
    with pytest.raises(UserError, match="not a path"):
        lay_down(tmp_path / "campaign", path, Piece.of(b""))
    assert not list(tmp_path.iterdir())


def test_a_parcel_has_a_bound(pair: tuple[Coordinator, Machine, Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    coordinator, one, _ = pair
    monkeypatch.setattr("tzerlike.campaign.cluster.mirror.LARGEST", 100)
    cases = {one.add("x" * 60 + str(number)) for number in range(5)}
    assert len(one.mirror.parcel().pieces) == 1
    for _ in range(5):
        one.exchange()
    assert set(coordinator.directory.corpus_ids()) == cases and not one.mirror.parcel(everything=True).pieces


def test_a_parcel_of_nothing_is_small(pair: tuple[Coordinator, Machine, Machine]) -> None:
    _, one, _ = pair
    one.exchange()
    assert one.mirror.parcel() == Parcel(heard=one.mirror.parcel().heard)
