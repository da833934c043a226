"""Planted miscompilations are found, each on the build it was planted in; harmless rewrites are not.

tests/data/planted_seeds.json names the built-in seeds; `python -m tests.planted.find_seeds` finds them anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.planted.find_seeds import apply
from tests.planted.table import HARMLESS, MISCOMPILES
from tzerlike.core.case import Case
from tzerlike.core.finding import Finding
from tzerlike.core.observation import Exit, Observation, Stage
from tzerlike.core.results import Results
from tzerlike.oracles.inconsistency import judge_inconsistency
from tzerlike.tir.seeds import builtin_seeds

ROOT = Path(__file__).resolve().parents[2]
SEEDS: dict[str, list[str]] = json.loads((ROOT / "tests" / "data" / "planted_seeds.json").read_text(encoding="utf-8"))
TRIED = 3
"""Seeds on which a pass is tried here, of those that are recorded."""

Sides = tuple[str, str]
"""What to put in place of the reference and of the optimised build: "planted" or "right"."""


@pytest.fixture(scope="module")
def programs() -> dict[str, str]:
    cache = ROOT / "build" / "test-cache" / "tzerlike"
    cache.mkdir(parents=True, exist_ok=True)
    return {seed.name: seed.ir for seed in builtin_seeds(cache, "llvm")}


def findings(programs: dict[str, str], name: str, sides: Sides) -> list[Finding | None]:
    """What the inconsistency oracle says of each seed of the pass `name`, with the pass run on one of the sides."""
    from tests.builds import compare_builds
    from tzerlike.processes.forked import each_in_child
    from tzerlike.systems.tvm_api import entry_of, load_ir, module_of

    planted = {**MISCOMPILES, **HARMLESS}[name]

    def work(seed: str) -> str:
        module = load_ir(programs[seed])
        made = apply(planted, entry_of(module))
        assert made is not None, f"{name} does not apply to {seed} any more"
        modules: dict[str, Any] = {"planted": module_of(made), "right": module}
        results = compare_builds(module, *(modules[side] for side in sides))
        assert results.defined, f"{seed}: {results.rule}"
        return json.dumps(results.to_json())

    found = []
    for seed, (answer, signal) in zip(SEEDS[name][:TRIED], each_in_child(SEEDS[name][:TRIED], work), strict=False):
        assert answer is not None, f"{name} on {seed} died of signal {signal}"
        results = Results.from_json(json.loads(answer))
        observation = Observation(Exit.OK, Stage.DONE, results=results)
        found.append(judge_inconsistency(Case(programs[seed]), observation))
    return found


@pytest.mark.parametrize("name", MISCOMPILES)
def test_a_miscompilation_is_found(programs: dict[str, str], name: str) -> None:
    for blamed, sides in {"optimised": ("right", "planted"), "reference": ("planted", "right")}.items():
        found = findings(programs, name, sides)
        assert len(found) >= 3
        assert [(f.kind, f.parts[0]) if f else None for f in found] == [("wrong-code", blamed)] * len(found)


@pytest.mark.parametrize("name", HARMLESS)
def test_a_harmless_rewrite_is_not_found(programs: dict[str, str], name: str) -> None:
    for sides in (("right", "planted"), ("planted", "right")):
        found = findings(programs, name, sides)
        assert len(found) >= 3
        assert found == [None] * len(found)


def test_there_are_enough() -> None:
    assert len(MISCOMPILES) >= 40
    assert len(HARMLESS) >= 40
    assert list(SEEDS) == [*MISCOMPILES, *HARMLESS]
    assert all(len(seeds) >= TRIED for seeds in SEEDS.values())
