"""Replaying a directory of bundles as a check: each must still show its finding, or must no longer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tzerlike.core.errors import UserError
from tzerlike.core.finding import kind_of
from tzerlike.core.progress import Steps, counted, untold
from tzerlike.findings.bundles.bundle import Bundle, OtherBundle
from tzerlike.findings.replay import Replayed, load_bundle, replay_bundle, start_for
from tzerlike.processes.client import Client
from tzerlike.reporting.ci.outcome import CiOutcome, Item, Status
from tzerlike.reporting.triage.sightings import bundles_in

SHOWS, FIXED = "shows", "fixed"
EXPECTATIONS = (SHOWS, FIXED)


def judged_replay(
    paths: Sequence[Path], times: int, expected: str, open_client: Callable[[], Client], steps: Steps = untold
) -> CiOutcome:
    """Run every bundle `times` times. One that cannot be read is not as expected; UserError when there are none.

    A bundle still shows when any run does. It no longer does when no run shows anything at all.
    """
    bundles = sorted({bundle.resolve(): bundle for path in paths for bundle in bundles_in(path)}.values())
    if not bundles:
        raise UserError(f"{paths[0]}: no bundles in it")
    began = time.monotonic()
    results = _replayed(bundles, times, open_client, steps)
    items = [_item(path, results[path], expected) for path in bundles]
    facts = (("bundles", str(len(bundles))), ("runs of each", str(times)), ("expected", expected))
    ordered = tuple(sorted(items, key=lambda item: not item.status.fails))
    return CiOutcome("replay", ordered, time.monotonic() - began, facts)


def _replayed(
    paths: Sequence[Path], times: int, open_client: Callable[..., Client], steps: Steps
) -> Mapping[Path, Replayed | UserError]:
    """Run each bundle, or say why it cannot be."""
    results: dict[Path, Replayed | UserError] = {}
    readable: dict[Path, Bundle | OtherBundle] = {}
    for path in paths:
        try:
            readable[path] = load_bundle(path)
        except UserError as error:
            results[path] = error
    if not readable:
        return results
    with open_client(**start_for(readable.values())) as client:
        for path in counted(list(readable), steps):
            try:
                results[path] = replay_bundle(readable[path], times, client)
            except UserError as error:
                results[path] = error
    return results


def _item(path: Path, result: Replayed | UserError, expected: str) -> Item:
    if isinstance(result, Replayed):
        return judged_bundle(result, expected)
    return Item(Status.UNEXPECTED, kind_of(path.name), path.name, (), path, str(result))


def judged_bundle(ran: Replayed, expected: str) -> Item:
    """Judge what became of one bundle."""
    good = ran.same > 0 if expected == SHOWS else not (ran.same or ran.otherwise)
    path = ran.bundle.path
    last = f"; one run: {ran.otherwise}" if ran.otherwise else f"; last run: {ran.seen}"
    detail = f"shows in {ran.same} of {ran.times} runs" + ("" if ran.same == ran.times else last)
    status = Status.EXPECTED if good else Status.UNEXPECTED
    return Item(status, ran.kind, path.name, (ran.bundle.signature,), path, detail)
