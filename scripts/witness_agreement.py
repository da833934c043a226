"""Does the interpreter compute the same as the witness?

    python scripts/witness_agreement.py DIRECTORY [--mutants N] [--shards N] [--seed N]

Has the interpreter run the built-in seeds and N mutants of them (default: 10,000) for llvm, up to eight mutators deep,
and asks the witness (tzerlike.tir.witness) about those that it calls defined, 50 in a file of C. Programs to which the
witness objects are kept in DIRECTORY, each with its archive, and one for each reason why it cannot say. Prints how many
it confirms, objects to, and cannot judge. An interrupted run continues where it stopped, and `--show` prints the
results so far. Exits 1 if the witness objects.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import resource
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy
from interpreter_faults import MEMORY, Log, World
from shards import run_command
from standalone import cache_directory

from tzerlike.core.effort import Effort
from tzerlike.core.rng import rng_for
from tzerlike.execution.compare.evidence import archive_of
from tzerlike.execution.compare.results import interpret_seeded
from tzerlike.processes.forked import each_in_child, silence
from tzerlike.systems import tvm_api
from tzerlike.tir.seeds import builtin_seeds
from tzerlike.tir.witness.verdict import WitnessQuestion, WitnessWord, depositions

BATCH = 50
STEPS = 20_000


@dataclass(slots=True)
class Shard:
    """One process' share of the programs: every `shards`-th number; what it has done stands in a file."""

    directory: Path
    number: int
    shards: int
    done: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def path(self) -> Path:
        return self.directory / f"shard-{self.number}-of-{self.shards}.json"

    def load(self) -> None:
        if self.path.exists():
            data = json.loads(self.path.read_text())
            self.done, self.counts = data["done"], Counter(data["counts"])

    def save(self) -> None:
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps({"done": self.done, "counts": self.counts}, indent=1))
        fresh.rename(self.path)

    def work(self, mutants: int, root: int) -> None:
        """Judge this shard's share of the seeds and of `mutants`."""
        silence()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
        world, seeds = World.prepare(root), [seed.ir for seed in builtin_seeds(cache_directory(), "llvm")]
        share, interpreted = range(self.number, len(seeds) + mutants, self.shards), partial(_interpreted, world, seeds)
        while self.done < len(share):
            asked: list[tuple[int, WitnessQuestion]] = []
            while self.done < len(share) and len(asked) < BATCH:
                some = share[self.done : self.done + BATCH - len(asked)]
                for number, (text, _) in zip(some, each_in_child(some, interpreted), strict=True):
                    verdict, ir, archive = json.loads(text) if text is not None else ("died", "", "")
                    self.counts[f"interpreter: {verdict}"] += 1
                    if verdict == "defined":
                        asked.append((number, WitnessQuestion(ir, _arrays(base64.b64decode(archive)))))
                self.done += len(some)
            self._judge(asked)
            self.save()

    def _judge(self, asked: list[tuple[int, WitnessQuestion]]) -> None:
        start = time.monotonic()
        # Not what mutates and interprets: AddressSanitizer maps more.
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        said = depositions([question for _, question in asked], tvm_api.llvm_intrinsic_name)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
        self.counts["milliseconds of the witness"] += int(1000 * (time.monotonic() - start))
        for (number, question), one in zip(asked, said, strict=True):
            self.counts[f"witness: {one.word}"] += 1
            if one.word is WitnessWord.CANNOT_SAY:
                self.counts[f"cannot say: {one.reason}"] += 1
                first = self.directory / f"cannot-say-{hashlib.sha256(one.reason.encode()).hexdigest()[:8]}.json"
                first.write_text(question.ir)
            elif one.word is WitnessWord.OBJECTS:
                self.counts[f"objects: {number}: {one.reason}"] += 1
                (self.directory / f"objection-{number}.json").write_text(question.ir)
                numpy.savez_compressed(self.directory / f"objection-{number}.npz", **question.arrays)


def _arrays(archive: bytes) -> dict[str, Any]:
    with numpy.load(io.BytesIO(archive)) as arrays:
        return dict(arrays)


def _interpreted(world: World, seeds: list[str], number: int) -> str:
    """The interpreter's verdict on a seed or, behind those, on a mutant; with the program and an archive."""
    if number < len(seeds):
        func = tvm_api.entry_of(tvm_api.load_ir(seeds[number]))
    else:
        func, _ = world.descendant("llvm", rng_for(world.root, "witness", number), Log(world.under_way))
    ir = tvm_api.dump_ir(tvm_api.module_of(func))
    inputs, judgement, results = interpret_seeded(func, number, Effort(steps=STEPS))
    if inputs is None or judgement is None or not results.defined:
        return json.dumps([results.verdict, "", ""])
    return json.dumps(["defined", ir, base64.b64encode(archive_of(inputs, judgement)).decode()])


def show(shards: list[Shard]) -> int:
    """Print what all shards came to; return the number of objections."""
    counts: Counter[str] = Counter()
    for shard in shards:
        shard.load()
        counts.update(shard.counts)
    print(f"{sum(shard.done for shard in shards)} programs")
    for name, count in sorted(counts.items(), key=lambda row: (row[0].partition(":")[0], -row[1])):
        print(f"  {count:7} {name}")
    return counts[f"witness: {WitnessWord.OBJECTS}"]


if __name__ == "__main__":
    run_command(Shard, show, mutants=10_000, shards=2)
