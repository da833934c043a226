"""The zygote: a small, quiet process that imports TVM once and forks everything else from itself.

It is started fresh for every command that needs the compiler, with address space randomisation off and a
fixed environment, loads TVM, arms coverage, compiles a few programs to wake every registry, and freezes its
heap. Then it forks, on request, a *worker* together with the *runner* that forks the worker's cases, and another runner
when that one dies.

The supervisor speaks to it in JSON packets over a socket, which is its standard input; workers answer on the same
socket. What differs from caller to caller (names of directories, variables, parameters) comes in open files beside the
packets, and the processes forked for it read these: the heap that all children have in common is the same for all.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from tzerlike.core.errors import TzerlikeError, UserError
from tzerlike.core.forks import die_with_parent, fork, try_fork, wait_for
from tzerlike.processes import signals
from tzerlike.processes.fixed_environment import settle_stack
from tzerlike.processes.restarts import Restarts
from tzerlike.processes.stop import STOP, hold_stop
from tzerlike.processes.vitals import SlotProcess, Vital, state_of

if TYPE_CHECKING:
    from tzerlike.coverage import Coverage
    from tzerlike.processes.channel import Channel
    from tzerlike.processes.job import Job, RunCase
    from tzerlike.systems import System

_PACKET_LIMIT = 256
"""Bytes of a packet to the zygote: small enough for what it is read into to come from no heap but Python's own."""
_FILES = 2
ADDR_NO_RANDOMIZE = 0x0040000

_ROLES = "tzerlike.cli.roles"
"""The module that says what workers and children can do: it stands above all that they do it with."""


class Roles(Protocol):
    """That module: `ROLES` by name for workers, `run_case` and `JOBS` for the children of their runners.

    `SYSTEM` is the compiler under test, and `LOADERS` have what loads a package that only some children take, by name.
    """

    SYSTEM: System
    ROLES: Mapping[str, Callable[..., None]]
    JOBS: Mapping[str, Job]
    LOADERS: Mapping[str, Callable[[], None]]
    run_case: RunCase

    def compiler_libraries(self) -> tuple[Path, ...]: ...

    def warm_up(self, channel: Channel) -> Callable[[], None]:
        """Do once what no child is to pay for; returns what each is to do while it waits for its case."""
        ...

    def environment(self, coverage: Coverage, *, randomised: bool) -> dict[str, Any]: ...


def main() -> NoReturn:
    """Entry of the zygote process: `python -m tzerlike.processes.zygote`.

    Standard input is the socket, and standard output what shows the supervisor by its end that all processes are gone.
    """
    began = time.time_ns()
    # They reach the whole group, or all that a service manager takes for the command; they are for the supervisor,
    # which asks the workers to save.
    signals.ignore()
    hold_stop()
    moved = settle_stack()
    if (_randomised() and _disable_randomisation()) or moved:
        os.execv(sys.executable, [sys.executable, "-m", "tzerlike.processes.zygote"])
    control = socket.socket(fileno=os.dup(0))
    os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    with _reporting(control):
        _Zygote(control, began).serve()
    sys.exit(1)


@contextlib.contextmanager
def _reporting(control: socket.socket) -> Iterator[None]:
    """Send the supervisor what goes wrong, and go on behind it."""
    try:
        yield
    except UserError as error:
        _send(control, {"event": "failed", "slot": -1, "user": True, "message": str(error)})
    except ModuleNotFoundError as error:
        advice = (
            f"no module {error.name!r} in this Python; install tzerlike with pip, or run `make setup` in a checkout"
        )
        _send(control, {"event": "failed", "slot": -1, "user": True, "message": advice})
    except BaseException:  # noqa: BLE001 - the supervisor must hear of every fault of ours
        _send(control, {"event": "failed", "slot": -1, "user": False, "message": traceback.format_exc()})


def _refuse_threads() -> None:
    """Raise UserError where importing the system, or a plug-in, has started threads: a child has none of them."""
    tasks = Path("/proc/self/task")
    others = [task for task in tasks.iterdir() if int(task.name) != os.getpid()]
    if others:
        names = ", ".join(sorted({(task / "comm").read_text().strip() for task in others}))
        raise UserError(
            f"importing TVM or a plug-in starts threads ({names}), and what is forked then may hang; "
            "use an environment without the package that starts them"
        )


@dataclass(slots=True)
class _Post:
    """A slot at work.

    `sheet` is a file with what the worker is to do, `line` are the worker's end and the runner's of the socket between
    them, and `core` the one that both are held to, if any; processes are 0 while there are none.
    """

    sheet: int
    line: tuple[socket.socket, socket.socket]
    core: tuple[int, ...] = ()
    worker: int = 0
    runner: int = 0
    runners_lost: int = 0
    restarts: Restarts = field(default_factory=Restarts)


