"""Errors on models, by what they say."""

from __future__ import annotations

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Rejection
from tzerlike.oracles.models import judge_errors

MODULE = "The IR with diagnostic is:\n" + "".join(f"    T.evaluate({number})\n" for number in range(20))


def _raised(message: str, where: str) -> Finding:
    seen = Observation(
        Exit.REJECTED, Stage.BUILD, message, where, rejection=Rejection("internal-error", True, "builds")
    )
    found = judge_errors(Case("{}", harness="graph"), seen)
    assert found is not None
    return found


def _found(primitive: str, reason: str, module: str = MODULE) -> Finding:
    message = f"ScheduleError: An error occurred in the schedule primitive '{primitive}'.\n\n{module}"
    return _raised(f"ScheduleError: {message}Error message: {reason}\nmore of it", "ApplyDefaultSchedule")


def test_schedules_that_cannot_be_made_for_two_reasons_are_two_findings() -> None:
    one, other = "it is not a complete block", "the loop is bound already"
    assert _found("bind", one).signature == _found("bind", one, MODULE * 2).signature
    assert len({_found(*told).signature for told in (("bind", one), ("bind", other), ("fuse", one))}) == 3
    assert "ScheduleError: bind: it is not a complete block" in _found("bind", one).parts


TENSOR = 'R.Tensor(({}), dtype="float32")'


def test_an_error_that_quotes_a_function_type_is_one_whatever_the_type() -> None:
    types = [TENSOR.format(extents) for extents in ("1, 2, 3", "2", "(n + 1) * m")]
    said = "InternalError: Check failed: (tensor) is false: Expected TensorType, but got R.Callable(({},), {}, True)"
    messages = [said.format(types[0], types[0]), said.format(f"{types[1]}, {types[2]}", types[1])]
    assert len({_raised(message, "ToMixedPrecision").signature for message in messages}) == 1
    assert (
        _raised(said, "ToMixedPrecision").signature != _raised("InternalError: no tensor", "ToMixedPrecision").signature
    )


def test_an_error_that_quotes_a_layout_is_one_whatever_the_layout() -> None:
    said = "InternalError: Check failed: (res != npos) is false: Invalid SLayout:can't find S in source layout"
    assert len({_raised(f"{said}{layout}", "ConvertLayout").signature for layout in ("AB", "ABCD")}) == 1


def test_names_of_functions_and_of_gradients_are_in_no_signature() -> None:
    stray = (
        "InternalError: Check failed: undefined.size() == 0 ({} vs. 0) : In PrimFunc {} are used, but are not passed in"
    )
    strays = stray.format(1, "two_pass_sum variables (n,)"), stray.format(2, "tiled1 variables (l, m)")
    cycles = (
        f"InternalError: Check failed: (depgroup != cur_group) is false: A cyclic dependency detected between the "
        f"groups {one} and {other} are in."
        for one, other in (("x0_adjoint1", "x0_adjoint"), ("lv2_adjoint", "lv"))
    )
    for messages in (strays, cycles):
        assert len({_raised(message, "tirx.MakePackedAPI").signature for message in messages}) == 1


def test_an_error_that_quotes_what_an_extent_is_computed_of_is_one_whatever_that_is() -> None:
    said = "TypeError: Check failed: (maybe_var) is false: The signature exprected an independent Var, but got {}."
    found = {_raised(said.format(one), "P").signature for one in ("T.int64(2) * l", "n * n + T.int64(1)", "n // 2 * m")}
    assert len(found) == 1
    assert _raised(said.format("float32"), "P").signature not in found
