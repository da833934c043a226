"""memcov on a small library of its own: real breakpoints, real processes, real deaths."""

import contextlib
import ctypes
import importlib.util
import itertools
import mmap
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tzerlike import coverage
from tzerlike.coverage import BreakpointCoverage, DeathRecord, Indices, describe, describe_death, native
from tzerlike.coverage import blocks as code_blocks
from tzerlike.errors import TzerlikeError, UserError

SOURCES = Path(__file__).parents[2] / "memcov"
SEGV_MAPERR = 1
NONE = 0xFFFFFFFF

pytestmark = pytest.mark.skipif(not coverage.MEMCOV.exists(), reason="libmemcov.so has not been built")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("memcov")
    subprocess.run(
        ["make", "-s", "-C", str(SOURCES), f"LIBRARY_DIR={directory}", f"{directory}/libfixture.so"], check=True
    )
    return directory / "libfixture.so"


@pytest.fixture(scope="module")
def lib(path: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(path))


@pytest.fixture(scope="module")
def blocks(path: Path) -> Indices:
    return coverage.find_blocks(path, None)


@pytest.fixture(scope="module")
def base(path: Path, lib: ctypes.CDLL) -> int:
    return code_blocks.base_of(path)


@pytest.fixture(scope="module")
def successors(path: Path) -> Indices:
    return coverage.find_chains(path, None)[1]


@pytest.fixture
def cov(lib: ctypes.CDLL, base: int, blocks: Indices, successors: Indices) -> BreakpointCoverage:
    return BreakpointCoverage(base, blocks, slots=3, successors=successors)


@pytest.fixture
def record() -> DeathRecord:
    return DeathRecord()


def fork(work: Callable[[], object]) -> int:
    """Run `work` in a forked child and return its wait status; an exception there is exit status 97."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            work()
        except BaseException:  # noqa: BLE001 the child must end here, whatever happens
            os._exit(97)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def traced(cov: BreakpointCoverage, work: Callable[[], object], slot: int = 0) -> int:
    """Run `work` in a child that is covered."""

    def child() -> None:
        cov.enter(slot)
        work()

    cov.begin(slot)
    return fork(child)


def check(condition: bool) -> None:
    """An assertion for children, where pytest's would only say 97 as well."""
    if not condition:
        raise AssertionError


def address_of(function: Any) -> int:
    value = ctypes.cast(function, ctypes.c_void_p).value
    assert value is not None
    return value


def functions_of(cov: BreakpointCoverage, base: int, blocks: Indices, slot: int = 0) -> set[str]:
    frames = (describe(base + int(blocks[i])) for i in cov.new_indices(slot))
    return {frame.name for frame in frames if frame is not None}


# --- blocks ----------------------------------------------------------------------------------------------


