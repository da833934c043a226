"""A report names the component of TVM that it is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.subjects import subject, wrong
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.findings.issue.markdown import report


@pytest.mark.parametrize(
    ("seen", "target", "label"),
    [
        (Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV", "tirx.P"), "llvm", "tir:transform"),
        (Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV", "tirx.P"), "llvm", "tir:transform"),
        (Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV"), "llvm", "backend: llvm"),
        (Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV"), '{"kind": "cuda", "arch": "sm_90"}', "backend: cuda"),
        (Observation(Exit.CRASH, Stage.MUTATE, "SIGSEGV"), "llvm", "tir:schedule"),
        (Observation(Exit.CRASH, Stage.TEXT, "SIGSEGV"), "llvm", "tir:printer\n* tir:parser"),
    ],
)
def test_a_report_has_the_label_of_the_component(seen: Observation, target: str, label: str) -> None:
    told = subject("crash", seen)
    text = report(replace(told, case=replace(told.case, target=target)))
    assert f"### Triage\n\n* needs-triage\n* {label}\n\nFound by" in text


@pytest.mark.parametrize(
    ("guilty", "label"),
    [
        ("tirx.P", "* tir:transform\n"),
        ("default pipeline", "* tir:transform\n"),
        ("LLVM optimisation", "* backend: llvm\n"),
        ("", ""),
    ],
)
def test_wrong_code_has_the_label_of_the_culprit(guilty: str, label: str) -> None:
    found = wrong("optimised")
    assert found.results is not None
    text = report(subject("wrong-code", replace(found, results=replace(found.results, guilty=guilty))))
    assert f"### Triage\n\n* needs-triage\n{label}\nFound by" in text
