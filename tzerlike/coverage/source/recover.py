"""Source locations of the blocks of a stripped library, as far as its contents show them.

Code stands in the order in which it was linked, object file after object file in the order of their paths, and most of
TVM's hold checks, whose messages carry the path of the source. So code between two references to the same path is that
file's. Between two different files it is some file's of the directory that both are in, which is called `directory/?`.
Functions are known by the dynamic symbols, which are those that TVM exports: those that make passes are among them.
"""

from __future__ import annotations

import posixpath
import re
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tzerlike.core.errors import UserError
from tzerlike.coverage.source.places import Places, numbered

_LAST_BLOCK = 1 << 16
"""Bytes behind the last block's start to look at: what follows is another's code."""

_SYMBOL = re.compile(r"([0-9a-f]+) ([0-9a-f]+) [TtWw] (.*)")


@dataclass(frozen=True, slots=True)
class _Section:
    address: int
    offset: int
    size: int


def recovered_places(library: Path, addresses: npt.NDArray[np.uint32], prefix: str) -> Places:
    """Return the places of `addresses`, ascending, as in the file `library`.

    `prefix` is what the paths of its sources begin with. UserError when it is no library that can be looked into.
    """
    sections = _sections(library)
    if not {".text", ".rodata"} <= sections.keys():
        raise UserError(f"{library}: no .text and .rodata in it")
    text = sections[".text"]
    behind = min(text.address + text.size, int(addresses[-1]) + _LAST_BLOCK)
    own = _Section(text.address, text.offset, behind - text.address)
    marks, names = _references(library, own, sections[".rodata"], prefix)
    # The code before the first mark, between each two, and behind the last one.
    stretches = ["", *(_between(first, second) for first, second in pairwise(names)), ""]
    files, owners = numbered(stretches)
    file = owners[np.searchsorted(marks, addresses.astype(np.int64), side="right")]
    functions, function = _functions(library, addresses)
    return Places(files, functions, file, function, np.zeros(len(addresses), np.int32))


def _between(first: str, second: str) -> str:
    """Return what is known of code between references to two files; "" where they have no directory in common."""
    if first == second:
        return first
    shared = posixpath.commonpath([posixpath.dirname(first), posixpath.dirname(second)])
    return f"{shared}/?" if shared else ""


def _references(
    library: Path, text: _Section, rodata: _Section, prefix: str
) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Return the addresses of the instructions that take the address of a source's path, ascending, and the paths."""
    data = np.memmap(library, np.uint8, "r")
    strings = bytes(data[rodata.offset : rodata.offset + rodata.size])
    pattern = re.compile(rb"(?<![^\0])" + re.escape(prefix.encode()) + rb"([\x21-\x7e]+\.(?:cc|cpp|cu))\0")
    paths = {rodata.address + m.start(): m[1].decode() for m in pattern.finditer(strings)}
    known = np.array(sorted(paths), np.int64)
    found_at, found_what = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    step = 1 << 24
    for start in range(0, max(text.size - 7, 0), step):
        code = np.asarray(data[text.offset + start : text.offset + min(start + step + 7, text.size)])
        # lea reg, [rip + disp32]: REX.W, 8d, a ModRM byte with mod 0 and r/m 5.
        rex, opcode, modrm = code[:-6], code[1:-5], code[2:-4]
        (at,) = np.nonzero(((rex == 0x48) | (rex == 0x4C)) & (opcode == 0x8D) & (modrm & 0xC7 == 5))
        at = at[at < step]
        displacement = np.zeros(len(at), np.uint32)
        for i in range(4):
            displacement |= code[at + 3 + i].astype(np.uint32) << np.uint32(8 * i)
        here = text.address + start + at.astype(np.int64)
        target = here + 7 + displacement.view(np.int32)
        hit = np.isin(target, known)
        found_at.append(here[hit])
        found_what.append(target[hit])
    return np.concatenate(found_at), [paths[int(target)] for target in np.concatenate(found_what)]


def _functions(library: Path, addresses: npt.NDArray[np.uint32]) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    spans: dict[int, tuple[int, str]] = {}
    for line in _said(["nm", "-D", "--defined-only", "-S", "-C", str(library)]):
        if (match := _SYMBOL.match(line)) is not None:
            spans.setdefault(int(match[1], 16), (int(match[2], 16), match[3]))
    starts = sorted(spans)
    ends = np.array([start + spans[start][0] for start in starts], np.int64)
    before = np.searchsorted(np.array(starts, np.int64), addresses.astype(np.int64), side="right") - 1
    inside = before >= 0
    inside[inside] = addresses[inside] < ends[before[inside]]
    return tuple(spans[start][1] for start in starts), np.where(inside, before, -1).astype(np.int32)


def _sections(library: Path) -> dict[str, _Section]:
    found = {}
    for line in _said(["readelf", "-SW", str(library)]):
        if match := re.match(r"\s*\[\s*\d+\]\s+(\S+)\s+\S+\s+([0-9a-f]+)\s+([0-9a-f]+)\s+([0-9a-f]+)", line):
            found[match[1]] = _Section(*(int(match[i], 16) for i in (2, 3, 4)))
    return found


def _said(command: list[str]) -> list[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError as error:
        raise UserError(f"{command[0]} is missing: apt-get install binutils") from error
    if done.returncode != 0:
        raise UserError(f"{command[-1]}: {command[0]} cannot read it")
    return done.stdout.splitlines()
