"""tzerlike as a library: judge a program, run a campaign, read a bundle, replay it. The commands are built on it.

Nothing here loads TVM into the caller's process: a client (`open_tvm`) is a separate process that has TVM, and forks a
child for each case. A mistake of the caller raises a UserError with one line.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec

from tzerlike.campaign.announcing import Announcer
from tzerlike.campaign.directory import CampaignDir
from tzerlike.campaign.stats import read_curve
from tzerlike.campaign.supervisor import FREE_ON_RESUME, Supervisor, View, Wishes, resolve
from tzerlike.core.case import TIR
from tzerlike.core.config import CampaignConfig
from tzerlike.core.errors import StorageError, UserError
from tzerlike.core.limits import Limits, checked_limits
from tzerlike.core.observation import Exit, Stage
from tzerlike.core.progress import Steps, untold
from tzerlike.core.storage import make_directories
from tzerlike.coverage.changes import CodeComparison, compare_code
from tzerlike.coverage.focus import Focus
from tzerlike.findings.cases import read_case
from tzerlike.findings.replay import Replayed, replay_bundles
from tzerlike.findings.replay import load_bundle as read_bundle
from tzerlike.findings.versions.against import Against, judged_against, libraries_of
from tzerlike.findings.versions.host import Guest
from tzerlike.oracles import default_oracles, make_oracles
from tzerlike.processes import caller
from tzerlike.processes.client import Client
from tzerlike.systems import TVM
from tzerlike.systems.builds import Store
from tzerlike.systems.pair import installed_pair

__all__ = [
    "JUDGES",
    "LIMITS",
    "CampaignConfig",
    "Found",
    "Fuzzed",
    "Interpreted",
    "Judged",
    "Limits",
    "Opener",
    "Printable",
    "Replayed",
    "UserError",
    "View",
    "fuzz",
    "judge",
    "open_store",
    "open_tvm",
    "read_bundle",
    "replay",
    "tvm_of",
    "using",
]

JUDGES = ("crash", "inconsistency", "internal-error")
"""The oracles that a single run of a case can satisfy."""

LIMITS = Limits()
"""Five seconds of CPU time and 2 GiB."""

Opener = Callable[..., AbstractContextManager[Client]]
"""A function that opens a client: `open_tvm`, or `using(client)` for several calls."""


class Printable(Protocol):
    """A module or a function in memory, of any TVM, that prints itself as TVMScript."""

    def script(self) -> str: ...


class Interpreted(msgspec.Struct, frozen=True):
    """The interpreter's verdict on a program on its inputs, with the rule and the place that it is based on."""

    verdict: str
    rule: str | None
    where: str | None


class Found(msgspec.Struct, frozen=True):
    """A finding; `blame` is the build that is wrong, for wrong code.

    `detail` is what differs and which pass causes it, or TVM's message.
    """

    kind: str
    signature: str
    blame: str | None
    detail: str = ""


