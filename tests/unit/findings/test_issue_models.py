"""Reports on models: of imports, of schedules that cannot be made, and of models that may get smaller still."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.subjects import subject
from tzerlike.core.case import Case, PassSpec
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Rejection
from tzerlike.findings.issue.headline import headline
from tzerlike.findings.issue.markdown import report
from tzerlike.findings.issue.subject import Subject
from tzerlike.findings.reduction import ROUGHLY
from tzerlike.graph import importers

ONNX = 'graph = helper.make_graph([helper.make_node("{}", ["x0"], ["t0"])])\nModule = from_onnx(model)\n'
MODEL = 'R.Tensor((3,), dtype="float64")\nR.{}(x0)\n'


def _subject(message: str, script: str, pass_name: str, *passes: PassSpec, stage: Stage = Stage.BUILD) -> Subject:
    rejection = Rejection("internal-error", True, "builds")
    seen = Observation(Exit.REJECTED, stage, message, pass_name, rejection=rejection)
    return replace(subject("ice-on-valid", seen), case=Case("{}", passes, harness="graph"), script=script)


def _imported(message: str, operator: str) -> Subject:
    return _subject(message, ONNX.format(operator), importers.ONNX.name, importers.ONNX.steps[0], stage=Stage.PASSES)


def test_an_import_is_named_with_the_operator_that_it_is_of() -> None:
    told = _imported("ValueError: dtype mismatch", "EyeLike")
    assert headline(told) == "[Bug][Relax] from_onnx of EyeLike fails: dtype mismatch"
    assert headline(_imported("ValueError: no", "Neg")) == "[Bug][Relax] from_onnx fails: no", "any operator would do"


def test_what_is_imported_is_said_to_be_valid_by_the_checker_of_onnx() -> None:
    text = report(_imported("ValueError: no", "EyeLike"))
    accepted = "`onnx.checker.check_model` accepts it, and TVM compiles a model of Relax operators"
    assert f"TVM imports the model. {accepted}" in text
    assert "`tvm.relax.frontend.onnx.from_onnx` raises:" in text and "* frontend:onnx" in text
    assert "relax.FromOnnx" not in text


def test_of_a_schedule_that_cannot_be_made_a_report_says_why_without_the_module() -> None:
    message = "ScheduleError: An error occurred in the schedule primitive 'bind'.\n\nThe IR with diagnostic is:\n"
    lines = "".join(f"    line {number}\n" for number in range(40))
    text = report(_subject(f"{message}{lines}Error message: it is no compact dataflow", MODEL, "ApplyDefaultSchedule"))
    assert "primitive 'bind'.\n...\nError message: it is no compact dataflow\n```" in text and "line 7" not in text


@pytest.mark.parametrize(("lines", "roughly", "within"), [(0, False, ""), (9, True, ""), (9, False, " in float64")])
def test_a_dtype_is_named_once_a_model_is_as_small_as_it_gets(lines: int, roughly: bool, within: str) -> None:
    told = _subject("InternalError: Unresolved call", MODEL.format("median"), "")
    told = replace(told, original_lines=lines, held={ROUGHLY: True} if roughly else {})
    assert headline(told) == f"[Bug][Relax] Code generation fails on median{within}: Unresolved call"


TORCH = """\
class Model(torch.nn.Module):
    def forward(self, x0):
        x1 = torch.neg(x0)
        x2 = torch.nn.functional.{}(x1)
        return x2
"""


def test_an_import_of_pytorch_is_named_in_its_words() -> None:
    importer = importers.TORCH
    told = _subject("ValueError: no", TORCH.format("selu"), importer.name, importer.steps[0], stage=Stage.PASSES)
    assert headline(told) == "[Bug][Relax] from_exported_program of selu fails: no"
    text = report(told)
    assert (
        "TVM imports the model. `torch.export.export` accepts it, and TVM compiles a model of Relax operators" in text
    )
    assert "`tvm.relax.frontend.torch.from_exported_program` raises:" in text and "* frontend:pytorch" in text


@pytest.mark.parametrize(
    ("piece", "title"),
    [
        ('R.const("-inf", "float16")', 'TVMScript is not parsed back: R.const("-inf", "float16")'),
        ("lv3", "TVMScript round trip fails: no such thing"),
    ],
)
def test_what_the_parser_points_at_is_named(piece: str, title: str) -> None:
    """The cause is what was printed, and the error of the parser a symptom; a mere name says nothing."""
    line = f" 36 |              lv1 = R.where(lv, {piece}, c)"
    marks = f"    | {' ' * (line.index(piece) - 6)}{'^' * len(piece)}"
    message = f"DiagnosticError: error: no such thing\n    |  \n{line}\n{marks}\n"
    assert headline(_subject(message, MODEL, "relax.ThroughText", stage=Stage.PASSES)) == f"[Bug][Relax] {title}"
