"""Bundles on several versions of TVM: a table, and from it when a bug appeared and disappeared."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from tzerlike.core.errors import TzerlikeError
from tzerlike.core.observation import Exit, Stage, message_template
from tzerlike.core.refused import refusal_in
from tzerlike.core.results import BASELINE, Ending
from tzerlike.findings.bundles.bundle import Bundle, OtherBundle, Record, read_bundle
from tzerlike.findings.reduction.place import reduced_in
from tzerlike.findings.replay import Replayed
from tzerlike.findings.versions.host import Guest

HOME_ONLY = "only the TVM that tzerlike itself runs on can judge this kind"
_FAILURES = {"crash": Exit.CRASH, "hang": Exit.TIMEOUT, "oom": Exit.OOM}


class Word(StrEnum):
    """What became of a bundle on a version."""

    SHOWS = "shows"
    ABSENT = "does not show"
    FLAKY = "flaky"
    OTHER = "fails otherwise"
    """It did not get far enough to tell, or says something else in the same place."""
    UNKNOWN = "cannot load"


_SEEN = (Word.SHOWS, Word.FLAKY)


@dataclass(frozen=True, slots=True)
class Cell:
    """One bundle on one version, and why it could not be loaded or what was seen instead."""

    word: Word
    detail: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """A bundle on versions in ascending order."""

    bundle: str
    title: str
    cells: Mapping[str, Cell]

    @property
    def first_bad(self) -> str:
        """The first version that shows the bug, "" if none does; `<= 1.2` where it may be one before."""
        words = [cell.word for cell in self.cells.values()]
        return self._since(words.index(Word.SHOWS), (Word.ABSENT,)) if Word.SHOWS in words else ""

    @property
    def fixed_in(self) -> str:
        """The first version from which on none shows the bug, "" where it shows to the end or never did.

        `<= 1.2` where it may be one before.
        """
        words = [cell.word for cell in self.cells.values()]
        last = max((place for place, word in enumerate(words) if word in _SEEN), default=-1)
        if Word.SHOWS not in words or Word.ABSENT not in words[last:]:
            return ""
        return self._since(words.index(Word.ABSENT, last), _SEEN)

    def _since(self, place: int, before: Sequence[Word]) -> str:
        """The version at a place, as a bound unless what is known of the one in front of it is among `before`."""
        version, known = [*self.cells][place], [*self.cells.values()][:place]
        return version if known and known[-1].word in before else f"<= {version}"

    def to_json(self) -> dict[str, Any]:
        return {
            "bundle": self.bundle,
            "versions": {v: {"word": cell.word.value, "detail": cell.detail} for v, cell in self.cells.items()},
            "first_bad": self.first_bad or None,
            "fixed_in": self.fixed_in or None,
        }


def version_key(version: str) -> tuple[tuple[int, str], ...]:
    """What versions are sorted by: 1.2.0 before 1.3.0.dev3 before 1.3.0 before 1.3.0.post1."""
    words = re.findall(r"\d+|[a-z]+", version.lower())
    ranked = [(int(word), "") if word.isdigit() else (0 if word == "post" else -1, word) for word in words]
    # The end of a release counts more than `dev` and less than `post`.
    return (*ranked, (0, ""))


def found_on(path: Path) -> str:
    """Return the version of TVM that a bundle was found on; "" where its files do not say."""
    try:
        environment = json.loads((path / "observation.json").read_text())["environment"]
        return str(environment["tvm"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def asked_of(bundle: OtherBundle, guest: Guest, times: int) -> Cell:
    """Put a program that is no Case to the guest's TVM `times` times."""
    stored = json.loads((bundle.path / "case.json").read_text(encoding="utf-8"))
    item = {"do": bundle.harness.name, "stored": stored, **_limits(bundle)}
    try:
        answers = [guest.ask(item) for _ in range(times)]
    except TzerlikeError as error:
        return Cell(Word.UNKNOWN, str(error))
    if "unloadable" in answers[0]:
        return Cell(Word.UNKNOWN, str(answers[0]["unloadable"]))
    return _together(bundle, answers)


