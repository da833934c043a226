"""The built-in seeds on the real TVM: how many, how distinct, well-formed, compiling, the same every time."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tzerlike.core.case import Case
from tzerlike.core.rng import rng_for
from tzerlike.systems import tvm_api, tvm_build
from tzerlike.tir import seeds
from tzerlike.tir.seeds.cache import Collection
from tzerlike.tir.seeds.check import canonical_ir, digest_of
from tzerlike.tir.seeds.generate import Recipe, generate
from tzerlike.tir.seeds.seed import Seed

PAPER = 629
"""The number of initial functions in the paper."""

DIGEST = (
    "import hashlib, sys; from pathlib import Path; from tzerlike.tir import seeds as seedgen;"
    "seeds = seedgen.builtin_seeds(Path(sys.argv[1]));"
    "print(hashlib.sha256(repr([(s.name, s.ir, s.nodes) for s in seeds]).encode()).hexdigest())"
)

SCRIPT = """
@T.prim_func
def good(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = A[i] + T.float32(1)


@T.prim_func
def bad(A: T.Buffer((4,), "float32")):
    A[0] = no_such_name
"""

KERNEL = """
@T.prim_func
def kernel(A: T.Buffer((4,), "float32")):
    for i in T.thread_binding(4, thread="threadIdx.x"):
        A[i] = T.float32(1)
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def collection(cache: Path) -> Collection:
    return seeds.builtin_collection(cache)


@pytest.mark.long
def test_enough_distinct_functions(collection: Collection) -> None:
    programs = [seed for seed in collection.seeds if seed.target == "llvm"]
    digests = {tvm_api.structural_hash(tvm_api.load_ir(seed.ir)) for seed in programs}
    assert len(digests) == len(programs) >= PAPER
    assert [seed.name for seed in collection.seeds] == sorted({seed.name for seed in collection.seeds})
    tiles = set() if tvm_api.HAS_TILES else {"tiles"}
    assert {seed.origin for seed in collection.seeds} == set(seeds.SOURCES) - tiles


@pytest.mark.long
def test_every_source_gives_all_it_promises(collection: Collection) -> None:
    assert collection.dropped == ()


@pytest.mark.long
def test_every_seed_is_well_formed_and_stable(collection: Collection) -> None:
    for seed in collection.seeds:
        module = tvm_api.load_ir(seed.ir)
        assert [name.name_hint for name in module.functions] == [tvm_api.ENTRY], seed.name
        assert tvm_api.well_formed(module), seed.name
        assert tvm_api.dump_ir(module) == seed.ir, seed.name
        assert '"ir.Span"' not in seed.ir, seed.name


def _sample(seeds: tuple[Seed, ...]) -> list[Seed]:
    compiled = [seed for seed in seeds if seed.target == "llvm"]
    rest = [seed for seed in compiled if seed.origin != "handwritten"]
    return [seed for seed in compiled if seed.origin == "handwritten"] + rng_for(0, "seeds").sample(rest, 60)


@pytest.mark.long
def test_seeds_compile_at_default_settings(collection: Collection) -> None:
    for seed in _sample(collection.seeds):
        tvm_build.build(tvm_api.load_ir(seed.ir), tvm_build.target_of(seed.target))


@pytest.mark.long
def test_a_cached_load_makes_nothing_and_is_equal(
    collection: Collection, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeds, "generate", lambda sources: pytest.fail("made again"))
    assert seeds.builtin_collection(cache) == collection


@pytest.mark.long
def test_another_process_makes_the_same_seeds(collection: Collection, cache: Path, tmp_path: Path) -> None:
    def digest(directory: Path, hash_seed: str) -> str:
        command = ["env", f"PYTHONHASHSEED={hash_seed}", sys.executable, "-c", DIGEST, str(directory)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert digest(cache, "1") == digest(tmp_path, "2")


@pytest.mark.long
def test_target_filter(collection: Collection, cache: Path) -> None:
    every = seeds.builtin_seeds(cache)
    parts = [seeds.builtin_seeds(cache, target) for target in ("llvm", "cuda")]
    assert every == collection.seeds
    assert sorted(parts[0] + parts[1], key=lambda seed: seed.name) == list(every)
    assert parts[1]


@pytest.mark.long
def test_directory(collection: Collection, tmp_path: Path) -> None:
    ir = collection.seeds[0].ir
    case = Case(collection.seeds[1].ir, target="cuda").to_json()
    deep = tmp_path / "deep"
    deep.mkdir()
    (tmp_path / "case.json").write_text(json.dumps(case))
    (tmp_path / "entry.json").write_text(json.dumps({"case": Case(collection.seeds[2].ir).to_json()}))
    (tmp_path / "ir.json").write_text(ir)
    (tmp_path / "same.json").write_text(ir)
    (deep / "script.py").write_text(SCRIPT)
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "future.json").write_text(json.dumps({**case, "schema_version": 99}))
    (tmp_path / "graph.json").write_text('{"root_index": 7, "nodes": [{"type": "None"}]}')
    (tmp_path / "syntax.py").write_text("def f(:\n")
    (tmp_path / "empty.py").write_text("x = 1\n")
    found, problems = seeds.seeds_from_directory(tmp_path)
    assert [(seed.name, seed.target) for seed in found] == [
        ("case.json", "cuda"),
        ("deep/script.py::good", "llvm"),
        ("entry.json", "llvm"),
        ("ir.json", "llvm"),
        ("kernel.py", "cuda"),
    ]
    assert {seed.origin for seed in found} == {"dir"}
    assert [path.name for path, _ in problems] == [
        "broken.json",
        "script.py",
        "empty.py",
        "future.json",
        "graph.json",
        "list.json",
        "syntax.py",
    ]
    assert all(reason and "\n" not in reason for _, reason in problems)


def test_a_users_file_is_parsed_and_never_run(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    (tmp_path / "evil.py").write_text(f"open({str(witness)!r}, 'w').close()\n{SCRIPT}")
    seeds.seeds_from_directory(tmp_path)
    assert not witness.exists()


def _function(value: int) -> object:
    tirx = tvm_api.tirx
    return tvm_api.PrimFunc([], tirx.Evaluate(tirx.const(value, "int32")))


def test_a_recipe_that_kills_the_process_or_has_no_end_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("tzerlike.tir.seeds.generate"), "SECONDS", 1.0)

    def spin() -> dict[str, object]:
        while True:
            pass

    def die() -> dict[str, object]:
        os.kill(os.getpid(), signal.SIGKILL)
        return {}

    def recipes() -> list[Recipe]:
        return [
            Recipe("a", lambda: {"": _function(1)}),
            Recipe("b", die),
            Recipe("c", lambda: {"x": _function(2), "y": _function(1)}),
            Recipe("d", lambda: {"": 1 / 0}),
            Recipe("e", spin),
        ]

    made = generate({"topi": recipes})
    assert [seed.name for seed in made.seeds] == ["a", "c/x"]
    assert [name for name, _ in made.dropped] == ["b", "d", "e"]
    assert "killed" in made.dropped[0][1] and "ZeroDivisionError" in made.dropped[1][1]


def test_canonical_text_has_no_source_positions() -> None:
    function = tvm_api.parse_script(KERNEL)
    text = canonical_ir(function)
    assert "ir.Span" not in text
    assert digest_of(tvm_api.entry_of(tvm_api.load_ir(text))) == digest_of(function)
