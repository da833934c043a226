"""The baseline build leaves out what it says, and the default pipeline can do without that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.core.results import Ending, Ran, Results
from tzerlike.processes.forked import each_in_child, in_child
from tzerlike.systems import optional
from tzerlike.systems.optional import DISPENSABLE, LEVELS, baseline_named, context_of, in_words

ROOT = Path(__file__).resolve().parents[2]
EVERY = 60
"""Which seeds are tried here; scripts/optional_passes.py tries all."""


def module_of_bug(name: str) -> Any:
    from tzerlike.systems import tvm_api

    return tvm_api.module_of(tvm_api.parse_script((ROOT / "docs" / "bugs" / f"{name}.py").read_text()))


def judged(module: Any, baseline: str) -> Results:
    """The results of a program with the baseline of that name and a default build at LLVM level 0."""
    from tzerlike.core.case import ContextConfig
    from tzerlike.execution.compare.results import Builds, compile_baseline, judge_builds
    from tzerlike.systems.compilation import SILENT, Compilation
    from tzerlike.systems.tvm_api import entry_of
    from tzerlike.tir.allowlist import native

    default = Compilation('{"kind": "llvm", "opt-level": 0}', ContextConfig())
    builds = Builds(
        lambda: compile_baseline(module, SILENT, baseline), lambda: native.entry_point(module, default.build(module))
    )
    return judge_builds(entry_of(module), builds, 0, Effort(), SILENT)


def test_no_pass_of_the_table_runs() -> None:
    from tzerlike.systems import tvm_api, tvm_passes
    from tzerlike.systems.baseline import baseline_case
    from tzerlike.systems.compilation import Compilation

    assert baseline_named(tvm_api.TVM_VERSION) != LEVELS, "the TVM that is installed is in the table"
    module = module_of_bug("vectorized_allocation")
    ran: dict[str, list[str]] = {"": [], LEVELS: []}
    for name, passes in ran.items():
        case = baseline_case(Case("{}"), name)
        Compilation(case.target, case.config, instruments=[tvm_passes.PassWatch(passes.append)]).build(module)
    left_out = set(DISPENSABLE[baseline_named(tvm_api.TVM_VERSION)])
    assert left_out.isdisjoint(ran[""])
    assert left_out <= set(ran[LEVELS])


def test_seeds_compile_and_agree_without_any_of_them() -> None:
    from tzerlike.systems.tvm_api import load_ir
    from tzerlike.tir.seeds import builtin_seeds

    cache = ROOT / "build" / "test-cache" / "tzerlike"
    cache.mkdir(parents=True, exist_ok=True)
    seeds = builtin_seeds(cache, "llvm")[::EVERY]

    def work(number: int) -> str:
        return json.dumps(judged(load_ir(seeds[number].ir), "").to_json())

    endings = []
    for number, (answer, signal) in enumerate(each_in_child(range(len(seeds)), work)):
        assert answer is not None, f"{seeds[number].name} died of signal {signal}"
        results = Results.from_json(json.loads(answer))
        if results.defined:
            endings.append((seeds[number].name, results.baseline.ending))
    assert len(endings) >= len(seeds) / 2
    assert {ending for _, ending in endings} == {Ending.AGREES}


@pytest.mark.parametrize(("baseline", "blame"), [("", "optimised"), (LEVELS, "both")])
def test_what_an_optional_pass_breaks_is_blamed_by_the_baseline_that_is_asked_for(baseline: str, blame: str) -> None:
    answer, _ = in_child(lambda: judged(module_of_bug("reuse_of_a_live_buffer"), baseline).blame)
    assert answer == blame


def test_a_program_that_needs_such_a_pass_has_no_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    from tzerlike.execution.compare.results import compile_baseline
    from tzerlike.systems.compilation import SILENT
    from tzerlike.systems.refusal import CompilerRefused

    module = module_of_bug("reuse_of_a_live_buffer")
    monkeypatch.setattr(optional, "DISPENSABLE", {"strict": ("tirx.MakePackedAPI",)})
    with pytest.raises(CompilerRefused):
        from tzerlike.systems.baseline import REFERENCE_TARGET
        from tzerlike.systems.compilation import Compilation

        Compilation(REFERENCE_TARGET, context_of("strict")).build(module)
    assert compile_baseline(module, SILENT, "strict") == Ran()


def test_reports_say_what_the_baseline_is() -> None:
    assert in_words(next(iter(DISPENSABLE))).startswith("LLVM level 0, loops not vectorized, without ")
    assert "StorageRewrite" in in_words(next(iter(DISPENSABLE)))
    for unknown in (LEVELS, "1.0", None, 3):
        assert in_words(unknown) == "opt_level 0, which leaves out no pass, and LLVM level 0"
    assert baseline_named("1.0") == LEVELS