class _Zygote:
    def __init__(self, control: socket.socket, began: int) -> None:
        # First of all: what a socket holds unread when it is closed makes the other end miss our last words.
        order, (cache, wanted) = _receive(control)
        from tzerlike.coverage import open_coverage, prepare_coverage
        from tzerlike.processes.channel import Channel
        from tzerlike.processes.confine import why_unconfined
        from tzerlike.processes.lane import Lane
        from tzerlike.systems import choose

        # Should the parent have ended by now, then so has the other end of the socket.
        die_with_parent(os.getppid())
        self.control = control
        choose(order["system"])
        roles = self.roles = cast("Roles", importlib.import_module(_ROLES))
        slots = int(order["slots"])
        backend = order["coverage"]
        # Entered, so that its name is in no heap.
        os.fchdir(cache)
        os.close(cache)
        libraries = roles.compiler_libraries()
        sources = roles.SYSTEM.code.sources
        prepare_coverage(backend, libraries, Path(), sources)
        self.coverage = open_coverage(backend, libraries, slots=slots, cache_dir=Path(), prefix=sources)
        os.chdir("/")
        prelude = roles.warm_up(Channel())
        for package in order.get("loads", ()):
            roles.LOADERS[package]()
        self.unconfined = why_unconfined()
        self.lanes = [
            Lane.prepare(slot, self.coverage, roles.run_case, roles.JOBS, prelude, not self.unconfined)
            for slot in range(slots)
        ]
        self.posts: dict[int, _Post] = {}
        gc.collect()
        gc.freeze()
        gc.disable()
        _refuse_threads()
        self._introduce(wanted, bool(order["last"]), began)

    def _introduce(self, wanted: int, last: bool, began: int) -> None:
        """Have a child restore the coverage of earlier runs and send who we are; end with it where it fails.

        A start that had to write byte code is to be done again, unless it is the last: the next one finds it there.
        """
        zygote = os.getpid()
        child = fork()
        if child == 0:
            die_with_parent(zygote)
            status = 1
            with _reporting(self.control):
                facts = self.roles.environment(self.coverage, randomised=_randomised())
                from tzerlike.coverage.snapshot import Identity, read_snapshot

                facts["confinement"] = f"off: {self.unconfined}" if self.unconfined else "on"
                identity = Identity(self.coverage.backend, facts["compiler_library"], self.coverage.total)
                for path in map(Path, _read(wanted)["restore"]):
                    self.coverage.restore(read_snapshot(path).bits_of(identity, path))
                self._try_coverage()
                settled = last or not _wrote_byte_code(began)
                _send(self.control, {"event": "ready", "environment": facts, "settled": settled})
                status = 0
            os._exit(status)
        os.close(wanted)
        if wait_for(child):
            os._exit(1)

    def _try_coverage(self) -> None:
        """Do what each child does: on some systems no memory that is shared may be run."""
        try:
            self.coverage.enter(0)
        except TzerlikeError as error:
            raise UserError(f"coverage cannot be recorded here ({error}); use --coverage none") from error

    def serve(self) -> NoReturn:
        while True:
            ready, _, _ = select.select([self.control], [], [], 0.05)
            if ready:
                self._obey(*_receive(self.control))
            self._reap()
            for slot, post in list(self.posts.items()):
                self._man(slot, post)

    def _obey(self, order: dict[str, Any], files: Sequence[int]) -> None:
        match order["do"]:
            case "spawn":
                slot = order["slot"]
                self.lanes[slot].channel.beat(-1, "starting")
                self.lanes[slot].channel.clear_mutation()
                self._give_up_case(slot)
                line = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                self.posts[slot] = _Post(files[0], line, tuple(order["core"]))
            case "stop":
                for post in self.posts.values():
                    _kill(post.worker, STOP)
            case "kill" if order["slot"] in self.posts:
                post = self.posts[order["slot"]]
                _kill(post.worker if order["role"] == SlotProcess.WORKER else post.runner, signal.SIGKILL)
            case "ping":
                vitals = [asdict(self._vital(slot, post)) for slot, post in self.posts.items()]
                _send(self.control, {"event": "pong", "slot": -1, "vitals": vitals})

    def _give_up_case(self, slot: int) -> None:
        """What a case has reached that an earlier worker did not live to see the end of, somebody else is to find."""
        from tzerlike.core.observation import Stage
        from tzerlike.processes.channel import Garbled

        try:
            ended = self.lanes[slot].channel.stage() is Stage.DONE
        except Garbled:
            ended = False
        if not ended:
            self.coverage.rearm(slot)

    def _vital(self, slot: int, post: _Post) -> Vital:
        beat = self.lanes[slot].channel.last_beat()
        states = (state_of(post.worker), state_of(post.runner))
        if beat is None:
            return Vital(slot, *states, 0.0, -1, "", post.runners_lost)
        silent = time.monotonic() - beat.time
        return Vital(slot, *states, silent, beat.iteration, beat.doing, post.runners_lost)

    def _man(self, slot: int, post: _Post) -> None:
        """Fork what a post lacks; what the kernel refuses for now is tried again."""
        from tzerlike.processes.runner import serve_runner

        ours, theirs = post.line
        if not post.runner and post.restarts.allowed(time.monotonic()):
            pid = try_fork()
            if pid == 0:
                _hold_to(post.core)
                self.control.close()
                ours.close()
                serve_runner(self.lanes[slot], theirs, post.runners_lost)
            if pid is not None:
                post.restarts.note(time.monotonic())
                post.runner = pid
        if not post.worker and post.runner:
            zygote = os.getpid()
            pid = try_fork()
            if pid == 0:
                _hold_to(post.core)
                theirs.close()
                _serve_worker(self.roles.ROLES, self.lanes[slot], ours, self.control, _read(post.sheet), zygote)
            if pid is not None:
                # The runner's end stays open for the runners to come.
                ours.close()
                os.close(post.sheet)
                post.worker = pid

    def _reap(self) -> None:
        while self.posts:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for slot, post in list(self.posts.items()):
                if pid == post.worker:
                    del self.posts[slot]
                    _end(post.runner)
                    post.line[1].close()
                    self._report(slot, status)
                elif pid == post.runner:
                    post.runner = 0
                    post.runners_lost += 1

    def _report(self, slot: int, status: int) -> None:
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        channel = self.lanes[slot].channel
        mutation = channel.mutation() if number else None
        last = channel.last_beat()
        beat = (-1, "") if last is None else (last.iteration, last.doing)
        code = os.waitstatus_to_exitcode(status)
        end = {"event": "exited", "slot": slot, "status": code, "signal": number, "mutation": mutation, "beat": beat}
        _send(self.control, end)


