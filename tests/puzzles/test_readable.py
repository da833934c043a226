"""Which text may stand for a program: planted answers of a judge, and of what the text parses to."""

from __future__ import annotations

from dataclasses import replace

import numpy
import pytest

from tzerlike.core.case import Case
from tzerlike.core.dtypes import parse
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Results
from tzerlike.execution.compare.evidence import Evidence
from tzerlike.execution.compare.inputs import BufferParameter
from tzerlike.execution.rendering import Rendering
from tzerlike.harnesses.tir import texts
from tzerlike.harnesses.tir.texts import readable_script

CASE = Case('{"the": "program"}')
CRASH = Finding("crash", ("build", "SIGSEGV"), CASE, Observation(Exit.CRASH, Stage.BUILD))
OTHER = Finding("crash", ("build", "SIGABRT"), CASE, Observation(Exit.CRASH, Stage.BUILD))
TWIN = Rendering("text", False, '{"the": "twin"}')
NOTHING = Evidence(b"")


def never(case: Case) -> list[Finding]:
    raise AssertionError("there was nothing to ask")


def test_a_text_that_gives_the_program_back_is_not_doubted() -> None:
    assert readable_script(Rendering("text", True), CRASH, NOTHING, never) == "text"


def test_a_text_that_does_not_parse_is_no_program() -> None:
    assert readable_script(Rendering("text", False, ""), CRASH, NOTHING, never) == ""
    assert readable_script(Rendering(), CRASH, NOTHING, never) == ""


def test_calls_stand_for_a_program_whose_text_does_not() -> None:
    assert readable_script(Rendering("text", False, "", "calls"), CRASH, NOTHING, never) == "calls"
    assert readable_script(replace(TWIN, calls="calls"), CRASH, NOTHING, lambda case: [OTHER]) == "calls"
    assert readable_script(replace(TWIN, calls="calls"), CRASH, NOTHING, lambda case: [CRASH]) == "text"


def test_a_text_that_gives_another_program_has_to_show_the_same() -> None:
    asked: list[Case] = []

    def told(*found: Finding) -> str:
        return readable_script(TWIN, CRASH, NOTHING, lambda case: asked.append(case) or found)

    assert told(OTHER, CRASH) == "text"
    assert told(OTHER) == told() == ""
    assert {case.ir for case in asked} == {TWIN.again}
    assert {replace(case, ir=CASE.ir) for case in asked} == {CASE}, "it is built and fed the same way"


@pytest.mark.parametrize(("archive", "expected"), [(b"same", "text"), (b"changed", "")])
def test_wrong_code_has_to_be_wrong_about_the_same_values(
    monkeypatch: pytest.MonkeyPatch, archive: bytes, expected: str
) -> None:
    dtype = parse("int32")
    assert dtype is not None
    parameters = (BufferParameter("A", dtype, (4,)),)
    seen = Observation(Exit.OK, Stage.DONE, results=Results("defined"))
    wrong = Finding("wrong-code", ("both", "int", "value"), CASE, seen)
    monkeypatch.setattr(texts, "evidence_for", lambda case, results: Evidence(archive, parameters))
    assert readable_script(TWIN, wrong, Evidence(b"same", parameters), lambda case: [wrong]) == expected


def test_archives_of_equal_values_are_equal() -> None:
    """What the comparison of evidence relies on."""
    from tzerlike.execution.compare.inputs import Inputs, pack_inputs

    dtype = parse("int32")
    assert dtype is not None
    inputs = Inputs("small", (BufferParameter("A", dtype, (2,)),), (numpy.array([1, 2]),))
    first, second = (pack_inputs(inputs, {"expected0": numpy.array([number])}) for number in (3, 4))
    assert pack_inputs(inputs, {"expected0": numpy.array([3])}) == first != second
