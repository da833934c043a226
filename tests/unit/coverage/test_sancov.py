"""sancov on two small libraries that clang instrumented: real processes, real deaths."""

import ctypes
import faulthandler
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tzerlike import coverage
from tzerlike.core.errors import TzerlikeError
from tzerlike.core.package import MEMCOV
from tzerlike.coverage import Coverage, SancovCoverage

SOURCES = Path(__file__).parents[3] / "memcov"
CLANG = shutil.which("clang++-19") or shutil.which("clang++")
LLD = shutil.which("ld.lld-19") or shutil.which("ld.lld")

pytestmark = [
    pytest.mark.skipif(not MEMCOV.exists(), reason="libmemcov.so has not been built"),
    pytest.mark.skipif(
        not (CLANG and LLD),
        reason="clang or lld is missing, nothing gets instrumented: apt-get install clang-19 lld-19",
    ),
]


@dataclass(frozen=True)
class Libraries:
    directory: Path
    one: ctypes.CDLL
    two: ctypes.CDLL

    def path(self, name: str) -> Path:
        return self.directory / f"libedges_{name}.so"


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    directory = tmp_path_factory.mktemp("sancov")
    subprocess.run(["make", "-s", "-C", str(SOURCES), f"LIBRARY_DIR={directory}", "edges"], check=True)
    # As TVM loads its own, so that what the first exports is what the second would find.
    one, two = (ctypes.CDLL(str(directory / f"libedges_{name}.so"), ctypes.RTLD_GLOBAL) for name in ("one", "two"))
    return Libraries(directory, one, two)


@pytest.fixture
def cov(libraries: Libraries) -> SancovCoverage:
    return SancovCoverage(slots=2)


def traced(cov: Coverage, work: Callable[[], object], slot: int = 0) -> int:
    """Run `work` in a forked child that records into `slot`, and return its wait status."""
    pid = os.fork()
    if pid == 0:
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            cov.enter(slot)
            work()
            os._exit(0)
        finally:
            os._exit(97)
    return os.waitpid(pid, 0)[1]


def edges(cov: Coverage, work: Callable[[], object], slot: int = 0) -> set[int]:
    """The edges that `work` is the first to reach since they were armed; they are armed again."""
    cov.begin(slot)
    assert traced(cov, work, slot) == 0
    found = cov.new_indices(slot).tolist()
    assert len(found) == len(set(found)) == cov.new(slot)
    cov.rearm(slot)
    return set(found)


def entries_in_file(path: Path) -> int:
    """The number of entries of the PC table, by its section header."""
    listing = subprocess.run(["readelf", "-SW", str(path)], check=True, capture_output=True, text=True).stdout
    (line,) = (line for line in listing.splitlines() if "__sancov_pcs" in line and "PROGBITS" in line)
    return int(line.split("PROGBITS")[1].split()[2], 16) // 16


def test_every_edge_is_there_once(cov: SancovCoverage, libraries: Libraries) -> None:
    assert [library.path for library in cov.libraries] == [libraries.path("one"), libraries.path("two")]
    assert [len(library.addresses) for library in cov.libraries] == [
        entries_in_file(libraries.path(name)) for name in ("one", "two")
    ]
    assert [library.first for library in cov.libraries] == [0, len(cov.libraries[0].addresses)]
    assert cov.total == sum(len(library.addresses) for library in cov.libraries)
    assert (cov.backend, cov.covered()) == ("sancov", 0)


def test_addresses_are_those_of_the_file(cov: SancovCoverage, libraries: Libraries) -> None:
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", str(libraries.path("one"))], check=True, capture_output=True, text=True
    ).stdout
    symbols = {line.split()[2]: int(line.split()[0], 16) for line in listing.splitlines()}
    one = cov.libraries[0]
    starts = set(one.addresses.tolist())
    assert {symbols["edges_one"], symbols["edges_one_state"], symbols["edges_one_die"]} <= starts
    assert symbols["memcov_sancov_sections_1"] not in one.addresses


def test_edges_belong_to_the_library_that_ran(cov: SancovCoverage, libraries: Libraries) -> None:
    border = cov.libraries[1].first
    first = edges(cov, lambda: libraries.one.edges_one(1))
    second = edges(cov, lambda: libraries.two.edges_two(5))
    assert first and max(first) < border
    assert second and min(second) >= border
    assert edges(cov, lambda: (libraries.one.edges_one(1), libraries.two.edges_two(5))) == first | second


