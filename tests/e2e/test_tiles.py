"""Kernels in TileLang's dialect on its fork of TVM: seeds, mutants, and what becomes of them in a campaign."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import ROOT, there
from tzerlike.core.case import Case, ContextConfig, Provenance
from tzerlike.core.stored import StoredCase
from tzerlike.passes.tilelang import tile_pipeline
from tzerlike.systems import TVM

pytestmark = pytest.mark.long

SEEDS = """
import json, os, sys
from pathlib import Path
from tzerlike.tir.seeds import builtin_collection
found = builtin_collection(Path(sys.argv[1]))
seeds = [seed.to_json() for seed in found.seeds if seed.origin == "tiles"]
print(json.dumps({"seeds": seeds, "dropped": [entry for entry in found.dropped if entry[0].startswith("tiles.")]}))
"""

UNUSUAL = """
import json, sys
from tzerlike.systems import tvm_api
from tzerlike.tir.odd.vocabulary import unusual
from tzerlike.tir.tree import Tree

programs = [seed["ir"] for seed in json.load(open(sys.argv[1]))["seeds"]]
forms = [form for ir in programs for _, form in unusual(Tree(tvm_api.entry_of(tvm_api.load_ir(ir))))]
print(json.dumps(sorted(set(forms))))
"""

MUTANTS = """
import json, sys
from random import Random
from tzerlike.core.case import ContextConfig
from tzerlike.core.rng import rng_for
from tzerlike.mutators import OF_TILES, MutationEnv, make_mutators
from tzerlike.mutators.attempt import attempted
from tzerlike.passes.catalog import steps_of
from tzerlike.passes.tilelang import tile_pipeline
from tzerlike.processes.forked import in_child
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import Compilation
from tzerlike.systems.refusal import CompilerRefused

target = '{"kind": "cuda", "arch": "sm_80"}'
steps = steps_of(tile_pipeline(target))
config = ContextConfig(pipeline="tiles")

def lowered(text):
    try:
        Compilation(target, config, steps).build(tvm_api.load_ir(text))
    except CompilerRefused as refusal:
        return refusal.message
    return "ok"

programs = [seed["ir"] for seed in json.load(open(sys.argv[1]))["seeds"] if seed["target"] == "cuda"]
for number in range(200):
    rng = rng_for(7, number)
    mutator = rng.choice(make_mutators(["tiles"]))
    made = attempted(mutator, tvm_api.entry_of(tvm_api.load_ir(rng.choice(programs))), rng, MutationEnv(target="cuda"))
    if made.text is not None or made.why:
        said, _ = in_child(lambda: lowered(made.text)) if made.text else (made.why, None)
        if said == "ok":
            programs.append(made.text)
        print(json.dumps([mutator.name, said or "died"]), flush=True)
"""


@pytest.fixture(scope="module")
def tile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of commands, with TileLang's TVM that is added as `tile`."""
    version = next(iter(TVM.forks["tilelang"].releases))
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache")), "PYTHONPATH": str(ROOT)}
    done = command(variables, "tvm", "add", "tile", "--wheel", f"tilelang=={version}")
    if done.returncode:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    yield variables


def command(variables: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "tzerlike", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, env=variables, timeout=1800, check=False)


@pytest.fixture(scope="module")
def seeds(tile: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The seeds in the dialect, as a file and as they are."""
    place = tmp_path_factory.mktemp("seeds")
    (place / "seeds.json").write_text(there(tile, "tile", SEEDS, place))
    return place / "seeds.json", json.loads((place / "seeds.json").read_text())


def test_at_least_sixty_kernels_are_lowered_to_source_for_a_gpu(seeds: tuple[Path, dict[str, Any]]) -> None:
    found = Counter(seed["target"] for seed in seeds[1]["seeds"])
    assert found["cuda"] >= 60 and found["llvm"] >= 30
    reasons = [reason for name, reason in seeds[1]["dropped"] if not name.startswith("tiles.cpu.")]
    products = [reason for reason in reasons if "No infer layout function found for gemm" in reason]
    assert len(reasons) - len(products) <= 1, reasons


def test_kernels_have_no_form_that_is_unusual_in_the_dialect(
    tile: dict[str, str], seeds: tuple[Path, dict[str, Any]]
) -> None:
    """What scripts/usual_forms.py writes in an environment of TileLang; without it nothing there were in tier 1."""
    assert json.loads(there(tile, "tile", UNUSUAL, seeds[0])) == []


def test_most_mutants_are_lowered(tile: dict[str, str], seeds: tuple[Path, dict[str, Any]]) -> None:
    lines = [json.loads(line) for line in there(tile, "tile", MUTANTS, seeds[0]).splitlines()]
    outcomes = Counter(said == "ok" for _, said in lines)
    assert len(lines) >= 100 and outcomes[True] >= 0.7 * len(lines), Counter(said for _, said in lines)
    assert len({name for name, said in lines if said == "ok"}) >= 9


def test_what_the_drivers_own_lowering_fails_on_is_an_internal_error(
    tile: dict[str, str], seeds: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """`ptx_wait_group(1 - i)` is left in a loop that is not unrolled, and code generation wants a number there."""
    target = '{"kind": "cuda", "arch": "sm_80"}'
    (program,) = [seed["ir"] for seed in seeds[1]["seeds"] if seed["name"] == "tiles.pipeline-unknown-length"]
    case = Case(program, tile_pipeline(target), ContextConfig(pipeline="tiles"), target)
    (tmp_path / "case.json").write_text(json.dumps(StoredCase(case, Provenance("test")).to_json()))
    said = json.loads(command(tile, "run", "--tvm", "tile", tmp_path / "case.json", "--json").stdout)
    assert said["message"] == "TypeError: Downcast from tirx.Sub to ir.IntImm failed."
    assert said["finding"]["kind"] == "ice-on-valid"


def test_a_campaign_lowers_kernels_by_their_own_pipeline(tile: dict[str, str], tmp_path: Path) -> None:
    options = ("--iterations", "60", "--budget", "20m", "--jobs", "1", "--seed", "5", "--ui", "plain")
    where = ("--tvm", "tile", "--seeds", "tiles", "--target", "cuda", "--arch", "sm_80")
    done = command(tile, "fuzz", *where, *options, "--out", tmp_path / "campaign")
    assert done.returncode == 0, done.stderr
    stats = json.loads((tmp_path / "campaign/stats.json").read_text())
    assert stats["iterations"] == 60 and not stats["faults"]
    assert stats["coverage_libraries"]["libtilelang.so"]["covered"] > 10_000
    assert stats["valid_rate"] >= 0.7 and any(name.startswith("tile-") for name in stats["mutators"])
    cases = [json.loads(file.read_text())["case"] for file in (tmp_path / "campaign/corpus").glob("*.json")]
    assert {case["config"]["pipeline"] for case in cases} == {"tiles"}
