"""`tzerlike bisect` on bundles of real bugs of TVM 0.27, one of each kind, from the command line to bisect.json."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import Command
from tests.e2e.test_results import IN_PLACE, REFUSED
from tzerlike.core.case import Case, ContextConfig, Provenance, parse_sequence
from tzerlike.core.finding import Finding
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.stored import StoredCase
from tzerlike.execution.diagnosis.walk import Change
from tzerlike.findings.bundles.bisection import Bisection, read_bisection
from tzerlike.findings.bundles.bundle import Confirmation, Texts, write_bundle

DIES = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), n: T.int32):
    for x in T.thread_binding(n, thread="vthread.x"):
        A[x] = A[x] + T.float32(1)
"""
"""InjectVirtualThread dies of an extent that is no constant."""

RACES = """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), I: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for j in T.vectorized(4):
        t = T.alloc_buffer((1,))
        t[0] = A[I[j] & 3]
        B[j] = t[0]
"""
"""docs/bugs/vectorized_allocation.py"""

WIDE = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.serial(T.int64(8)):
        B[i] = A[i + (i >> T.int64(40))]
"""
"""NarrowDataType leaves an int32 shifted by 40 bits."""

SHOW = ("wrong", "undefined", "dies", "raises", "raises itself")

RIGHT = """
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = A[i] + T.float32(1)
"""


def bundle(directory: Path, kind: str, text: str, passes: str = "") -> Path:
    """A bundle as a campaign writes it; what was seen is seen again by who bisects, so that it need not be true."""
    from tzerlike.systems import tvm_api

    script = "# from tvm.script import tirx as T\n" + text
    ir = tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(script)))
    case = Case(ir, parse_sequence(passes), ContextConfig(options=(("tirx.disable_assert", True),)))
    finding = Finding(kind, ("as it was told",), case, Observation(Exit.CRASH, Stage.BUILD))
    stored = StoredCase(case, Provenance("hand"))
    oracles = {"oracles": ["crash", "inconsistency", "internal-error"]}
    path = write_bundle(directory, finding, stored, Limits(), Confirmation(0, 0), Texts(script, ""), oracles)
    assert path is not None
    return path


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("bundles")
    made: dict[str, tuple[str, ...]] = {
        "wrong": ("wrong-code", IN_PLACE, "tirx.RemoveNoOp"),
        "undefined": ("wrong-code", RACES),
        "dies": ("crash", DIES, "tirx.StmtSimplify"),
        "raises": ("ice-on-valid", REFUSED, "tirx.ForceNarrowIndexToInt32"),
        "raises itself": ("ice-on-valid", WIDE),
        "mended": ("wrong-code", RIGHT),
    }
    paths = {}
    for name, parts in made.items():
        (root / name).mkdir()
        paths[name] = bundle(root / name, *parts)
    return paths


@pytest.fixture(scope="module")
def found(bundles: dict[str, Path]) -> dict[str, Bisection]:
    from tests.e2e.conftest import start

    process = start("bisect", *(bundles[name] for name in SHOW), "--json")
    output, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (0, "")
    answers = {answer["bundle"]: answer["bisection"] for answer in json.loads(output)}
    read = {name: read_bisection(path) for name, path in bundles.items() if str(path) in answers}
    assert {str(bundles[name]): json.loads(json.dumps(one.to_json())) for name, one in read.items() if one} == answers
    return {name: one for name, one in read.items() if one is not None}


def test_wrong_code_is_the_passes_behind_which_it_computes_something_else(found: dict[str, Bisection]) -> None:
    one = found["wrong"]
    assert (one.guilty, one.change, one.build) == ("tirx.StorageRewrite", Change.RESULT, "reference")
    assert one.difference is not None
    assert one.difference.name == "B"
    assert one.difference.expected != one.difference.got
    assert one.diff.startswith("--- before tirx.StorageRewrite\n+++ after tirx.StorageRewrite\n")
    assert any(line.startswith("-") and "alloc_buffer" in line for line in one.diff.splitlines()[2:])
    assert one.index is not None
    assert 0 < one.index < one.passes


def test_or_the_program_is_undefined(found: dict[str, Bisection]) -> None:
    one = found["undefined"]
    assert (one.guilty, one.change) == ("tirx.VectorizeLoop", Change.UNDEFINED)
    assert one.detail.startswith("race: two lanes of a store write one element")
    assert one.difference is None


def test_a_crash_is_the_pass_under_ways_with_what_it_was_given(found: dict[str, Bisection]) -> None:
    one = found["dies"]
    assert (one.guilty, one.change, one.build) == ("s_tir.InjectVirtualThread", Change.DIED, "optimised")
    assert "SIGSEGV" in one.detail
    assert "vthread.x" in one.diff
    assert one.index == one.passes - 1


def test_an_internal_error_of_code_generation_is_the_passes_that_brings_it_about(found: dict[str, Bisection]) -> None:
    one = found["raises"]
    assert (one.guilty, one.change) == ("tirx.ForceNarrowIndexToInt32", Change.ILL_TYPED)
    assert "popcount" in one.detail


def test_an_internal_error_of_a_pass_is_its_own(found: dict[str, Bisection]) -> None:
    one = found["raises itself"]
    assert (one.guilty, one.change) == ("tirx.NarrowDataType", Change.RAISED)
    assert "Shift amount must be" in one.detail
    assert ">> T.int64(40)" in one.diff


@pytest.mark.long
def test_again_it_says_the_same_and_prints_it(tzerlike: Command, bundles: dict[str, Path], found: object) -> None:
    before = (bundles["wrong"] / "bisect.json").read_bytes()
    done = tzerlike("bisect", bundles["wrong"], "--diff")
    assert (bundles["wrong"] / "bisect.json").read_bytes() == before
    assert done.returncode == 0
    assert "tirx.StorageRewrite (pass " in done.stdout
    assert "+++ after tirx.StorageRewrite" in done.stdout
    assert "+++ after tirx.StorageRewrite" in (bundles["wrong"] / "report.md").read_text()


@pytest.mark.long
def test_a_reduced_case_is_taken_in_the_place_of_the_whole(
    tzerlike: Command, bundles: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "b"
    shutil.copytree(bundles["mended"], path)
    done = tzerlike("bisect", path)
    assert done.returncode == 1
    assert "does not show" in done.stdout
    assert read_bisection(path) is None
    shutil.copytree(bundles["wrong"], path / "reduced", ignore=shutil.ignore_patterns("bisect.json"))
    assert tzerlike("bisect", path).returncode == 0
    one = read_bisection(path)
    assert one is not None
    assert (one.guilty, one.reduced) == ("tirx.StorageRewrite", True)
    assert not (path / "reduced" / "bisect.json").exists()


def test_a_bundle_that_cannot_be_read_is_one_line(tzerlike: Command, bundles: dict[str, Path], tmp_path: Path) -> None:
    done = tzerlike("bisect", bundles["wrong"], tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
