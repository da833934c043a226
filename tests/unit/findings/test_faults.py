"""Faults as values, as files, and as numbers that people see."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.unit.cli.test_screen import state, view
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.stats import add_up
from tzerlike.cli.screen import render, stats_line
from tzerlike.core.case import Case, Provenance, parse_sequence
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import Fault, RunnerLost, StorageError, UserError, contained
from tzerlike.core.mutation import Mutation
from tzerlike.core.storage import write_json
from tzerlike.core.stored import StoredCase
from tzerlike.findings.faults import bundle as of_bundle
from tzerlike.findings.faults.book import TOLERATED, WINDOW, FaultBook, lost_worker, warning
from tzerlike.findings.faults.bundle import FILE, Donor, Occasion, kept_faults, read_fault
from tzerlike.findings.faults.limit import limited
from tzerlike.findings.known import Known
from tzerlike.reporting.ci.campaign import judged_campaign
from tzerlike.reporting.ci.carry import Carry
from tzerlike.reporting.ci.markdown import summary as ci_summary
from tzerlike.reporting.overview import read_overview
from tzerlike.reporting.page import page
from tzerlike.reporting.text import summary

STORED = StoredCase(Case("{}", input_seed=4), Provenance("topi.add", worker=1, iteration=9))
MUTATION = Mutation(1, 0, 9, 2, "splice", "f" * 64)


def fault_of(text: str) -> Fault:
    fault = contained(lambda: parse_sequence(text), "propose")
    assert isinstance(fault, Fault)
    return fault


def book(directory: Path) -> FaultBook:
    return FaultBook(directory, 0, CampaignConfig(seed=1, oracles=("crash", "inconsistency")), {"tvm": "0.27"})


def test_a_signature_is_where_it_was_raised_and_not_what_was_said() -> None:
    one, other = fault_of("1;"), fault_of("2;")
    assert one.text != other.text
    assert one.signature == other.signature
    assert "core/case.py parse_sequence" in one.frames
    assert "test_faults" in one.text, "the traceback begins where the step was asked for"
    elsewhere = contained(lambda: json.loads("{"), "propose")
    assert isinstance(elsewhere, Fault) and elsewhere.signature != one.signature


@pytest.mark.parametrize("error", [StorageError("full"), RunnerLost("gone"), KeyboardInterrupt()])
def test_what_nothing_can_go_on_after_passes(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        contained(fail, "propose")


@pytest.mark.parametrize("error", [UserError("no such pass"), MemoryError(), RecursionError(), SystemExit(3)])
def test_everything_else_is_a_fault(error: BaseException) -> None:
    def fail() -> None:
        raise error

    fault = contained(fail, "propose")
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.doing) == (type(error).__name__, "propose")


def test_a_loop_that_swallows_what_is_raised_hears_it_again() -> None:
    heard = 0

    def loop() -> None:
        nonlocal heard
        while heard < 2:
            try:
                while True:
                    pass
            except Fault:
                heard += 1
        while True:
            pass

    with limited(0.05):
        fault = contained(loop, "mutate")
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.frames, heard) == ("TooLong", ("mutate",), 2)


def test_a_fault_is_kept_once_and_counted_always(tmp_path: Path) -> None:
    faults = book(tmp_path / "faults")
    occasion = Occasion(9, STORED, MUTATION, STORED, (Donor(3, "{}"),))
    faults.note(fault_of("1;"), occasion)
    faults.note(fault_of("2;"), Occasion(10))
    (path,) = kept_faults(tmp_path / "faults")
    kept = read_fault(path)
    assert kept.fault == fault_of("1;") or kept.fault.signature == fault_of("1;").signature
    assert kept.occasion == occasion
    assert kept.file.campaign.oracles == ("crash", "inconsistency")
    faults.forget(11)
    assert (faults.counts, faults.recent) == ({kept.signature: 2}, [9, 10])
    faults.forget(9 + WINDOW + 1)
    assert faults.recent == [10]


def test_a_fault_in_keeping_faults_is_counted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_bundle, "json_text", lambda value: 1 // 0)
    faults = book(tmp_path / "faults")
    faults.note(fault_of("1;"), Occasion(9, STORED))
    assert sum(faults.counts.values()) == 1
    assert list((tmp_path / "faults").iterdir()) == [], "whole or absent"


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"schema_version": 1}', '{"schema_version": 99, "kind": 3}', "[" * 10**5, "\x00"],
)
def test_a_damaged_fault_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(UserError) as error:
        read_fault(tmp_path)
    assert FILE in str(error.value) and "\n" not in str(error.value)


def test_a_worker_that_was_ended_over_an_iteration_is_a_fault() -> None:
    fault, occasion = lost_worker({"iteration": 17, "doing": "step", "why": "no sign of life for 120 s"})
    other, _ = lost_worker({"iteration": 90, "doing": "step", "why": "SIGSEGV"})
    assert occasion.iteration == 17
    assert (
        fault.signature == other.signature != lost_worker({"iteration": 1, "doing": "report", "why": ""})[0].signature
    )


def stats(faults: dict[str, int], recent: int) -> dict[str, Any]:
    return add_up([state(0, faults=faults, recent_faults=list(range(recent))), state(1)], 44, Counter(crash=2))


def test_a_rate_of_more_than_one_in_two_hundred_is_loud() -> None:
    tolerated = int(2 * WINDOW * TOLERATED)
    assert warning(stats({"a" * 12: 900}, tolerated)) == ""
    assert warning(stats({"a" * 12: 900}, tolerated + 1)).startswith("WARNING: tzerlike itself failed on")
    assert warning(stats({}, 0)) == ""


def test_faults_are_on_the_screen_and_in_the_line() -> None:
    total = stats({"a" * 12: 3, "b" * 12: 1}, 4)
    assert total["faults"] == {"a" * 12: 3, "b" * 12: 1}
    assert stats_line(total).endswith("faults 4 (2 distinct)")
    console = Console(file=io.StringIO(), width=100)
    console.print(render(view(total), 100, 40))
    assert isinstance(console.file, io.StringIO)
    assert "4 (2 distinct)" in console.file.getvalue()
    assert "fault" not in stats_line(stats({}, 0))


def test_faults_are_in_reports_and_in_a_summary_of_ci(tmp_path: Path) -> None:
    campaign = CampaignDir(tmp_path / "c")
    campaign.create(1)
    book(campaign.faults).note(fault_of("1;"), Occasion(9, STORED))
    signature = fault_of("1;").signature
    total = stats({signature: 3, "b" * 12: 1}, 400)
    write_json(campaign.stats, total)
    overview = read_overview(campaign.root)
    assert [(row.signature, row.count) for row in overview.faults] == [(signature, 3), ("b" * 12, 1)]
    text = "\n".join(summary(overview))
    assert "faults of tzerlike itself: 4 (2 distinct)" in text
    assert f"{signature}  3  UserError in core/case.py" in text
    assert signature in page(overview) and "Internal faults of tzerlike" in page(overview)
    told = ci_summary(judged_campaign("fuzz", campaign, Carry(tmp_path / "carry"), Known(), total))
    assert "4 (2 distinct)" in told
    assert "tzerlike itself failed on 20.0%" in told
