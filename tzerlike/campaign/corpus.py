"""The pool of (program, pass sequence, N) and the joint schedule over it (paper, section 3.1)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from tzerlike.core.case import Case, PassSpec, Provenance
from tzerlike.core.stored import StoredCase


class Entry:
    """A corpus member; `n` counts the IR mutations in a row that found nothing new (the paper's N), `tried` all
    mutations, and `won` those that found something.

    It is `focused` where it was the first to reach a block in the focus of the campaign (tzerlike.coverage.focus).
    `computes` is a digest of what its program computes (tzerlike.core.observation), "" where that is not known.
    Its program is kept compressed: a campaign of days has tens of thousands of them.
    """

    __slots__ = ("_bare", "_program", "computes", "focused", "id", "n", "provenance", "tried", "won")

    def __init__(
        self,
        case: Case,
        provenance: Provenance,
        n: int = 0,
        *,
        tried: int = 0,
        won: int = 0,
        focused: bool = False,
        computes: str = "",
    ) -> None:
        self.tried, self.won, self.focused, self.computes = tried, won, focused, computes
        self.take(case, provenance, n)

    def take(self, case: Case, provenance: Provenance, n: int = 0) -> None:
        """Hold another case from now on."""
        self.id, self.provenance, self.n = case.id, provenance, n
        self._program = zlib.compress(case.ir.encode())
        self._bare = replace(case, ir="")

    @property
    def case(self) -> Case:
        return replace(self._bare, ir=zlib.decompress(self._program).decode())

    @property
    def passes(self) -> tuple[PassSpec, ...]:
        return self._bare.passes

    @property
    def stored(self) -> StoredCase:
        return StoredCase(self.case, self.provenance)

    @property
    def worth(self) -> float:
        """What a mutation may be expected to find, for what it costs: by sizes and counts and never by the clock, so
        that equal campaigns choose alike."""
        size = _LEAST + len(self._program) + _PASS * len(self.passes)
        return (self.won + 1) / (self.tried + _PRIOR) / size


_PRIOR = 4
"""Mutations, one of which found something, that a new entry is credited with."""

_LEAST, _PASS = 150, 40
"""What a case costs that has neither program nor passes, and what each pass does, in bytes of compressed program."""

_CONTEST = 4
"""How many entries are drawn for one to be taken."""


_FOCUSED = 16
"""As how many others a focused entry counts when one is drawn. A share of the draws would go to one entry again and
again where a function changed that each case reaches."""


class Corpus:
    """Entries in order of arrival."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._ids: set[str] = set()
        self._focused: list[Entry] = []

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __contains__(self, case_id: str) -> bool:
        return case_id in self._ids

    def add(self, entry: Entry) -> bool:
        """Append an entry; False when its case is in already."""
        if entry.id in self._ids:
            return False
        self._ids.add(entry.id)
        self.entries.append(entry)
        if entry.focused:
            self._focused.append(entry)
        return True

    def focus_on(self, entry: Entry) -> None:
        """Have an entry among the focused ones from now on."""
        if not entry.focused:
            entry.focused = True
            self._focused.append(entry)

    def replace_case(self, entry: Entry, case: Case, provenance: Provenance) -> None:
        """Give `entry` another case: what a pass mutation that found something new does."""
        self._ids.discard(entry.id)
        self._ids.add(case.id)
        entry.take(case, provenance)

    def contest(self, rng: Random) -> Entry:
        """Draw a few entries as `choose` does, and return the first one if it is focused, else the one of the greatest
        worth."""
        first, *others = (self.choose(rng) for _ in range(_CONTEST))
        return first if first.focused else max((first, *others), key=lambda entry: entry.worth)

    def choose(self, rng: Random) -> Entry:
        """Draw an entry, each with the same chance, as Algorithm 1 does; IndexError when there is none.

        A focused one counts as so many.
        """
        drawn = rng.randrange(len(self.entries) + (_FOCUSED - 1) * len(self._focused))
        beyond = drawn - len(self.entries)
        return self.entries[drawn] if beyond < 0 else self._focused[beyond // (_FOCUSED - 1)]
