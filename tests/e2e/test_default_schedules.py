"""Functions without threads on CUDA: dlight gives them some, first of all, and is judged like any pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cuda_lowered import SUMS
from tests.puzzles.conftest import served
from tzerlike.core.case import Case, PassSpec, parse_sequence, print_sequence
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.core.limits import Limits
from tzerlike.core.observation import Exit, Observation
from tzerlike.core.results import Ending
from tzerlike.core.rng import rng_for
from tzerlike.core.targets import target_text
from tzerlike.coverage import NoCoverage
from tzerlike.execution import rejection
from tzerlike.execution.diagnosis import job
from tzerlike.execution.stages import run_case
from tzerlike.findings.cases import require_runnable
from tzerlike.harnesses.tir.harness import HARNESS
from tzerlike.harnesses.tir.pairs import TirPairs
from tzerlike.oracles import effort_for
from tzerlike.passes.catalog import constructor_source, instantiate
from tzerlike.passes.dlight import DLIGHT, SHIPPED_SCHEDULE
from tzerlike.processes.lane import Lane
from tzerlike.systems.tvm_api import dump_ir, load_ir, module_of, parse_script, part, structural_equal, tvm
from tzerlike.systems.tvm_build import target_of
from tzerlike.tir.seeds import seeds_for

CACHE = Path(__file__).parents[2] / "build" / "test-cache" / "tzerlike"

_LOOPS = "    for i, k in T.grid(5, 40):\n"
_THREADS = "    for i in T.thread_binding(5, 'threadIdx.x'):\n      for k in range(40):\n"
BARE, BOUND = (dump_ir(module_of(parse_script(text))) for text in (SUMS, SUMS.replace(_LOOPS, _THREADS)))


def pairs(target: str) -> TirPairs:
    return TirPairs(CampaignConfig(seed=1, target=target), lambda *job: ([], None, 0))


def sequences(target: str, program: str) -> list[tuple[PassSpec, ...]]:
    """Fresh sequences, and what mutations make of them."""
    found, made = [], pairs(target)
    for seed in range(40):
        rng = rng_for(seed)
        passes, config = made.fresh(rng, program)
        found += [passes, made.mutate(passes, config, rng, found[0] if found else (), program)[0]]
        found.append(made.shrunk(Case(program, passes, config), (0,) * len(passes)))
    return found


def test_sequences_begin_with_a_schedule_where_a_function_has_no_threads() -> None:
    names = [[spec.name for spec in passes] for passes in sequences("cuda", BARE)]
    assert all(one[0] == DLIGHT and DLIGHT not in one[1:] for one in names)
    for target, program in (("llvm", BARE), ("cuda", BOUND)):
        assert not any(spec.name == DLIGHT for passes in sequences(target, program) for spec in passes)
    assert pairs("cuda").fit(Case(BARE), BARE)[0] == (SHIPPED_SCHEDULE,)
    assert pairs("llvm").fit(Case(BARE), BARE)[0] == pairs("cuda").fit(Case(BOUND), BOUND)[0] == ()


def test_what_models_are_lowered_to_is_a_seed_for_cuda_too() -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    found, _ = seeds_for("builtin", "cuda", CACHE)
    assert {"relax", "kernels", "handwritten"} == {seed.origin for seed in found}
    assert {seed.target for seed in found if seed.origin == "relax"} == {"llvm", "cuda"}
    assert not any(seed.name.startswith("relax.schedule_") for seed in found), "has a schedule"


def test_a_sequence_with_it_is_written_and_read_and_has_source() -> None:
    assert parse_sequence(print_sequence((SHIPPED_SCHEDULE,))) == (SHIPPED_SCHEDULE,)
    require_runnable(Case(BARE, (SHIPPED_SCHEDULE,), target=target_text("cuda")))
    source = constructor_source(PassSpec(DLIGHT, (("rules", "GEMV, Fallback"),)))
    assert (
        source == "tvm.s_tir.dlight.ApplyDefaultSchedule(tvm.s_tir.dlight.gpu.GEMV(), tvm.s_tir.dlight.gpu.Fallback())"
    )
    module, target = load_ir(BARE), target_of("cuda")
    with target:
        ours = instantiate(PassSpec(DLIGHT, (("rules", "GEMV, Fallback"),)))(module)
        assert structural_equal(module, load_ir(BARE)), "the module that it was given is as it was"
        theirs = eval(source, {"tvm": tvm})(load_ir(BARE))
    assert structural_equal(ours, theirs)
    with pytest.raises(UserError, match="no rule 'Everything'"):
        instantiate(PassSpec(DLIGHT, (("rules", "Everything"),)))


def judged(*rules: str, program: str = BARE, oracle: str = "inconsistency") -> tuple[Case, Observation]:
    """What becomes of a program whose schedule is by some rules."""
    case = Case(
        program, (PassSpec(DLIGHT, (("rules", ", ".join(rules)),)),), target='{"kind": "cuda", "arch": "sm_90"}'
    )
    with served(Lane.prepare(0, NoCoverage(), run_case, {**job.JOBS, **rejection.JOBS}), Limits()) as executor:
        (seen,) = executor.run([case], effort=effort_for([oracle]))
    return case, seen


def test_its_kernels_compute_what_the_loops_do() -> None:
    case, seen = judged("Reduction", "Fallback")
    assert (seen.exit, seen.results and seen.results.optimised.ending) == (Exit.OK, Ending.AGREES)
    assert not HARNESS.shipped(case) and HARNESS.shipped(Case(BARE, (SHIPPED_SCHEDULE,), target=case.target))
    assert not HARNESS.shipped(Case(BARE, target=case.target)) and HARNESS.shipped(Case(BARE))


def test_a_schedule_that_changes_what_is_computed_is_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    fallback = part("s_tir.dlight").gpu.Fallback
    right, other = fallback.apply, parse_script(SUMS.replace("B[vi] + A", "B[vi] - A"))

    def wrong(self: Any, func: Any, target: Any, tunable: bool) -> Any:
        return right(self, other, target, tunable)

    monkeypatch.setattr(fallback, "apply", wrong)
    _, seen = judged("Fallback")
    assert seen.results is not None and seen.results.optimised.ending is Ending.DIFFERS
    assert seen.results.guilty == "ApplyDefaultSchedule"


def test_blocks_that_do_not_keep_their_promises_to_schedules_prove_nothing() -> None:
    """The loop goes over a part of what the block says is its domain, all of which a schedule goes over."""
    part_only = SUMS.replace("T.grid(5, 40)", "T.grid(4, 40)").replace(
        'vi, vk = T.axis.remap("SR", [i, k])', "vi, vk = T.axis.spatial(5, i), T.axis.reduce(40, k)"
    )
    _, seen = judged("Fallback", program=dump_ir(module_of(parse_script(part_only))))
    assert seen.results is not None and seen.results.defined
    assert seen.results.optimised.ending is Ending.NOT_RUN


@pytest.mark.parametrize(
    "text, label",
    [(SUMS, "internal error"), (SUMS.partition("    for")[0] + "    T.evaluate(0)\n", "documented refusal")],
)
def test_what_it_raises_counts_where_blocks_do_all_of_the_work(
    monkeypatch: pytest.MonkeyPatch, text: str, label: str
) -> None:
    def fails(self: Any, func: Any, target: Any, tunable: bool) -> Any:
        raise AssertionError("no loops")

    monkeypatch.setattr(part("s_tir.dlight").gpu.Fallback, "apply", fails)
    _, seen = judged("Fallback", program=dump_ir(module_of(parse_script(text))), oracle="internal-error")
    assert seen.rejection is not None and seen.rejection.label.replace("-", " ") == label
