"""Machines at work on a part: what ends them, who carries their messages, and what they leave."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.unit.campaign.cluster.machines import PROGRAM, Direct, Machine, campaign, no_room
from tzerlike.campaign.cluster import at_work
from tzerlike.campaign.cluster.coordinator import Coordinator
from tzerlike.campaign.cluster.left import deliver, held
from tzerlike.campaign.cluster.mirror import Mirror
from tzerlike.campaign.cluster.outside import Outside, Post
from tzerlike.campaign.shard import Part
from tzerlike.campaign.state import WorkerState, write_state
from tzerlike.core.case import Case, Provenance
from tzerlike.core.errors import UserError
from tzerlike.core.stored import StoredCase


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
        process = subprocess.Popen([sys.executable, "-c", next(launched)], stdout=subprocess.PIPE)
        yield process
        # Its output is left open, as the real one does: another thread still reads it.
        process.wait()

    monkeypatch.setattr(at_work, "_launched", launch)
    link = Direct(Coordinator(campaign(tmp_path)), 0)
    assert at_work.work(Part(1, 0, 2), link) == "no TVM"
    assert link.told == ["ended by signal 9; restarting"]
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