def _serve_worker(
    roles: Mapping[str, Callable[..., None]],
    lane: Any,
    runner: socket.socket,
    control: socket.socket,
    order: dict[str, Any],
    zygote: int,
) -> NoReturn:
    from tzerlike.processes.caller import adopt
    from tzerlike.processes.forked import silence

    die_with_parent(zygote)
    gc.enable()
    # TVM's warnings while programs are built are of no use to anyone; our own errors go over the socket.
    silence()
    status = 0
    slot = lane.slot
    try:
        adopt(order["directory"], order["variables"])
        role = roles[order["role"]]
        role(lane, runner, lambda packet: _send(control, packet | {"slot": slot}), order["params"])
    except UserError as error:
        _send(control, {"event": "failed", "slot": slot, "user": True, "message": str(error)})
        status = 2
    except BaseException:  # noqa: BLE001 - the supervisor must hear of every fault of ours
        _send(control, {"event": "failed", "slot": slot, "user": False, "message": traceback.format_exc()})
        status = 1
    finally:
        os._exit(status)


def _hold_to(core: Sequence[int]) -> None:
    """Hold this process, and what it forks, to a core. The kernel refuses none at all, or one that has gone.

    It is asked in any case, so that the heap of the C library comes to be the same with and without a core.
    """
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, core)


def _kill(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process of a post, if there is one; it has not been reaped, so its number is its own."""
    if pid:
        os.kill(pid, number)


def _end(runner: int) -> None:
    if runner:
        os.kill(runner, signal.SIGKILL)
        os.waitpid(runner, 0)


def _send(control: socket.socket, packet: dict[str, Any]) -> None:
    if "message" in packet:
        packet["message"] = packet["message"][-16_384:]
    try:
        control.send(json.dumps(packet).encode())
    except (BrokenPipeError, ConnectionError):
        os._exit(1)


def _receive(control: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return the next packet and the files that came with it; ends this process when the supervisor has hung up."""
    data, files, _, _ = socket.recv_fds(control, _PACKET_LIMIT, _FILES)
    if not data:
        os._exit(0)
    packet: dict[str, Any] = json.loads(data)
    return packet, files


def _read(sheet: int) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(os.pread(sheet, os.fstat(sheet).st_size, 0))
    return content


def _wrote_byte_code(since: int) -> bool:
    """Whether byte code of a loaded module is newer than `since`, in nanoseconds: then this process compiled it."""
    files = (getattr(module, "__cached__", None) for module in list(sys.modules.values()))
    return any(isinstance(file, str) and os.path.exists(file) and os.stat(file).st_mtime_ns >= since for file in files)


def _randomised() -> bool:
    return not ctypes.CDLL(None).personality(0xFFFFFFFF) & ADDR_NO_RANDOMIZE


def _disable_randomisation() -> bool:
    libc = ctypes.CDLL(None)
    current = libc.personality(0xFFFFFFFF)
    return bool(libc.personality(current | ADDR_NO_RANDOMIZE) != -1) and not _randomised()


if __name__ == "__main__":
    main()
