"""Imports of PyTorch's programs as first steps of a sequence: when they are drawn, and what a bundle shows alone."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.models import Drafted, called, case_of, floats, observed
from tzerlike.core.case import Case
from tzerlike.core.errors import UserError
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation
from tzerlike.graph.importers import ONNX, TORCH
from tzerlike.graph.model import Model, Origin, TensorType
from tzerlike.harnesses.graph import through_torch
from tzerlike.harnesses.graph.harness import HARNESS
from tzerlike.harnesses.graph.importing import installed, suitable_import
from tzerlike.harnesses.graph.passes import PLAINER
from tzerlike.harnesses.graph.regression import applied_test
from tzerlike.harnesses.graph.texts import repro_script, source_of_program
from tzerlike.harnesses.graph.through_torch import load_torch
from tzerlike.oracles.model_imports import judge_imports
from tzerlike.oracles.models import judge_errors
from tzerlike.processes.forked import in_child

PLAIN, WHOLE = TORCH.steps[1], TORCH.steps[0]
SECOND = TORCH.steps[2]
"""The second form of each call, not decomposed."""

NEGATED = called("negative", floats(3))
"""The importer gives a number that something is subtracted from a dtype of its own: 0 - x0 is refused."""


def _there(*packages: str) -> Any:
    return lambda name: name if name in packages else None


def test_what_is_drawn_depends_on_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    model = called("add", floats(3), floats(3))
    monkeypatch.setattr(importlib.util, "find_spec", _there("torch"))
    assert installed() == (TORCH,)
    assert {suitable_import(model, Random(seed)) for seed in range(40)} == {*TORCH.steps}
    monkeypatch.setattr(importlib.util, "find_spec", _there())
    assert suitable_import(model, Random(0)) is None
    monkeypatch.setattr(importlib.util, "find_spec", _there("onnx"))
    HARNESS.require_fit(None, case_of(NEGATED, ONNX.steps[0].name))  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"^case.passes: relax.FromTorch1_0 needs torch; install it with: pip install "):
        HARNESS.require_fit(None, case_of(NEGATED, PLAIN.name))  # type: ignore[arg-type]


def test_a_program_that_is_decomposed_is_plainer() -> None:
    """That is what the importer does by default."""
    assert PLAINER[WHOLE.name] == PLAIN.name and PLAIN.name not in PLAINER


@cache
def _ready() -> None:
    load_torch()


def _observed(case: Case) -> Observation:
    pytest.importorskip("torch", reason="needs the extra `torch`")
    _ready()
    answer, died = in_child(lambda: json.dumps(observed(case).to_json()))
    assert answer is not None, f"the child died of signal {died}"
    return Observation.from_json(json.loads(answer))


@pytest.mark.parametrize("step", [WHOLE, PLAIN])
def test_an_import_agrees_with_what_its_model_computes(step: Any) -> None:
    """Of several outputs, of one, of parameters and buffers."""
    held = Drafted(floats(2, 3), floats(2, 3, kind="constant", seed=1))
    total = held.call("add", 0, 1)
    several = held.model(total, held.call("exp", total), 0, 1)
    places = Drafted(floats(3), Origin(TensorType((2,), "int64"), "constant", 0, 2))
    for model in (called("nn.relu", floats(3)), several, places.model(places.call("index_tensor", 0, 1))):
        seen = _observed(case_of(model, step.name, "relax.FoldConstant"))
        assert seen.exit is Exit.OK and seen.results is not None and str(seen.results.optimised) == "agrees", seen


def _refused(model: Model, step: Any = PLAIN) -> tuple[str, object]:
    case = case_of(model, step.name)
    seen = _observed(case)
    assert seen.exit is Exit.REJECTED and seen.rejection is not None, seen
    return seen.rejection.label, judge_imports(case, seen)


def test_what_pytorch_refuses_or_the_importer_lacks_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    fma = called("ewise_fma", floats(3), floats(3), floats(3))
    assert _refused(fma, SECOND) == ("documented-refusal", None), "Unsupported function types"
    assert _observed(case_of(fma, TORCH.plainest(SECOND).name)).exit is Exit.OK, "it is decomposed"

    def refuse(module: Any) -> Any:
        raise RuntimeError("planted")

    monkeypatch.setattr(through_torch, "exported_program", refuse)
    assert _refused(fma) == ("documented-refusal", None)


def test_what_is_not_imported_is_found_and_its_bundle_shows_that_without_tzerlike(tmp_path: Path) -> None:
    case = case_of(NEGATED, SECOND.name)
    seen = _observed(case)
    found = judge_imports(case, seen)
    assert found is not None and found.kind == "ice-on-valid" and found.parts[0] == "FromTorch"
    assert judge_errors(case, seen) is None
    program = source_of_program(found, NEGATED)
    assert program is not None and "class Model(torch.nn.Module)" in program.source
    test = applied_test(found, NEGATED, program.source)
    repro = repro_script(found, NEGATED, program.source, Limits(memory=1 << 40), None)
    for text, status in ((test.text, 1), (test.cured, 0), (repro, 1)):
        (tmp_path / "script.py").write_text(text)
        run = [sys.executable, "-I", str(tmp_path / "script.py")]
        assert subprocess.run(run, capture_output=True, check=False, cwd=tmp_path).returncode == status, text


def test_a_campaign_goes_through_pytorch(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra `torch`")
    fuzz = [sys.executable, "-m", "tzerlike", "fuzz", "--harness", "graph", "--oracles", "model-imports"]
    order = [*fuzz, "--iterations", "40", "--jobs", "1", "--out", str(tmp_path / "c"), "--ui", "none"]
    subprocess.run(order, check=True, capture_output=True)
    cases = [path.read_text() for path in (tmp_path / "c" / "corpus").rglob("*.json")]
    assert any(TORCH.name in text for text in cases) and not any((tmp_path / "c" / "faults").iterdir())
