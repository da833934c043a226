"""A report of each kind, made anew of the bundle of a real finding, held to what a maintainer of TVM can read.

To read them all: scripts/read_reports.py tests/data/reports --out FILE
"""

from __future__ import annotations

import base64
import io
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tzerlike.arith.batch import CHECKS
from tzerlike.arith.case import read_arith_case
from tzerlike.arith.inspect import Table, run_analysis
from tzerlike.arith.report import arith_report
from tzerlike.core.finding import KINDS
from tzerlike.findings.bundles.bundle import read_record
from tzerlike.findings.cases import harness_of
from tzerlike.findings.issue.pytest_file import TEST_FILE
from tzerlike.findings.refresh import report_of

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

from read_reports import faults_of

BUNDLES = sorted((Path(__file__).parents[2] / "data" / "reports").iterdir())


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle.name)
def test_a_report_keeps_the_rules(bundle: Path) -> None:
    assert list(faults_of(anew(bundle), read_record(bundle).kind)) == []


def test_a_model_that_kills_its_builder_is_shown_as_the_calls_that_build_it() -> None:
    (bundle,) = (bundle for bundle in BUNDLES if bundle.name.startswith("crash-load-"))
    text = report_of(bundle)
    assert text.startswith(
        "# [Bug][Relax] BlockBuilder crashes (SIGSEGV): nn.pixel_shuffle and nn.nll_loss\n\n```python\n"
    )
    assert "x4 = builder.emit(relax.op.nn.pixel_shuffle(x0, upscale_factor=2))" in text


def test_a_model_that_tvmscript_does_not_give_back_is_shown_as_printed_and_run_from_json() -> None:
    (bundle,) = (bundle for bundle in BUNDLES if bundle.name.startswith("hang-build-"))
    program, _, rest = report_of(bundle).partition("### Expected behavior")
    assert "@R.function(private=True)" in program and "load_json" not in program
    assert "TVM does not parse the program it prints, so the script loads it from JSON." in rest
    assert "Module = tvm.ir.load_json(" in rest


def test_a_pass_hangs_on_what_a_program_has_much_of() -> None:
    (bundle,) = (bundle for bundle in BUNDLES if bundle.name.startswith("hang-passes-"))
    text = report_of(bundle)
    assert text.startswith("# [Bug][TIR] StmtSimplify hangs on 7 T.Select\n")
    assert (
        "All sampled stacks have the frames below in common." in text and "\ntvm::sym::AnalyzerObj::Simplify\n" in text
    )


def test_a_program_comes_before_functions_that_look_for_the_bug() -> None:
    (bundle,) = (bundle for bundle in BUNDLES if "cacheindex-block-region" in bundle.name)
    program, _, rest = report_of(bundle).partition("### Expected behavior")
    assert program.startswith("# [Bug][TIR] Schedule.cache_index leaves a block with undeclared reads\n")
    assert "T_concat[0, 0] = T.if_then_else(" in program and "def undeclared" not in program
    assert "\n\nsch = s_tir.Schedule(Module)\nb0 = sch.get_sblock(" in program, "a reader can paste it"
    assert program.count("sch.cache_index(") == 1 and program.count("from tvm import s_tir\n") == 1
    assert (
        "`Schedule.cache_index` leaves a block that reads index_var_0 without declaring it: `T_concat[0, 0] = " in rest
    )
    assert "sch.cache_index(" not in rest.partition("### Environment")[0], "the calls are not told twice"
    assert "def undeclared" in rest.partition("<summary>test_regression.py</summary>")[2]
    assert "The inputs" not in rest, "what it computes is right"


def test_what_a_primitive_changes_is_shown_with_the_names_that_tvm_prints() -> None:
    (bundle,) = (bundle for bundle in BUNDLES if "reindex-uninitialised" in bundle.name)
    text = report_of(bundle)
    assert "so what it computes is undefined: `compute[0, v_j] = float32(compute_1[0, v_j])`.\n" in text
    _, _, shown = text.partition(
        "### Where it goes wrong\n\nThe program before and after `Schedule.reindex`:\n\n```diff\n"
    )
    changed = [line.strip("+ ") for line in shown.partition("```")[0].splitlines() if line.startswith("+")]
    assert changed[-1] == "compute_1[0, 0] = compute_reindex[()]"


