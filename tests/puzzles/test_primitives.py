"""Schedule primitives of TVM 0.27 that fail, or leave ill-typed IR: reported; what they say no to, or are misled in, is
not."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.puzzles.conftest import fake_run_case, served
from tzerlike.core.case import Case, Provenance
from tzerlike.core.errors import Fault
from tzerlike.core.finding import FIRST_TIER, SECOND_TIER
from tzerlike.core.limits import Limits
from tzerlike.core.mutation import Mutation
from tzerlike.core.stored import StoredCase
from tzerlike.coverage import NoCoverage
from tzerlike.execution.executor import ForkExecutor
from tzerlike.findings.bundles.bundle import read_bundle
from tzerlike.findings.bundles.examined import bundle_examined
from tzerlike.findings.reduction.held import search_held
from tzerlike.findings.tiers import tier_of_look
from tzerlike.harnesses.tir.harness import HARNESS
from tzerlike.mutators import Guarded, MutationEnv
from tzerlike.mutators import attempt as of_attempt
from tzerlike.oracles import examiner as of_oracles
from tzerlike.oracles.examiner import Look, Made, ask_for
from tzerlike.oracles.primitives import PROBE, examiner
from tzerlike.processes.lane import Lane
from tzerlike.systems import tvm_api
from tzerlike.tir.typecheck import TypeChecker

Steps = Callable[[Any], object]


def program(parameters: str, body: str) -> str:
    head = f"# from tvm.script import tirx as T\n@T.prim_func(s_tir=True)\ndef main({parameters}):\n"
    return head + "\n".join(f"    {line}" for line in body.strip("\n").splitlines()) + "\n"


COPY = program(
    'A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")',
    """
for i in range(8):
    with T.sblock("b"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi]
""",
)
GATHER = program(
    'A: T.Buffer((16,), "float32"), B: T.Buffer((4, 8), "float32")',
    """
