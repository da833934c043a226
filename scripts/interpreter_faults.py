"""Does anything that reads programs raise where it should have an opinion?

    python scripts/interpreter_faults.py DIRECTORY [--mutants N] [--shards N] [--seed N]

Mutates the built-in seeds for llvm and cuda, up to eight mutators deep, bends the JSON of some, lowers each mutant
(50,000 when N is not given) by random passes and the rest of the default pipeline, and hands the program and every
module that a pass leaves to whatever of ours looks at programs: what reads stored cases, the interpreter, the walk, the
judges of kernels and schedules, facts and labels, the comparison of memory. Whatever these raise is a fault. One of
each kind is kept in DIRECTORY, with its program; what killed a process is counted. A run that was interrupted goes on
where it was, and `--show` prints what it has come to. Exits 1 when there is a fault.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import resource
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from shards import run_command
from standalone import cache_directory

from tzerlike.core.case import ContextConfig, PassSpec
from tzerlike.core.effort import Effort
from tzerlike.core.rng import rng_for
from tzerlike.execution.compare.inputs import Inputs, inputs_for
from tzerlike.execution.compare.memory import CallMemory
from tzerlike.execution.compare.results import Builds, compile_baseline, interpret_seeded, judge_builds
from tzerlike.execution.cuda.lowered import with_memory_inside
from tzerlike.execution.diagnosis.meaning import Meaning
from tzerlike.mutators import GROUPS, MutationEnv, Mutator, make_mutators
from tzerlike.oracles.schedules.honest import honest
from tzerlike.oracles.schedules.judge import Base, claim_of
from tzerlike.passes.catalog import discover, steps_of
from tzerlike.passes.facts import facts_of
from tzerlike.passes.label import label
from tzerlike.passes.pipeline import default_pipeline
from tzerlike.passes.plan import PlannedSource
from tzerlike.processes.forked import each_in_child, in_child, silence
from tzerlike.systems import tvm_api
from tzerlike.systems.compilation import SILENT, Compilation
from tzerlike.systems.refusal import CompilerRefused
from tzerlike.systems.tvm_passes import PassTrail
from tzerlike.tir import interpreter
from tzerlike.tir.allowlist.stored import require_graph
from tzerlike.tir.interpreter import Judgement
from tzerlike.tir.seeds import builtin_seeds
from tzerlike.tir.thread_memory import keeps_to_its_threads, launches_threads
from tzerlike.tir.tree import Tree

T = TypeVar("T")

INNERMOST = 3
"""Frames that tell one fault from another."""

BATCH = 50
DEEPEST = 8
MOST_NODES = (80, 120, 200, 400)
"""Bounds of a mutant and the programs it is made of: small ones have it all, and take less time."""

STEPS = 4_000
ILL_FORMED_SHARE = 0.1
"""Mutants that TVM's verifiers need not accept: a bundle may hold anything."""

BENT_SHARE = 0.15
"""Mutants whose JSON is bent as a stranger may bend it: no constructor of TVM has seen what comes of that."""

NATIVE_SHARE = 1 / 24
CUDA_SHARE = 0.3
MEMORY = 6 << 30
TARGETS = {"llvm": '{"kind": "llvm", "opt-level": 0}', "cuda": '{"kind": "cuda", "arch": "sm_90"}'}


@dataclass(slots=True)
class Log:
    """What came of one mutant: how many modules were looked at, by whom, and what raised."""

    under_way: mmap.mmap
    """Shared with the shard, which asks what a child died of."""
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[dict[str, Any]] = field(default_factory=list)

    def stage(self, what: str) -> None:
        self.under_way[:] = what.encode()[: len(self.under_way)].ljust(len(self.under_way))

    def guard(self, what: str, module: Any, look: Callable[[], T]) -> T | None:
        """Return what `look` returns; None, and a fault noted, where it raises."""
        self.counts[what] += 1
        self.stage(what)
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - any is what is looked for
            frames = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)]
            self.faults.append(
                {
                    "kind": f"{type(error).__name__} in {what}: {' > '.join(frames[-INNERMOST:])}",
                    "traceback": traceback.format_exc()[-6000:],
                    "ir": _text_of(module),
                }
            )
            return None


