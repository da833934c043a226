"""Reports of fabricated findings: what it takes to show one, and what is unusual about its program."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.subjects import subject
from tzerlike.core.case import Case, ContextConfig, PassSpec
from tzerlike.core.finding import FIRST_TIER, SECOND_TIER
from tzerlike.core.observation import Exit, Observation, Offence, Stage
from tzerlike.findings.issue.markdown import report
from tzerlike.findings.issue.pytest_file import UNCHANGED


@pytest.mark.parametrize(
    ("tier", "passes", "config", "stage", "words"),
    [
        (1, (), ContextConfig(), Stage.PASSES, "The default pipeline with default options shows it."),
        (1, ("relax.FuseOps",), ContextConfig(), Stage.PASSES, "The passes are those of a pipeline that TVM ships."),
        (
            1,
            ("relax.Gradient",),
            ContextConfig(),
            Stage.PASSES,
            "The default pipeline with default options, behind `relax.transform.Gradient`, shows it.",
        ),
        (1, ("relax.FromOnnx23_0",), ContextConfig(), Stage.PASSES, "`from_onnx` with default options shows it."),
        (
            1,
            ("relax.FromTorch0_2",),
            ContextConfig(),
            Stage.PASSES,
            "`from_exported_program` with `run_ep_decomposition=False` shows it.",
        ),
        (1, (), ContextConfig(), Stage.MUTATE, "The calls above take arguments of the documented types."),
        (2, (), ContextConfig(), Stage.PASSES, ""),
        (2, (), ContextConfig(opt_level=2), Stage.PASSES, ""),
    ],
)
def test_what_it_takes_to_show_a_finding_is_said(
    tier: int, passes: tuple[str, ...], config: ContextConfig, stage: Stage, words: str
) -> None:
    case = Case("{}", tuple(map(PassSpec, passes)), config)
    told = replace(subject("crash", Observation(Exit.CRASH, stage, "SIGSEGV")), case=case, tier=tier)
    assert report(told).strip().endswith(f"Reproduced in 2 of 2 runs. {words}".strip())


def test_gradients_that_fail_take_no_pipeline() -> None:
    seen = Observation(Exit.REJECTED, Stage.PASSES, "ValueError: no", "relax.Gradient")
    told = replace(
        subject("ice-on-valid", seen), case=Case("{}", (PassSpec("relax.Gradient"),), harness="graph"), tier=1
    )
    assert report(told).strip().endswith("`relax.transform.Gradient` alone shows it.")


def test_an_option_that_no_script_has_is_not_said_to_be_needed() -> None:
    case = Case("{}", config=ContextConfig(options=(("tirx.disable_assert", True),)))
    told = replace(subject("crash", Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV")), case=case, tier=2)
    for repro, needed in (("tirx.disable_assert", True), ("relax.build(mod)", False)):
        assert ("with the option `tirx.disable_assert`" in report(replace(told, repro=repro))) is needed


def test_a_pass_that_changes_its_input_is_not_said_to_do_so_to_a_user() -> None:
    seen = Observation(Exit.OK, Stage.DONE, offences=(Offence("immutability", "tirx.P", "changed", "main"),))
    told = replace(subject("invalid-ir", seen), case=Case("{}"), tier=1, test=f"def test_x():\n    {UNCHANGED}\n")
    assert report(told).strip().endswith("The pass is one of the default pipeline.")


MANY = ("tirx.A", "tirx.B", "tirx.C", "tirx.D", "tirx.E", "tirx.F")
NEEDED = [
    (("tirx.A",), ContextConfig(), "llvm", "with `tirx.A` run before the default pipeline."),
    (
        ("tirx.A", "tirx.B"),
        ContextConfig(options=(("tirx.disable_assert", True),)),
        "llvm",
        "with `tirx.A` and `tirx.B` run before the default pipeline, and with the option `tirx.disable_assert`.",
    ),
    (
        MANY,
        ContextConfig(),
        "llvm",
        "with `tirx.A`, `tirx.B`, `tirx.C`, `tirx.D` and 2 other passes run before the default pipeline.",
    ),
    (
        (),
        ContextConfig(1, disabled_passes=("tirx.A",)),
        '{"kind": "llvm", "opt-level": 0}',
        "with the options `opt_level=1`, `disabled_pass=tirx.A` and `opt-level=0`.",
    ),
    (("tirx.A",), ContextConfig(pipeline="none"), "llvm", "with `tirx.A` run in place of the default pipeline."),
    ((), ContextConfig(pipeline="none"), "llvm", "without the default pipeline."),
]


@pytest.mark.parametrize(("passes", "config", "target", "words"), NEEDED)
def test_what_no_default_build_has_is_said_before_the_program(
    passes: tuple[str, ...], config: ContextConfig, target: str, words: str
) -> None:
    case = Case("{}", tuple(map(PassSpec, passes)), config, target)
    seen = Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV")
    told = replace(subject("crash", seen), case=case, tier=SECOND_TIER, original_lines=9)
    text = report(told)
    assert text.partition("\n")[2].startswith(f"\nOnly seen {words}\n\n```python\n")
    assert text.count("Only seen") == 1
    assert f"\nSeen {words}\n" in report(replace(told, original_lines=0)), "what is not reduced may need less"
    assert "Only seen" not in report(replace(told, tier=FIRST_TIER))
    unbuilt = replace(told, seen=replace(told.seen, stage=Stage.LOAD))
    assert "Only seen with `tirx.A`" not in report(unbuilt), "what fails while the program is loaded takes no pass"


def test_the_steps_of_a_model_go_by_the_names_that_its_test_has() -> None:
    test = "def test_x():\n    with target:\n        mod = relax.transform.ConvertLayout({})(mod)\n"
    case = Case("{}", (PassSpec("relax.OurLayout"),), harness="graph")
    told = replace(subject("crash", Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV"), test=test), case=case)
    assert "\nSeen with `relax.transform.ConvertLayout` run before the default pipeline.\n" in report(told)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("relax.CompiledMode", 'with the option `exec_mode="compiled"`'),
        ("relax.ThroughText", "with a round trip through TVMScript run before the default pipeline"),
    ],
)
def test_a_step_of_a_model_that_is_no_pass_is_said_in_words(step: str, words: str) -> None:
    case = Case("{}", (PassSpec(step),), harness="graph")
    told = replace(subject("crash", Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV")), case=case)
    assert f"\nSeen {words}.\n" in report(told)


@pytest.mark.parametrize(
    ("node", "words"),
    [
        ({"type": "ir.Op", "data": "tirx.masked_store"}, "`tirx.masked_store` in the program"),
        ({"type": "tirx.For", "data": {"kind": 4}}, "loops bound to threads, which this target does not support"),
    ],
)
def test_what_is_unusual_about_a_program_is_said_where_it_has_a_name(node: dict[str, object], words: str) -> None:
    case = Case(json.dumps({"nodes": [node]}))
    told = replace(subject("crash", Observation(Exit.CRASH, Stage.PASSES, "SIGSEGV")), case=case, tier=SECOND_TIER)
    assert report(told).strip().endswith(f"Seen with {words}.")


def test_what_the_documentation_of_a_primitive_prints_as_well_is_said_to_be_there() -> None:
    seen = Observation(Exit.OK, Stage.MUTATE, "block-region: writes A without declaring it", "LoopPartition")
    told = replace(subject("wrong-code", seen, ("schedule", "LoopPartition", "block-region")), tier=SECOND_TIER)
    assert report(told).strip().endswith("The documented example of the primitive has the same defect.")


@pytest.mark.parametrize(("stage", "tier"), [(Stage.TEXT, 1), (Stage.MUTATE, 2)])
def test_of_texts_and_odd_schedules_nothing_is_said(stage: Stage, tier: int) -> None:
    told = replace(subject("ice-on-valid", Observation(Exit.OK, stage, "x")), tier=tier)
    assert report(told).strip().endswith("Reproduced in 2 of 2 runs.")
