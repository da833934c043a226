"""Totals of a set of reached blocks by directory, file, function, pass and line, and the difference of two sets."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tzerlike.coverage.source.places import Places

Bits = npt.NDArray[np.bool_]

UNKNOWN = "(unknown)"

_PASS = re.compile(r"tvm::([a-z_:]+)::transform::((?!Create)[A-Z]\w*)\(")


@dataclass(frozen=True, slots=True)
class Row:
    """One directory, file, function or pass. `other` is what the other campaign reached, where there is one; `unique`
    what it did not and this one did; `missed` the other way round."""

    name: str
    covered: int
    total: int
    where: str = ""
    other: int | None = None
    unique: int = 0
    missed: int = 0

    def to_json(self) -> dict[str, Any]:
        row: dict[str, Any] = {"name": self.name, "covered": self.covered, "total": self.total}
        if self.where:
            row["where"] = self.where
        if self.other is not None:
            row |= {"other": self.other, "unique": self.unique, "missed": self.missed}
        return row


@dataclass(frozen=True, slots=True)
class BlockTally:
    """Blocks with their places, those that a campaign reached, and those of another one if there is any."""

    places: Places
    reached: Bits
    other: Bits | None = None

    def everything(self) -> Row:
        (row,) = self._rows(np.zeros(len(self.places), np.int32), ("all",))
        return row

    def directories(self) -> list[Row]:
        """Each directory with all below it, in order of their names."""
        chains = [_directories_of(name) for name in self.places.files]
        names = sorted({name for chain in chains for name in chain})
        # A block counts once for each directory that its file is in, so rows are summed from those of files.
        by_file = self._rows(self.places.file, self.places.files, keep_empty=True)
        sums = {name: [0, 0, 0, 0, 0] for name in names}
        for row, chain in zip(by_file, chains, strict=True):
            for name in chain:
                parts = (row.covered, row.total, row.other or 0, row.unique, row.missed)
                sums[name] = [a + b for a, b in zip(sums[name], parts, strict=True)]
        compared = self.other is not None
        return [
            Row(name, covered, total, "", other if compared else None, unique, missed)
            for name, (covered, total, other, unique, missed) in sums.items()
        ]

    def files(self) -> list[Row]:
        """Each file, in order of their names; blocks of no known file are a row of their own."""
        return sorted(self._rows(self.places.file, self.places.files), key=lambda row: row.name)

    def functions(self) -> list[Row]:
        """Each known function, in order of their names; `where` is the file that its first block is from."""
        known = self.places.function >= 0
        first = np.full(len(self.places.functions), -1, np.int64)
        (at,) = np.nonzero(known)
        first[self.places.function[at[::-1]]] = at[::-1]
        where = ["" if i < 0 or self.places.file[i] < 0 else self.places.files[self.places.file[i]] for i in first]
        rows = self._rows(self.places.function, self.places.functions, where)
        return sorted((row for row in rows if row.name != UNKNOWN), key=lambda row: row.name)

    def passes(self) -> list[Row]:
        """Each pass by the function that makes it, with the blocks of the file that this is in, if that is known.

        A pass whose constructor nobody has reached has 0 covered, whatever else of its file was; a lambda in there is
        no constructor.
        """
        by_file = {row.name: row for row in self.files()}
        found: dict[str, Row] = {}
        for row in self.functions():
            match = _PASS.match(row.name)
            if match is None:
                continue
            name = f"{match[1].replace('::', '.')}.{match[2]}"
            whole = by_file.get(row.where)
            if whole is None or row.where.endswith("/?") or not row.covered:
                whole = row if whole is None or row.where.endswith("/?") else Row(row.where, 0, whole.total)
            where = row.where if not row.where.endswith("/?") else ""
            row = Row(name, whole.covered, whole.total, where, whole.other, whole.unique, whole.missed)
            found[name] = max(row, found.get(name, row), key=lambda each: each.covered)
        return sorted(found.values(), key=lambda row: row.name)

    def unreached_lines(self) -> dict[str, list[tuple[int, int]]]:
        """The lines of each file that have blocks, none of which was reached, as ranges over lines that have blocks."""
        return {name: _ranges(lines, reached) for name, lines, reached in self._lines(self.reached) if not all(reached)}

    def lines_unlike(self) -> dict[str, tuple[list[int], list[int]]]:
        """The lines of each file that only this campaign has reached, and those that only the other one has."""
        if self.other is None:
            return {}
        unlike = {}
        for (name, lines, mine), (_, _, theirs) in zip(self._lines(self.reached), self._lines(self.other), strict=True):
            here = [line for line, a, b in zip(lines, mine, theirs, strict=True) if a and not b]
            there = [line for line, a, b in zip(lines, mine, theirs, strict=True) if b and not a]
            if here or there:
                unlike[name] = (here, there)
        return unlike

    def _lines(self, reached: Bits) -> Iterable[tuple[str, list[int], list[bool]]]:
        """Yield each file with its lines that have blocks, ascending, and whether they were reached."""
        (at,) = np.nonzero((self.places.file >= 0) & (self.places.line > 0))
        if not len(at):
            return
        keys = self.places.file[at].astype(np.int64) << 32 | self.places.line[at]
        unique, inverse = np.unique(keys, return_inverse=True)
        hit = np.zeros(len(unique), np.bool_)
        np.logical_or.at(hit, inverse, reached[at])
        owners = (unique >> 32).astype(np.int64)
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(owners)], strict=True):
            lines = (unique[start:end] & 0xFFFFFFFF).tolist()
            yield self.places.files[int(owners[start])], lines, hit[start:end].tolist()

    def _rows(
        self,
        owner: npt.NDArray[np.int32],
        names: tuple[str, ...],
        where: list[str] | None = None,
        *,
        keep_empty: bool = False,
    ) -> list[Row]:
        """One row a name, and one for blocks that belong to none; those without blocks are left out or kept."""
        size = len(names) + 1

        def count(bits: Bits) -> list[int]:
            # An unknown owner, -1, is counted behind the last name.
            found: list[int] = np.bincount(owner[bits] % size, minlength=size).tolist()
            return found

        total, covered = count(np.ones(len(owner), np.bool_)), count(self.reached)
        nothing = [0] * size
        other = nothing if self.other is None else count(self.other)
        unique = nothing if self.other is None else count(self.reached & ~self.other)
        missed = nothing if self.other is None else count(self.other & ~self.reached)
        rows = [
            Row(
                name,
                covered[i],
                total[i],
                where[i] if where is not None and i < len(where) else "",
                None if self.other is None else other[i],
                unique[i],
                missed[i],
            )
            for i, name in enumerate((*names, UNKNOWN))
        ]
        return rows[:-1] if keep_empty else [row for row in rows if row.total]


def _directories_of(file: str) -> list[str]:
    """Return the directories that a file of TVM's is in, outermost first; none for a file of others."""
    if file.startswith("/"):
        return []
    found = []
    while file := posixpath.dirname(file):
        found.append(file)
    return found[::-1]


def _ranges(lines: list[int], reached: list[bool]) -> list[tuple[int, int]]:
    """Join neighbours among `lines` that were not reached."""
    ranges: list[tuple[int, int]] = []
    going = False
    for line, hit in zip(lines, reached, strict=True):
        if not hit:
            ranges[-1:] = [(ranges[-1][0], line)] if going else [*ranges[-1:], (line, line)]
        going = not hit
    return ranges
