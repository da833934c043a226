"""The work of `tzerlike bisect`: one bundle after another, each in a worker process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tzerlike.core.errors import StorageError, UserError
from tzerlike.core.progress import Steps, counted, untold
from tzerlike.findings.bundles.bisection import BISECTION, Bisection, read_bisection
from tzerlike.findings.bundles.bundle import Bundle
from tzerlike.findings.refresh import refresh_report
from tzerlike.findings.replay import load_bundle, oracles_of, start_for
from tzerlike.plugins import harness_named
from tzerlike.processes.client import Client


@dataclass(frozen=True, slots=True)
class Bisected:
    """What became of one bundle: `bisection`, or in words why there is none."""

    path: Path
    why: str = ""
    bisection: Bisection | None = None

    def line(self) -> str:
        return f"{self.path}: {self.why if self.bisection is None else self.bisection.line()}"

    def to_json(self) -> dict[str, Any]:
        return {
            "bundle": str(self.path),
            "why": self.why,
            "bisection": None if self.bisection is None else self.bisection.to_json(),
        }


def bisect_bundles(
    paths: Sequence[Path],
    open_client: Callable[..., Client],
    tell: Callable[[Bisected], None] = lambda bisected: None,
    steps: Steps = untold,
) -> list[Bisected]:
    """Bisect each bundle, and write its bisect.json and its report anew; `tell` is called with each as it ends.

    UserError on a bundle that cannot be read, before anything is done, and where there is but one, which does not fit.
    """
    bundles = {path: _compilation(path) for path in paths}
    results = []
    with open_client(**start_for(filter(None, bundles.values()))) as client:
        for path in counted(paths, steps):
            try:
                result = _bisected(path, bundles[path], client)
            except StorageError:
                raise
            except UserError as error:
                # What it holds does not fit together, or this TVM: no reason to leave out the others.
                if len(paths) == 1:
                    raise
                result = Bisected(path, str(error))
            tell(result)
            results.append(result)
    return results


def _compilation(path: Path) -> Bundle | None:
    """The bundle at `path`; None where what it holds did not occur in a compilation that can be followed."""
    bundle = load_bundle(path)
    if not isinstance(bundle, Bundle) or bundle.probe is not None:
        return None
    return bundle if harness_named(bundle.stored.case.harness).walk else None


def _bisected(path: Path, bundle: Bundle | None, client: Client) -> Bisected:
    if bundle is None:
        return Bisected(path, "not a finding of a compilation")
    (answer,) = client.ask("bisect", {"path": str(bundle.path.resolve()), "oracles": oracles_of(bundle)})
    if not answer["shows"]:
        why = f" ({answer['why']})" if answer["why"] else ""
        return Bisected(bundle.path, f"does not show{why}, so {BISECTION} stays as it is")
    refresh_report(bundle.path)
    return Bisected(bundle.path, bisection=read_bisection(bundle.path))
