"""What bundles do on several versions of TVM: a table, and from it where a bug came in and went."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tzerlike.core.finding import kind_of
from tzerlike.core.observation import Exit, message_template
from tzerlike.core.results import BASELINE
from tzerlike.findings.bundles.bundle import Bundle
from tzerlike.findings.replay import Replayed
from tzerlike.findings.versions.host import Guest

_HOME_ONLY = "only the TVM that tzerlike itself runs on can judge this kind"
_FAILURES = {"crash": Exit.CRASH, "hang": Exit.TIMEOUT, "oom": Exit.OOM}


class Word(StrEnum):
    """What became of a bundle on a version."""

    SHOWS = "shows"
    ABSENT = "does not show"
    FLAKY = "flaky"
    UNKNOWN = "cannot load"


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
        """The first version that shows the bug, "" if none does; later than what is known not to, if anything is."""
        return next((version for version, cell in self.cells.items() if cell.word is Word.SHOWS), "")

    @property
    def fixed_in(self) -> str:
        """The first version from which on none shows the bug, "" where it shows to the end or never did."""
        fixed = ""
        for version, cell in self.cells.items():
            if cell.word in (Word.SHOWS, Word.FLAKY):
                fixed = ""
            elif cell.word is Word.ABSENT and not fixed and self.first_bad:
                fixed = version
        first = self.first_bad
        return fixed if first and fixed and version_key(fixed) > version_key(first) else ""

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


def looked_at(bundle: Bundle, guest: Guest, scripts: Sequence[str], times: int) -> Cell:
    """Run a bundle `times` times on the guest's TVM; `scripts` are texts of its program, to be tried in turn."""
    if bundle.probe is not None or bundle.kind == "slow-code":
        return Cell(Word.UNKNOWN, _HOME_ONLY)
    results = bundle.observation.results
    item = {
        "do": "judge",
        "case": bundle.stored.case.to_json(),
        "inputs": str(bundle.path.resolve() / "inputs.npz") if bundle.kind == "wrong-code" else "",
        "reference": results is not None and results.blame in (BASELINE, "both"),
        "seconds": bundle.limits.seconds,
        "memory": bundle.limits.memory,
    }
    answer: dict[str, Any] = {}
    for script in scripts or ("",):
        answer = guest.ask({**item, "script": script})
        if "unloadable" not in answer:
            answers = [answer, *(guest.ask({**item, "script": script}) for _ in range(times - 1))]
            same = sum(_shows(bundle, each) for each in answers)
            word = Word.SHOWS if same == times else Word.FLAKY if same else Word.ABSENT
            return Cell(word, "" if same == times else _seen(answers[-1]))
    return Cell(Word.UNKNOWN, str(answer["unloadable"]))


def _shows(bundle: Bundle, answer: Mapping[str, Any]) -> bool:
    """Whether an answer is the bug of the bundle, as far as that can be decided across versions.

    Frames, and a crash's place within a pass, differ from build to build: what counts is the kind of end, the pass, and
    the message without what varies.
    """
    seen = bundle.observation
    if bundle.kind == "wrong-code":
        return bool(answer.get("wrong"))
    place = _pass(answer.get("pass", "")) or answer.get("stage", "")
    if place != (_pass(seen.pass_name) or seen.stage.value):
        return False
    if bundle.kind in _FAILURES:
        same_signal = bundle.kind != "crash" or answer.get("signal", 0) == seen.signal
        return bool(answer["exit"] == _FAILURES[bundle.kind].value and same_signal)
    if answer["exit"] != Exit.REJECTED.value:
        return False
    return message_template(answer["message"]) == message_template(seen.message)


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
    answers = [guest.ask(item) for guest in sorted(guests, key=lambda g: version_key(g.version), reverse=True)]
    return list(dict.fromkeys(answer["script"] for answer in answers if "script" in answer))


def histories(replays: Sequence[Replayed], home: Guest, guests: Sequence[Guest], times: int) -> list[History]:
    """Look at replayed bundles on the TVM of each guest and on our own, that of `home`.

    On our own the recorded signature counts as well as the rule that holds across versions.
    """
    everyone = {guest.version: guest for guest in (*guests, home)}
    versions = sorted(everyone, key=version_key)
    found = []
    for replay in replays:
        bundle = replay.bundle
        cells = {version: Cell(Word.UNKNOWN, _HOME_ONLY) for version in versions}
        if isinstance(bundle, Bundle):
            scripts = printed(bundle, list(everyone.values()))
            cells = {version: looked_at(bundle, everyone[version], scripts, times) for version in versions}
        if replay.same == replay.times or cells[home.version].word is Word.UNKNOWN:
            cells[home.version] = Cell(Word(replay.verdict), "" if replay.same == replay.times else replay.seen)
        found.append(History(f"{replay.bundle.path}", f"{kind_of(bundle.path.name)} {bundle.signature}", cells))
    return found
