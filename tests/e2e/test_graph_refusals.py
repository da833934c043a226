"""Calls that are to be refused: what TVM says of them, and what is made of that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.models import case_of, observed
from tzerlike.core.finding import Finding
from tzerlike.graph.model import Model, Origin, TensorType, Vertex
from tzerlike.graph.stored import model_of
from tzerlike.harnesses.graph.refusal_texts import refusal_script, refusal_test
from tzerlike.oracles.model_refusals import account_of_refusal, judge_refusals
from tzerlike.oracles.models import judge_errors


def _wrong(row: str, shape: tuple[int, ...], broken: str, dtype: str = "float32", **attributes: Any) -> Model:
    kind = TensorType(shape, dtype)
    return Model((Origin(kind),), (Vertex(row, (0,), attributes, (kind,), broken=broken),), (1,))


CLEAN = _wrong("exp", (3,), "input 0: dtype", dtype="int8")
MEANT = _wrong("ceil", (3,), "input 0: dtype", dtype="int8")
ACCEPTED = _wrong("sort", (3, 4), "attribute axis", axis=99, descending=True)
UNSQUEEZED = _wrong("squeeze", (3, 4), "attribute axis", axis=(0,))
DOCUMENTED = _wrong("split", (4,), "attribute indices_or_sections", indices_or_sections=3, axis=0)
_WINDOWS = [TensorType(shape, "float32") for shape in ((1, 1, 2, 2, 2), (1, 1, 1, 1, 1), (1, 1, 2, 2, 3))]
_LAYOUTS = {"data_layout": "NCDHW", "kernel_layout": "IODHW"}
_STEPS = {"strides": (1, 1, 1), "dilation": (1, 1, 1), "output_padding": (0, 0, 0), "groups": 1}
WIDER = Model(
    tuple(map(Origin, _WINDOWS[:2])),
    (
        Vertex(
            "nn.conv3d_transpose",
            (0, 1),
            {**_LAYOUTS, **_STEPS, "padding": (0, 0, 0, 0, 0, -1)},
            tuple(_WINDOWS[2:]),
            broken="attribute padding",
        ),
    ),
    (2,),
)
UNBUILT = _wrong("square", (3,), "input 0: dtype", dtype="bool")
LATE = _wrong("cumsum", (3,), "attribute axis", axis=99, exclusive=False)
NEGATIVE = Model(
    (),
    (
        Vertex(
            "eye", (), {"n": -5, "m": 3, "k": 0, "dtype": "int32"}, (TensorType((3, 3), "int32"),), broken="attribute n"
        ),
    ),
    (0,),
)
WORDLESS = _wrong("einsum:ij->ji", (4,), "input 0: rank", subscripts="ij->ji")


def _found(model: Model) -> Finding | None:
    case = case_of(model)
    seen = observed(case)
    assert judge_errors(case, seen) is None
    return judge_refusals(case, seen)


@pytest.mark.parametrize("model", [CLEAN, MEANT, UNSQUEEZED, DOCUMENTED, WIDER, UNBUILT])
def test_a_refusal_in_words_is_none_and_neither_is_what_can_be_meant(model: Model) -> None:
    assert _found(model) is None


def test_what_is_accepted_without_a_meaning_is_a_finding() -> None:
    found = _found(ACCEPTED)
    assert found is not None
    assert found.parts == ("model-refusals", "sort", "accepted", "attribute axis")


def test_a_refusal_that_does_not_say_why_is_a_finding() -> None:
    found = _found(WORDLESS)
    assert found is not None
    assert found.parts[:3] == ("model-refusals", "einsum", "refused")


@pytest.mark.parametrize(
    "model, headline, actual",
    [
        (ACCEPTED, "sort accepts an invalid axis", "accepts the call:"),
        (NEGATIVE, "eye gives a result of negative extent", "accepts the call, and type inference gives"),
        (LATE, "cumsum does not reject an invalid axis cleanly", "passes type inference; only a build raises:"),
        (WORDLESS, "einsum does not reject an invalid rank of input 0 cleanly", "leads to an error that does not say"),
    ],
)
def test_a_report_says_what_became_of_the_call(model: Model, headline: str, actual: str) -> None:
    found = _found(model)
    assert found is not None
    account = account_of_refusal(found.observation.offences[0])
    assert account.headline == headline and account.actual.startswith(actual)


@pytest.mark.parametrize("model, status", [(ACCEPTED, 1), (WORDLESS, 1), (CLEAN, 0)])
def test_a_repro_takes_no_tzerlike(model: Model, status: int, tmp_path: Path) -> None:
    case = case_of(model)
    script = refusal_script(Finding("invalid-ir", ("model-refusals",), case, observed(case)), model_of(case.ir))
    (tmp_path / "repro.py").write_text(script)
    run = [sys.executable, "-I", str(tmp_path / "repro.py")]
    done = subprocess.run(run, capture_output=True, check=False, cwd=tmp_path, text=True)
    assert done.returncode == status, done.stderr


@pytest.mark.parametrize("model", [ACCEPTED, WORDLESS, LATE, NEGATIVE])
def test_a_regression_test_asks_for_a_refusal(model: Model, tmp_path: Path) -> None:
    found = _found(model)
    assert found is not None
    test = refusal_test(found, model)
    for text, status in ((test.text, 1), (test.cured, 0)):
        (tmp_path / "test_it.py").write_text(text)
        run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "test_it.py")]
        done = subprocess.run(run, capture_output=True, check=False, cwd=tmp_path, text=True)
        assert done.returncode == status, done.stdout