def objdump(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield address, mnemonic and operands of every instruction of .text."""
    text = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", "-j", ".text", str(path)], check=True, capture_output=True, text=True
    ).stdout
    for line in text.splitlines():
        address, tab, instruction = line.partition(":\t")
        if tab:
            mnemonic, _, operands = instruction.partition(" ")
            yield int(address, 16), mnemonic, operands.strip()


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
    alone = BreakpointCoverage(base, blocks, 1)
    chained = BreakpointCoverage(base, blocks, 1, successors)
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
    cov = BreakpointCoverage(base, blocks, 1, ring)
    assert traced(cov, lambda: lib.fixture_diamond(1, ctypes.byref(ctypes.c_int()))) == 0
    assert 65 <= cov.new(0) <= len(blocks)
    own = np.arange(len(blocks), dtype=np.uint32)
    itself = BreakpointCoverage(base, blocks, 1, own)
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
    own, every = coverage.find_blocks(library, "/project/").tolist(), coverage.find_blocks(library, None).tolist()
    assert {at["own"], at["own_two"], at["last_own"]} <= set(own)
    assert at["foreign"] in every and at["foreign_two"] in every
    assert max(own) < at["foreign"]
    assert len(coverage.find_blocks(library, "/nobody/")) == 0


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(58), b"#!/bin/sh\n" + bytes(100)])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "lib.so"
    file.write_bytes(content)
    with pytest.raises(UserError, match="cannot find the code"):
        coverage.find_blocks(file, None)


def test_truncated_libraries_never_crash_the_finder(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    file = tmp_path / "lib.so"
    for size in range(64, len(data), len(data) // 37):
        file.write_bytes(data[:size])
        assert fork(lambda: _find_or_refuse(file)) == 0


def _find_or_refuse(file: Path) -> None:
    with contextlib.suppress(UserError):
        coverage.find_blocks(file, None)


def lengths_disagree(code: bytes | mmap.mmap, start: int, end: int) -> list[str]:
    """Return where capstone and our decoder differ in sweeping code[start:end]."""
    capstone = pytest.importorskip("capstone")
    disassembler = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    length = native.load().memcov_instruction_length
    buffer = ctypes.create_string_buffer(code[start:end], end - start)
    memory = ctypes.addressof(buffer)
    wrong, at = [], 0
    for address, size, mnemonic, operands in disassembler.disasm_lite(buffer.raw, 0):
        ours = length(ctypes.c_void_p(memory + address), ctypes.c_size_t(end - start - address))
        if ours != size:
            wrong.append(f"{start + address:x}: {mnemonic} {operands}: {size}, not {ours}")
        at = address + size
    assert at == end - start, "capstone stopped early"
    return wrong


def test_decoder_agrees_with_capstone_on_itself_and_the_fixture(path: Path) -> None:
    for library in (path, coverage.MEMCOV):
        code = library.read_bytes()
        found = coverage.find_blocks(library, None)
        # Text lies where its addresses say, or the first block would not be decodable.
        assert lengths_disagree(code, int(found[0]), int(found[-1])) == []


def test_decoder_agrees_with_capstone_on_tvm() -> None:
    spec = importlib.util.find_spec("tvm")
    library = Path(spec.origin or "").parent / "lib" / "libtvm_compiler.so" if spec else None
    if library is None or not library.exists():
        pytest.skip("no TVM wheel here")
    found = coverage.find_blocks(library, coverage.OWN_PREFIX)
    assert len(found) > 1_000_000
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as code:
        for i in range(0, len(found) - 200, len(found) // 100):
            # From block to block: gaps between functions would not decode.
            for start, end in itertools.pairwise(found[i : i + 200 : 10].tolist()):
                if end - start < 4096:
                    assert lengths_disagree(code, start, end) == []


def test_decoder_agrees_with_capstone_on_vector_code(tmp_path: Path) -> None:
    source = tmp_path / "vector.cc"
    source.write_text(
        "#include <immintrin.h>\n"
        'extern "C" void f(float *a, double *b, int *c, long n) {\n'
        "for (long i = 0; i < n; ++i) { a[i] = a[i] * 3 + c[i]; b[i] = b[i] / a[i]; c[i] ^= (int)b[i] << 3; } }\n"
        'extern "C" __m512i g(__m512i x, __m512i y, __mmask16 m) {\n'
        "return _mm512_mask_shuffle_epi32(_mm512_ternarylogic_epi32(x, y, x, 0x1b), m, y, (_MM_PERM_ENUM)0x4e); }\n"
        'extern "C" __m256i h(__m256i x) { return _mm256_permute4x64_epi64(_mm256_srli_epi16(x, 3), 0x1b); }\n'
        'extern "C" long k(long x, unsigned char y) { return __builtin_popcountl(x) + _pext_u64(x, y) + (y << 7); }\n'
    )
    library = tmp_path / "libvector.so"
    flags = ["-O3", "-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mfma", "-mbmi2", "-mpopcnt", "-fPIC"]
    subprocess.run(["g++", *flags, "-shared", "-o", str(library), str(source)], check=True)
    found = coverage.find_blocks(library, None)
    assert lengths_disagree(library.read_bytes(), int(found[0]), int(found[-1])) == []


@pytest.mark.parametrize(
    ("code", "length"),
    [
        ("90", 1),
        ("f30f1efa", 4),  # endbr64
        ("48b88877665544332211", 10),  # movabs
        ("66b83412", 4),
        ("6648b88877665544332211", 11),
        ("66c7003412", 5),
        ("48c7c044332211", 7),
        ("6648e800000000", 7),  # the call of a thread-local access
        ("f6c001", 3),  # test al, 1
        ("f6c801", 3),  # test al, 1 by its other name
        ("f6d8", 2),  # neg al
        ("6648c7c044332211", 8),  # REX.W outdoes 66
        ("f7042544332211aabbccdd", 11),
        ("a08877665544332211", 9),
        ("67a044332211", 6),
        ("c8100001", 4),
        ("660f3a0fc108", 6),  # palignr
        ("c5f877", 3),  # vzeroupper
        ("c4e3fd00c01b", 6),  # vpermq
        ("62f17c48104001", 7),  # vmovups with a compressed displacement
        ("62f3fd4803c107", 7),  # valignq
        ("0f1f8400000000 00", 8),
        ("2e662e0f1f840000000000", 11),
        ("06", 0),  # push es: none in 64-bit mode
        ("62", 0),
        ("0f04", 0),
        ("e800", 0),  # cut off
        ("6666666666666666666666666666666690", 0),  # longer than 15 bytes
    ],
)
def test_instruction_lengths(code: str, length: int) -> None:
    data = bytes.fromhex(code)
    assert native.load().memcov_instruction_length(data, ctypes.c_size_t(len(data))) == length


# --- coverage --------------------------------------------------------------------------------------------


def test_a_call_is_covered_once(lib: ctypes.CDLL, cov: BreakpointCoverage, base: int, blocks: Indices) -> None:
    work = lambda: check(lib.fixture_classify(6) == 8)  # noqa: E731
    assert traced(cov, work) == 0
    first = cov.new_indices(0)
    assert cov.new(0) == len(first) > 5
    assert len(set(first.tolist())) == len(first)
    assert "fixture_classify" in functions_of(cov, base, blocks)
    assert blocks[first[0]] == address_of(lib.fixture_classify) - base, "the entry comes first"
    assert "fixture_catch" not in functions_of(cov, base, blocks)
    assert traced(cov, work) == 0
    assert cov.new(0) == 0
    assert traced(cov, lambda: check(lib.fixture_classify(-6) == -1)) == 0
    assert cov.new(0) > 0


def test_rearmed_blocks_appear_again(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    work = lambda: lib.fixture_classify(6)  # noqa: E731
    traced(cov, work)
    first = cov.new_indices(0)
    cov.rearm(0)
    assert cov.new(0) == 0
    traced(cov, work)
    assert np.array_equal(cov.new_indices(0), first)
    cov.rearm(0, 3)
    assert np.array_equal(cov.new_indices(0), first[:3])
    traced(cov, work)
    assert np.array_equal(cov.new_indices(0), first[3:])


def test_commit_counts_each_block_once(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    work = lambda: lib.fixture_classify(6)  # noqa: E731
    traced(cov, work, 0)
    n = cov.new(0)
    assert cov.covered() == 0
    assert cov.commit(0, 2) == n - 2
    assert cov.covered() == n - 2
    assert cov.commit(0) == 2
    assert cov.commit(0) == 0
    cov.rearm(0)
    traced(cov, work, 1)
    assert cov.new(1) == n
    assert cov.commit(1) == 0
    assert cov.covered() == n


def test_restored_blocks_are_disarmed_and_the_rest_is_not(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    work = lambda: lib.fixture_classify(6)  # noqa: E731
    traced(cov, work)
    everything = cov.new_indices(0)
    cov.reset()
    bits = np.zeros(cov.total, np.uint8)
    bits[everything[1:]] = 1
    cov.restore(np.packbits(bits, bitorder="little").tobytes())
    traced(cov, work)
    assert cov.new_indices(0).tolist() == [everything[0]]


def test_own_calls_of_the_worker_record_nothing(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    assert lib.fixture_classify(6) == 8
    assert fork(lambda: check(lib.fixture_classify(6) == 8)) == 0
    assert cov.new(0) == 0
    assert signal.getsignal(signal.SIGTRAP) == signal.SIG_DFL
    traced(cov, lambda: lib.fixture_classify(6))
    assert cov.new(0) > 0


def test_slots_are_apart(lib: ctypes.CDLL, cov: BreakpointCoverage, base: int, blocks: Indices) -> None:
    assert traced(cov, lambda: lib.fixture_classify(6), 0) == 0
    assert traced(cov, lambda: lib.fixture_catch(1), 2) == 0
    assert functions_of(cov, base, blocks, 0) >= {"fixture_classify"}
    assert "fixture_classify" not in functions_of(cov, base, blocks, 2)
    assert "fixture_catch" in functions_of(cov, base, blocks, 2)
    assert cov.new(1) == 0
    n = cov.new(2)
    cov.begin(0)
    assert (cov.new(0), cov.new(2)) == (0, n)
    for bad in (3, 2**31):
        with pytest.raises(TzerlikeError):
            cov.begin(bad)


def test_children_at_the_same_time_share_what_they_find(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    def child(slot: int) -> int:
        pid = os.fork()
        if pid == 0:
            cov.enter(slot)
            for i in range(64):
                lib.fixture_switch(i + 7)
            os._exit(0)
        return pid

    for _ in range(20):
        cov.reset()
        statuses = [os.waitpid(pid, 0)[1] for pid in [child(slot) for slot in range(3)]]
        assert statuses == [0, 0, 0]
        found = np.concatenate([cov.new_indices(slot) for slot in range(3)])
        counted = sum(cov.commit(slot) for slot in range(3))
        assert counted == len(set(found.tolist())) == cov.covered()
        assert traced(cov, lambda: [lib.fixture_switch(i + 7) for i in range(64)]) == 0
        assert cov.new(0) == 0


def test_exceptions_pass_through_armed_code(
    lib: ctypes.CDLL, cov: BreakpointCoverage, base: int, blocks: Indices
) -> None:
    assert traced(cov, lambda: check(lib.fixture_catch(4) == 101)) == 0
    assert "fixture_catch" in functions_of(cov, base, blocks)


def test_threads_of_the_child_are_covered(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    expected = lib.fixture_threads(3)
    for _ in range(20):
        cov.reset()
        assert traced(cov, lambda: check(lib.fixture_threads(3) == expected)) == 0
        assert cov.commit(0) == len(set(cov.new_indices(0).tolist())) > 10
        assert traced(cov, lambda: check(lib.fixture_threads(3) == expected)) == 0
        assert cov.new(0) == 0


def test_nested_forks_are_covered(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    def work() -> None:
        lib.fixture_classify(6)
        check(fork(lambda: check(lib.fixture_catch(4) == 101)) == 0)

    traced(cov, lambda: lib.fixture_classify(6))
    n = cov.new(0)
    cov.rearm(0)
    assert traced(cov, work) == 0
    assert cov.new(0) > n


def test_a_child_may_change_its_slot(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    def work() -> None:
        lib.fixture_classify(6)
        cov.enter(1)
        lib.fixture_catch(1)
        lib.fixture_trap()

    assert os.WTERMSIG(traced(cov, work)) == signal.SIGTRAP
    assert cov.new(0) > 0 and cov.new(1) > 0


def test_a_child_may_ask_and_exec(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    def work() -> None:
        check(cov.new(0) == 0)
        lib.fixture_classify(6)
        check(cov.new(0) > 5)
        check(cov.commit(0) > 5)
        check(subprocess.run(["/bin/true"], check=False).returncode == 0)

    assert traced(cov, work) == 0
    assert cov.covered() > 5


def test_two_libraries_at_once(lib: ctypes.CDLL, cov: BreakpointCoverage, path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "libother.so"
    copy.write_bytes(path.read_bytes())
    other_lib = ctypes.CDLL(str(copy))
    other = BreakpointCoverage(code_blocks.base_of(copy), coverage.find_blocks(copy, None), 1)

    def work() -> None:
        other.enter(0)
        lib.fixture_classify(6)
        other_lib.fixture_catch(4)

    assert traced(cov, work) == 0
    assert cov.new(0) > 0 and other.new(0) > 0
    assert set(cov.new_indices(0).tolist()).isdisjoint(other.new_indices(0).tolist())


def test_exit_while_armed(path: Path, blocks: Indices) -> None:
    # A whole process, because pytest's own exit handlers must not run in a forked child.
    script = (
        "import ctypes, sys\n"
        "from pathlib import Path\n"
        "from tzerlike import coverage\n"
        "from tzerlike.coverage import blocks as code_blocks\n"
        "path = Path(sys.argv[1])\n"
        "lib = ctypes.CDLL(str(path))\n"
        "cov = coverage.BreakpointCoverage(code_blocks.base_of(path), coverage.find_blocks(path, None), 1)\n"
        "cov.enter(0)\n"
        "lib.fixture_classify(0)\n"
        "print(cov.new(0) > 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_snapshot_and_restore(lib: ctypes.CDLL, cov: BreakpointCoverage, base: int, blocks: Indices) -> None:
    traced(cov, lambda: lib.fixture_classify(6))
    found = cov.new_indices(0)
    cov.commit(0)
    bits = cov.snapshot()
    assert len(bits) == (cov.total + 7) // 8
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
    assert set(np.flatnonzero(unpacked).tolist()) == set(found.tolist())

    again = BreakpointCoverage(base, blocks, slots=1)
    again.restore(bits)
    again.restore(bits)
    assert again.covered() == len(found)
    assert again.snapshot() == bits
    assert traced(again, lambda: lib.fixture_classify(6)) == 0
    assert again.new(0) == 0
    again.reset()
    assert again.covered() == 0 and not any(again.snapshot())
    assert traced(again, lambda: lib.fixture_classify(6)) == 0
    assert again.new(0) == len(found)
    with pytest.raises(ValueError, match="does not fit"):
        again.restore(bits + b"\0")


def test_bad_requests_are_refused(base: int, blocks: Indices) -> None:
    for bad_base, bad_blocks in (
        (base + 4096, blocks),
        (base, blocks[::-1]),
        (base, blocks[:0]),
        (base, np.append(blocks, np.uint32(2**31))),
    ):
        with pytest.raises(TzerlikeError, match="Invalid argument"):
            BreakpointCoverage(bad_base, bad_blocks, 1)
    links = np.full(len(blocks), len(blocks), np.uint32)
    with pytest.raises(TzerlikeError, match="Invalid argument"):
        BreakpointCoverage(base, blocks, 1, links)
    with pytest.raises(ValueError, match="successor"):
        BreakpointCoverage(base, blocks, 1, links[1:])


# --- breakpoints of others -------------------------------------------------------------------------------


def test_foreign_breakpoint_kills(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    assert os.WTERMSIG(traced(cov, lib.fixture_trap)) == signal.SIGTRAP
    assert cov.new(0) > 0
    assert os.WTERMSIG(traced(cov, lib.fixture_bare_trap)) == signal.SIGTRAP
    assert os.WTERMSIG(traced(cov, lambda: os.kill(os.getpid(), signal.SIGTRAP))) == signal.SIGTRAP


def test_foreign_breakpoint_reaches_the_handler_before(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    seen = []

    def work() -> None:
        signal.signal(signal.SIGTRAP, lambda number, frame: seen.append(number))
        cov.enter(0)
        check(lib.fixture_trap() == 5)
        check(seen == [signal.SIGTRAP])
        check(lib.fixture_classify(6) == 8)
        check(len(seen) == 1)

    assert fork(work) == 0
    assert cov.new(0) > 5


def test_ignored_sigtrap_is_ignored_only_when_sent(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    def work(act: Callable[[], object]) -> None:
        signal.signal(signal.SIGTRAP, signal.SIG_IGN)
        cov.enter(0)
        act()

    assert fork(lambda: work(lambda: os.kill(os.getpid(), signal.SIGTRAP))) == 0
    assert os.WTERMSIG(fork(lambda: work(lib.fixture_trap))) == signal.SIGTRAP


# --- deaths ----------------------------------------------------------------------------------------------


def dying(record: DeathRecord, cov: BreakpointCoverage, work: Callable[[], object]) -> tuple[int, coverage.Death]:
    """Let `work` die under coverage; return the signal of the wait status and the record."""

    def child() -> None:
        record.watch()
        work()

    status = traced(cov, child)
    assert os.WIFSIGNALED(status), status
    death = record.read()
    assert death is not None
    return os.WTERMSIG(status), death


def names(death: coverage.Death) -> list[str]:
    return [frame.name if frame else "?" for frame in describe_death(death)]


def test_segfault_keeps_its_log_and_names_the_function(
    lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord, base: int, blocks: Indices
) -> None:
    number, death = dying(record, cov, lambda: lib.fixture_segfault(ctypes.c_void_p(0x40)))
    assert (number, death.signal, death.code, death.address) == (signal.SIGSEGV, signal.SIGSEGV, SEGV_MAPERR, 0x40)
    assert names(death)[0] == "fixture_segfault"
    frame = describe_death(death)[0]
    assert frame is not None
    assert (frame.library, frame.offset) == ("libfixture.so", address_of(lib.fixture_segfault) - base)
    assert death.depth is not None and death.depth >= len(death.frames) > 5
    assert functions_of(cov, base, blocks) == {"fixture_segfault"}
    assert cov.commit(0) > 0


def test_jump_to_nowhere_names_the_caller(
    lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord, path: Path, base: int
) -> None:
    behind_calls = {b[0] for a, b in itertools.pairwise(objdump(path)) if a[1] == "call"}
    for target in (0, 0x1234):
        number, death = dying(record, cov, partial(lib.fixture_call, ctypes.c_void_p(target)))
        assert number == signal.SIGSEGV
        assert death.frames[0] == target
        assert names(death)[1] == "fixture_call"
        assert death.frames[1] - base in behind_calls
        assert death.depth is not None and death.depth > 5


def test_stack_overflow_is_recorded(lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord) -> None:
    number, death = dying(record, cov, lambda: lib.fixture_overflow(1))
    assert number == death.signal == signal.SIGSEGV
    assert abs(death.address - death.stack) < 1 << 16, "the address lies at the stack pointer"
    assert death.depth is not None and death.depth > 5000
    assert len(death.frames) == 64
    assert set(names(death)[2:]) == {"fixture_overflow"}


def test_very_deep_stack_has_no_depth(lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord) -> None:
    def work() -> None:
        resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
        lib.fixture_overflow(1)

    number, death = dying(record, cov, work)
    assert number == signal.SIGSEGV
    assert death.depth is None
    assert set(names(death)[2:]) == {"fixture_overflow"}


def test_coverage_does_not_make_the_stack_overflow_earlier(
    lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord
) -> None:
    def survives(n: int, covered: bool) -> bool:
        def child() -> None:
            record.watch()
            if covered:
                cov.enter(0)
            lib.fixture_recurse(n)

        return fork(child) == 0

    low, high = 1000, 10_000_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if survives(middle, False) else (low, middle)
    # The end of the recursion is a block of its own: it traps with hardly any stack left.
    assert survives(low - 8, True)
    assert cov.new(0) > 1


@pytest.mark.parametrize(
    ("function", "number"),
    [("fixture_abort", signal.SIGABRT), ("fixture_divide", signal.SIGFPE), ("fixture_illegal", signal.SIGILL)],
)
def test_other_deaths(
    lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord, function: str, number: signal.Signals
) -> None:
    died_of, death = dying(record, cov, lambda: getattr(lib, function)(1, 0))
    assert died_of == death.signal == number
    assert function in names(death)[:6]


def test_death_in_a_thread_is_recorded(lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord) -> None:
    def work() -> None:
        thread = threading.Thread(target=lib.fixture_segfault, args=(ctypes.c_void_p(0),))
        thread.start()
        thread.join()

    number, death = dying(record, cov, work)
    assert number == signal.SIGSEGV
    assert names(death)[0] == "fixture_segfault"


def test_a_broken_stack_still_gives_a_record(lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord) -> None:
    # mov $16, %esp; ud2: neither code with unwind data nor a stack to read.
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(bytes.fromhex("bc100000000f0b"))
    entry = ctypes.addressof(ctypes.c_char.from_buffer(code))
    number, death = dying(record, cov, lambda: lib.fixture_call(ctypes.c_void_p(entry)))
    assert number == death.signal == signal.SIGILL
    assert (death.frames, death.stack, death.depth) == ((entry + 5,), 16, None)


def test_survivors_leave_no_record(lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord) -> None:
    dying(record, cov, lib.fixture_abort)

    def work() -> None:
        record.watch()
        lib.fixture_classify(6)

    assert traced(cov, work) == 0
    assert record.read() is None
    dying(record, cov, lib.fixture_abort)
    record.clear()
    assert record.read() is None


def test_killed_child_keeps_its_log(lib: ctypes.CDLL, cov: BreakpointCoverage, base: int, blocks: Indices) -> None:
    pid = os.fork()
    if pid == 0:
        cov.enter(1)
        lib.fixture_spin(0)
        os._exit(0)
    seen = [-1]
    while cov.new(1) == 0 or cov.new(1) != seen[-1]:
        seen.append(cov.new(1))
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL
    assert {"fixture_spin", "fixture_classify"} <= functions_of(cov, base, blocks, 1)
    n = cov.new(1)
    assert cov.commit(1) == n == cov.covered()


def test_children_killed_at_any_moment_lose_nothing(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    def work() -> None:
        for i in range(3, 16):
            lib.fixture_switch(i)
            lib.fixture_catch(i)

    assert traced(cov, work) == 0
    expected = set(cov.new_indices(0).tolist())
    ready = mmap.mmap(-1, 1)
    for i in range(150):
        cov.reset()
        ready[0] = 0
        pid = os.fork()
        if pid == 0:
            cov.enter(0)
            ready[0] = 1
            work()
            os._exit(0)
        while not ready[0]:
            pass
        until = time.perf_counter() + i * 1e-6
        while time.perf_counter() < until:
            pass
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        cov.commit(0)
        traced(cov, work, 1)
        cov.commit(1)
        counted = np.unpackbits(np.frombuffer(cov.snapshot(), np.uint8), bitorder="little")
        assert set(np.flatnonzero(counted).tolist()) == expected


def test_describe(lib: ctypes.CDLL, base: int) -> None:
    start = address_of(lib.fixture_switch)
    assert describe(start) == describe(start + 5) == coverage.Frame("fixture_switch", "libfixture.so", start - base)
    assert describe(0x10) is None
    # A function without a symbol of its own is not given that of its neighbour.
    unnamed = [f for f in map(describe, range(base + 0x1000, base + 0x3000, 16)) if f and not f.name]
    assert unnamed and all(f.library == "libfixture.so" for f in unnamed)