def looked_at(bundle: Bundle, guest: Guest, scripts: Sequence[str], times: int) -> Cell:
    """Run a bundle `times` times on the guest's TVM; `scripts` are texts of its program, to be tried in turn."""
    try:
        if bundle.observation.stage is Stage.TEXT:
            return _printed_and_parsed(bundle, guest, scripts)
        if bundle.probe is not None or bundle.kind == "slow-code":
            return Cell(Word.UNKNOWN, HOME_ONLY)
        return _compiled(bundle, guest, scripts, times)
    except TzerlikeError as error:
        return Cell(Word.UNKNOWN, str(error))


def _compiled(bundle: Bundle, guest: Guest, scripts: Sequence[str], times: int) -> Cell:
    item = {
        "do": "judge",
        "case": bundle.stored.case.to_json(),
        "inputs": str(bundle.path.resolve() / "inputs.npz") if bundle.kind == "wrong-code" else "",
        "reference": _of_baseline(bundle),
        "baseline": bundle.baseline,
        **_limits(bundle),
    }
    answer: dict[str, Any] = {}
    for script in scripts or ("",):
        answer = guest.ask({**item, "script": script})
        if "unloadable" not in answer:
            answers = [answer, *(guest.ask({**item, "script": script}) for _ in range(times - 1))]
            return _together(bundle, answers)
    return Cell(Word.UNKNOWN, str(answer["unloadable"]))


def _together(bundle: Record, answers: Sequence[Mapping[str, Any]]) -> Cell:
    words = [_word(bundle, each) for each in answers]
    same = words.count(Word.SHOWS)
    if same == len(answers):
        return Cell(Word.SHOWS)
    return Cell(Word.FLAKY if same else words[-1], _seen(answers[-1]))


def _of_baseline(bundle: Bundle) -> bool:
    """Whether it was found in the build without optimisation."""
    seen = bundle.observation
    if seen.results is None or seen.exit is not Exit.OK:
        return seen.stage is Stage.BUILD_BASELINE
    return seen.results.blame in (BASELINE, "both") or seen.results.baseline.ending is Ending.REFUSED


def _limits(bundle: Record) -> dict[str, Any]:
    return {"seconds": bundle.limits.seconds, "memory": bundle.limits.memory}


def _printed_and_parsed(bundle: Bundle, guest: Guest, scripts: Sequence[str]) -> Cell:
    """Whether the program survives its text there; that of another version may have lost what this is about."""
    seen = bundle.observation
    item = {"do": "round-trip", "case": bundle.stored.case.to_json(), **_limits(bundle)}
    cell = Cell(Word.UNKNOWN)
    for script in ("", *scripts):
        answer = guest.ask({**item, "script": script})
        if "unloadable" in answer:
            cell = cell if cell.detail else Cell(Word.UNKNOWN, str(answer["unloadable"]))
            continue
        if "fault" not in answer:
            return Cell(Word.OTHER, _seen(answer))
        stage, cause = answer["fault"] or ("", "")
        if stage == seen.pass_name and refusal_in(cause).like(refusal_in(seen.message)):
            return Cell(Word.SHOWS)
        if not script:
            return Cell(Word.OTHER if stage else Word.ABSENT, f"{stage}: {cause}" if stage else "it comes back")
    return cell


