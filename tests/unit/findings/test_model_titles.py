"""Titles of issues of whole models."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.subjects import subject
from tzerlike.core.case import Case
from tzerlike.core.observation import ILL_FORMED, NOT_KEPT, READS_BACK, Exit, Observation, Offence, Stage
from tzerlike.findings.issue.headline import headline
from tzerlike.findings.issue.markdown import report
from tzerlike.findings.issue.titles import title
from tzerlike.graph.steps import RAISES, WRONG_SHAPE

CONCAT = "def main(x: R.Tensor((7,))):\n    with R.dataflow():\n        y = R.concat((x, x))\n        R.output(y)\n"


def test_the_operator_of_a_model_stays_in_a_title_without_its_namespace() -> None:
    seen = Observation(
        Exit.REJECTED, Stage.BUILD, "AttributeError: 'Div' object has no attribute 'value'", "LegalizeOps"
    )
    told = subject("ice-on-valid", seen)
    script = "y = R.image.resize2d(x, R.shape([1, 2]))\n"
    model = replace(told, case=Case("{}", harness="graph"), script=script)
    assert headline(model) == "[Bug][Relax] LegalizeOps on resize2d: 'Div' object has no attribute 'value'"


def test_ill_formed_relax_is_told_with_who_fails_on_it() -> None:
    origin = Offence(NOT_KEPT, "KillAfterLastUse", "well-formed", "Relax that its verifier refuses")
    seen = Observation(Exit.REJECTED, Stage.BUILD, "InternalError: no", "VMShapeLower", origin=origin)
    told = replace(subject("ice-on-valid", seen), case=Case("{}", harness="graph"))
    assert headline(told) == "[Bug][Relax] KillAfterLastUse leaves ill-formed Relax that VMShapeLower fails on"
    assert "`KillAfterLastUse`: it leaves ill-formed Relax. Without that pass there is no failure." in report(told)
    longer = replace(told, seen=replace(seen, pass_name="StaticPlanBlockMemory"))
    assert headline(longer) == "[Bug][Relax] KillAfterLastUse leaves ill-formed Relax"


def test_a_type_that_does_not_fit_is_told_where_the_one_expected_is_long() -> None:
    said = 'ValueError: Argument 0 type mismatch: expected R.Tensor((1, 9), dtype="bool"), given R.Any'
    seen = Observation(Exit.REJECTED, Stage.BUILD, said, "LowerRuntimeBuiltin")
    told = replace(subject("ice-on-valid", seen), case=Case("{}", harness="graph"))
    assert headline(told) == "[Bug][Relax] LowerRuntimeBuiltin fails: Argument 0 type mismatch: given R.Any"


def test_an_operator_is_told_before_the_numbers_of_a_condition() -> None:
    said = "InternalError: Check failed: axis < src_tensor_dim (-1 vs. 1) :"
    seen = Observation(Exit.REJECTED, Stage.BUILD, said, "LegalizeOps")
    told = replace(subject("ice-on-valid", seen), case=Case("{}", harness="graph"), script="R.strided_slice(x0)")
    assert headline(told) == "[Bug][Relax] LegalizeOps on strided_slice: check axis < src_tensor_dim"


@pytest.mark.parametrize(
    ("script", "message", "words"),
    [
        (CONCAT, "TypeError: Cannot convert from type `None` to `int`", "P fails on concat: Cannot convert from type"),
        (CONCAT, f"TypeError: {'no ' * 14}axis of that", f"P on concat: {'no ' * 14}axis of that"),
        (CONCAT, "TypeError: concat wants an axis", "P fails: concat wants an axis"),
        (CONCAT, f"TypeError: {'too long ' * 6}for that", "P on concat: too long"),
        (f"{CONCAT}{CONCAT.replace('concat', 'add')}R.negative(y)", "TypeError: no", "P fails on concat: no"),
        (f"{CONCAT}{CONCAT.replace('concat', 'tan')}R.abs(y)", "TypeError: no", "P fails: no"),
        (f'{CONCAT}x: R.Tensor((), dtype="float16")', "TypeError: no", "P fails on concat in float16: no"),
        ("@R.function(private=True)\nR.negative(y)", "TypeError: no", "P fails on a private function: no"),
        (f"{CONCAT}{CONCAT.replace('concat', 'nn.pad')}R.abs(y)", "TypeError: no", "P fails on nn.pad: no"),
    ],
)
def test_a_title_names_the_operators_of_a_model_that_calls_few(script: str, message: str, words: str) -> None:
    seen = Observation(Exit.REJECTED, Stage.PASSES, message, "relax.P")
    told = replace(subject("ice-on-valid", seen), case=Case("{}", harness="graph"), script=script, original_lines=9)
    assert headline(told).startswith(f"[Bug][Relax] {words}")


@pytest.mark.parametrize("script", [f"{CONCAT}R.tan(y)R.exp(y)R.nn.pad(y)", "@R.function(private=True)\nR.negative(y)"])
def test_what_is_not_reduced_is_told_without_what_may_not_matter(script: str) -> None:
    seen = Observation(Exit.REJECTED, Stage.PASSES, "TypeError: no", "relax.P")
    told = replace(subject("ice-on-valid", seen), case=Case("{}", harness="graph"), script=script)
    assert headline(told) == "[Bug][Relax] P fails: no"
    assert headline(replace(told, original_lines=9)) != "[Bug][Relax] P fails: no"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("one_hot(x, depth=1, axis=-2)", "one_hot with axis=-2: no"),
        ("one_hot(x, depth=1, axis=0)", "one_hot: no"),
        ("concat((x,), axis=None)", "concat with axis=None: no"),
        ('take(x, y, axis=1, mode="clip")', 'take with mode="clip": no'),
        ("nn.conv2d(x, y, padding=[1, 0, 1, 0])", "nn.conv2d with padding: no"),
        ("nn.conv2d(x, y, padding=[1, 0], groups=2)", "nn.conv2d: no"),
        ('full(R.shape([1]), x, dtype="int8")', "full: no"),
        (
            "grad.max_pool2d_backward(x, y, count_include_pad=True)",
            "grad.max_pool2d_backward with count_include_pad: no",
        ),
    ],
)
def test_a_title_names_the_argument_that_matters(call: str, words: str) -> None:
    seen = Observation(Exit.REJECTED, Stage.PASSES, "TypeError: no", "relax.P")
    told = replace(
        subject("ice-on-valid", seen),
        case=Case("{}", harness="graph"),
        script=f"def main(x):\n    return R.{call}\n",
        original_lines=9,
    )
    assert headline(told) in (f"[Bug][Relax] P fails on {words}", f"[Bug][Relax] P on {words}")
    assert " with " not in headline(replace(told, original_lines=0)), "what is not reduced may have any"


def test_a_call_that_kills_while_it_is_made_is_named() -> None:
    seen = Observation(Exit.CRASH, Stage.LOAD, "SIGSEGV", signal=11)
    told = replace(
        subject("crash", seen), case=Case("{}", harness="graph"), script='n = tirx.Var("n")\nrelax.op.tan(x)'
    )
    assert headline(told) == "[Bug][Relax] tan crashes (SIGSEGV) on symbolic extents"
    assert headline(replace(told, script="relax.op.tan(x)")) == "[Bug][Relax] tan crashes (SIGSEGV)"


def test_of_invalid_ir_the_title_keeps_what_is_left() -> None:
    found = Offence(ILL_FORMED, "relax.ToMixedPrecision", "well-formed", "a reason that has no end " * 9)
    seen = Observation(Exit.OK, Stage.DONE, offences=(found,))
    told = replace(subject("invalid-ir", seen, ("model-form", "P", "x")), case=Case("{}", harness="graph"))
    assert headline(told) == "[Bug][Relax] ToMixedPrecision leaves an ill-formed module"


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("relax.nn.rms_norm Call.attrs RMSNormAttrs.epsilon", "relax.nn.rms_norm"),
        ("If.ty TupleType.fields", "If.ty"),
        ("it is read as another one", "a module"),
    ],
)
def test_the_title_of_a_round_trip_names_what_it_changes(where: str, what: str) -> None:
    found = Offence(READS_BACK, "relax.ThroughText", "the same module", where)
    seen = Observation(Exit.OK, Stage.DONE, offences=(found,))
    told = replace(subject("invalid-ir", seen, ("model-text", "ThroughText")), case=Case("{}", harness="graph"))
    assert headline(told) == f"[Bug][Relax] TVMScript round trip changes {what}"


@pytest.mark.parametrize(
    ("origin", "title", "sentence"),
    [
        (
            Offence(NOT_KEPT, "gradient of where", WRONG_SHAPE, "by a tensor of shape (3, 1) has shape (3, 2)"),
            "Gradient of `where` has a wrong shape: no",
            "the gradient of `where`: in a model of that call alone, the gradient by a tensor of shape (3, 1)",
        ),
        (
            Offence(NOT_KEPT, "gradient of nn.conv2d", RAISES, "InternalError: no\nfrom here"),
            "Gradient of `nn.conv2d` fails: no",
            "the gradient of `nn.conv2d`: in a model of that call alone, the gradient is refused as well.",
        ),
    ],
)
def test_the_operator_whose_gradient_another_fails_on_is_named(origin: Offence, title: str, sentence: str) -> None:
    seen = Observation(Exit.REJECTED, Stage.BUILD, "InternalError: no", "LegalizeOps", origin=origin)
    told = replace(subject("ice-on-valid", seen), case=Case("{}", harness="graph"))
    assert headline(told) == f"[Bug][Relax] {title}"
    assert f"The cause is {sentence}" in report(told)
    longer = replace(told, seen=replace(seen, message=f"InternalError: {'much to say of it ' * 9}"))
    assert headline(longer) == f"[Bug][Relax] {title.removesuffix(': no')}"


def test_a_title_that_loses_a_place_keeps_the_rest() -> None:
    short = "Code generation in the baseline build crashes in runtime::vm::VMExecutable::~VMExecutable"
    assert title("Relax", f"{short} (SIGSEGV)", short) == "[Bug][Relax] Code generation in the baseline build crashes"


def test_lack_of_memory_is_told_with_the_operator() -> None:
    seen = Observation(Exit.OOM, Stage.BUILD, "", "tirx.UnrollLoop")
    model = replace(subject("oom", seen), case=Case("{}", harness="graph"), script=CONCAT)
    assert headline(model) == "[Bug][Relax] UnrollLoop runs out of memory on concat"
