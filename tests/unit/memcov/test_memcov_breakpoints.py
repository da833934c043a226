"""Coverage by breakpoints: real ones, in real processes."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.memcov import address_of, check, fork, functions_of, traced
from tzerlike import coverage
from tzerlike.core.errors import TzerlikeError
from tzerlike.core.package import MEMCOV
from tzerlike.coverage import BreakpointCoverage, Indices, LoadedCode
from tzerlike.coverage import blocks as code_blocks

pytestmark = pytest.mark.skipif(not MEMCOV.exists(), reason="libmemcov.so has not been built")


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
    other = BreakpointCoverage([LoadedCode(code_blocks.load_bias(copy), coverage.find_chains(copy, None)[0])], 1)

    def work() -> None:
        other.enter(0)
        lib.fixture_classify(6)
        other_lib.fixture_catch(4)

    assert traced(cov, work) == 0
    assert cov.new(0) > 0 and other.new(0) > 0
    assert set(cov.new_indices(0).tolist()).isdisjoint(other.new_indices(0).tolist())


def test_one_coverage_of_two_libraries(
    lib: ctypes.CDLL, path: Path, base: int, blocks: Indices, successors: Indices, tmp_path: Path
) -> None:
    copy = tmp_path / "libother.so"
    copy.write_bytes(path.read_bytes())
    other_lib = ctypes.CDLL(str(copy))
    codes = [LoadedCode(base, blocks, successors, path), LoadedCode(code_blocks.load_bias(copy), blocks, successors)]
    cov, n = BreakpointCoverage(codes, 2), len(blocks)
    assert (cov.total, [library.first for library in cov.libraries]) == (2 * n, [0, n])

    assert traced(cov, lambda: lib.fixture_classify(6)) == 0
    first = cov.new_indices(0).tolist()
    assert first and max(first) < n
    assert cov.commit(0) == len(first)
    assert traced(cov, lambda: (lib.fixture_classify(6), other_lib.fixture_classify(6))) == 0
    # The same function, block by block: successors are found in its own library.
    assert cov.new_indices(0).tolist() == [index + n for index in first]
    assert cov.commit(0) == len(first) and cov.covered() == 2 * len(first)
    assert np.flatnonzero(np.unpackbits(np.frombuffer(cov.snapshot(), np.uint8), bitorder="little")).max() >= n


def test_exit_while_armed(path: Path, blocks: Indices) -> None:
    # A whole process, because pytest's own exit handlers must not run in a forked child.
    script = (
        "import ctypes, sys\n"
        "from pathlib import Path\n"
        "from tzerlike import coverage\n"
        "from tzerlike.coverage import blocks as code_blocks\n"
        "path = Path(sys.argv[1])\n"
        "lib = ctypes.CDLL(str(path))\n"
        "code = coverage.LoadedCode(code_blocks.load_bias(path), coverage.find_chains(path, None)[0])\n"
        "cov = coverage.BreakpointCoverage([code], 1)\n"
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

    again = BreakpointCoverage([LoadedCode(base, blocks)], 1)
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
            BreakpointCoverage([LoadedCode(bad_base, bad_blocks)], 1)
    links = np.full(len(blocks), len(blocks), np.uint32)
    with pytest.raises(TzerlikeError, match="Invalid argument"):
        BreakpointCoverage([LoadedCode(base, blocks, links)], 1)
    with pytest.raises(ValueError, match="successor"):
        BreakpointCoverage([LoadedCode(base, blocks, links[1:])], 1)


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
