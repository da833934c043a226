"""Which of a campaign's findings also show on another TVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tzerlike.core.errors import TzerlikeError
from tzerlike.core.progress import Steps, counted, untold
from tzerlike.findings.bundles.bundle import OtherBundle, read_bundle
from tzerlike.findings.reduction.place import reduced_in
from tzerlike.findings.replay import load_bundle
from tzerlike.findings.versions.history import HOME_ONLY, Cell, Word, asked_of, looked_at, printed
from tzerlike.findings.versions.host import Guest

_ANYWHERE = (Word.SHOWS, Word.FLAKY)
_LIMITS = {"seconds": 30.0, "memory": 1 << 32}


@dataclass(frozen=True, slots=True)
class Against:
    """What became of bundles on the TVM `name` of this `version`."""

    name: str
    version: str
    cells: Mapping[Path, Cell]

    @property
    def here_alone(self) -> list[Path]:
        """The bundles that the other TVM does not show."""
        return [path for path, cell in self.cells.items() if cell.word is Word.ABSENT]

    def shows(self, path: Path) -> bool:
        return path in self.cells and self.cells[path].word in _ANYWHERE

    def __str__(self) -> str:
        there, alone = sum(map(self.shows, self.cells)), len(self.here_alone)
        unknown = len(self.cells) - there - alone
        cannot = f", {unknown} where {self.name} cannot tell" if unknown else ""
        return f"against {self.name} ({self.version}): {alone} here alone, {there} on both{cannot}"

    def to_json(self) -> dict[str, Any]:
        told = {path.name: {"word": cell.word.value, "detail": cell.detail} for path, cell in self.cells.items()}
        return {"schema_version": 1, "name": self.name, "tvm": self.version, "bundles": told}


def judged_against(
    bundles: Sequence[Path], name: str, old: Guest, new: Guest, times: int = 2, steps: Steps = untold
) -> Against:
    """Run bundles that were found on the TVM of `new` on that of `old`, each `times` times.

    It is the reduced program that is run, where there is one. A bundle that cannot be read is left out.
    """
    cells = {}
    for path in counted(bundles, steps):
        with suppress(TzerlikeError):
            cells[path] = _cell(path, old, new, times)
    return Against(name, old.version, cells)


def _cell(path: Path, old: Guest, new: Guest, times: int) -> Cell:
    bundle = load_bundle(path)
    if isinstance(bundle, OtherBundle):
        return asked_of(bundle, old, times) if bundle.harness.elsewhere else Cell(Word.UNKNOWN, HOME_ONLY)
    reduced = reduced_in(path)
    judged = bundle if reduced is None else read_bundle(reduced)
    return looked_at(judged, old, printed(judged, [old, new]), times)


def libraries_of(guest: Guest) -> list[Path]:
    """The libraries that hold the compiler's own code, the compiler's first."""
    return [Path(path) for path in guest.ask({"do": "libraries", **_LIMITS})["libraries"]]