def _text_of(module: Any) -> str:
    try:
        return tvm_api.dump_ir(module)
    except Exception:  # noqa: BLE001 - the fault counts, whether or not its program can be kept
        return ""


@dataclass(frozen=True, slots=True)
class World:
    """What mutants are made of, and passes drawn from."""

    programs: dict[str, list[tuple[int, Any]]]
    """By target, with the number of nodes."""
    mutators: Sequence[Mutator]
    sources: dict[str, PlannedSource]
    root: int
    under_way: mmap.mmap

    @classmethod
    def prepare(cls, root: int) -> World:
        cache, catalog = cache_directory(), discover()
        programs: dict[str, list[tuple[int, Any]]] = {}
        for target in TARGETS:
            funcs = [tvm_api.entry_of(tvm_api.load_ir(seed.ir)) for seed in builtin_seeds(cache, target)]
            programs[target] = [(Tree(func).size, func) for func in funcs]
        sources = {
            target: PlannedSource(catalog, lambda config, text=text: default_pipeline(text, config).passes)  # type: ignore[misc]
            for target, text in TARGETS.items()
        }
        return cls(programs, make_mutators(["all"]), sources, root, mmap.mmap(-1, 64))

    def examine(self, number: int) -> str:
        """Look at the mutant with a number; the Log as JSON."""
        rng = rng_for(self.root, "faults", number)
        log = Log(self.under_way)
        target = "cuda" if rng.random() < CUDA_SHARE else "llvm"
        func, parent = self.descendant(target, rng, log)
        module = tvm_api.module_of(func)
        log.guard("stored", module, partial(require_graph, tvm_api.dump_ir(module), "ir"))
        if rng.random() < BENT_SHARE:
            log.stage("load")
            module, parent = bent(module, rng) or module, None
            func = tvm_api.entry_of(module)
        seed = rng.getrandbits(32)
        meaning = self._look_at_program(func, module, parent, seed, rng, log)
        self._lower(module, target, meaning, seed, rng, log)
        return json.dumps({"counts": log.counts, "faults": log.faults})

    def descendant(self, target: str, rng: Random, log: Log) -> tuple[Any, Any | None]:
        """A mutant, and the program that a schedule made it of where that was the last thing that happened to it."""
        most = rng.choice(MOST_NODES)
        kinds = (target, "llvm") if rng.random() < 0.3 else (target,)
        programs = [func for kind in kinds for size, func in self.programs[kind] if size <= most]
        func, parent = rng.choice(programs), None
        any_form = rng.random() < ILL_FORMED_SHARE
        wanted = rng.randint(1, DEEPEST)
        env = MutationEnv(target=target, max_nodes=most, donor=lambda: rng.choice(programs))
        for _ in range(3 * DEEPEST):
            mutator = rng.choice(self.mutators)
            child = log.guard(f"mutate {mutator.name}", None, partial(_mutated, mutator, func, rng, env))
            log.stage("well-formed")
            if child is not None and (any_form or tvm_api.well_formed(tvm_api.module_of(child))):
                func, parent = child, func if mutator.name in GROUPS["schedule"] else None
                wanted -= 1
            if not wanted:
                break
        return func, parent

    def _look_at_program(
        self, func: Any, module: Any, parent: Any | None, seed: int, rng: Random, log: Log
    ) -> Meaning | None:
        steps = 5 * STEPS if rng.random() < 0.1 else STEPS
        found = log.guard("interpret", module, lambda: interpret_seeded(func, seed, Effort(steps=steps)))
        log.guard("scopes", module, lambda: (keeps_to_its_threads(func), launches_threads(func)))
        if found is None or found[0] is None or found[1] is None or not found[2].defined:
            return None
        inputs, judgement, _ = found
        log.guard("honest", module, lambda: honest(func, inputs.arguments, steps))
        log.guard("compare", module, lambda: _compared(inputs, judgement, rng))
        if rng.random() < NATIVE_SHARE and not launches_threads(func):
            log.guard("native", module, lambda: in_child(lambda: _native(func, module, seed)))
        if parent is not None:
            log.guard("schedule", module, lambda: _claimed(parent, func, seed))
        return Meaning(func, inputs, judgement)

    def _lower(self, module: Any, target: str, meaning: Meaning | None, seed: int, rng: Random, log: Log) -> None:
        facts = log.guard("facts", module, lambda: facts_of(tvm_api.dump_ir(module)))
        if facts is None:
            return
        source, text = self.sources[target], TARGETS[target]
        passes, config = source.fresh(rng, facts) if rng.random() < 0.8 else ((), ContextConfig())
        trail = PassTrail(lambda index, name: None)
        log.stage("compile")
        try:
            _compile(module, text, passes, config, trail)
        except CompilerRefused as refusal:
            said, failing = refusal.message, trail.under_way[-1][1] if trail.under_way else ""
            tail = () if config.pipeline == "none" else default_pipeline(text, config).passes
            log.guard("label", module, lambda: label((*passes, *tail), facts, failing, said))
        for turn in trail.turns:
            self._look_at_lowered(turn.after, target, meaning, seed, log)

    def _look_at_lowered(self, module: Any, target: str, meaning: Meaning | None, seed: int, log: Log) -> None:
        func = tvm_api.entry_of(module)
        if meaning is not None:
            log.guard("walk", module, lambda: meaning.look(module))
        elif not tvm_api.packed(func):
            log.guard("lowered", module, lambda: _run(func, seed))
        if target == "cuda":
            inside = log.guard("inside", module, lambda: _with_memory_inside(func))
            log.guard("scopes", module, lambda: keeps_to_its_threads(func))
            if inside is not None and meaning is not None:
                log.guard("kernel", inside, lambda: meaning.look(inside))


