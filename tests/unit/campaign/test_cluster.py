"""Machines that share no files: what one has reaches the others, once, whatever becomes of messages and processes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from tests.bundles import program
from tzerlike import __version__
from tzerlike.campaign.claims import Claims
from tzerlike.campaign.cluster import at_work
from tzerlike.campaign.cluster.coordinator import Coordinator
from tzerlike.campaign.cluster.left import deliver, held
from tzerlike.campaign.cluster.link import Unreachable, exchange
from tzerlike.campaign.cluster.mirror import Mirror
from tzerlike.campaign.cluster.outside import Outside, Post
from tzerlike.campaign.cluster.parcel import ANOTHER, News, Parcel, Piece, Welcome, as_bytes, from_bytes, lay_down
from tzerlike.campaign.directory import FOUND_ELSEWHERE, CampaignDir
from tzerlike.campaign.shard import Part
from tzerlike.campaign.state import WorkerState, read_state, write_state
from tzerlike.core.case import Case, Provenance
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import StorageError, UserError
from tzerlike.core.storage import NoSpace
from tzerlike.core.stored import StoredCase
from tzerlike.coverage.focus import Focus, read_focus, write_focus
from tzerlike.coverage.snapshot import Identity, read_snapshot, snapshot_bytes

PROGRAM = program("None")
ENVIRONMENT = {
    "tzerlike": __version__,
    "tvm": "0.27.0.post1",
    "compiler_library": "0123456789abcdef",
    "cpu": "one",
    "coverage_total": 8,
}


def campaign(root: Path, nodes: int = 2) -> CampaignDir:
    directory = CampaignDir(root / "campaign")
    directory.create(0)
    directory.config.write_text(CampaignConfig(seed=1, nodes=nodes).to_toml())
    return directory


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tzerlike.campaign.cluster.mirror._SAVES_EVERY", -1.0)
    monkeypatch.setattr("tzerlike.campaign.cluster.mirror._CHANGES_EVERY", -1.0)
    monkeypatch.setattr("tzerlike.campaign.cluster.merged._EVERY", -1.0)


def no_room(*_: object) -> None:
    raise NoSpace("no space left")


class Machine:
    """A machine whose messages go straight to a coordinator."""

    def __init__(self, root: Path, coordinator: Coordinator, node: int, nodes: int = 2, name: str = "") -> None:
        self.coordinator, self.node = coordinator, node
        self.mirror = Mirror(root / f"machine{name or node}", Part(1, node, nodes))
        welcome = from_bytes(Welcome, as_bytes(coordinator.join(node)))
        self.epoch = welcome.epoch
        self.mirror.begin(welcome.pieces)
        self.directory = self.mirror.directory
        self.directory.create(1, node)

    def exchange(self, lost: bool = False) -> News:
        parcel = from_bytes(Parcel, as_bytes(self.mirror.parcel()))
        answer = from_bytes(News, as_bytes(self.coordinator.exchange(self.node, self.epoch, parcel)))
        if not lost and not answer.end:
            self.mirror.take(parcel, answer)
        return answer

    def add(self, text: str) -> str:
        case = Case(PROGRAM, input_seed=zlib.crc32(text.encode()))
        self.directory.save_case(StoredCase(case, Provenance("test", worker=self.node)))
        return case.id

    def find(self, name: str, **files: str) -> Path:
        bundle = self.directory.findings / name
        bundle.mkdir(parents=True, exist_ok=True)
        stored = StoredCase(Case(PROGRAM), Provenance("test", worker=self.node))
        for file, text in {"case.json": json.dumps(stored.to_json()), **files}.items():
            (bundle / file).parent.mkdir(exist_ok=True)
            (bundle / file).write_text(text)
        return bundle


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Coordinator, Machine, Machine]:
    coordinator = Coordinator(campaign(tmp_path))
    return coordinator, Machine(tmp_path, coordinator, 0), Machine(tmp_path, coordinator, 1)


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


class Direct:
    """A link straight to a coordinator; `cut` times nobody answers, once what was sent has arrived."""

    def __init__(self, coordinator: Coordinator, node: int, cut: int = 0) -> None:
        self.coordinator, self.node, self.cut = coordinator, node, cut
        self.told: list[str] = []

    def join(self) -> Welcome:
        return self.coordinator.join(self.node)

    def exchange(self, epoch: int, parcel: Parcel) -> News:
        answer = self.coordinator.exchange(self.node, epoch, parcel)
        self.cut -= 1
        if self.cut >= 0:
            raise Unreachable
        return answer

    def tell(self, line: str) -> None:
        self.told.append(line)


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


class TestOutside:
    """A coordinator that is not in the cluster, and the actor that has its messages."""

    def outside(self, tmp_path: Path) -> tuple[Outside, list[tuple[str, int]]]:
        """One whose thread is not begun, and what it answers."""
        said: list[tuple[str, int]] = []
        outside = object.__new__(Outside)
        remote = {
            how: SimpleNamespace(remote=lambda number, what, how=how: said.append((how, number)))
            for how in ("answer", "refuse")
        }
        outside._post = SimpleNamespace(**remote)
        outside._coordinator = Coordinator(campaign(tmp_path))
        outside._turn = threading.Lock()
        return outside, said

    def test_a_message_that_is_none_is_refused_and_the_next_one_answered(self, tmp_path: Path) -> None:
        outside, said = self.outside(tmp_path)
        outside._deal_with(1, "exchange", (0, 1, b"of another tzerlike"))
        outside._deal_with(2, "join", (0,))
        assert said == [("refuse", 1), ("answer", 2)]

    def test_a_message_for_which_there_is_no_room_comes_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        outside, said = self.outside(tmp_path)
        monkeypatch.setattr(outside._coordinator, "join", no_room)
        outside._deal_with(1, "join", (0,))
        assert not said

    def test_who_asks_is_told_and_an_answer_to_another_post_is_nobodys(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tzerlike.campaign.cluster.outside.Gauges", SimpleNamespace)

        async def asked(post: Post, what: str, *how: object) -> bytes:
            asking = asyncio.create_task(post.join(0))
            ((number, *_),), _lines = await post.fetch()
            await getattr(post, what)(number, *how)
            return await asking

        async def both() -> None:
            post, another = Post(), Post()
            assert await asked(post, "answer", b"yes") == b"yes"
            with pytest.raises(UserError, match="no"):
                await asked(post, "refuse", "no")
            asking = asyncio.create_task(another.join(1))
            await another.fetch()
            for number in range(4):
                await another.answer(number, b"of another machine")
            assert not asking.done()
            asking.cancel()

        asyncio.run(both())


def test_a_part_whose_process_is_killed_begins_again_and_one_that_gives_up_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(at_work, "EVERY", 0.0)
    fault = (
        "print('tzerlike: our fault: Traceback (most recent call last):\\n  File 1\\nKeyError: 3'); raise SystemExit(1)"
    )
    ends = ["import os; os.kill(os.getpid(), 9)", "print('tzerlike: no TVM'); raise SystemExit(2)", fault, "pass"]
    launched = iter(ends)

    @contextmanager
    def launch(*_: object) -> Iterator[subprocess.Popen[bytes]]:
        with subprocess.Popen([sys.executable, "-c", next(launched)], stdout=subprocess.PIPE) as process:
            yield process

    monkeypatch.setattr(at_work, "_launched", launch)
    link = Direct(Coordinator(campaign(tmp_path)), 0)
    assert at_work.work(Part(1, 0, 2), link) == "no TVM"
    assert link.told == ["ended by signal 9, it begins again"]
    assert at_work.work(Part(1, 0, 2), link) == "our fault: KeyError: 3"
    assert at_work.work(Part(1, 0, 2), link) == ""


class TestLeft:
    """What a machine that was cut off has found alone lies on its disk."""

    @pytest.fixture(autouse=True)
    def _here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "disk").mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "disk"))
        monkeypatch.setattr("tzerlike.campaign.cluster.link.EVERY", 0.0)

    def cut_off(
        self, coordinator: Coordinator, node: int = 0, bundle: str = "crash-late-0123456789ab"
    ) -> tuple[Path, str]:
        """Leave a mirror with a case and a finding that the campaign has not got, and with a state."""
        welcome = coordinator.join(node)
        with held(welcome.campaign, Part(1, node, 2)) as root:
            mirror = Mirror(root, Part(1, node, 2))
            mirror.begin(welcome.pieces)
        case = Case(PROGRAM, input_seed=99)
        mirror.directory.create(1, node)
        mirror.directory.save_case(StoredCase(case, Provenance("test", worker=node)))
        write_state(mirror.directory.worker_state(node), WorkerState(worker=node, iterations=70, elapsed=3.0))
        (mirror.directory.findings / bundle).mkdir()
        (mirror.directory.findings / bundle / "report.md").write_text("late")
        return root, case.id

    def test_it_comes_home_once_and_to_all(self, tmp_path: Path) -> None:
        coordinator = Coordinator(campaign(tmp_path))
        root, case_id = self.cut_off(coordinator)
        successor, other = (Machine(tmp_path, coordinator, node) for node in (0, 1))
        assert deliver(coordinator.campaign, lambda node: Direct(coordinator, node, cut=1)) == 1
        assert coordinator.directory.corpus_ids() == [case_id] and not root.exists()
        assert not coordinator.directory.worker_state(0).exists()
        for machine in (successor, other):
            assert list(machine.exchange().pieces) == [f"corpus/{case_id}.json"]
            assert machine.directory.bundled() == {"0123456789ab"}
        assert deliver(coordinator.campaign, lambda node: Direct(coordinator, node)) == 0

    def test_what_its_successor_has_bundled_meanwhile_stays_as_it_is(self, tmp_path: Path) -> None:
        coordinator = Coordinator(campaign(tmp_path))
        self.cut_off(coordinator)
        successor = Machine(tmp_path, coordinator, 0)
        successor.find("crash-first-0123456789ab", **{"report.md": "first"})
        successor.exchange()
        deliver(coordinator.campaign, lambda node: Direct(coordinator, node))
        (bundle,) = coordinator.directory.bundles()
        assert bundle.name == "crash-first-0123456789ab" and (bundle / "report.md").read_text() == "first"

    def test_of_two_machines_that_come_late_one_bundles(self, tmp_path: Path) -> None:
        coordinator = Coordinator(campaign(tmp_path))
        for name in ("crash-one-0123456789ab", "crash-two-0123456789ab"):
            self.cut_off(coordinator, bundle=name)
        assert deliver(coordinator.campaign, lambda node: Direct(coordinator, node)) == 2
        assert len(list(coordinator.directory.bundles())) == 1

    def test_its_successor_bundles_nothing_that_came_late(self, tmp_path: Path) -> None:
        coordinator = Coordinator(campaign(tmp_path))
        self.cut_off(coordinator)
        successor = Machine(tmp_path, coordinator, 0)
        deliver(coordinator.campaign, lambda node: Direct(coordinator, node))
        successor.find("crash-second-0123456789ab")
        successor.exchange()
        (bundle,) = coordinator.directory.bundles()
        assert bundle.name == "crash-late-0123456789ab"

    def test_a_machine_at_work_and_another_campaign_are_left_alone(self, tmp_path: Path) -> None:
        coordinator = Coordinator(campaign(tmp_path))
        other, _ = self.cut_off(Coordinator(campaign(tmp_path / "other")))
        with held(coordinator.campaign, Part(1, 0, 2)) as root:
            assert deliver(coordinator.campaign, lambda node: Direct(coordinator, node)) == 0
            assert root.exists() and other.exists()

    def test_what_cannot_be_sent_stays(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tzerlike.campaign.cluster.left._TO_SEND", 0.0)
        coordinator = Coordinator(campaign(tmp_path))
        root, _ = self.cut_off(coordinator)
        assert deliver(coordinator.campaign, lambda node: Direct(coordinator, node, cut=1 << 30)) == 0
        assert root.exists()

    def test_a_campaign_keeps_its_identity(self, tmp_path: Path) -> None:
        coordinator = Coordinator(campaign(tmp_path))
        assert Coordinator(coordinator.directory).campaign == coordinator.campaign
        assert Coordinator(campaign(tmp_path / "other")).campaign != coordinator.campaign


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


def claims_of(machine: Machine) -> Claims:
    """The claims of a machine's worker, to whom messages come while it waits."""

    def wait() -> None:
        machine.exchange()

    return Claims(machine.directory.root, machine.node, wait)


