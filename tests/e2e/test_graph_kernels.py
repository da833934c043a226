"""Functions of tensor IR that models call: what builds compute, with varying extents too, and how they are written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.models import case_of, disagreements, observed
from tzerlike.core.limits import Limits
from tzerlike.graph.dice import Dice
from tzerlike.graph.enclose import enclosed
from tzerlike.graph.evolve import MODEL_LIMITS
from tzerlike.graph.generate import random_model
from tzerlike.graph.menu import Menu
from tzerlike.graph.model import Model
from tzerlike.graph.spec import ROWS, kernels
from tzerlike.graph.stored import model_of
from tzerlike.graph.symbols import with_variables
from tzerlike.harnesses.graph.program import script_of_model, source_program
from tzerlike.harnesses.graph.regression import regression_test
from tzerlike.harnesses.graph.texts import repro_script
from tzerlike.oracles.models import judge_errors

NAMES = [row.name for row in kernels.ROWS]


def _drawn(name: str, count: int) -> list[Model]:
    """Models of two calls of a function, with extents that vary where they can, and in functions of Relax."""
    menu, found = Menu([ROWS[name]]), []
    for seed in range(count):
        model, dice = random_model(Random(seed), 2, menu, MODEL_LIMITS), Dice(Random(seed))
        model = with_variables(model, ROWS, dice) or model
        found.append(enclosed(model, dice) or model if seed % 2 else model)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_build_computes_what_a_function_means(name: str) -> None:
    assert disagreements(_drawn(name, 4)) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_written_as_one_and_reads_back(name: str) -> None:
    model = random_model(Random(0), 1, Menu([ROWS[name]]), MODEL_LIMITS)
    text = script_of_model(model)
    word = name.partition(":")[2]
    assert f"def {word}(" in text
    assert f"R.call_tir(cls.{word}, " in text


@pytest.mark.parametrize("name", NAMES)
def test_functions_are_fused(name: str) -> None:
    passes = ("relax.AnnotateTIROpPattern", "relax.FuseOps", "relax.FuseTIR")
    for model in _drawn(name, 2):
        case = case_of(model, *passes)
        seen = observed(case)
        assert judge_errors(case, seen) is None
        assert seen.results is not None
        assert not seen.results.optimised.ending.wrong


def test_extents_of_functions_vary() -> None:
    varying = {model.vertices[0].row for name in NAMES for model in _drawn(name, 4) if model.variables}
    assert len(varying) >= len(NAMES) - 1


def test_who_leaves_a_function_that_lacks_an_extent_is_to_blame() -> None:
    """Extents that are sums of others become those of its buffers, which then give it no variable."""
    models = [model for name in NAMES for model in _drawn(name, 4) if model.variables and not model.vertices[0].within]
    seen = (observed(case_of(model, "relax.SpecializePrimFuncBasedOnCallSite")) for model in models)
    refused = [one for one in seen if "MakePackedAPI" in one.pass_name]
    assert refused
    for one in refused:
        assert one.origin is not None
        assert (one.origin.pass_name, one.origin.where) == ("SpecializePrimFuncBasedOnCallSite", "a free variable")


def test_scripts_of_functions_whose_extents_vary_fail_of_what_they_say(tmp_path: Path) -> None:
    """Python evaluates no annotation of theirs, which TVM alone can read."""
    models = (model for name in NAMES for model in _drawn(name, 4) if model.variables and not model.vertices[0].within)
    cases = (case_of(model, "relax.SpecializePrimFuncBasedOnCallSite") for model in models)
    found = next(filter(None, (judge_errors(case, observed(case)) for case in cases)))
    model = model_of(found.case.ir)
    program = source_program(model)
    assert program is not None
    test = regression_test(found, model, program.source, None)
    for text, fails in (
        (repro_script(found, model, program.source, Limits(), None), True),
        (test.text, True),
        (test.cured, False),
    ):
        (tmp_path / "script.py").write_text(text)
        run = [sys.executable, "-I", str(tmp_path / "script.py")]
        done = subprocess.run(run, capture_output=True, check=False, cwd=tmp_path, text=True)
        assert (done.returncode != 0) == fails
        assert ("are used, but are not passed in as API arguments" in done.stdout + done.stderr) == fails
