"""Blocks and chains of blocks that memcov finds in a library."""

import contextlib
import ctypes
import itertools
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.memcov import address_of, check, fork, objdump, traced
from tzerlike import coverage
from tzerlike.core.errors import UserError
from tzerlike.core.package import MEMCOV
from tzerlike.coverage import BreakpointCoverage, Indices, LoadedCode
from tzerlike.coverage import blocks as code_blocks

NONE = 0xFFFFFFFF


pytestmark = pytest.mark.skipif(not MEMCOV.exists(), reason="libmemcov.so has not been built")


def test_blocks_are_instructions_and_every_branch_target_is_a_block(path: Path, blocks: Indices) -> None:
    instructions = list(objdump(path))
    found = set(blocks.tolist())
    assert list(blocks) == sorted(found)
    assert found <= {address for address, _, _ in instructions}
    # The C runtime's start-up code at both ends of .text has no unwind data and is none of ours.
    own = range(int(blocks[0]), int(blocks[-1]) + 1)
    targets = set()
    for (_, mnemonic, operands), (following, after, _) in itertools.pairwise(instructions):
        if mnemonic in ("jmp", "ret") and "nop" not in after and after != "xchg":
            targets.add(following)
        first = operands.split(" ")[0]
        if not mnemonic.startswith(("j", "call")) or first.startswith("*") or "@plt" in operands:
            continue
        targets.add(int(first, 16))
        if mnemonic.startswith("j") and mnemonic != "jmp":
            targets.add(following)
    inside = {target for target in targets if target in own}
    assert len(inside) > 30
    assert inside <= found


def test_straight_code_is_one_block(lib: ctypes.CDLL, base: int, blocks: Indices) -> None:
    start = address_of(lib.fixture_source) - base
    assert [block for block in blocks.tolist() if start <= block < start + 8] == [start]


def test_certain_successors(path: Path, blocks: Indices, successors: Indices) -> None:
    instructions = list(objdump(path))
    place = {address: i for i, (address, _, _) in enumerate(instructions)}
    starts = set(blocks.tolist())
    links = {int(blocks[i]): int(blocks[s]) for i, s in enumerate(successors.tolist()) if s != NONE}
    assert 10 < len(links) < len(blocks) / 2
    for start in starts:
        at = place[start]
        while True:
            _, mnemonic, operands = instructions[at]
            leaves = mnemonic.startswith(("call", "ret", "ud", "int", "hlt", "syscall", "repz", "bnd"))
            jumps = mnemonic.startswith("j")
            following = instructions[at + 1][0] if at + 1 < len(instructions) else 0
            if leaves or jumps or following in starts:
                break
            at += 1
        if start not in links:
            continue
        assert not leaves, f"{start:x} ends with {mnemonic}"
        if jumps:
            assert mnemonic == "jmp"
            assert links[start] == int(operands.split(" ")[0], 16) != start
        else:
            assert links[start] == following


def test_chains_of_hand_written_code(lib: ctypes.CDLL, base: int, blocks: Indices, successors: Indices) -> None:
    def links(function: Any, end: Any) -> list[int | None]:
        start, stop = address_of(function) - base, address_of(end) - base
        own = [i for i, block in enumerate(blocks.tolist()) if start <= block < stop]
        return [successors[i] - own[0] if successors[i] != NONE else None for i in own]

    # entry, second test, 1:, 2:, 3:, ret, 4:, 5:
    assert links(lib.fixture_chain, lib.fixture_called) == [None, None, 4, 4, None, None, 2, None]
    # entry, 1: (calls), 2:, ret
    assert links(lib.fixture_called, lib.fixture_spin)[:4] == [None, None, None, None]


CALLS: dict[str, Callable[[ctypes.CDLL], object]] = {
    "branches": lambda lib: lib.fixture_classify(-1),
    "calls": lambda lib: lib.fixture_classify(27),
    "switch": lambda lib: [lib.fixture_switch(i) for i in (0, 1, 3, 6, 30)],
    "loop": lambda lib: lib.fixture_sum((ctypes.c_int * 5)(1, 5, 2, 7, 0), 5),
    "empty loop": lambda lib: lib.fixture_sum(None, 0),
    "diamond left": lambda lib: lib.fixture_diamond(1, ctypes.byref(ctypes.c_int())),
    "diamond right": lambda lib: lib.fixture_diamond(2, ctypes.byref(ctypes.c_int())),
    "chain": lambda lib: check(lib.fixture_chain(0) == 101),
    "chain behind a branch": lambda lib: check(lib.fixture_chain(1) == 110),
    "chain with a cycle": lambda lib: check(lib.fixture_chain(3) == 202),
    "throw": lambda lib: check(lib.fixture_catch(9) == 101),
    "no throw": lambda lib: check(lib.fixture_catch(2) == 2),
    "always throws": lambda lib: check(lib.fixture_always(4) == 51),
    "leaves from a call": lambda lib: lib.fixture_called(1, ctypes.cast(ctypes.CDLL(None)._exit, ctypes.c_void_p)),
    "fault": lambda lib: lib.fixture_segfault(ctypes.c_void_p(0)),
}