_EXPRESSIONS = ("prim.", "ir.IntImm", "ir.FloatImm", "ir.Var", "ir.Call", "ir.TensorLoad", "ir.StringImm")
_TYPES = ("ir.PrimType", "ir.PointerType", "tirx.BufferType")
_STATEMENTS = ("tirx.", "s_tir.")


def _family(node: dict[str, Any]) -> str:
    """What a node is to those that refer to it; "" for what is left alone."""
    kind = str(node["type"])
    families = {_EXPRESSIONS: "expression", _TYPES: "type", ("ffi.Array",): "list", _STATEMENTS: "statement"}
    return next((name for prefixes, name in families.items() if kind.startswith(prefixes)), "")


def bent(module: Any, rng: Random) -> Any | None:
    """A module with one to three references in its JSON led to other nodes of the sort; None where TVM refuses it."""
    graph = json.loads(tvm_api.dump_ir(module))
    nodes = graph["nodes"]
    families = [_family(node) for node in nodes]
    places = [
        (place, key)
        for place, node in enumerate(nodes)
        for key, value in _references(node)
        if families[place] and key not in _NUMBERS and 0 < value < place and families[value]
    ]
    for place, key in rng.sample(places, min(len(places), rng.randint(1, 3))):
        data = nodes[place]["data"]
        data[key] = rng.choice([other for other in range(place) if families[other] == families[data[key]]])
    try:
        loaded = tvm_api.load_ir(json.dumps(graph))
        return loaded if isinstance(tvm_api.entry_of(loaded), tvm_api.PrimFunc) else None
    except Exception:  # noqa: BLE001 - whatever TVM raises
        return None


_NUMBERS = ("kind", "iter_type", "data_alignment", "offset_factor", "lanes", "span", "storage_scope")
"""Fields that hold numbers and no references, and some that nobody minds."""


def _references(node: dict[str, Any]) -> list[tuple[Any, int]]:
    """The keys and targets of what may be references of a node."""
    data = node.get("data")
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [(key, value) for key, value in pairs if type(value) is int]


def _mutated(mutator: Mutator, func: Any, rng: Random, env: MutationEnv) -> Any | None:
    try:
        return mutator(func, rng, env)
    except Exception as error:
        if not tvm_api.raised_by_tvm(error):
            raise
        return None


def _compared(inputs: Inputs, judgement: Judgement, rng: Random) -> None:
    """Compare what lies in memory before a run, and bytes at random, as wrong code may leave them."""
    memory = CallMemory(inputs, judgement.expected)
    memory.compared()
    memory.as_expected()
    for cell in memory.cells.values():
        cell.take(rng.randbytes(cell.body.nbytes))
    memory.compared()
    memory.expect(memory.as_expected())
    memory.compared()
    memory.reset()