def test_each_way_through_a_function_has_edges_of_its_own(cov: SancovCoverage, libraries: Libraries) -> None:
    ways = [edges(cov, lambda x=x: libraries.two.edges_two(x)) for x in (0, 5, 9, 100)]
    assert len({frozenset(way) for way in ways}) == len(ways)
    shared = set.intersection(*ways)
    assert shared
    assert cov.libraries[1].addresses[min(shared) - cov.libraries[1].first] == min(cov.libraries[1].addresses)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL])
def test_what_a_dying_child_reached_is_kept(cov: SancovCoverage, libraries: Libraries, number: signal.Signals) -> None:
    alive = edges(cov, lambda: libraries.one.edges_one(10))
    cov.begin(0)

    def die() -> None:
        libraries.one.edges_one(10)
        libraries.one.edges_one_die(number)

    status = traced(cov, die)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == number
    found = set(cov.new_indices(0).tolist())
    assert alive < found


def test_what_is_logged_is_not_found_again_until_it_is_armed(cov: SancovCoverage, libraries: Libraries) -> None:
    assert traced(cov, lambda: libraries.two.edges_two(0)) == 0
    n = cov.new(0)
    assert n > 0
    assert traced(cov, lambda: libraries.two.edges_two(0)) == 0
    assert cov.new(0) == n
    cov.begin(0)
    assert traced(cov, lambda: libraries.two.edges_two(0)) == 0
    assert cov.new(0) == 0
    cov.reset()
    assert traced(cov, lambda: libraries.two.edges_two(0)) == 0
    assert cov.new(0) == n


def test_what_nobody_asked_for_is_forgotten_with_the_log(cov: SancovCoverage, libraries: Libraries) -> None:
    assert traced(cov, lambda: libraries.two.edges_two(0)) == 0
    cov.begin(0)
    assert traced(cov, lambda: libraries.two.edges_two(0)) == 0
    assert cov.new(0) == 0


def test_a_log_is_committed_and_rearmed_from_a_position(cov: SancovCoverage, libraries: Libraries) -> None:
    traced(cov, lambda: libraries.two.edges_two(0))
    start = cov.new(0)
    traced(cov, lambda: libraries.two.edges_two(9))
    first, later = cov.new_indices(0)[:start], cov.new_indices(0)[start:]
    assert len(later)
    cov.rearm(0, start)
    assert cov.new_indices(0).tolist() == first.tolist()
    traced(cov, lambda: libraries.two.edges_two(9))
    assert cov.new_indices(0)[start:].tolist() == later.tolist()
    assert cov.commit(0, start) == len(later) == cov.covered()
    assert cov.commit(0) == start
    assert cov.commit(0) == 0
    assert cov.covered() == start + len(later)


def test_slots_find_for_themselves_and_count_together(cov: SancovCoverage, libraries: Libraries) -> None:
    traced(cov, lambda: libraries.one.edges_one(2), slot=0)
    traced(cov, lambda: libraries.one.edges_one(2), slot=1)
    n = cov.new(0)
    assert cov.new_indices(1).tolist() == cov.new_indices(0).tolist()
    assert cov.commit(0) == n
    assert cov.commit(1) == 0
    assert cov.covered() == n
    traced(cov, lambda: libraries.two.edges_two(2), slot=0)
    assert cov.commit(0) > 0
    cov.begin(1)
    traced(cov, lambda: libraries.two.edges_two(2), slot=1)
    assert cov.new(1) == 0, "somebody has counted these"


def test_edges_reached_under_the_seal_are_recorded_and_nothing_else_can_be_written(
    cov: SancovCoverage, libraries: Libraries
) -> None:
    def work() -> None:
        libraries.one.edges_one(1)
        libraries.two.edges_two(5)

    def writable() -> int:
        """Bytes through which this process writes to what others see."""
        lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
        spans = [line[0].split("-") for line in lines if line[1].startswith("rw") and line[1][3] == "s"]
        return sum(int(end, 16) - int(start, 16) for start, end in spans)

    def under_the_seal() -> None:
        free = writable()
        with coverage.sealed():
            # Flags of both slots, logs of both, the counts; what stays is the flags that the code itself sets.
            if free - writable() < 5 * 4096:
                os.abort()
            work()
        if writable() != free:
            os.abort()

    expected = edges(cov, work)
    assert edges(cov, under_the_seal) == expected != set()