@pytest.mark.parametrize("call", CALLS)
def test_chains_report_what_traps_do(
    lib: ctypes.CDLL, base: int, blocks: Indices, successors: Indices, call: str
) -> None:
    alone = BreakpointCoverage([LoadedCode(base, blocks)], 1)
    chained = BreakpointCoverage([LoadedCode(base, blocks, successors)], 1)
    work = partial(CALLS[call], lib)
    expected = traced(alone, work)
    assert traced(chained, work) == expected
    # The order of discovery is that of running.
    assert chained.new_indices(0).tolist() == alone.new_indices(0).tolist() != []
    # And when some of them have been reached before, in whatever order.
    found = alone.new_indices(0)
    for known in (found[::2], found[1::2], found[-2:]):
        for cov in (alone, chained):
            cov.reset()
            bits = np.zeros(cov.total, np.uint8)
            bits[known] = 1
            cov.restore(np.packbits(bits, bitorder="little").tobytes())
            assert traced(cov, work) == expected
        assert set(chained.new_indices(0).tolist()) == set(alone.new_indices(0).tolist()) == {*found} - {*known}


def test_a_chain_has_an_end(lib: ctypes.CDLL, base: int, blocks: Indices) -> None:
    # Blocks in one cycle: one trap takes 64 along. A breakpoint of the program's own would end the chain.
    links = np.flatnonzero(code_blocks._first_bytes(base, blocks) != 0xCC).astype(np.uint32)
    ring = np.full(len(blocks), NONE, np.uint32)
    ring[links] = np.roll(links, -1)
    cov = BreakpointCoverage([LoadedCode(base, blocks, ring)], 1)
    assert traced(cov, lambda: lib.fixture_diamond(1, ctypes.byref(ctypes.c_int()))) == 0
    assert 65 <= cov.new(0) <= len(blocks)
    own = np.arange(len(blocks), dtype=np.uint32)
    itself = BreakpointCoverage([LoadedCode(base, blocks, own)], 1)
    assert traced(itself, lambda: check(lib.fixture_chain(3) == 202)) == 0
    assert itself.new(0) == 6


def test_landing_pads_and_switch_cases_are_blocks(
    lib: ctypes.CDLL, cov: BreakpointCoverage, path: Path, base: int, blocks: Indices
) -> None:
    # Neither can be reached by a direct branch.
    def counts(work: Callable[[], object]) -> int:
        assert traced(cov, work) == 0
        return cov.new(0)

    assert counts(lambda: lib.fixture_switch(0)) > 0
    assert counts(lambda: lib.fixture_switch(6)) > 0
    assert counts(lambda: lib.fixture_catch(1)) > 0
    assert counts(lambda: check(lib.fixture_catch(9) == 101)) > 2
    # Here the pad stands right behind a call that never returns.
    assert traced(cov, lambda: check(lib.fixture_always(9) == 51)) == 0
    start = address_of(lib.fixture_always) - base
    pad = next(b[0] for a, b in itertools.pairwise(objdump(path)) if a[0] > start and a[1] == "call")
    assert pad in blocks[cov.new_indices(0)].tolist()


def test_own_part_ends_at_the_last_function_that_names_a_source(tmp_path: Path) -> None:
    for name, text in {
        "own.cc": 'extern "C" const char *own() { return "/project/own.cc"; }\nextern "C" int own_two(int x) {'
        ' return x ? x * 3 : 9; }\nextern "C" const char *last_own() { return "/project/other.cc"; }\n',
        "foreign.cc": 'extern "C" const char *foreign() { return "/elsewhere/f.cc"; }\n'
        'extern "C" int foreign_two(int x) { return x > 3 ? foreign()[x] : 2; }\n',
    }.items():
        (tmp_path / name).write_text(text)
    library = tmp_path / "libtwo.so"
    sources = [str(tmp_path / "own.cc"), str(tmp_path / "foreign.cc")]
    subprocess.run(["g++", "-O1", "-fPIC", "-shared", "-o", str(library), *sources], check=True)
    symbols = subprocess.run(["nm", "-D", str(library)], check=True, capture_output=True, text=True).stdout
    at = {line.split()[2]: int(line.split()[0], 16) for line in symbols.splitlines() if " T " in line}
    own, every = coverage.find_chains(library, "/project/")[0].tolist(), coverage.find_chains(library, None)[0].tolist()
    assert {at["own"], at["own_two"], at["last_own"]} <= set(own)
    assert at["foreign"] in every and at["foreign_two"] in every
    assert max(own) < at["foreign"]
    assert len(coverage.find_chains(library, "/nobody/")[0]) == 0


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(58), b"#!/bin/sh\n" + bytes(100)])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "lib.so"
    file.write_bytes(content)
    with pytest.raises(UserError, match="cannot find the code"):
        coverage.find_chains(file, None)


def test_truncated_libraries_never_crash_the_finder(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    file = tmp_path / "lib.so"
    for size in range(64, len(data), len(data) // 37):
        file.write_bytes(data[:size])
        assert fork(lambda: _find_or_refuse(file)) == 0


def _find_or_refuse(file: Path) -> None:
    with contextlib.suppress(UserError):
        coverage.find_chains(file, None)
