"""What may stand for a finding: the same function failing, whoever called it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.findings.likeness import same_failure

DIED = Observation(Exit.CRASH, Stage.BUILD, "SIGSEGV", "s_tir.InjectVirtualThread", 11)
RAISED = Observation(Exit.REJECTED, Stage.BUILD, "InternalError: no", "tirx.RemoveNoOp")
CRASH = ("passes", "InjectVirtualThread", "SIGSEGV", "tvm::Inject", "tvm::Above", "tvm::Further")
ERROR = ("RemoveNoOp", "InternalError: no", "tvm::tirx::Remover::Visit", "tvm::tirx::Above")


def crash(*parts: str, seen: Observation = DIED) -> Finding:
    return Finding("crash", parts or CRASH, Case("program"), seen)


def error(*parts: str, marks: tuple[str, ...] = ()) -> Finding:
    return Finding("ice-on-valid", parts or ERROR, Case("program"), RAISED, marks=marks)


def test_who_called_the_function_does_not_count() -> None:
    assert same_failure(crash(), crash(*CRASH[:4], "tvm::Other"))
    assert same_failure(error(), error(*ERROR[:3], "tvm::tirx::Other"))


@pytest.mark.parametrize("place", range(4))
def test_another_pass_signal_or_function_is_another_crash(place: int) -> None:
    assert not same_failure(crash(), crash(*CRASH[:place], "other", *CRASH[place + 1 :]))


@pytest.mark.parametrize("place", range(3))
def test_another_pass_message_or_function_is_another_error(place: int) -> None:
    assert not same_failure(error(), error(*ERROR[:place], "other", *ERROR[place + 1 :]))


def test_what_tells_errors_apart_beside_their_words_counts() -> None:
    assert not same_failure(error(), error(marks=("the second line",)))


def test_what_all_passes_share_fails_in_any_of_them() -> None:
    fold = ("InternalError: no", "tvm::prim::detail::TryConstFold")
    assert same_failure(error("StmtSimplify", *fold), error("UnrollLoop", *fold, "tvm::sub"))
    node = ("ValueError: no", "tvm::IntImm::IntImm")
    assert same_failure(error("StmtSimplify", *node, "tvm::prim::cast"), error("UnrollLoop", *node, "tvm::prim::cast"))
    assert not same_failure(error("StmtSimplify", *node, "tvm::tirx::A"), error("UnrollLoop", *node, "tvm::tirx::A"))
    assert not same_failure(error("StmtSimplify", *node, "tvm::prim::cast"), error("StmtSimplify", *node, "tvm::sub"))


def test_nothing_is_said_where_little_is_known() -> None:
    """An abort comes from helpers, and code generation or a baseline build from anywhere."""
    for parts in (
        ("passes", "A", "SIGABRT", "f", "g"),
        ("build", "SIGSEGV", "f", "g", "h"),
        ("passes", "A", "SIGSEGV"),
    ):
        assert not same_failure(crash(*parts), crash(*parts, "more"))
    assert not same_failure(error("A", "no"), error("A", "no", "f"))
    baseline = replace(DIED, stage=Stage.BUILD_BASELINE)
    assert not same_failure(crash(seen=baseline), crash(*CRASH[:4], "tvm::Other"))


def test_kinds_never_mix_and_wrong_code_goes_by_its_signature() -> None:
    wrong = Finding("wrong-code", ("both", "float"), Case("program"), DIED)
    assert same_failure(wrong, replace(wrong, case=Case("other")))
    assert not same_failure(wrong, replace(wrong, parts=("both", "int")))
    assert not same_failure(crash(), replace(crash(*CRASH[:4], "tvm::Other"), kind="ice-on-valid"))
