"""What the arithmetic harness leaves alone on a TVM whose analyzer is asked in another way."""

from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from tzerlike.arith import inspect
from tzerlike.arith.checks import Question, asked_otherwise, sym
from tzerlike.arith.model import Problem, Variable
from tzerlike.systems import tvm_api


class OfAFork:
    """The analyzer of TileLang 0.1.15, as far as it differs."""

    def int_set(self, expr: object, dom_map: object) -> None: ...


def test_nothing_is_left_out_on_the_latest_tvm() -> None:
    assert asked_otherwise(sym()) == frozenset()


def test_a_fork_is_not_asked_what_it_has_not() -> None:
    fork = SimpleNamespace(Analyzer=OfAFork, normalize_to_iter_sum=lambda index, input_iters: None)
    assert asked_otherwise(fork) == {"try_compare", "int_set", "normalize_to_iter_sum"}


def test_what_an_analyzer_cannot_be_told_is_no_failure_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(problem: Problem, scope: ExitStack) -> Question:
        tvm_api.tvm.tirx.IntImm("int32", object())
        raise AssertionError

    monkeypatch.setattr(inspect, "pose", told)
    x = Variable("x", "int32", (0, 1))
    with ExitStack() as scope:
        outcome = inspect.posed(inspect.Table.of(Problem((x,), (x.node,))), scope)
    assert isinstance(outcome, inspect.AnalysisOutcome)
    assert outcome.error and not outcome.refused
