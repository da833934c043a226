"""A probe's work where TVM is: in a worker, and in children that examine a case for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from random import Random
from typing import Any, Protocol, cast

from tzerlike.core.case import Case
from tzerlike.core.finding import Finding, Signed
from tzerlike.core.mutation import Mutation
from tzerlike.core.observation import Observation
from tzerlike.execution.compare.inputs import Parameter
from tzerlike.oracles.protocol import Environment, Probe
from tzerlike.processes.channel import Channel
from tzerlike.processes.job import Job

_JOB = "examine"

Records = tuple[list[dict[str, Any]], Observation | None]
"""What a child laid down, and how it died if it did."""

Ask = Callable[[Mapping[str, Any]], Records]
"""Has a child `examine` an item."""

RulingOut = Callable[[Sequence[Case]], Sequence[bool]]
"""Says of cases whether nothing about each can be a finding."""


@dataclass(frozen=True, slots=True)
class Made:
    """A case that a campaign has run, `inserted` into the corpus or not.

    `mutation` of the case `parent` gave its program, where one did; `alike` says that both are known to be defined, and
    to compute the same values on the same inputs. `rng` makes a generator for a purpose in words.
    """

    case: Case
    inserted: bool
    parent: Case | None
    mutation: Mutation | None
    rng: Callable[[str], Random]
    alike: bool = False


@dataclass(frozen=True, slots=True)
class Pieces:
    """What a repro.py is put together from: its `title`, and the statement of `program`, which makes `module`.

    `run` takes what the script does, in words, statements, the parameters of the program, and an expression for the
    modules. It returns a script with these statements that then builds each module, runs it on inputs.npz and compares
    the results. `test` is the bundle's regression test, which has been tried; "" where there is none.
    """

    title: str
    program: str
    run: Callable[[str, str, Sequence[Parameter], str], str]
    test: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """What came of looking at a case: the findings, or in a `word` why there is none; a campaign counts the words.

    `seen` is there where it was a compilation. A bundle of the finding has `held` in its environment, the `archive` as
    its inputs, and as its repro.py what `repro` makes; without that, or where that shows nothing, a script that has
    tzerlike replay the bundle.
    """

    findings: tuple[Finding, ...] = ()
    word: str = ""
    seen: Observation | None = None
    held: Environment = field(default_factory=dict)
    archive: bytes | None = None
    repro: Callable[[Pieces], str] | None = None

    def shows(self, finding: Signed) -> bool:
        """Whether a finding of the same signature is among those found."""
        return any(found.signature == finding.signature for found in self.findings)


class Examiner(Protocol):
    """A module with these functions.

    One that asks children has `examine` as well, a Job, which is what they do; one whose environment can be reduced
    has `smaller`, which yields what it might hold instead, and one of schedules `last_alone` (`last_step_alone`). One
    that looks at many cases for less than at each has `clean` (`ruling_out`).
    """

    def wants(self, made: Made) -> bool:
        """Whether to look at a case of a campaign; draws only from `made.rng`."""

    def look(self, ask: Ask, made: Made) -> Look:
        """Look at a case of a campaign that is wanted; one finding at most."""

    def look_again(self, ask: Ask, case: Case, held: Environment, inputs: str = "", layout: int = 0) -> Look:
        """Look at the case of a finding, of its bundle or a smaller one, with what its environment holds.

        `inputs` is the path of its archive, or ""; `layout` says which heap, where that matters.
        """


def examiner_of(probe: Probe) -> Examiner:
    """Import the examiner of a probe."""
    return cast("Examiner", import_module(probe.examiner))


def smaller_held(probe: Probe, held: Environment) -> Iterator[dict[str, Any]]:
    """Yield what the environment of a bundle might hold instead that is less; of most probes there is nothing."""
    offer = getattr(examiner_of(probe), "smaller", None)
    return iter(()) if offer is None else offer(held)


def last_step_alone(probe: Probe, ask: Ask, case: Case, held: Environment) -> tuple[Case, dict[str, Any]] | None:
    """Return the program that the last step of a schedule is given, and what the environment of a bundle would hold of
    that step alone; None where that is no less, and of probes of nothing that has steps."""
    offer = getattr(examiner_of(probe), "last_alone", None)
    return None if offer is None else offer(ask, case, held)


def ruling_out(probe: Probe, ask: Ask) -> RulingOut | None:
    """What a probe rules cases out with, for less than a look at each; None of most probes."""
    clean = getattr(examiner_of(probe), "clean", None)
    return None if clean is None else partial(clean, ask)


def ask_for(probe: Probe, call: Callable[[str, Mapping[str, Any]], Records]) -> Ask:
    """Return what the examiner of a probe asks children with; `call` is `ForkExecutor.call`."""
    return lambda item: call(_JOB, {"examiner": probe.examiner, "item": dict(item)})


def examine(item: Mapping[str, Any], channel: Channel, seconds: float) -> None:
    """The job of a child that examines a case for a probe."""
    job: Job = import_module(item["examiner"]).examine
    job(item["item"], channel, seconds)


JOBS: Mapping[str, Job] = {_JOB: examine}
