"""What answers of several versions say of a bug; the guests are made up here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.bundles import add_bundle, program, write_case
from tzerlike.core.case import Case, Provenance
from tzerlike.core.errors import TzerlikeError
from tzerlike.core.finding import Signed
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.refused import refusal_in
from tzerlike.core.results import Difference, Ending, Ran, Results
from tzerlike.core.stored import StoredCase
from tzerlike.findings.bundles.bundle import Bundle, Confirmation, read_bundle
from tzerlike.findings.replay import Replayed
from tzerlike.findings.versions.history import Cell, History, Word, histories, looked_at, version_key

S, A, F, U, X = Word.SHOWS, Word.ABSENT, Word.FLAKY, Word.UNKNOWN, Word.OTHER
WRONG = Ran(Ending.DIFFERS, "", Difference(0, "A", "int32", (0,), "1", "0", "2", 1, 1, "value"))
CRASH = Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV", "tirx.UnrollLoop", 11)
ICE = Observation(Exit.REJECTED, Stage.PASSES, "InternalError: Check failed: (a == 1) is false", "tirx.Simplify")
HANG = Observation(Exit.TIMEOUT, Stage.BUILD)


def bundle(kind: str, seen: Observation, **environment: Any) -> Bundle:
    stored = StoredCase(Case("{}"), Provenance("seed"))
    return Bundle(
        Path("/b"),
        kind,
        "0" * 12,
        ("x",),
        Limits(),
        Confirmation(2, 2),
        seen,
        environment,
        2,
        *([()] * 10),
        stored,
    )


class Scripted:
    """A guest that gives its answers in turn, the last one for ever."""

    def __init__(self, version: str, *answers: dict[str, Any], script: str = "") -> None:
        self.version = version
        self.answers = list(answers)
        self.script = script
        self.asked: list[dict[str, Any]] = []

    def ask(self, item: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(item)
        if item["do"] == "print":
            return {"script": self.script} if self.script else {"unloadable": "no"}
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def test_versions_are_in_order() -> None:
    ordered = ["0.9.1", "0.25.0.dev0", "0.25.0", "0.26.0", "0.27.0.dev3", "0.27.0", "0.27.0.post1", "0.27.1", "1.0"]
    assert sorted(reversed(ordered), key=version_key) == ordered


@pytest.mark.parametrize(
    ("words", "first_bad", "fixed_in"),
    [
        ((A, S, S), "2", ""),
        ((S, S, A), "<= 1", "3"),
        ((S, A, S), "<= 1", ""),
        ((A, S, A), "2", "3"),
        ((A, A, A), "", ""),
        ((U, S, U), "<= 2", ""),
        ((A, X, S), "<= 3", ""),
        ((S, U, A), "<= 1", "<= 3"),
        ((S, A, F), "<= 1", ""),
        ((F, F, F), "", ""),
    ],
    ids=str,
)
def test_where_a_bug_came_in_and_went(words: tuple[Word, ...], first_bad: str, fixed_in: str) -> None:
    cells = {str(number): Cell(word) for number, word in enumerate(words, 1)}
    history = History("/b", "crash 0", cells)
    assert (history.first_bad, history.fixed_in) == (first_bad, fixed_in)


@pytest.mark.parametrize(
    ("kind", "seen", "answer", "word"),
    [
        ("crash", CRASH, {"exit": "crash", "stage": "build", "pass": "s_tir.UnrollLoop", "signal": 11}, S),
        ("crash", CRASH, {"exit": "crash", "stage": "build", "pass": "tirx.UnrollLoop", "signal": 6}, X),
        ("crash", CRASH, {"exit": "crash", "stage": "build", "pass": "tirx.Other", "signal": 11}, X),
        ("crash", CRASH, {"exit": "ok", "stage": "done", "pass": ""}, A),
        ("hang", HANG, {"exit": "timeout", "stage": "build", "pass": ""}, S),
        ("hang", HANG, {"exit": "timeout", "stage": "passes", "pass": "tirx.X"}, X),
        (
            "ice-on-valid",
            ICE,
            {"exit": "rejected", "stage": "passes", "pass": "Simplify", "message": ICE.message.replace("1", "7")},
            S,
        ),
        ("ice-on-valid", ICE, {"exit": "rejected", "stage": "passes", "pass": "Simplify", "message": "other"}, X),
        ("ice-on-valid", ICE, {"exit": "rejected", "stage": "passes", "pass": "Other", "message": ICE.message}, X),
        ("crash", CRASH, {"exit": "rejected", "stage": "build", "pass": "tirx.UnrollLoop", "message": "no"}, A),
        ("crash", CRASH, {"exit": "rejected", "stage": "build", "pass": "tirx.Other", "message": "no"}, X),
        ("crash", CRASH, {"unloadable": "no such pass"}, U),
    ],
    ids=str,
)
def test_what_counts_as_the_same_bug(kind: str, seen: Observation, answer: dict[str, Any], word: Word) -> None:
    assert looked_at(bundle(kind, seen), Scripted("1", answer), [], 1).word is word  # type: ignore[arg-type]


def test_wrong_code_is_looked_for_in_the_build_that_is_to_blame() -> None:
    for blamed, results in (
        (True, Results("defined", baseline=WRONG, optimised=WRONG)),
        (False, Results("defined", baseline=Ran(Ending.AGREES), optimised=WRONG)),
    ):
        guest = Scripted("1", {"exit": "ok", "wrong": True}, {"exit": "ok", "wrong": False})
        found = looked_at(bundle("wrong-code", Observation(Exit.OK, Stage.DONE, results=results)), guest, [], 2)  # type: ignore[arg-type]
        assert found.word is Word.FLAKY
        assert {item["reference"] for item in guest.asked} == {blamed}
        assert all(item["inputs"] for item in guest.asked)


def test_wrong_code_that_is_not_run_elsewhere_is_no_absence() -> None:
    seen = Observation(Exit.OK, Stage.DONE, results=Results("defined", baseline=WRONG, optimised=WRONG))
    guest = Scripted("1", {"exit": "rejected", "stage": "build", "pass": "X", "message": "no"})
    assert looked_at(bundle("wrong-code", seen), guest, [], 1).word is X  # type: ignore[arg-type]


def test_an_internal_error_of_the_baseline_build_is_looked_for_there() -> None:
    message = "InternalError: Check failed: (a) is false: no buffer"
    refused = Results("defined", baseline=Ran(Ending.REFUSED, message), optimised=Ran(Ending.AGREES))
    seen = Observation(Exit.OK, Stage.DONE, pass_name="tirx.Flatten", results=refused)
    guest = Scripted("1", {"exit": "rejected", "stage": "build", "pass": "Flatten", "message": message})
    assert looked_at(bundle("ice-on-valid", seen), guest, [], 1).word is S  # type: ignore[arg-type]
    assert guest.asked[0]["reference"] is True


@pytest.mark.parametrize(
    ("older", "newer", "alike"),
    [
        ("InternalError: no uint from -1", "InternalError: Check failed: (v >= 0) is false: no uint from -7", True),
        (
            "ValueError: Check failed: v >= 0U (-7 vs. 0) : -7 is bad",
            "ValueError: Check failed: (v) is false: -1 is bad",
            True,
        ),
        (
            "TypeError: Check failed: (a.dtype() == b) is false: no",
            "TypeError: Check failed: (a.ty() == b) is false: no",
            True,
        ),
        ("InternalError: Check failed: (a) is false: one", "InternalError: Check failed: a : other", True),
        ("InternalError: Check failed: (a) is false:", "InternalError: Check failed: (b) is false:", False),
        ("InternalError: no uint", "InternalError: no int", False),
    ],
)
def test_a_message_may_be_worded_anew(older: str, newer: str, alike: bool) -> None:
    assert refusal_in(older).like(refusal_in(newer)) is alike


TEXT = Observation(Exit.REJECTED, Stage.TEXT, "error: bad operand\nall of it", "the parser raises")


@pytest.mark.parametrize(
    ("answers", "word"),
    [
        ([{"fault": ["the parser raises", "error: bad operand"]}], S),
        ([{"fault": None}], A),
        ([{"fault": ["the parser raises", "error: another"]}], X),
        ([{"unloadable": "no JSON"}, {"fault": ["the parser raises", "error: bad operand"]}], S),
        # What the text of another version says may be another program.
        ([{"unloadable": "no JSON"}, {"fault": None}], U),
    ],
)
def test_a_round_trip_is_made_there(answers: list[dict[str, Any]], word: Word) -> None:
    guest = Scripted("1", *answers)
    assert looked_at(bundle("ice-on-valid", TEXT), guest, ["a text"], 3).word is word  # type: ignore[arg-type]
    assert guest.asked[0]["do"] == "round-trip"


def test_a_guest_that_breaks_is_a_cell_and_one_that_does_not_start_a_column() -> None:
    class Broken(Scripted):
        def ask(self, item: dict[str, Any]) -> dict[str, Any]:
            raise TzerlikeError("it ended")

    home = Scripted("2", {"exit": "crash", "stage": "build", "pass": "UnrollLoop", "signal": 11})
    replay = Replayed(bundle("crash", CRASH), 1, 1, "")
    (history,) = histories([replay], home, [Broken("1")], 1, {"/no/python": "no such file"})  # type: ignore[arg-type, list-item]
    assert {column: (cell.word, cell.detail) for column, cell in history.cells.items()} == {
        "/no/python": (U, "no such file"),
        "1": (U, "it ended"),
        "2": (S, ""),
    }


def test_the_reduced_program_is_the_one_that_is_judged(tmp_path: Path) -> None:
    found = add_bundle(tmp_path, Signed("crash", ("x",)), CRASH, ir=program("tirx.For"))
    shutil.copytree(found, tmp_path / "small")
    write_case(tmp_path / "small" / "case.json", program("tirx.While"))
    (tmp_path / "small").rename(found / "reduced")
    guest = Scripted("1", {"exit": "ok"})
    histories([Replayed(read_bundle(found), 1, 1, "")], Scripted("2", {"exit": "ok"}), [guest], 1, {})  # type: ignore[arg-type, list-item]
    assert {item["case"]["ir"] for item in guest.asked} == {program("tirx.While")}


def test_the_text_of_a_program_comes_from_a_version_that_loads_it() -> None:
    old = Scripted("1", {"unloadable": "its JSON"}, {"exit": "ok", "stage": "done", "pass": ""})
    new = Scripted("2", {"exit": "crash", "stage": "build", "pass": "UnrollLoop", "signal": 11}, script="def f(): ...")
    replay = Replayed(bundle("crash", CRASH), 1, 1, "")
    (history,) = histories([replay], new, [old], 1, {})  # type: ignore[arg-type, list-item]
    assert {version: cell.word for version, cell in history.cells.items()} == {"1": U, "2": S}
    assert [item["script"] for item in old.asked if item["do"] == "judge"] == ["def f(): ..."]


def test_what_only_our_own_tvm_can_judge_is_not_asked_elsewhere() -> None:
    other = Scripted("1", {"exit": "ok"})
    home = Scripted("2", {"exit": "ok"})
    mutated = Observation(Exit.CRASH, Stage.MUTATE, signal=11)
    (history,) = histories([Replayed(bundle("crash", mutated), 5, 5, "")], home, [other], 5, {})  # type: ignore[arg-type, list-item]
    assert [cell.word for cell in history.cells.values()] == [U, S]
    assert not [item for item in other.asked if item["do"] == "judge"]


def test_what_another_version_found_and_ours_does_not_load_is_not_called_absent(tmp_path: Path) -> None:
    """The replay ends in an error of loading, which is not the one that is looked for."""
    found = add_bundle(tmp_path, Signed("crash", ("x",)), CRASH, ir=program("tirx.For"))
    seen = json.loads((found / "observation.json").read_text())
    home = Scripted("2", {"unloadable": "its JSON"})
    for version, word in (("1", U), ("2", A)):
        seen["environment"]["tvm"] = version
        (found / "observation.json").write_text(json.dumps(seen))
        replay = Replayed(read_bundle(found), 1, 0, "rejected in load")
        (history,) = histories([replay], home, [], 1, {})  # type: ignore[arg-type]
        assert history.cells["2"].word is word