def _native(func: Any, module: Any, seed: int) -> None:
    """Run the baseline build; one that dies takes this process with it and is no fault."""
    builds = Builds(lambda: compile_baseline(module, SILENT), lambda: compile_baseline(module, SILENT))
    judge_builds(func, builds, seed, Effort(steps=STEPS), SILENT)


def _claimed(parent: Any, child: Any, seed: int) -> None:
    inputs, judgement, results = interpret_seeded(parent, seed, Effort(steps=STEPS))
    if inputs is not None and judgement is not None and results.defined:
        claim_of(Base(tvm_api.dump_ir(tvm_api.module_of(parent)), inputs, judgement), child)


def _run(func: Any, seed: int) -> None:
    for inputs in inputs_for(func, seed):
        interpreter.prepare(func).run(inputs.arguments, STEPS)
        return


def _with_memory_inside(func: Any) -> Any | None:
    inside = with_memory_inside(func) if not tvm_api.packed(func) else None
    return None if inside is None else tvm_api.module_of(inside)


def _compile(module: Any, text: str, passes: Sequence[PassSpec], config: ContextConfig, trail: PassTrail) -> None:
    """Run the passes and the default pipeline under an instrument; no machine code is generated."""
    pipeline = default_pipeline(text, config)
    rest = () if config.pipeline == "none" else pipeline.passes
    Compilation(text, config, steps_of((*passes, *rest, *pipeline.host)), [trail]).lower(module)


@dataclass(slots=True)
class Shard:
    """One process' share of the mutants: every `shards`-th number; what it has done stands in a file."""

    directory: Path
    number: int
    shards: int
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    deaths: list[tuple[int, str]] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.directory / f"shard-{self.number}-of-{self.shards}.json"

    def load(self) -> None:
        if self.path.exists():
            data = json.loads(self.path.read_text())
            self.done, self.counts = data["done"], Counter(data["counts"])
            self.faults, self.deaths = Counter(data["faults"]), data["deaths"]

    def save(self) -> None:
        data = {"done": self.done, "counts": self.counts, "faults": self.faults, "deaths": self.deaths}
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(data, indent=1))
        fresh.rename(self.path)

    def work(self, mutants: int, root: int) -> None:
        """Look at this shard's share of `mutants`."""
        silence()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        world = World.prepare(root)
        share = range(self.number, mutants, self.shards)
        while self.done < len(share):
            batch = share[self.done : self.done + BATCH]
            for number, (text, death) in zip(batch, each_in_child(batch, world.examine), strict=True):
                self._learn(number, text, f"died in {world.under_way[:].decode().strip()} of signal {death}")
            self.done += len(batch)
            self.save()

    def _learn(self, number: int, text: str | None, death: str) -> None:
        if text is None:
            self.counts[death] += 1
            self.deaths.append((number, death))
            return
        answer = json.loads(text)
        self.counts.update(answer["counts"])
        for fault in answer["faults"]:
            if not self.faults[fault["kind"]]:
                name = hashlib.sha256(fault["kind"].encode()).hexdigest()[:12]
                (self.directory / f"fault-{name}.json").write_text(json.dumps(fault | {"number": number}))
            self.faults[fault["kind"]] += 1


def show(shards: Sequence[Shard]) -> int:
    """Print what all shards came to; return the number of distinct faults."""
    counts: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for shard in shards:
        shard.load()
        counts.update(shard.counts)
        faults.update(shard.faults)
    mutated = sum(count for name, count in counts.items() if name.startswith("mutate "))
    print(f"{sum(shard.done for shard in shards)} mutants by {mutated} mutations, {len(faults)} distinct faults")
    for name, count in counts.most_common():
        if not name.startswith("mutate "):
            print(f"  {name:20} {count:9}")
    for kind, count in faults.most_common():
        print(f"  {count:7} x {kind}")
    return len(faults)


if __name__ == "__main__":
    run_command(Shard, show, mutants=50_000, shards=3)