for i, j in T.grid(4, 8):
    with T.sblock("b"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi // 2 * 4 + vj // 4 * 2 + vi % 2] + A[vi // 2 * 4 + vj // 4 * 2]
""",
)
WIDE = program(
    'A: T.Buffer((T.int64(16),), "float32"), B: T.Buffer((T.int64(16),), "float32")',
    """
for i in range(T.int64(16)):
    with T.sblock("b"):
        vi = T.axis.spatial(T.int64(16), i)
        B[vi] = A[vi // T.int64(3) * T.int64(2) + vi % T.int64(2)] + A[vi // T.int64(4) * T.int64(3)]
""",
)
ALL = program(
    'A: T.Buffer((4, 8), "bool"), B: T.Buffer((4,), "bool")',
    """
for i, k in T.grid(4, 8):
    with T.sblock("b"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = T.bool(True)
        B[vi] = B[vi] and A[vi, vk]
""",
)


def cache_index(schedule: Any) -> None:
    schedule.cache_index(schedule.get_sblock("b"), "global", 0)


def rfactor(schedule: Any) -> None:
    schedule.rfactor(schedule.get_loops(schedule.get_sblock("b"))[1], 0)


def cache_index_of_a_parallel_loop(schedule: Any) -> None:
    schedule.parallel(schedule.get_loops(schedule.get_sblock("b"))[0])
    cache_index(schedule)


def inline_and_go_on(schedule: Any) -> None:
    with contextlib.suppress(tvm_api.s_tir.ScheduleError):
        schedule.compute_inline(schedule.get_sblock("b"))
    schedule.unroll(schedule.get_loops(schedule.get_sblock("b"))[0])


WRONG: dict[str, tuple[str, Steps, str, tuple[str, ...]]] = {
    "one stride for two dimensions": (GATHER, cache_index, "invalid-ir", ("schedule", "cache_index", "strides")),
    "axes of int64 in loops of int32": (WIDE, cache_index, "invalid-ir", ("schedule", "cache_index", "axis")),
    "nothing to cache": (COPY, cache_index, "ice-on-valid", ("schedule", "cache_index", "seq.size() != <n>")),
    "behind another primitive": (
        COPY,
        cache_index_of_a_parallel_loop,
        "ice-on-valid",
        ("schedule", "cache_index", "seq.size() != <n>"),
    ),
    "a sum of booleans": (
        ALL,
        rfactor,
        "ice-on-valid",
        ("schedule", "rfactor", "InternalError: Cannot decide max_value for typeT.bool"),
    ),
}

NOBODYS: dict[str, tuple[str, Steps]] = {
    "a refusal": (COPY, inline_and_go_on),
    "calls that work": (GATHER, lambda schedule: schedule.fuse(*schedule.get_loops(schedule.get_sblock("b")))),
    "a program that is not defined": (COPY.replace("A[vi]", "A[vi + 1]"), cache_index),
    "a call that is written wrong": (COPY, lambda schedule: schedule.get_sblock(3)),
}


class Planted:
    """A mutator of these calls, which the compiler makes."""

    name = "planted"
    runs_compiler = True

    def __init__(self, steps: Steps) -> None:
        self.steps = steps

    def __call__(self, func: Any, rng: Random, env: MutationEnv) -> Any:
        schedule = tvm_api.s_tir.Schedule(tvm_api.module_of(func), error_render_level="none", debug_mask=0)
        self.steps(schedule)
        return schedule.mod["main"]


@contextlib.contextmanager
def planted(monkeypatch: pytest.MonkeyPatch, steps: Steps) -> Iterator[ForkExecutor]:
    def made(names: object) -> tuple[Guarded]:
        return (Guarded(Planted(steps), "planted"),)

    for module in (examiner, of_attempt):
        monkeypatch.setattr(module, "make_mutators", made)
    lane = Lane.prepare(0, NoCoverage(), fake_run_case, {**of_oracles.JOBS, **HARNESS.jobs})
    with served(lane, Limits(seconds=10.0)) as executor:
        yield executor


def looked(executor: ForkExecutor, text: str) -> tuple[Case, Look]:
    case = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))))
    mutation = Mutation(1, 0, 5, 0, "planted", case.id)
    made = Made(case, False, case, mutation, lambda purpose: Random(purpose))
    assert examiner.wants(made)
    return case, examiner.look(ask_for(PROBE, executor.call), made)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_with_a_primitive_is_found_in_its_tier(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    text, steps, kind, parts = WRONG[name]
    with planted(monkeypatch, steps) as executor:
        (finding,) = looked(executor, text)[1].findings
        assert (finding.kind, finding.parts[: len(parts)]) == (kind, parts)
        # TVM's documentation of cache_index prints such a stride.
        tier = SECOND_TIER if parts[-1] == "strides" else FIRST_TIER
        assert tier_of_look(finding, executor, HARNESS) == tier


@pytest.mark.long
@pytest.mark.parametrize("name", ["one stride for two dimensions", "nothing to cache"])
def test_its_bundle_shows_it_with_tvm_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    text, steps, _, parts = WRONG[name]
    (tmp_path / "findings").mkdir()
    with planted(monkeypatch, steps) as executor:
        case, look = looked(executor, text)
        stored = StoredCase(case, Provenance("test"))
        path = bundle_examined(tmp_path / "findings", executor, HARNESS, PROBE, look, stored, {})
    assert path is not None
    assert read_bundle(path).probe == PROBE
    report = (path / "report.md").read_text()
    assert f"`Schedule.{parts[1]}`" in report
    assert 'v2 = sch.cache_index(v1, "global", 0)' in report
    assert "constructor gives it" not in report
    repro = (path / "repro.py").read_text()
    assert "tzerlike" not in repro
    assert ended(path / "repro.py") == (1, "the bug shows")
    # Without the call that is to blame.
    other = tmp_path / "other.py"
    other.write_text(repro.replace(f".{parts[1]}(", ".get_sblock('b') or (lambda *args, **kwargs: 0)("))
    assert ended(other)[0] == 0

    test = (path / "test_regression.py").read_text()
    assert 'sch.cache_index(v1, "global", 0)' in test and "tzerlike" not in test
    assert pytest_status(path / "test_regression.py") == 1
    (path / "test_regression.py").write_text(test.replace("sch.cache_index(", "(lambda *args: 0)("))
    assert pytest_status(path / "test_regression.py") == 0


def pytest_status(test: Path) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test.name]
    return subprocess.run(command, capture_output=True, check=False, cwd=test.parent).returncode


def test_a_bundle_is_reduced_to_the_calls_that_it_takes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text, steps, *_ = WRONG["behind another primitive"]
    with planted(monkeypatch, steps) as executor:
        case, look = looked(executor, text)
        path = bundle_examined(tmp_path, executor, HARNESS, PROBE, look, StoredCase(case, Provenance("test")), {})
        assert path is not None
        bundle = read_bundle(path)
        found = search_held(bundle, executor, ["primitives"], HARNESS)
        assert all(True for _ in found.steps())
        assert bundle.environment["calls"][-1] == "v5 = sch.cache_index(v4, 'global', 0)"
        assert found.best["calls"] == ["v4 = sch.get_sblock('b')", "v5 = sch.cache_index(v4, 'global', 0)"]
        # By the calls alone: the mutation makes no such call any more.
        monkeypatch.setattr(examiner, "make_mutators", None)
        held = {**found.best, "mutation": {**found.best["mutation"], "mutator": "gone"}}
        assert examiner.look_again(ask_for(PROBE, executor.call), case, held).shows(bundle.signed)
        less = {**held, "calls": held["calls"][:1]}
        assert examiner.look_again(ask_for(PROBE, executor.call), case, less).findings == ()


SUM_OF_TWO = program(
    'A: T.Buffer(({n},), "float32"), B: T.Buffer((8, {n}), "float32")',
    """
C = T.sblock_alloc_buffer(({n},))
for j in range({n}):
    with T.sblock("a"):
        vj = T.axis.spatial({n}, j)
        C[vj] = A[vj] + T.float32(1)
for i, j in T.grid(8, {n}):
    with T.sblock("b"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = C[vj] * T.float32(2)
""",
).format(n=4)
BY_TILES = program(
    'A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")',
    """
for i, j in T.grid(2, 2):
    with T.sblock("b"):
        vi, vj = T.axis.remap("SS", [i, j])
        T.reads(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
        T.writes(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
        D = T.match_buffer(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), offset_factor=1)
        for x, y in T.grid(4, 4):
            D[x, y] = A[vi * 4 + x, vj * 4 + y]
""",
)
FLAT = program(
    'A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")',
    """
for i, j in T.grid(8, 8):
    with T.sblock("b"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj]
""",
)
PADDED = FLAT.replace("A[vi, vj]", "T.if_then_else(vi < 6, A[vi, vj], T.float32(0))")
CHOSEN = FLAT.replace("A[vi, vj]", "T.if_then_else(vi < 6, T.float32(0), A[vi, vj])")


ON_THE_ROOT = program(
    'A: T.Buffer((1, T.int64(1)), "float32")',
    """
with T.sblock("b"):
    T.writes(A[0, T.int64(0)])
    A[0, T.int64(0)] = 1.0
""",
)


def turned_around(schedule: Any) -> None:
    schedule.transform_layout(schedule.get_sblock("b"), ("write", 0), lambda i, j: (j, i))


def through_a_cache(schedule: Any) -> None:
    block = schedule.get_sblock("b")
    cached = schedule.cache_read(block, 0, "global")
    schedule.compute_at(cached, schedule.get_loops(block)[-1])
    schedule.decompose_padding(block, schedule.get_loops(block)[0])


@pytest.mark.parametrize(
    ("text", "steps", "due"),
    [
        (SUM_OF_TWO, lambda s: s.reverse_compute_inline(s.get_sblock("b")), "distinct atomic variables"),
        (FLAT, through_a_cache, "match padding pattern"),
        (CHOSEN, through_a_cache, "match padding pattern"),
        (PADDED, through_a_cache, ""),
        (ON_THE_ROOT, turned_around, "`transform_layout` does not operate on the root block"),
        (BY_TILES, lambda s: s.cache_write(s.get_sblock("b"), 0, "local"), ""),
    ],
)
def test_where_a_refusal_is_due_the_report_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, steps: Steps, due: str
) -> None:
    with planted(monkeypatch, steps) as executor:
        case, look = looked(executor, text)
        (finding,) = look.findings
        assert finding.kind == "ice-on-valid"
        path = bundle_examined(tmp_path, executor, HARNESS, PROBE, look, StoredCase(case, Provenance("test")), {})
        assert path is not None
        report = (path / "report.md").read_text()
        title, expected = report.partition("\n")[0], report.partition("### Expected behavior")[2].split("\n\n")[1]
        assert expected.startswith("A `ScheduleError`: ") is bool(due)
        assert due in expected
        assert title.endswith(": InternalError, not ScheduleError") is bool(due)
        # No legal use shows what the documentation excludes.
        assert json.loads((path / "observation.json").read_text())["tier"] == (SECOND_TIER if due else FIRST_TIER)
        # What needed no refusal does not become smaller by needing one.
        held = {**look.held, "refusal_due": ""}
        assert examiner.look_again(ask_for(PROBE, executor.call), case, held).shows(finding) is not bool(due)


def ended(script: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-I", script], capture_output=True, text=True, check=False, cwd=script.parent
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("name", NOBODYS)
def test_nobodys_bug_is_none(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    text, steps = NOBODYS[name]
    with planted(monkeypatch, steps) as executor:
        assert looked(executor, text)[1].findings == ()


def test_a_fault_of_ours_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    with planted(monkeypatch, lambda schedule: 1 // 0) as executor, pytest.raises(Fault, match="ZeroDivisionError"):
        looked(executor, COPY)


@pytest.mark.parametrize("name", ["one stride for two dimensions", "nothing to cache", "a refusal"])
def test_a_campaign_is_told_what_to_look_at(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    text, steps, *_ = (WRONG | NOBODYS)[name]
    with planted(monkeypatch, steps) as executor:
        case = Case(tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(text))))
        mutation = Mutation(1, 0, 5, 0, "planted", case.id)
        mutant = of_attempt.mutate_in_child(executor.explore, mutation, case.ir, "llvm")
    assert bool(mutant.attempt.amiss) == (name in WRONG)


def test_as_many_strides_as_dimensions_or_none_are_well_typed() -> None:
    for strides, rule in (("(8, 1)", None), ("()", None), ("(1,)", "strides")):
        text = COPY.replace('A: T.Buffer((8,), "float32")', f'A: T.Buffer((1, 8), "float32", strides={strides})')
        with contextlib.suppress(tvm_api.tvm.error.InternalError):
            bad = TypeChecker().check(tvm_api.parse_script(text.replace("A[vi]", "A[0, vi]")))
            assert (bad.rule if bad is not None else None) == rule
