"""`tzerlike run` and `tzerlike replay`: single cases."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Container, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import click
import msgspec

from tzerlike import api
from tzerlike.api import JUDGES, Judged, OtherTvm, Replayed, judge, open_tvm
from tzerlike.cli.commands.shared import comma_separated, print_table, system_option, tvm_option, unconfined_option
from tzerlike.cli.named import named, named_bundles
from tzerlike.cli.progress import progress
from tzerlike.core.config import TARGETS, parse_size
from tzerlike.core.errors import UserError
from tzerlike.core.limits import Limits
from tzerlike.core.targets import DEFAULT_ARCH, checked_arch, target_text
from tzerlike.core.untrusted import one_line
from tzerlike.findings.bundles.bundle import Bundle
from tzerlike.findings.faults.bundle import FaultBundle
from tzerlike.findings.reduction.place import is_bundle
from tzerlike.findings.replay import load_bundle, oracles_of
from tzerlike.findings.versions.history import History, Word, found_on, histories
from tzerlike.findings.versions.host import Guest
from tzerlike.oracles import loads_for
from tzerlike.processes.caller import zygote_environment


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--passes", default="", help="Sequence: 'tirx.UnrollLoop; tirx.NarrowDataType{target_bits=32}'.")
@click.option("--function", default=None, help="Function of the module; by default main or the only one.")
@tvm_option
@system_option
@click.option("--target", type=click.Choice(TARGETS), default="llvm", show_default=True)
@click.option("--arch", default=DEFAULT_ARCH, show_default=True, help="GPU architecture, with --target cuda.")
@click.option(
    "--oracles",
    default=None,
    help="Comma-separated names; others: ill-typed, immutability, and performance on a GPU.  "
    f"[default: {','.join(JUDGES)}; of a bundle, those that found it]",
)
@click.option("--input-seed", type=int, default=0, show_default=True, help="Seed of the input values.")
@click.option("--timeout", type=float, default=5.0, show_default=True, help="CPU seconds.")
@click.option("--memory-limit", default="2G", show_default=True, help="Memory limit.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    default=None,
    help="Write a bundle of the finding to this directory.",
)
@click.option("--text", "text_only", is_flag=True, help="Parse the file without running any of it.")
@click.option("--watch", is_flag=True, help="Run again whenever the file changes, until Ctrl-C.")
@unconfined_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def run(
    file: Path,
    passes: str,
    function: str | None,
    tvm: str,
    system: str,
    target: str,
    arch: str,
    oracles: str | None,
    input_seed: int,
    timeout: float,
    memory_limit: str,
    out: Path | None,
    text_only: bool,
    watch: bool,
    unconfined: bool,
    as_json: bool,
) -> None:
    """Test one case: your TVMScript file, a case.json, a bundle or its id.

    A file that imports, or makes its functions with helpers, runs in a child that may only compute and read.
    """
    file = named(file)
    names: Sequence[str] | None = None if oracles is None else comma_separated(oracles)
    if is_bundle(file):
        bundle = load_bundle(file)
        if isinstance(bundle, Bundle):
            names = names or oracles_of(bundle)
            if bundle.probe is not None:
                click.echo("this finding is not of a single compilation: `tzerlike replay` looks for it", err=True)
        file = file / "case.json"
    judged = partial(
        judge,
        file,
        passes=passes,
        function=function,
        target=target_text(target, checked_arch(arch)),
        oracles=names,
        input_seed=input_seed,
        limits=Limits(timeout, parse_size(memory_limit)),
        out=out,
        text_only=text_only,
    )
    loads = loads_for(names or JUDGES)
    opened = partial(open_tvm, tvm, unconfined=unconfined, system=system, loads=loads)
    if not watch:
        judgement = judged(client=opened)
        _say(judgement, out, as_json)
        sys.exit(1 if judgement.finding is not None else 0)
    with opened() as client:
        for _ in changes(file):
            try:
                _say(judged(client=api.using(client)), out, as_json)
            except UserError as error:
                click.echo(one_line(str(error)), err=True)


def changes(file: Path, poll: float = 0.3) -> Iterator[None]:
    """Yield now, and whenever the file is another one than before; without end."""
    before: object = None
    while True:
        with suppress(OSError):
            now = (file.stat().st_mtime_ns, file.stat().st_size)
            if now != before:
                before = now
                yield
        time.sleep(poll)


def _say(judgement: Judged, out: Path | None, as_json: bool) -> None:
    finding = judgement.finding
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(judgement)))
    else:
        message = f": {judgement.message}" if judgement.message else ""
        click.echo(f"{judgement.exit.value} in {judgement.stage.value}{message}")
        said = judgement.interpreter
        click.echo("interpreter: " + ", ".join(text for text in (said.verdict, said.rule, said.where) if text))
        if finding is not None:
            blame = f", blame: {finding.blame}" if finding.blame else ""
            click.echo(f"finding: {finding.kind} {finding.signature}{blame}")
            for line in finding.detail.splitlines()[:1]:
                click.echo(f"  {one_line(line, 300)}")
            if out is not None:
                click.echo(f"bundle: {judgement.bundle or 'none, it does not show every time'}")
    sys.stdout.flush()


@click.command()
@click.argument("bundles", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--times", type=click.IntRange(1, 1000), default=1, show_default=True, help="Runs of each bundle.")
@click.option(
    "--tvm",
    default="",
    help="A TVM from `tzerlike tvm list`, or `all` to compare them.  [default: the installed TVM]",
)
@click.option(
    "--python",
    "pythons",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Python of an environment with another TVM to compare with; repeatable.",
)
@unconfined_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def replay(
    bundles: tuple[Path, ...], times: int, tvm: str, pythons: tuple[Path, ...], unconfined: bool, as_json: bool
) -> None:
    """Run bundles again in a fresh process and compare signatures.

    BUNDLES are bundles, their ids, or campaigns.
    """
    others = api.added_tvms(tvm)  # one that is missing is reported before anything is read
    paths = named_bundles(bundles)
    native = bool(tvm) and all(found_on(path) == other.version for path in paths for other in others)
    if native and tvm != "all":
        others = []
    opened = partial(open_tvm, tvm if native and tvm != "all" else "", unconfined=unconfined)
    with progress("bundles") as steps:
        results = api.replay(paths, times, opened, steps)
    if len(results) == 1 and results[0].unfit and not (others or pythons):
        raise UserError(results[0].unfit)
    others += [api.OtherTvm(str(python), "", python, {}) for python in pythons]
    missing: dict[str, str] = {}
    if others:
        _print_histories(_histories(results, others, times, missing), missing, as_json)
    elif as_json:
        click.echo(json.dumps([result.to_json() for result in results]))
    else:
        for result in results:
            click.echo(result.line())
    if missing:
        raise UserError("; ".join(missing.values()))
    if any(0 < result.same < result.times for result in results):
        sys.exit(3)
    sys.exit(0 if all(result.same == result.times for result in results) else 1)


def _histories(
    results: list[Replayed], others: Sequence[OtherTvm], times: int, missing: dict[str, str]
) -> list[History]:
    """The table's rows; a TVM that cannot be asked goes into `missing`, with the reason."""
    for result in results:
        if isinstance(result.bundle, FaultBundle):
            raise UserError(
                f"{result.bundle.path} is a fault of tzerlike, which does not depend on the TVM; "
                "leave out --python and --tvm"
            )
    with ExitStack() as scope:
        environment, guests = zygote_environment(), []
        home = scope.enter_context(Guest(Path(sys.executable), environment))
        columns = {home.version}
        for other in others:
            try:
                guest = scope.enter_context(Guest(other.python, {**environment, **other.variables}))
            except UserError as error:
                missing[other.name] = str(error)
                continue
            if guest.version in columns:
                # A fork has the version of what it comes from.
                guest.version = f"{guest.version} ({other.name})"
            columns.add(guest.version)
            guests.append(guest)
        return histories(results, home, guests, times, missing)


def _print_histories(found: list[History], missing: Container[str], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([history.to_json() for history in found]))
        return
    versions = list(dict.fromkeys(version for history in found for version in history.cells))
    rows = [
        {
            "bundle": history.title,
            **{version: cell.word.value for version, cell in history.cells.items()},
            "first bad": history.first_bad,
            "fixed in": history.fixed_in,
        }
        for history in found
    ]
    print_table(("bundle", *versions, "first bad", "fixed in"), rows)
    for history in found:
        for version, cell in history.cells.items():
            if cell.word in (Word.UNKNOWN, Word.OTHER) and version not in missing:
                click.echo(f"{history.title} on {version}: {one_line(cell.detail)}")
