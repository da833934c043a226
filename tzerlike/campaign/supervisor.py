"""The supervisor: runs a campaign to its end, whatever happens to its processes, and keeps the books."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tzerlike.campaign.announcing import Announcer
from tzerlike.campaign.books import Books
from tzerlike.campaign.budget import nearly_over
from tzerlike.campaign.directory import ENVIRONMENT, MIRROR, CampaignDir
from tzerlike.campaign.machines import difference, write_machine
from tzerlike.campaign.recovery import recover
from tzerlike.campaign.shard import Part
from tzerlike.campaign.state import StatesRead, WorkerState
from tzerlike.campaign.stats import CurvePoint
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import UserError
from tzerlike.core.observation import Exit
from tzerlike.core.storage import TEMPORARY, NoSpace, write_atomic, write_json, write_new
from tzerlike.coverage.focus import Focus, write_focus
from tzerlike.oracles import loads_for, make_oracles
from tzerlike.plugins import harness_named
from tzerlike.processes.caller import require_confinement
from tzerlike.processes.client import Client, StartCancelled
from tzerlike.processes.cores import claimed_cores
from tzerlike.processes.crew import Crew, Death
from tzerlike.processes.signals import Stopped, StopRequest

REFRESH = 0.5
_SAVE_EVERY = 2.0
STOP_PATIENCE = 15.0
OVERTIME = 20.0
"""Seconds beyond its budget for a worker to come to an end by itself, with a finding in hand."""

_GRACE = 0.3
"""The same without a finding in hand: what is given up is done again after a resume."""

_SAID = 1.0
"""Seconds of a start, or beyond the budget, that are not said."""

IN_HAND = ("report", "suspect", "define", "judge again")
"""What workers are at (ShardWorker's notes) while a finding is being confirmed."""

_SAME_ON_RESUME = ("tvm", "tvm_ffi", "compiler_library", "coverage_backend")
_OPTIONS = {"plugins": "plugin", "nodes": "shard"}
"""The options of `fuzz` that are not called what they set."""

FREE_ON_RESUME = ("budget", "iterations", "known")


@dataclass(slots=True)
class Wishes:
    """What whoever watches a campaign asks of it."""

    end: bool = False
    pause: bool = False


@dataclass(frozen=True, slots=True)
class Core:
    """A worker as a screen shows it: iterations a second, and the one whose findings it has in hand, -1 if none."""

    slot: int
    speed: float
    in_hand: int = -1


@dataclass(frozen=True, slots=True)
class View:
    """What a screen shows: the resolved configuration and the numbers so far."""

    config: CampaignConfig
    directory: CampaignDir
    stats: Mapping[str, Any]
    curve: tuple[CurvePoint, ...]
    status: str
    cores: tuple[Core, ...] = ()


@dataclass(slots=True)
class Supervisor:
    """Runs one campaign. `show` is called with a View about twice a second; `tell` with one line per event.

    `python` is the interpreter that has the TVM in question; None for this one. `unconfined` says that a corpus from
    elsewhere may be run where cases cannot be confined. `node` is which of the campaign's machines this is: each has
    its own workers in the one directory, and one of them at a time keeps the books. What first reaches the `focus` is
    mutated most.
    """

    config: CampaignConfig
    directory: CampaignDir
    cache_dir: Path
    environment: Mapping[str, str]
    show: Callable[[View], None]
    tell: Callable[[str], None]
    resume: bool = False
    unconfined: bool = False
    python: Path | None = None
    wishes: Wishes = field(default_factory=Wishes)
    node: int = 0
    focus: Focus | None = None
    _stop: StopRequest = field(default_factory=StopRequest)
    _started: float | None = None
    _elapsed_before: float = 0.0
    _paused: set[int | None] = field(default_factory=set)
    _books: Books = field(init=False)
    _announcer: Announcer = field(init=False)
    _cores: tuple[int, ...] = ()
    _read: StatesRead = field(default_factory=StatesRead)

    def __post_init__(self) -> None:
        self._books = Books(self.directory)
        self._announcer = Announcer(self.directory, self.tell)

    def run(self) -> tuple[dict[str, Any], int]:
        """Run to the end of the budget; returns the final statistics, and the signal that stopped it, 0 if none did.

        Raises Stopped when it was stopped before it began, and UserError or TzerlikeError when it cannot start or
        cannot go on; all that was found is saved by then.
        """
        with StopRequest() as self._stop, contextlib.ExitStack() as stack:
            if self.resume:
                stack.enter_context(self._lock())
                for problem in recover(self.directory, None if self._part.alone else self._part.numbers):
                    self.tell(problem)
            self._books.open()
            stack.callback(self._books.close)
            self._elapsed_before = self._elapsed_so_far()
            if self._elapsed_before >= self.config.budget:
                raise UserError(
                    f"{self.directory.root}: the campaign has used its budget of {self.config.budget:.0f} s; "
                    "give a larger --budget with --resume"
                )
            self._cores = stack.enter_context(claimed_cores(self.config.jobs))
            began = time.monotonic()
            crew = Crew(self.config.jobs, self._start_client, self._order, self.tell, self._pauses)
            stack.callback(crew.close)
            try:
                facts = crew.begin().facts
            except StartCancelled:
                raise Stopped(self._stop.number) from None
            # Only now, so that a set-up that fails leaves nothing behind.
            self.directory.create(self.config.jobs, self._part.numbers.start)
            if not self.resume:
                stack.enter_context(self._lock())
            if self._part.alone:
                write_atomic(self.directory.config, self.config.to_toml())
            if self._part.alone or not self.directory.environment.exists():
                self._write_environment(facts)
            if self.focus is not None:
                write_focus(self.directory.focus, self.focus)
            if (spent := time.monotonic() - began) > _SAID:
                self.tell(f"TVM and the seeds were ready after {spent:.0f} s; the budget counts from now")
            self._supervise(crew)
            crew.close()
            stats = self._stats(crew, self._states(), at_the_end=True)
            self._save(stats, crew)
            self._announcer.look(stats)
            if crew.failure is not None:
                raise crew.failure
            return stats, self._stop.number

    def _start_client(self) -> Client:
        """Start a zygote that counts what the campaign has reached so far; the first time, prepare the seeds, too."""
        starts = self._started is None
        if starts:
            self.show(self._view({}, "starting TVM"))
        client = Client(
            slots=self.config.jobs,
            coverage=self.config.coverage,
            cache_dir=self.cache_dir,
            environment=self.environment,
            restore=sorted(self.directory.root.glob("workers/*/coverage.bits")),
            python=self.python,
            system=self.config.system,
            cancelled=self._unwanted,
            cores=self._cores,
            loads=loads_for(self.config.oracles),
        )
        try:
            if starts:
                self._check_environment(client.facts)
                if self.resume and not self.directory.environment.exists():
                    # A cluster that refuses this machine need not wait for its seeds.
                    self._write_environment(client.facts)
                self.show(self._view({}, "preparing seeds"))
                self._prepare(client)
            if self._unwanted():
                raise StartCancelled
        except BaseException:
            client.close()
            raise
        return client

    def _write_environment(self, facts: Mapping[str, Any]) -> None:
        write_json(self.directory.environment, ENVIRONMENT.stamped(facts))

    def _unwanted(self) -> bool:
        return bool(self._stop) or self._time_left() <= 0

    def _prepare(self, client: Client) -> None:
        params = {
            "harness": self.config.harness,
            "mutators": list(self.config.mutator_names),
            "oracles": list(self.config.oracles),
            "seeds": self.config.seeds,
            "target": self.config.target,
            "cache_dir": str(self.cache_dir),
        }
        for answer in client.ask("prepare", params, self._unwanted):
            for problem in answer["problems"]:
                self.tell(f"seed left out: {problem}")

    def _elapsed(self) -> float:
        """Seconds that the campaign has run, in earlier runs too."""
        return self._elapsed_before + (0.0 if self._started is None else time.monotonic() - self._started)

    def _time_left(self) -> float:
        return self.config.budget - self._elapsed()

    def _supervise(self, crew: Crew) -> None:
        """Keep the crew at work until it is done, or its time is up, or a signal asks for an end.

        Nothing that a worker does, or fails to do, holds this up.
        """
        self._started = time.monotonic()
        self.directory.pause(self.node).unlink(missing_ok=True)
        stopping_since: float | None = None
        saved, in_hand = 0.0, False
        while crew.running:
            turned = time.monotonic()
            try:
                crew.turn(REFRESH)
            except StartCancelled:
                crew.stop()
            self._rest(time.monotonic() - turned)
            now = time.monotonic()
            late = -self._time_left()
            states = self._states()
            confirming = late > 0 and _confirming(crew, states)
            in_hand |= confirming
            over = late > (OVERTIME if confirming else _GRACE)
            if stopping_since is None and (self._stop or self.wishes.end or crew.failure is not None or over):
                stopping_since = now
                crew.stop()
            if stopping_since is not None and (self._stop.urgent or now - stopping_since > STOP_PATIENCE):
                self.tell("a worker did not stop in time and was killed; its last save is kept")
                return
            stats = self._stats(crew, states)
            if now - saved > _SAVE_EVERY:
                saved = now
                try:
                    self._save(stats, crew)
                    self._pauses(None, "")
                except NoSpace as error:
                    self._pauses(None, str(error))
                except UserError as error:
                    crew.failure = crew.failure or error
            if self._part.alone and len(states) == self.config.jobs and all(state.idle for state in states):
                crew.failure = crew.failure or _without_seeds(stats)
            self._announcer.look(stats)
            self.show(self._view(stats, "stopping" if stopping_since is not None else self._doing(states), states))
        if (late := -self._time_left()) > _SAID and not self._stop:
            why = "a finding was being confirmed" if in_hand else "its workers took that long to stop"
            self.tell(f"the campaign ended {late:.0f} s after its budget: {why}")

    def _rest(self, seconds: float) -> None:
        """Have the workers rest or go on, as is wished; the `seconds` just gone do not count where they did."""
        assert self._started is not None
        wished = self.wishes.pause and not self._stop and not self.wishes.end
        pause = self.directory.pause(self.node)
        paused = pause.exists()
        if paused:
            self._started += seconds
        # Where the disk has no room for it, the next turn tries again.
        with contextlib.suppress(OSError):
            if paused and not wished:
                pause.unlink(missing_ok=True)
            elif wished and not paused:
                pause.touch()

    def _doing(self, states: Iterable[WorkerState]) -> str:
        if self._paused:
            return "paused: no space left"
        if self.wishes.pause:
            return "paused"
        ends = nearly_over(self._elapsed(), self.config.budget, self.config.iterations)
        urgent = any(one.urgent for state in states for one in state.to_reduce)
        return "reducing what was found" if ends and urgent else "fuzzing"

    def _pauses(self, slot: int | None, why: str) -> None:
        """Note that a worker, or with None the supervisor itself, cannot write for now, or can again; `why` is ""
        then."""
        before = bool(self._paused)
        if why:
            self._paused.add(slot)
        else:
            self._paused.discard(slot)
        if before != bool(self._paused):
            line = f"paused: {why.partition(';')[0]}; it continues once there is room"
            self.tell(line if why else "there is room again; continuing")

    def _order(self, slot: int, death: Death | None) -> tuple[str, dict[str, Any]]:
        """The role and the parameters of a worker, which bundles the mutation that killed the one before it."""
        self._paused.discard(slot)
        shard = self._part.shards[slot]
        params = {
            "root": str(self.directory.root.resolve()),
            "cache_dir": str(self.cache_dir),
            "elapsed": self._elapsed(),
            "shard": asdict(shard),
            "culprit": None,
        }
        if death is not None and death.mutation is not None:
            mutator, iteration, draw, parent = death.mutation
            params["culprit"] = {
                "seed": self.config.seed,
                "worker": shard.index,
                "iteration": iteration,
                "draw": draw,
                "mutator": mutator,
                "parent": parent,
                "signal": death.signal,
            }
        elif death is not None and death.times > 1:
            # The first time, that iteration is done again.
            why = f"the worker ended {death.times} times in this iteration, the last time {death.how}"
            params["culprit"] = {"iteration": death.iteration, "doing": death.doing, "why": why}
        return "campaign", params

    def _check_environment(self, facts: Mapping[str, Any]) -> None:
        """Compare what the campaign depends on with what an earlier run recorded; UserError when it differs."""
        if not self._part.alone and self.directory.environment.exists():
            if why := difference(facts, self.directory.read_environment()):
                # Whoever reads of a mirror is told which machine it is.
                raise UserError(why if self._mirrored else f"{self.directory.root}: this machine cannot join: {why}")
        elif self.resume and self.directory.environment.exists():
            before = self.directory.read_environment()
            for key in _SAME_ON_RESUME:
                if before.get(key) != facts.get(key):
                    raise UserError(
                        f"{self.directory.root}: the campaign ran with {key} {before.get(key)}, here it is "
                        f"{facts.get(key)}; resume it with the former, or start a new one with another --out"
                    )
        if facts.get("address_randomisation") == "on":
            self.tell("address randomization cannot be turned off: two runs with the same seed may differ slightly")
        if facts["confinement"] != "on":
            if self.config.corpus and not self.unconfined:
                require_confinement(facts)
            self.tell(f"cases are not confined here ({facts['confinement']}): a wrong program may do anything")

    @property
    def _part(self) -> Part:
        return Part(self.config.jobs, self.node, self.config.nodes)

    def _states(self) -> list[WorkerState]:
        """The states of this machine's workers."""
        paths = map(self.directory.worker_state, self._part.numbers)
        return [self._read.of(path) for path in paths if path.exists()]

    def _elapsed_so_far(self) -> float:
        last = self._books.curve[-1].elapsed_s if self._books.curve and self._part.alone else 0.0
        return max((state.elapsed for state in self._states()), default=last)

    def _stats(self, crew: Crew, states: Sequence[WorkerState], at_the_end: bool = False) -> dict[str, Any]:
        """Add up the whole campaign, of which a mirror has only a part, at the end; `states` are those of this
        machine."""
        if self._mirrored and not at_the_end:
            return {}
        if self._part.alone:
            return self._books.stats(states, crew.restarted)
        return self._books.total(anew=at_the_end)

    def _save(self, stats: Mapping[str, Any], crew: Crew) -> None:
        """Write this machine's word and, where none of the others does, the campaign's books."""
        if self._mirrored or not self._part.alone:
            write_machine(self.directory, self._part, crew.restarted)
        if not self._mirrored and (self._part.alone or self._books.taken()):
            self._books.save(stats)

    @property
    def _mirrored(self) -> bool:
        return (self.directory.root / MIRROR).exists()

    def _view(self, stats: Mapping[str, Any], status: str, states: Iterable[WorkerState] = ()) -> View:
        cores = tuple(
            Core(
                state.worker,
                state.iterations / state.elapsed if state.elapsed else 0.0,
                -1 if state.in_hand is None else int(state.in_hand.provenance.get("iteration", -1)),
            )
            for state in states
        )
        return View(self.config, self.directory, stats, tuple(self._books.curve), status, cores)

    def _lock(self) -> contextlib.AbstractContextManager[None]:
        return self.directory.held(
            self.node, "" if self._part.alone else f"part {self.node + 1}/{self.config.nodes} of "
        )


def _confirming(crew: Crew, states: Iterable[WorkerState]) -> bool:
    """Whether a worker has a finding in hand, by what it was at a second ago, or has saved."""
    return any(word in IN_HAND for word in crew.doing.values()) or any(state.in_hand for state in states)


def resolve(
    config: CampaignConfig, directory: CampaignDir, *, resume: bool, given: Collection[str] = (), alone: bool = False
) -> CampaignConfig:
    """Return the configuration to run.

    A resumed campaign keeps its own configuration but for what is in FREE_ON_RESUME, where `given`; one of several
    machines, unless it is `alone` with the directory, has that of the first that came to it, where it is written here.
    UserError when an oracle is unknown, a new campaign's directory is not empty, or a resumed one is none or would have
    to change.
    """
    if harness_named(config.harness).has_cases:
        make_oracles(config.oracles, config.harness)
    root = directory.root
    shared = config.nodes > 1 and not resume and not alone
    if resume or (shared and directory.config.exists()):
        stored = CampaignConfig.from_toml(directory.config)
        for name, value in asdict(stored).items():
            if name in given and name not in FREE_ON_RESUME and getattr(config, name) != value:
                option = "--" + _OPTIONS.get(name, name.replace("_", "-"))
                raise UserError(
                    f"{option}: {root} keeps its own value, {value!r}; "
                    "leave the option out, or start a new campaign with another --out"
                )
        return replace(stored, **{name: getattr(config, name) for name in FREE_ON_RESUME if name in given})
    try:
        names = {path.name for path in root.iterdir()} if root.exists() else set()
        if shared and directory.config.name in names:
            return resolve(config, directory, resume=False, given=given)
        if any(not shared or not name.startswith(TEMPORARY) for name in names):
            raise UserError(f"--out: {root} is not empty; continue it with --resume, or name another directory")
        if not os.access(_nearest_existing(root), os.W_OK):
            raise UserError(f"--out: {root} cannot be written; name another directory")
    except NotADirectoryError as error:
        raise UserError(f"--out: {root} is a file; name a directory") from error
    except PermissionError as error:
        raise UserError(f"--out: {root}: {error.strerror}") from error
    if shared:
        root.mkdir(parents=True, exist_ok=True)
        if not write_new(directory.config, config.to_toml()):
            return resolve(config, directory, resume=False, given=given)
    return config


def _nearest_existing(path: Path) -> Path:
    path = path.absolute()
    while not path.exists():
        path = path.parent
    return path


def _without_seeds(stats: Mapping[str, Any]) -> UserError:
    """What to say where no seed could be compiled, or none is left in, and there is nothing to mutate."""
    if not stats["exits"]:
        return UserError("there is nothing to mutate: no seeds, and no corpus; leave out `--seeds none`")
    # Second looks, at smaller cases, are counted among them.
    of_cases = Counter({name: count for name, count in stats["exits"].items() if name in set(Exit)})
    exits = ", ".join(f"{count} {name}" for name, count in of_cases.most_common(3))
    return UserError(f"no seed compiles here, so there is nothing to mutate: {exits}; try one with `tzerlike run FILE`")