def test_slow_code_comes_with_its_inputs_and_without_its_results() -> None:
    (bundle,) = (bundle for bundle in BUNDLES if bundle.name.startswith("slow-code-"))
    text = report_of(bundle)
    assert "us without the pass `tirx.Planted`, " in text
    assert "it prints the times of both builds and exits non-zero if the bug is present" in text
    held = re.search(r'b64decode\("""\n(.*?)"""', text, re.DOTALL)
    assert held is not None and "inputs.npz" not in text
    archive = np.load(io.BytesIO(base64.b64decode(held[1])))
    assert sorted(archive) == ["argument0", "argument1", "argument2"]


def test_what_gets_garbage_is_not_said_to_be_unwritten() -> None:
    (bundle,) = (bundle for bundle in BUNDLES if "cachewrite-padding" in bundle.name)
    text = report_of(bundle)
    assert text.startswith("# [Bug][TIR] Schedule.cache_write writes garbage to unchanged elements\n")
    assert "reads uninitialized memory and writes it to elements that the original leaves unchanged, so what" in text


def test_there_is_one_of_each_kind_and_harness() -> None:
    kinds = Counter(read_record(bundle).kind for bundle in BUNDLES)
    assert {*kinds} == {*KINDS}, "that of slow code is of a planted pass: no campaign has found any"
    assert {harness_of(bundle).name for bundle in BUNDLES} == {"tir", "graph", "arith"}
    titles = Counter(report_of(bundle).partition("\n")[0] for bundle in BUNDLES)
    assert len(titles) == len(BUNDLES), "titles tell findings apart"


def anew(bundle: Path) -> str:
    """The report of a bundle as it is written today; that of an analysis takes its answer, which no bundle has."""
    if harness_of(bundle).has_cases:
        return report_of(bundle)
    record, case = read_record(bundle), read_arith_case(bundle / "case.json")
    runs, test = record.confirmed, (bundle / TEST_FILE).read_text()
    outcome = run_analysis(Table.of(case.problem), CHECKS[case.check]) if record.kind == "wrong-code" else None
    return arith_report(
        record.signed, case, record.observation, outcome, runs.runs, runs.same, record.environment, test, runs.tier
    )


def test_a_program_that_is_another_after_its_text_is_not_said_to_be_the_one_that_was_given() -> None:
    (bundle,) = (bundle for bundle in BUNDLES if "roundtrip-another-program" in bundle.name)
    text = report_of(bundle)
    assert "gives another module. They first differ at:" in text and "\nbefore: int16\nafter:  int32\n" in text
    assert 'tirx.IntImm("int16", 1)' in text and "load_json" not in text
    assert "TVM prints this program as below, but parsing that text does not give the program back." in text


GOOD = next(bundle for bundle in BUNDLES if bundle.name.startswith("wrong-code-both-argmax-"))


@pytest.mark.parametrize(
    ("spoiled", "by", "rule"),
    [
        (r"\A.*", "# [Bug][TIR] " + "StorageRewrite " * 6, "the title has"),
        (r"\A.*", "# [Bug][TIR] a pass fails: no", "the title names no pass"),
        (r"\A.*", "# [Bug][TIR] StorageRewrite", "the title does not say"),
        (r"\A.*", "# [Bug][TIR] StorageRewrite fails: a (b", "the title breaks off"),
        (r"```python\n", "```\n", "the program does not come first"),
        (r"### Triage\n\n\* needs-triage", "", "its sections are"),
        (r"### Environment\n", "### Environment\n\n/home/someone/tvm\n", "a path of this machine"),
        (r"### Environment\n", "### Environment\n\nSee module.py.\n", "a file that a reader lacks"),
        (r"### Environment\n", "### Environment\n\n8.238489003044758e-07\n", "a number with noise"),
        (r"### Environment\n", "### Environment\n\nreduced from 12 lines to 11\n", "it is hardly shorter"),
        (r"### Environment\n", "### Environment\n\nit dies: .\n", "an odd sentence"),
        (r"np\.\w+", "one", "the inputs are not told"),
    ],
)
def test_each_rule_is_broken_by_what_it_is_about(spoiled: str, by: str, rule: str) -> None:
    text = re.sub(spoiled, lambda _: by, report_of(GOOD))
    assert any(said.startswith(rule) for said in faults_of(text, "wrong-code")), list(faults_of(text, "wrong-code"))
