"""Bugs planted in TVM's importer of PyTorch are found and the import of their operator is blamed; other ways, and what
PyTorch itself does, are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.models import called, case_of, floats, observed
from tzerlike.core.observation import Observation
from tzerlike.graph.importers import TORCH
from tzerlike.graph.model import Model, Origin, TensorType
from tzerlike.harnesses.graph import blame
from tzerlike.harnesses.graph.through_torch import load_torch
from tzerlike.oracles import ORACLES, judged, make_oracles
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api

pytest.importorskip("torch", reason="needs the extra `torch`")

relax = tvm_api.part("relax")
JUDGES = make_oracles([name for name, oracle in ORACLES.items() if oracle.harness == "graph"])

Convert = Callable[[Any, Any], Any]
"""What the importer makes of a node of the graph."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A model, and what the importer makes of an operator of PyTorch in it, in the exported program and decomposed."""

    operators: tuple[str, str]
    model: Model
    convert: Convert
    blamed: str = ""


def _wide() -> Origin:
    return Origin(TensorType((2, 3, 4), "float32"))


def _emitted(make: Callable[..., Any]) -> Convert:
    return lambda importer, node: importer.block_builder.emit(make(*importer.retrieve_args(node)))


def _raise(importer: Any, node: Any) -> Any:
    raise AttributeError("planted")


WRONG = {
    "axis-ignored": Planted(
        ("softmax.int", "_softmax.default"),
        called("nn.softmax", _wide(), axis=1),
        _emitted(lambda x, *_: relax.op.nn.softmax(x)),
        "aten.softmax",
    ),
    "operands-swapped": Planted(
        ("sub.Tensor", "sub.Tensor"),
        called("subtract", floats(3), floats(3)),
        _emitted(lambda x, y: relax.op.subtract(y, x)),
        "aten.sub",
    ),
    "axes-reversed": Planted(
        ("permute.default", "permute.default"),
        called("permute_dims", _wide(), axes=(0, 2, 1)),
        _emitted(lambda x, axes: relax.op.permute_dims(x)),
        "aten.permute",
    ),
    "dimensions-kept": Planted(
        ("sum.dim_IntList", "sum.dim_IntList"),
        called("sum", _wide(), axis=(1,), keepdims=False),
        _emitted(lambda x, axes, *_: relax.op.sum(x, axes, keepdims=True)),
        "aten.sum",
    ),
}
FAILING = Planted(("erf.default", "erf.default"), called("erf", floats(3)), _raise)
HARMLESS = {
    "another-way": Planted(
        ("relu.default", "relu.default"),
        called("nn.relu", floats(3)),
        _emitted(lambda x: relax.op.maximum(x, relax.const(0, "float32"))),
    ),
    "operands-of-a-sum-swapped": Planted(
        ("add.Tensor", "add.Tensor"),
        called("add", floats(3), floats(3)),
        _emitted(lambda x, y: relax.op.add(y, x)),
    ),
}


def _blamed(model: Model) -> list[tuple[str, ...]]:
    def work() -> str:
        return json.dumps([observed(case_of(model, step.name, "relax.FoldConstant")).to_json() for step in _STEPS])

    answer, died = in_child(work)
    assert answer is not None, f"the child died of signal {died}"
    seen = [Observation.from_json(one) for one in json.loads(answer)]
    found = [judged(JUDGES, case_of(model, step.name), one) for step, one in zip(_STEPS, seen, strict=True)]
    return [(one.kind, *one.parts[:2]) for several in found for one in several]


_STEPS = TORCH.steps[:2]
"""As exported, and decomposed."""


@pytest.fixture(scope="module")
def ready() -> None:
    load_torch()


@pytest.fixture
def plant(ready: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[Planted], Model]:
    """Has the importer make something else of an operator."""
    importer = tvm_api.part("relax.frontend.torch.exported_program_translator").ExportedProgramImporter
    right = importer.create_convert_map

    def planted(one: Planted) -> Model:
        def create(self: Any) -> Any:
            return {**right(self), **dict.fromkeys(one.operators, lambda node: one.convert(self, node))}

        monkeypatch.setattr(importer, "create_convert_map", create)
        return one.model

    return planted


@pytest.mark.parametrize("name", WRONG)
def test_the_import_is_blamed_that_is_wrong(plant: Callable[[Planted], Model], name: str) -> None:
    one = WRONG[name]
    assert _blamed(one.model) == []
    assert _blamed(plant(one)) == 2 * [("wrong-code", "both", f"import of {one.blamed}")]


def test_an_import_that_raises_is_found(plant: Callable[[Planted], Model]) -> None:
    found = _blamed(plant(FAILING))
    assert [one[:2] for one in found] == 2 * [("ice-on-valid", "FromTorch")] and "planted" in found[0][2]


@pytest.mark.parametrize("name", HARMLESS)
def test_another_way_to_import_is_no_finding(plant: Callable[[Planted], Model], name: str) -> None:
    assert _blamed(plant(HARMLESS[name])) == []


def test_what_pytorch_computes_otherwise_is_no_finding(
    plant: Callable[[Planted], Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = plant(WRONG["operands-swapped"])
    monkeypatch.setattr(blame, "_otherwise", lambda *_: True)
    assert _blamed(model) == []
