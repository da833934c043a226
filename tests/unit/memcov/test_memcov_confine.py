"""What a confined child can still do: real system calls in real processes, as root and as an ordinary user."""

from __future__ import annotations

import ctypes
import fcntl
import importlib
import mmap
import os
import resource
import signal
import socket
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.memcov import check, fork, traced
from tzerlike.core.package import MEMCOV
from tzerlike.coverage import BreakpointCoverage, DeathRecord, Indices, LoadedCode, sealed
from tzerlike.processes.confine import WRITTEN, close_all_but, confine, why_unconfined

pytestmark = pytest.mark.skipif(
    not MEMCOV.exists() or why_unconfined() != "", reason="this machine cannot confine a process"
)

NOBODY = 65534
LIBC = ctypes.CDLL(None, use_errno=True)

SYS = {
    "vfork": 58, "execve": 59, "execveat": 322, "clone": 56, "clone3": 435, "fork": 57, "openat2": 437, "setsid": 112,
    "setpgid": 109, "socket": 41, "socketpair": 53, "sendto": 44, "ptrace": 101, "process_vm_writev": 311, "kill": 62,
    "tkill": 200, "tgkill": 234, "rt_sigqueueinfo": 129, "pidfd_open": 434, "pidfd_send_signal": 424, "bpf": 321,
    "io_uring_setup": 425, "perf_event_open": 298, "userfaultfd": 323, "keyctl": 250, "mount": 165, "unshare": 272,
    "ftruncate": 77, "fallocate": 285, "memfd_create": 319, "seccomp": 317, "rt_sigaction": 13, "madvise": 28,
    "shmget": 29, "inotify_init1": 294, "sched_setattr": 314, "setuid": 105, "reboot": 169, "iopl": 172,
}  # fmt: skip