def test_only_children_that_entered_are_seen(cov: SancovCoverage, libraries: Libraries) -> None:
    libraries.one.edges_one(2)
    assert cov.new(0) == 0
    cov.begin(0)
    assert traced(cov, lambda: libraries.one.edges_one(2)) == 0
    assert cov.new(0) > 0


def test_nothing_but_flags_is_shared(cov: SancovCoverage, libraries: Libraries) -> None:
    assert traced(cov, lambda: libraries.one.edges_one_state(42)) == 0
    assert libraries.one.edges_one_state(1) == 1

    def look() -> None:
        if libraries.one.edges_one_state(7) != 1:
            os._exit(3)

    assert traced(cov, look) == 0


def test_a_child_counts_what_it_has_reached_so_far(cov: SancovCoverage, libraries: Libraries) -> None:
    read, write = os.pipe()

    def work() -> None:
        before = cov.new(0)
        libraries.one.edges_one(5)
        between = cov.new(0)
        libraries.two.edges_two(5)
        os.write(write, bytes((before, between, cov.new(0))))

    assert traced(cov, work) == 0
    before, between, after = os.read(read, 3)
    assert 0 == before < between < after == cov.new(0)


def test_snapshot_and_restore(cov: SancovCoverage, libraries: Libraries) -> None:
    traced(cov, lambda: libraries.one.edges_one(6))
    found = set(cov.new_indices(0).tolist())
    cov.commit(0)
    bits = cov.snapshot()
    assert set(np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little"))) == found
    other = SancovCoverage(slots=2)
    other.restore(bits)
    assert other.covered() == len(found)
    for slot in (0, 1):
        assert traced(other, lambda: libraries.one.edges_one(6), slot) == 0
        assert other.new(slot) == 0
    with pytest.raises(ValueError, match="does not fit"):
        other.restore(bits + b"\0")


def test_slots_that_are_none(cov: SancovCoverage) -> None:
    for use in (cov.enter, cov.begin, cov.new, cov.commit, cov.rearm):
        with pytest.raises(TzerlikeError):
            use(2)


SCRIPT = """
import ctypes, os, sys
from pathlib import Path
from tzerlike.coverage import open_coverage
from tzerlike.core.errors import UserError
memcov_first, kind, *paths = sys.argv[1:]
if memcov_first == "yes":
    from tzerlike.coverage.native import load_memcov
    load_memcov()
libraries = [ctypes.CDLL(path) for path in paths]
try:
    cov = open_coverage(kind, [Path(paths[0])], 1, Path(os.devnull), None)
except UserError as error:
    sys.exit(str(error))
if os.fork() == 0:
    cov.enter(0)
    libraries[0].edges_one(2)
    os._exit(0)
os.wait()
print(cov.backend, cov.new(0) > 0)
"""


def opened_elsewhere(*arguments: str | Path) -> tuple[str, str]:
    """Load libraries and coverage in another process; return what it printed and what was wrong."""
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout.strip(), done.stderr.strip()


@pytest.mark.parametrize("memcov_first", ["yes", "no"])
def test_it_does_not_matter_what_is_loaded_first(libraries: Libraries, memcov_first: str) -> None:
    found = opened_elsewhere(memcov_first, "auto", libraries.path("one"), libraries.path("two"))
    assert found == ("sancov True", "")


def test_what_is_not_instrumented_or_not_linked_for_it(libraries: Libraries, tmp_path: Path) -> None:
    source = str(SOURCES / "fixture" / "edges_one.cc")
    plain, unpadded = tmp_path / "libplain.so", tmp_path / "libunpadded.so"
    assert CLANG is not None
    command = [CLANG, "-O1", "-fPIC", "-shared", "-fuse-ld=lld", source, "-o"]
    subprocess.run([*command, str(plain)], check=True)
    flags = ["-fsanitize-coverage=inline-bool-flag,pc-table", str(libraries.directory / "sancov_hooks.o")]
    subprocess.run([*command, str(unpadded), *flags], check=True)
    assert "is not instrumented" in opened_elsewhere("no", "sancov", plain)[1]
    assert opened_elsewhere("no", "auto", plain)[0] == "breakpoint True"
    assert "without sancov.ld" in opened_elsewhere("no", "auto", unpadded)[1]
