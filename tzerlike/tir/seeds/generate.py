"""Turns recipes into checked seeds, in child processes that may die.

A recipe runs TVM, and TVM can take the process down (an operator that dereferences null, an LLVM abort). So
each source runs in a forked child that writes the name of every recipe before it starts it; when the child
dies, the recipe is recorded as dropped and a new child goes on with the rest.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, NoReturn

from tzerlike.core.errors import TzerlikeError
from tzerlike.core.forks import die_with_parent, fork, wait_for
from tzerlike.processes.forked import silence
from tzerlike.tir.seeds.cache import Collection
from tzerlike.tir.seeds.seed import Seed

MAX_NODES = 1200
"""Functions with more nodes are dropped: they compile slowly, and a mutation rarely matters in them."""

SECONDS = 30.0
"""Of processor time, for what is made of one recipe: TVM may run on without end."""

MAX_DEATHS = 25
"""Children of one source that may die before generation itself is taken to be broken."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """`build` returns the PrimFuncs that the recipe makes, by a suffix that is unique in it ("" for a lone one).

    `target` is the target the functions are meant for; None means cuda for those that bind threads, else llvm.
    """

    name: str
    build: Callable[[], Mapping[str, Any]]
    target: str | None = "llvm"


Factory = Callable[[], Iterable[Recipe]]
"""Returns the recipes of a source, in a fixed order; called in the child only, so it may import TVM."""


@dataclass(slots=True)
class _Source:
    """One source while its children run: what they said so far."""

    origin: str
    factory: Factory
    pid: int
    log: IO[bytes]
    done: set[str] = field(default_factory=set)
    seeds: list[tuple[str, Seed]] = field(default_factory=list)
    dropped: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SeedLimits:
    """What a function must meet to be a seed, beside being well-formed.

    `compiles`: those for llvm must pass the default pipeline (another target may lack its compiler here).
    """

    max_nodes: int
    compiles: bool


def generate(sources: Mapping[str, Factory], max_nodes: int = MAX_NODES, compiles: bool = True) -> Collection:
    """Run every source in a child of its own, all at once, and return their distinct seeds.

    Of structurally equal functions for one target only the first is kept, in the order of the sources and
    of their recipes. Raises TzerlikeError when a source fails by our own fault, or its children keep dying.
    """
    limits = SeedLimits(max_nodes, compiles)
    running = [_spawn(origin, factory, limits, frozenset()) for origin, factory in sources.items()]
    try:
        for source in running:
            _finish(source, limits)
    finally:
        for source in running:
            source.log.close()
    return _merge(running)


def _merge(sources: Iterable[_Source]) -> Collection:
    known: set[str] = set()
    seeds: dict[str, Seed] = {}
    dropped: list[tuple[str, str]] = []
    for source in sources:
        dropped += source.dropped
        for digest, seed in source.seeds:
            if seed.name in seeds:
                raise TzerlikeError(f"two seeds are called {seed.name}")
            if digest not in known:
                known.add(digest)
                seeds[seed.name] = seed
    return Collection(tuple(seeds[name] for name in sorted(seeds)), tuple(sorted(dropped)))


def _spawn(origin: str, factory: Factory, limits: SeedLimits, done: frozenset[str]) -> _Source:
    """Fork a child that works through the recipes of `factory` that are not in `done`."""
    log: IO[bytes] = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (closed by `generate`)
    parent = os.getpid()
    pid = fork()
    if pid == 0:
        die_with_parent(parent)
        _child(origin, factory, limits, done, log.fileno())
    return _Source(origin, factory, pid, log)


def _finish(source: _Source, limits: SeedLimits) -> None:
    """Wait for the child of `source`, and for as many successors as it takes, and collect what they wrote."""
    for _ in range(MAX_DEATHS):
        status = os.waitstatus_to_exitcode(wait_for(source.pid))
        source.log.seek(0)
        text = source.log.read()
        current: str | None = None
        pending: list[tuple[str, Seed]] = []
        # A line without its end is what the child was writing when it died.
        for line in text[: text.rfind(b"\n") + 1].splitlines():
            message = json.loads(line)
            match message["kind"]:
                case "start":
                    current, pending = message["name"], []
                case "seed":
                    pending.append((message["digest"], Seed.from_json(message["seed"])))
                case "drop":
                    source.dropped.append((message["name"], message["reason"]))
                case "stop":
                    source.seeds += pending
                    source.done.add(message["name"])
                    current, pending = None, []
                case "error":
                    raise TzerlikeError(f"seed source {source.origin} failed:\n{message['text']}")
                case "end":
                    return
        if current is None:
            raise TzerlikeError(f"seed source {source.origin}: its process ended early with status {status}")
        source.dropped.append((current, f"TVM killed the process (status {status})"))
        source.done.add(current)
        source.log.close()
        successor = _spawn(source.origin, source.factory, limits, frozenset(source.done))
        source.pid, source.log = successor.pid, successor.log
    raise TzerlikeError(f"seed source {source.origin}: {MAX_DEATHS} processes died, the last in {current}")


def _child(origin: str, factory: Factory, limits: SeedLimits, done: frozenset[str], log: int) -> NoReturn:
    """Write one JSON line per event to `log` and exit, whatever happens."""
    # TVM warns on stderr about perfectly good operators; a user has no use for it.
    silence()

    def tell(**message: Any) -> None:
        data = memoryview(json.dumps(message).encode() + b"\n")
        while data:
            data = data[os.write(log, data) :]

    try:
        from tzerlike.tir.seeds.check import check, digest_of

        for recipe in factory():
            if recipe.name in done:
                continue
            tell(kind="start", name=recipe.name)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                functions = recipe.build()
            except Exception as error:  # noqa: BLE001 (another TVM version may refuse any operator)
                tell(kind="drop", name=recipe.name, reason=_one_line(error))
                functions = {}
            for suffix, function in functions.items():
                name = f"{recipe.name}/{suffix}" if suffix else recipe.name
                try:
                    seed = check(name, origin, recipe.target, function, limits.max_nodes, limits.compiles)
                except Exception as error:  # noqa: BLE001 (as above, for the compiler)
                    tell(kind="drop", name=name, reason=_one_line(error))
                else:
                    tell(kind="seed", digest=f"{seed.target} {digest_of(function)}", seed=seed.to_json())
            tell(kind="stop", name=recipe.name)
        signal.setitimer(signal.ITIMER_PROF, 0)
        tell(kind="end")
    except BaseException:  # noqa: BLE001 (the parent raises it again)
        tell(kind="error", text=traceback.format_exc())
    finally:
        os._exit(0)


def _one_line(error: Exception) -> str:
    """Return the type and the last line of the message of `error`."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[-1].strip()[:200]}" if lines else type(error).__name__