def test_one_machine_at_a_time_confirms_a_finding(pair: tuple[Coordinator, Machine, Machine]) -> None:
    _coordinator, one, other = pair
    with claims_of(one).held("abc") as first, claims_of(other).held("abc") as second:
        assert first and not second
        with claims_of(other).held("another") as ours:
            assert ours


def test_what_one_machine_could_not_confirm_another_may(
    pair: tuple[Coordinator, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    _coordinator, one, other = pair
    with claims_of(one).held("abc"), claims_of(other).held("abc") as ours:
        assert not ours
    # That the first is done may not be heard of.
    monkeypatch.setattr("tzerlike.campaign.cluster.coordinator._LAPSES", -1.0)
    with claims_of(other).held("abc") as ours:
        assert ours
    assert not list(other.directory.claims.iterdir())


def test_a_claim_lasts_as_long_as_it_is_wished_for(
    pair: tuple[Coordinator, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    _coordinator, one, other = pair
    now = 0.0
    monkeypatch.setattr("tzerlike.campaign.cluster.coordinator.time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr("tzerlike.campaign.cluster.merged.time", SimpleNamespace(monotonic=lambda: now))
    with claims_of(one).held("abc"):
        for now in (20.0, 40.0, 60.0):  # noqa: B007 - the clock
            one.exchange()
        with claims_of(other).held("abc") as ours:
            assert not ours


def test_a_worker_that_waits_is_answered_before_the_next_parcel_is_due(
    pair: tuple[Coordinator, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    _coordinator, one, _other = pair
    slept: list[float] = []
    monkeypatch.setattr(at_work, "EVERY", 1.0)
    monkeypatch.setattr(at_work, "time", SimpleNamespace(monotonic=lambda: 0.3 * len(slept), sleep=slept.append))

    def looks() -> int:
        slept.clear()
        at_work._pause(one.directory.claims)
        return len(slept)

    assert looks() == 4
    monkeypatch.setattr("tzerlike.campaign.claims._PATIENCE", 0.0)
    claims_of(one)._lay("abc")
    assert looks() == 1
    one.exchange()
    assert looks() == 4


def test_an_answer_that_comes_late_stands_in_nobodys_way(
    pair: tuple[Coordinator, Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    _coordinator, one, other = pair
    with claims_of(one).held("abc"):
        monkeypatch.setattr("tzerlike.campaign.claims._PATIENCE", 0.0)
        claims = claims_of(other)
        claims._lay("abc")
        parcel = other.mirror.parcel()
        answer = other.coordinator.exchange(other.node, other.epoch, parcel)
        claims._give_up("abc")
        other.mirror.take(parcel, answer)
        assert parcel.wishes and not list(other.directory.claims.iterdir())


def test_a_machine_with_another_compiler_is_refused_by_name(pair: tuple[Coordinator, Machine, Machine]) -> None:
    coordinator, one, other = pair
    one.directory.environment.write_text(json.dumps(ENVIRONMENT))
    assert not one.exchange().end
    other.directory.environment.write_text(json.dumps({**ENVIRONMENT, "tvm": "0.26.0"}))
    other.add("tainted")
    assert other.exchange().end == "its tvm is 0.26.0, and the campaign's is 0.27.0.post1"
    assert coordinator.directory.corpus_ids() == [] and coordinator.directory.read_environment() == ENVIRONMENT


def test_a_machine_with_another_tzerlike_is_refused(pair: tuple[Coordinator, Machine, Machine]) -> None:
    _, one, other = pair
    one.directory.environment.write_text(json.dumps({**ENVIRONMENT, "tzerlike": "0.0.1"}))
    assert one.exchange().end == f"its tzerlike is 0.0.1, and the coordinator's is {__version__}"
    other.directory.environment.write_text(json.dumps(ENVIRONMENT))
    assert not other.exchange().end


def test_the_first_machine_has_the_tvm_of_whoever_began_the_campaign(tmp_path: Path) -> None:
    coordinator = Coordinator(campaign(tmp_path), "0.27.0.post1")
    one, other = (Machine(tmp_path, coordinator, node) for node in (0, 1))
    one.directory.environment.write_text(json.dumps({**ENVIRONMENT, "tvm": "0.26.0"}))
    assert one.exchange().end == "its tvm is 0.26.0, and the campaign's is 0.27.0.post1"
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
