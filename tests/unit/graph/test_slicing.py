"""Statements of a function in TVMScript that a failure does without."""

from __future__ import annotations

import pytest

from tzerlike.harnesses.graph.slicing import public_functions, sliced_module

MODULE = """\
from typing import TypeVar
n = TypeVar('n')

@I.ir_module
class Module:

    @R.function(private=True)
    def helper(p0: R.Tensor((3,), dtype='float32')) -> R.Tensor((3,), dtype='float32'):
        return p0

    @R.function(private=True)
    def other(p0: R.Tensor((3,), dtype='float32')) -> R.Tensor((3,), dtype='float32'):
        cls = Module
        return cls.helper(p0)

    @R.function
    def main_adjoint(x0: R.Tensor((3,), dtype='float32'), c: R.Tensor((), dtype='bool')) -> R.Any:
        R.func_attr({'num_input': 1})
        cls = Module
        with R.dataflow():
            lv: R.Tensor((3,), dtype='float32') = R.exp(x0)
            lv1: R.Tensor((3,), dtype='float32') = cls.other(lv)
            gv: R.Tensor((3,), dtype='float32') = R.add(lv, lv1)
            R.output(gv)
        if c:
            gv1: R.Tensor((3,), dtype='float32') = R.negative(gv)
            gv2: R.Tensor((3,), dtype='float32') = gv1
        else:
            gv2: R.Tensor((3,), dtype='float32') = gv
        return (gv, gv2)

    @R.function
    def main(x0: R.Tensor((3,), dtype='float32')) -> R.Tensor((3,), dtype='float32'):
        return x0
"""

HEAD = MODULE.partition("\n    @R")[0]
MAIN = "    @R.function\n    def main(x0: R.Tensor((3,), dtype='float32'), c: R.Tensor((), dtype='bool')"


@pytest.mark.parametrize(
    ("needed", "left"),
    [
        (
            ["R.add("],
            f"""{HEAD}
{MAIN}, lv: R.Tensor((3,), dtype='float32'), lv1: R.Tensor((3,), dtype='float32')):
        with R.dataflow():
            gv: R.Tensor((3,), dtype='float32') = R.add(lv, lv1)
            R.output(gv)
        return gv""",
        ),
        (
            ["R.negative("],
            f"""{HEAD}
{MAIN}, gv: R.Tensor((3,), dtype='float32')):
        if c:
            gv1: R.Tensor((3,), dtype='float32') = R.negative(gv)
            gv2: R.Tensor((3,), dtype='float32') = gv1
        else:
            gv2: R.Tensor((3,), dtype='float32') = gv
        return gv2""",
        ),
        (
            ["R.exp(", "R.add("],
            f"""{HEAD}
{MAIN}, lv1: R.Tensor((3,), dtype='float32')):
        with R.dataflow():
            lv: R.Tensor((3,), dtype='float32') = R.exp(x0)
            gv: R.Tensor((3,), dtype='float32') = R.add(lv, lv1)
            R.output(gv)
        return gv""",
        ),
    ],
)
def test_statements_go_that_a_failure_does_without(needed: list[str], left: str) -> None:
    """What they bind is a parameter, of the type that it has."""
    found = sliced_module(MODULE, "main_adjoint", lambda text: "fails" * all(piece in text for piece in needed))
    assert found.rstrip() == left.rstrip()


def test_functions_stay_that_are_called() -> None:
    found = sliced_module(MODULE, "main_adjoint", lambda text: "fails" * ("cls.other(lv)" in text))
    assert "R.exp" not in found and "def other(" in found and "def helper(" in found


def test_what_comes_out_is_what_no_other_statement_takes() -> None:
    found = sliced_module(MODULE, "main_adjoint", lambda text: "fails" * ("R.exp(" in text and "R.negative(" in text))
    assert found.rstrip().endswith("return (lv, gv2)")


def test_what_takes_all_of_a_function_is_that_function_as_main() -> None:
    whole = MODULE.replace("def main_adjoint(", "def main(").partition(
        "\n\n    @R.function\n    def main(x0: R.Tensor((3,), dtype='float32')) ->"
    )[0]
    found = sliced_module(MODULE, "main_adjoint", lambda text: "fails" * ("num_input" in text))
    assert sorted(found.split()) == sorted(whole.split())


def test_what_has_no_type_stays_in_front_of_what_takes_it() -> None:
    module = MODULE.replace("lv1: R.Tensor((3,), dtype='float32') = cls", "lv1 = cls")
    found = sliced_module(module, "main_adjoint", lambda text: "fails" * ("R.add(" in text))
    assert "lv1 = cls.other(lv)" in found and "R.exp" not in found


def test_a_failure_in_other_words_is_another_one() -> None:
    found = sliced_module(MODULE, "main_adjoint", lambda text: "one" if "R.exp(" in text else "another")
    assert "R.exp(" in found and "R.add(" not in found


def test_nothing_is_left_where_nothing_fails() -> None:
    assert sliced_module(MODULE, "main_adjoint", lambda text: "") == ""
    assert sliced_module(MODULE, "main", lambda text: "fails") == "", "it has no statements"


def test_functions_that_others_can_call_are_sliced_the_entry_last() -> None:
    assert public_functions(MODULE) == ["main_adjoint", "main"]
    assert public_functions("") == []


def test_a_text_that_is_no_python_has_nothing_to_slice() -> None:
    unread = MODULE.replace("lv1", "lambda")
    assert public_functions(unread) == []
    assert sliced_module(unread, "main_adjoint", lambda text: "fails") == ""