def _word(bundle: Record, answer: Mapping[str, Any]) -> Word:
    """Whether an answer is the bug of the bundle, as far as that can be decided across versions.

    Frames, and a crash's place within a pass, differ from build to build: what counts is the kind of end, the pass, and
    what the message says.
    """
    seen, end = bundle.observation, answer["exit"]
    if bundle.kind == "wrong-code":
        return Word.OTHER if "wrong" not in answer else Word.SHOWS if answer["wrong"] else Word.ABSENT
    if end == Exit.OK.value:
        return Word.ABSENT
    place = _pass(answer.get("pass", "")) or answer.get("stage", "")
    if place != (_pass(seen.pass_name) or seen.stage.value):
        return Word.OTHER
    if bundle.kind in _FAILURES:
        same_signal = bundle.kind != "crash" or answer.get("signal", 0) == seen.signal
        if end == _FAILURES[bundle.kind].value and same_signal:
            return Word.SHOWS
        # There it refuses the program, as it may.
        return Word.ABSENT if end == Exit.REJECTED.value else Word.OTHER
    like = end == Exit.REJECTED.value and refusal_in(answer["message"]).like(refusal_in(seen.refusal))
    return Word.SHOWS if like else Word.OTHER


def _pass(name: str) -> str:
    return name.rpartition(".")[2]


def _seen(answer: Mapping[str, Any]) -> str:
    if answer["exit"] == Exit.OK.value:
        return "right" if "wrong" in answer else "compiles"
    where = answer.get("pass") or answer.get("stage", "")
    message = message_template(answer.get("message", ""), 80)
    return f"{answer['exit']} in {where}" + (f": {message}" if message else "")


def printed(bundle: Bundle, guests: Sequence[Guest]) -> list[str]:
    """Return the program's TVMScript as those guests print it that load its JSON, the last version first.

    It is never read from the bundle: TVM's parser evaluates what it reads, and this text a TVM wrote from data.
    """
    item = {"do": "print", "case": bundle.stored.case.to_json(), "seconds": 15.0, "memory": bundle.limits.memory}
    found: list[str] = []
    for guest in sorted(guests, key=lambda g: version_key(g.version), reverse=True):
        with suppress(TzerlikeError):
            found += [text for key, text in guest.ask(item).items() if key == "script"]
    return list(dict.fromkeys(found))


def histories(
    replays: Sequence[Replayed], home: Guest, guests: Sequence[Guest], times: int, missing: Mapping[str, str]
) -> list[History]:
    """Look at replayed bundles on the TVM of each guest and on our own, that of `home`.

    It is the reduced program that is judged, where there is one. On our own the recorded signature counts as well as
    the rule that holds across versions; of what came from another version a replay cannot tell what does not load from
    what does not show. `missing` are columns of Pythons that could not be asked, with the reason.
    """
    everyone = {guest.version: guest for guest in (*guests, home)}
    versions = sorted(everyone, key=version_key)
    found = []
    for replay in replays:
        bundle = replay.bundle
        cells = {version: Cell(Word.UNKNOWN, HOME_ONLY) for version in versions}
        if isinstance(bundle, Bundle):
            reduced = reduced_in(bundle.path)
            judged = bundle if reduced is None else read_bundle(reduced)
            scripts = printed(judged, list(everyone.values()))
            cells = {version: looked_at(judged, everyone[version], scripts, times) for version in versions}
        elif isinstance(bundle, OtherBundle) and bundle.harness.elsewhere:
            cells = {version: asked_of(bundle, everyone[version], times) for version in versions}
        ours = found_on(bundle.path) in ("", home.version)
        if not replay.unfit and (replay.same == replay.times or _says_less(cells[home.version], ours)):
            cells[home.version] = Cell(Word(replay.verdict), "" if replay.same == replay.times else replay.seen)
        cells = {column: Cell(Word.UNKNOWN, why) for column, why in missing.items()} | cells
        found.append(History(f"{replay.bundle.path}", f"{replay.kind} {bundle.signature}", cells))
    return found


def _says_less(cell: Cell, ours: bool) -> bool:
    """Whether a cell of our own TVM says less than a replay there did; `ours` are bundles that were found on it."""
    return cell.word in (Word.UNKNOWN, Word.OTHER) and (ours or cell.detail == HOME_ONLY)