@pytest.fixture(params=["root", "nobody"])
def user(request: pytest.FixtureRequest) -> str:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("not root")
    return str(request.param)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with a file in it that anybody may do anything to."""
    for above in (tmp_path, *tmp_path.parents[:-2]):
        above.chmod(0o777)
    (tmp_path / "file").write_text("as it was")
    (tmp_path / "file").chmod(0o777)
    return tmp_path


def confined(record: DeathRecord, user: str, work: Callable[[], object]) -> int:
    """Run `work` in a child that is confined, and return its wait status."""

    def child() -> None:
        if user == "nobody" and os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        record.watch()
        confine()
        work()

    return fork(child)


def call(name: str, *arguments: Any) -> int:
    """Make a system call; returns its result, or a negative errno."""
    result = LIBC.syscall(SYS[name], *arguments)
    return result if result >= 0 else -ctypes.get_errno()


def parent() -> int:
    return os.getppid()


UNKNOWN = ""
"""For calls that are made with all signals blocked: the kernel kills at once."""

REFUSED: dict[str, tuple[str, Callable[[], object]]] = {
    "exec": ("execve", lambda: os.execv("/bin/true", ["true"])),
    "exec by descriptor": ("execveat", lambda: call("execveat", -1, b"/bin/true", 0, 0, 0)),
    "a shell": (UNKNOWN, lambda: LIBC.system(b"touch file")),
    "fork": ("clone", os.fork),
    "fork, the old call": ("fork", lambda: call("fork")),
    "vfork": ("vfork", lambda: call("vfork")),
    "a process that shares memory": ("clone", lambda: call("clone", 0x100 | signal.SIGCHLD, 0, 0, 0, 0)),
    "a thread in another namespace": ("clone", lambda: call("clone", 0x3D0F00 | 0x20000, 0, 0, 0, 0)),
    "open for writing": ("openat", lambda: os.open("file", os.O_WRONLY)),
    "open for both": ("openat", lambda: os.open("file", os.O_RDWR)),
    "open a new file": ("openat", lambda: os.open("new", os.O_RDONLY | os.O_CREAT)),
    "truncate by opening to read": ("openat", lambda: os.open("file", os.O_RDONLY | os.O_TRUNC)),
    "a file without a name": ("openat", lambda: os.open(".", os.O_TMPFILE | os.O_WRONLY)),
    "the old open": ("open", lambda: LIBC.syscall(2, b"file", os.O_WRONLY | os.O_APPEND)),
    "creat": ("creat", lambda: LIBC.syscall(85, b"new", 0o666)),
    "truncate": ("truncate", lambda: os.truncate("file", 0)),
    "unlink": ("unlink", lambda: os.unlink("file")),
    "rename": ("rename", lambda: os.rename("file", "new")),
    "mkdir": ("mkdir", lambda: os.mkdir("new")),
    "link": ("link", lambda: os.link("file", "new")),
    "symlink": ("symlink", lambda: os.symlink("file", "new")),
    "chmod": ("chmod", lambda: os.chmod("file", 0)),
    "times": ("utimensat", lambda: os.utime("file", (0, 0))),
    "attributes": ("setxattr", lambda: os.setxattr("file", "user.x", b"x")),
    "chdir": ("chdir", lambda: os.chdir("/")),
    "mount": ("mount", lambda: call("mount", 0, b"/", 0, 0, 0)),
    "unshare": ("unshare", lambda: call("unshare", 0x10000000)),
    "a socket": ("socket", socket.socket),
    "a pair of sockets": ("socketpair", socket.socketpair),
    "sending": ("sendto", lambda: call("sendto", 2, b"x", 1, 0, 0, 0)),
    "a signal to the parent": ("kill", lambda: os.kill(parent(), 0)),
    "a signal to everybody": ("kill", lambda: os.kill(-1, 0)),
    "a signal to the group": ("kill", lambda: os.kill(0, 0)),
    "a signal to a thread of another": ("tgkill", lambda: call("tgkill", parent(), parent(), 0)),
    "a signal to any thread": ("tkill", lambda: call("tkill", parent(), 0)),
    "a signal with a value": ("rt_sigqueueinfo", lambda: call("rt_sigqueueinfo", parent(), 0, 0)),
    "a handle of the parent": ("pidfd_open", lambda: call("pidfd_open", parent(), 0)),
    "a signal by a handle": ("pidfd_send_signal", lambda: call("pidfd_send_signal", 0, 0, 0, 0)),
    "a session": ("setsid", os.setsid),
    "a process group": ("setpgid", lambda: os.setpgid(0, 0)),
    "ptrace": ("ptrace", lambda: call("ptrace", 0, 0, 0, 0)),
    "memory of another": ("process_vm_writev", lambda: call("process_vm_writev", parent(), 0, 0, 0, 0, 0)),
    "io_uring": ("io_uring_setup", lambda: call("io_uring_setup", 1, 0)),
    "bpf": ("bpf", lambda: call("bpf", 0, 0, 0)),
    "perf": ("perf_event_open", lambda: call("perf_event_open", 0, 0, 0, 0, 0)),
    "userfaultfd": ("userfaultfd", lambda: call("userfaultfd", 0)),
    "keys": ("keyctl", lambda: call("keyctl", 0, 0)),
    "shared memory": ("shmget", lambda: call("shmget", 0, 4096, 0o1000)),
    "another filter": ("seccomp", lambda: call("seccomp", 1, 0, 0)),
    "a handler for SIGSYS": ("rt_sigaction", lambda: signal.signal(signal.SIGSYS, signal.SIG_IGN)),
    "poisoned memory": ("madvise", lambda: call("madvise", 0, 4096, 100)),
    "setuid": ("setuid", lambda: call("setuid", 0)),
    "ports": ("iopl", lambda: call("iopl", 3)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_case_may_not_do_ends_it_and_is_named(record: DeathRecord, user: str, place: Path, what: str) -> None:
    name, work = REFUSED[what]
    os.chdir(place)
    before = (place / "file").stat()
    status = confined(record, user, work)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS
    death = record.read()
    assert (UNKNOWN if death is None else death.call) == name
    assert sorted(os.listdir(place)) == ["file"]
    assert (place / "file").read_text() == "as it was"
    after = (place / "file").stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


@pytest.mark.parametrize("how", ["blocked", "ignored"])
def test_sigsys_cannot_be_held_back(record: DeathRecord, user: str, how: str) -> None:
    def child() -> None:
        if how == "blocked":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGSYS})
        else:
            signal.signal(signal.SIGSYS, signal.SIG_IGN)
        confine()
        call("setsid")
        os._exit(3)

    assert os.WTERMSIG(fork(child)) == signal.SIGSYS


@pytest.mark.parametrize(
    "code",
    ["b839000000cd80c3", "b8270000400f05c3"],
    ids=["a 32-bit call", "an x32 call"],
)
def test_other_calling_conventions_are_closed(record: DeathRecord, user: str, code: str) -> None:
    def work() -> None:
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(bytes.fromhex(code))
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()

    assert os.WTERMSIG(confined(record, user, work)) == signal.SIGSYS


def test_what_code_can_do_without_is_refused_with_an_error(record: DeathRecord, user: str) -> None:
    def work() -> None:
        check(call("clone3", 0, 0) == -38)
        check(call("openat2", 0, 0, 0, 0) == -38)
        check(call("memfd_create", b"x", 0) == -1)
        check(LIBC.prctl(1, 0) == -1 and ctypes.get_errno() == 1)  # PR_SET_PDEATHSIG: it would outlive its parent
        for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_AS):
            try:
                resource.setrlimit(limit, (1 << 60, 1 << 60))
            except (PermissionError, ValueError):
                continue
            raise AssertionError
        for request, error in ((termios.TIOCSTI, 25), (0x8901, 25)):
            try:
                fcntl.ioctl(2, request, b"x")
            except OSError as refused:
                check(refused.errno == error)
        try:
            fcntl.fcntl(2, fcntl.F_SETOWN, parent())
        except PermissionError:
            return
        raise AssertionError

    assert confined(record, user, work) == 0


def test_work_goes_on(record: DeathRecord, lib: ctypes.CDLL, user: str) -> None:
    def work() -> None:
        check(lib.fixture_threads(4) > 0)  # pthread_create falls back from clone3
        check(lib.fixture_catch(9) == 101)
        check("x86" in os.uname().machine and os.getpid() > 1)
        check(Path("/proc/self/status").read_text().count("Seccomp:\t2") == 1)
        check("NoNewPrivs:\t1" in Path("/proc/self/status").read_text())
        check(os.listdir("/") != [] and Path("/proc/self").is_dir() and os.path.exists("/dev/null"))
        check(resource.getrlimit(resource.RLIMIT_CORE) == (0, 0))
        ctypes.CDLL("libm.so.6")
        if os.access(os.__file__, os.R_OK):
            sys.modules.pop("wave", None)
            importlib.import_module("wave")
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(bytes.fromhex("b805000000c3"))
        check(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))() == 5)
        signal.setitimer(signal.ITIMER_PROF, 10)
        os.kill(os.getpid(), 0)

    assert confined(record, user, work) == 0


@pytest.mark.parametrize(("function", "number"), [("fixture_abort", signal.SIGABRT), ("fixture_divide", signal.SIGFPE)])
def test_other_deaths_are_recorded_as_ever(
    record: DeathRecord, lib: ctypes.CDLL, user: str, function: str, number: int
) -> None:
    assert os.WTERMSIG(confined(record, user, lambda: getattr(lib, function)(1, 0))) == number
    death = record.read()
    assert death is not None and (death.signal, death.call) == (number, "") and death.depth


def test_a_flood_of_output_ends_at_a_bound(record: DeathRecord, user: str) -> None:
    file = os.memfd_create("stderr")

    def work() -> None:
        refused = 0
        for _ in range(3 * WRITTEN >> 20):
            try:
                os.write(file, bytes(1 << 20))
            except OSError:
                refused += 1
        check(refused > 0)
        try:
            os.pwrite(file, b"x", 1 << 40)
        except OSError:
            return
        raise AssertionError

    assert confined(record, user, work) == 0
    assert os.fstat(file).st_size == WRITTEN
    os.close(file)


def test_only_what_is_named_stays_open() -> None:
    ours, theirs = os.pipe()

    def child() -> None:
        close_all_but(theirs)
        # And the one that this is read with.
        check(len(os.listdir("/proc/self/fd")) == 5)
        os.write(theirs, b"x")

    assert fork(child) == 0
    assert os.read(ours, 2) == b"x"
    os.close(ours)
    os.close(theirs)


def shared_and_writable() -> list[tuple[int, int]]:
    """The mappings through which a process writes to what others see."""
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    spans = [line[0].split("-") for line in lines if line[1].startswith("rw") and line[1][3] == "s"]
    return [(int(start, 16), int(end, 16)) for start, end in spans]


def test_nothing_of_coverage_can_be_written_while_it_is_sealed(
    lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord
) -> None:
    def spans() -> list[tuple[int, int]]:
        others = {shared for shared in shared_and_writable() if shared not in before}
        return sorted(others)

    before: list[tuple[int, int]] = []
    outside = shared_and_writable()

    def child() -> None:
        free = shared_and_writable()
        check(len(free) >= len(outside) - 2)
        with sealed():
            closed = set(shared_and_writable())
        check(len(closed) <= len(free) - 3)  # text, tables, the log
        check(shared_and_writable() == free)

    assert spans() == sorted(set(outside))
    assert traced(cov, child) == 0


def test_a_wild_store_into_sealed_memory_dies_there(
    lib: ctypes.CDLL, cov: BreakpointCoverage, record: DeathRecord
) -> None:
    def child() -> None:
        record.watch()
        free = shared_and_writable()
        with sealed():
            start, _ = next(span for span in free if span not in shared_and_writable())
            ctypes.memset(start, 0, 1)

    assert os.WTERMSIG(traced(cov, child)) == signal.SIGSEGV


def test_a_child_cannot_write_the_logs_of_others(lib: ctypes.CDLL, base: int, blocks: Indices) -> None:
    slots = 3
    cov = BreakpointCoverage([LoadedCode(base, blocks)], slots)

    def writable() -> int:
        return sum(end - start for start, end in shared_and_writable())

    def child() -> None:
        before = writable()
        cov.enter(1)
        check(before - writable() >= 2 * 4 * len(blocks))

    assert fork(child) == 0


def test_blocks_reached_under_the_seal_are_recorded(lib: ctypes.CDLL, cov: BreakpointCoverage) -> None:
    def work() -> None:
        for n in range(12):
            lib.fixture_threads(n)
            lib.fixture_switch(n if n != 2 else 0)

    def under_the_seal() -> None:
        with sealed():
            work()
        lib.fixture_catch(9)

    assert traced(cov, lambda: (work(), lib.fixture_catch(9))) == 0
    expected = set(cov.new_indices(0).tolist())
    cov.rearm(0)
    for _ in range(20):
        assert traced(cov, under_the_seal) == 0
        assert set(cov.new_indices(0).tolist()) == expected
        cov.rearm(0)