class Judged(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of a case, and the first finding. `tzerlike run --json` prints it as JSON."""

    exit: Exit
    stage: Stage
    message: str
    interpreter: Interpreted = msgspec.field(name="reference")
    finding: Found | None
    bundle: str = ""


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """A campaign that has ended: its directory, the contents of its stats.json, the signal that stopped it or 0."""

    directory: CampaignDir
    stats: dict[str, Any]
    stopped_by: int


def open_store() -> Store:
    """Return the store of this user's builds of TVM."""
    return Store(caller.cache_directory() / "tvm")


def using(client: Client) -> Opener:
    """Use a client that is open, and leave it open; its system was chosen when it was opened."""
    return lambda **_: nullcontext(client)


def tvm_of(build: str) -> tuple[Path, caller.Interpreter | None]:
    """Return the cache and the Python of a build of TVM; for "", the installed TVM, the latter is None: this Python.

    UserError if there is no such build, or it is unfinished.
    """
    if not build:
        return caller.cache_directory(), None
    found = open_store().ready(build)
    return found.cache, caller.Interpreter(found.python, found.variables)


@dataclass(frozen=True, slots=True)
class OtherTvm:
    """A TVM other than the installed one: its name and version, its python, and the variables that the python needs."""

    name: str
    version: str
    python: Path
    variables: Mapping[str, str]


def added_tvms(name: str) -> list[OtherTvm]:
    """Return the TVM of this name in `tzerlike tvm list`; for "all", those that are ready; for "", none.

    UserError if there is no such TVM, or it is unfinished; for "all" if there is none.
    """
    store = open_store()
    names = [name] if name else []
    if name == "all":
        labels = [found.described for found in store.builds()]
        names = [str(label["name"]) for label in labels if label["state"] == "ready"]
        if not names:
            raise UserError("--tvm all: there is none yet; create one with `tzerlike tvm add` or `tzerlike tvm build`")
    builds = [(own, store.ready(own)) for own in names]
    return [OtherTvm(own, str(build.described["version"]), build.python, build.variables) for own, build in builds]


INSTALLED = "installed"
"""The name of the installed TVM in `against`."""


def _guest_of(tvm: str) -> Guest:
    """Return a process with a build of TVM that judges findings of others; it ends with the context."""
    interpreter = tvm_of(tvm)[1]
    python = Path(sys.executable) if interpreter is None else interpreter.python
    return Guest(python, caller.zygote_environment(interpreter))


def _other(tvm: str, against: str) -> str:
    other = "" if against == INSTALLED else against
    if other == tvm:
        raise UserError(f"--against: {against} is the TVM under test; name another one from `tzerlike tvm list`")
    try:
        tvm_of(other)
    except UserError as error:
        raise UserError(f"--against: {str(error).removeprefix('--tvm: ')}") from error
    return other


def compare_builds(tvm: str, against: str) -> CodeComparison:
    """Return which functions of a build of TVM another one, or INSTALLED, does not have.

    UserError if there is no such build, or both are the same.
    """
    other = _other(tvm, against)
    with _guest_of(tvm) as new, _guest_of(other) as old:
        return compare_code(libraries_of(new), libraries_of(old), TVM.code.sources)


def judge_against(bundles: Sequence[Path], tvm: str, against: str, steps: Steps = untold) -> Against:
    """Return which bundles, found on the build `tvm`, also show on another; UserError as in `compare_builds`."""
    other = _other(tvm, against)
    with _guest_of(tvm) as new, _guest_of(other) as old:
        return judged_against(bundles, against, old, new, steps=steps)


def lacks_of(build: str) -> Mapping[str, str]:
    """Return what a build of TVM lacks, feature -> reason (tzerlike.systems.lacking); none for "", the installed one.

    UserError as in `tvm_of`.
    """
    found: Mapping[str, str] = open_store().ready(build).described.get("lacks", {}) if build else {}
    return found


def open_tvm(
    tvm: str = "",
    slots: int = 1,
    *,
    unconfined: bool = False,
    system: str = TVM.name,
    loads: Collection[str] = (),
) -> Client:
    """Start a process with a build of a system, "" for the installed one; it ends with the context.

    So many of its children, `slots`, can work at a time, and they find the packages `loads` loaded.

    UserError if the kernel cannot confine the cases, unless `unconfined`.
    """
    return caller.open_client(slots, interpreter=tvm_of(tvm)[1], unconfined=unconfined, system=system, loads=loads)


def judge(
    program: Path | str | Printable,
    *,
    passes: str = "",
    function: str | None = None,
    target: str = "llvm",
    oracles: Sequence[str] | None = None,
    input_seed: int = 0,
    limits: Limits = LIMITS,
    out: Path | None = None,
    text_only: bool = False,
    client: Opener = open_tvm,
) -> Judged:
    """Judge one case as a campaign would.

    `program` is a file (a case.json, which specifies everything but oracles and limits, or TVMScript), a TVMScript
    text, or a module in memory. `passes` run before the default pipeline, a sequence like "tirx.UnrollLoop;
    tirx.NarrowDataType{target_bits=32}"; `function` names one of several functions; `target` is as TVM writes it.
    `oracles` are JUDGES by default, of a model those that its campaigns have by default. With `out`, a finding that
    shows every time becomes a bundle in that directory. A file whose functions cannot be parsed on their own is run in
    a confined child, unless `text_only`.
    """
    checked_limits(limits.seconds, limits.memory)
    with ExitStack() as scope:
        if not isinstance(program, Path):
            text = program if isinstance(program, str) else program.script()
            program = Path(scope.enter_context(tempfile.TemporaryDirectory())) / "program.py"
            program.write_text(text, encoding="utf-8")
        if not program.is_file():
            what = "a directory, and no bundle" if program.is_dir() else "not found"
            raise UserError(f"{program}: {what}; name a .py file, a case.json, a bundle or its id")
        file = {"path": str(program.resolve()), "seconds": limits.seconds, "memory": limits.memory}
        harness = read_case(program.resolve()).case.harness if program.suffix == ".json" else TIR
        names = oracles or (JUDGES if harness == TIR else default_oracles(harness))
        make_oracles(names, harness)
        if out is not None:
            make_directories("--out", out)
        params = file | {
            "passes": passes,
            "function": function,
            "target": target,
            "input_seed": input_seed,
            "oracles": list(names),
            "out": str(out.resolve()) if out is not None else "",
            "text_only": text_only,
        }
        (answer,) = scope.enter_context(client()).ask("judge-file", params)
    seen = answer["observation"]
    supported = (seen["rejection"] or {}).get("support") == "defined"
    said = seen["results"] or {"verdict": "defined" if supported else "unknown", "rule": "", "where": ""}
    return Judged(
        Exit(seen["exit"]),
        Stage(seen["stage"]),
        seen["message"],
        Interpreted(said["verdict"], said["rule"] or None, said["where"] or None),
        msgspec.convert(answer["findings"][0], Found) if answer["findings"] else None,
        answer.get("bundle", ""),
    )


def fuzz(
    config: CampaignConfig,
    out: Path,
    *,
    resume: bool = False,
    node: int = 0,
    unconfined: bool = False,
    focus: CodeComparison | None = None,
    show: Callable[[View], None] = lambda view: None,
    tell: Callable[[str], None] = lambda line: None,
    wishes: Wishes | None = None,
) -> Fuzzed:
    """Run a campaign in the directory `out` until its budget or its iterations are used up, or a signal arrives.

    `node` is the number of this machine among `config.nodes`; all share the directory `out`. With `resume`, continue
    the campaign in `out`; only `budget`, `iterations` and `known` are then taken from `config`. `unconfined` lets
    the pairs of `config.corpus` run if the kernel cannot confine them. A case that was the first to reach a function
    that changed according to `focus` (`compare_builds`) is mutated more often. `show` is called about twice a second,
    `tell` with a line for each event; `wishes` may be changed meanwhile. Call it from the main thread only, where
    signals arrive.
    """
    directory = CampaignDir(out)
    config = resolve(config, directory, resume=resume, given=FREE_ON_RESUME)
    if not 0 <= node < config.nodes:
        raise UserError(f"--shard: {out} is a campaign of {config.nodes} shards")
    cache, interpreter = tvm_of(config.tvm)
    supervisor = Supervisor(
        config,
        directory,
        cache,
        caller.zygote_environment(interpreter),
        show=show,
        tell=tell,
        resume=resume or config.nodes > 1,
        node=node,
        unconfined=unconfined,
        python=None if interpreter is None else interpreter.python,
        wishes=wishes or Wishes(),
        focus=_focus(focus),
    )
    try:
        return Fuzzed(directory, *supervisor.run())
    except StorageError as error:
        raise StorageError(f"{error}; everything saved before stays, go on with --resume") from error


def fuzz_on_cluster(
    config: CampaignConfig,
    out: Path,
    address: str,
    *,
    focus: CodeComparison | None = None,
    show: Callable[[View], None] = lambda view: None,
    tell: Callable[[str], None] = lambda line: None,
) -> Fuzzed:
    """Run a campaign on `config.nodes` machines of the Ray cluster at `address`, or continue the one in `out`.

    "auto" is the cluster that this machine belongs to, and ray://HOST:PORT another one; `focus` is as in `fuzz`.
    UserError if Ray is not installed, there is no such cluster, or none of its machines can take part.
    """
    from tzerlike.campaign.cluster.on_ray import Cluster

    directory = CampaignDir(out)
    config = resolve(config, directory, resume=directory.config.exists(), given=FREE_ON_RESUME, alone=True)

    announcer = Announcer(directory, tell)

    def seen(stats: Mapping[str, Any]) -> None:
        show(View(config, directory, stats, tuple(read_curve(directory.coverage_csv)[0]), "fuzzing"))
        announcer.look(stats)

    ours = installed_pair().tvm if not config.tvm and config.system == TVM.name else ""
    return Fuzzed(directory, *Cluster(config, directory, address, tell, seen, ours, _focus(focus)).run())


def _focus(changes: CodeComparison | None) -> Focus | None:
    return None if changes is None else Focus(changes.ranges)


def replay(bundles: Sequence[Path], times: int = 1, client: Opener = open_tvm, steps: Steps = untold) -> list[Replayed]:
    """Run each bundle, or fault of tzerlike, `times` times, each time in a fresh child with a different heap.

    The recorded signature shows in `same` of `times` runs. `steps` is told the progress. UserError if a bundle cannot
    be read.
    """
    return replay_bundles(bundles, times, client, steps)
