"""The zygote: a small, quiet process that imports TVM once and forks everything else from itself.

It is started fresh for every command that needs the compiler, with address space randomisation off and a
fixed environment, loads TVM, arms coverage, compiles a few programs to wake every registry, and freezes its
heap. Then it forks, on request, a *worker* together with the *runner* that forks the worker's cases.

The supervisor speaks to it in JSON packets over a socket; workers answer on the same socket.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from tzerlike.errors import TzerlikeError, UserError

PACKET_LIMIT = 1 << 17
ADDR_NO_RANDOMIZE = 0x0040000

_WARM_UP = """
# from tvm.script import ir as I
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, j, k in T.grid(8, 8, 8):
        with T.sblock("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.exp(A[vi, vk]) * T.Select(vj < 4, B[vk, vj], T.float32(1))
"""


def main() -> NoReturn:
    """Entry of the zygote process: `python -m tzerlike.zygote FD`; the socket is already open as FD."""
    # Ctrl-C reaches the whole group; it is for the supervisor, which asks the workers to save.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    descriptor = int(sys.argv[1])
    if _randomised() and _disable_randomisation():
        os.set_inheritable(descriptor, True)
        os.execv(sys.executable, [sys.executable, "-m", "tzerlike.zygote", str(descriptor)])
    control = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)
    try:
        _Zygote(control).serve()
    except UserError as error:
        _send(control, {"event": "failed", "slot": -1, "user": True, "message": str(error)})
    except ModuleNotFoundError as error:
        advice = (
            f"no module {error.name!r} in this Python; run `make setup`, or pip install -c constraints.txt tzerlike"
        )
        _send(control, {"event": "failed", "slot": -1, "user": True, "message": advice})
    except BaseException:  # noqa: BLE001 - the supervisor must hear of every fault of ours
        _send(control, {"event": "failed", "slot": -1, "user": False, "message": traceback.format_exc()})
    sys.exit(1)


class _Zygote:
    def __init__(self, control: socket.socket) -> None:
        # First of all: what a socket holds unread when it is closed makes the other end miss our last words.
        order = _receive(control)
        if order is None:
            sys.exit(0)
        from tzerlike.child.apart import die_with_parent
        from tzerlike.child.tray import Tray
        from tzerlike.coverage import open_coverage, prepare_coverage
        from tzerlike.coverage.snapshot import Identity, read_snapshot
        from tzerlike.executor.lane import Lane
        from tzerlike.executor.stages import touch

        die_with_parent()
        self.control = control
        from tzerlike import roles, tvm_api

        self.roles = roles.ROLES
        slots = int(order["slots"])
        backend = order["coverage"]
        prepare_coverage(backend, tvm_api.compiler_library(), Path(order["cache_dir"]))
        self.coverage = open_coverage(
            backend, tvm_api.compiler_library(), slots=slots, cache_dir=Path(order["cache_dir"])
        )
        self.environment = roles.environment(self.coverage, randomised=_randomised())
        identity = Identity(self.coverage.backend, self.environment["compiler_library"], self.coverage.total)
        for path in map(Path, order["restore"]):
            self.coverage.restore(read_snapshot(path).bits_of(identity, path))
        woken = warm_up(Tray())
        self.lanes = [Lane.prepare(slot, self.coverage, partial(touch, woken), roles.JOBS) for slot in range(slots)]
        self.workers: dict[int, tuple[int, int]] = {}
        gc.collect()
        gc.freeze()
        gc.disable()
        if len(os.listdir("/proc/self/task")) != 1:
            raise TzerlikeError("TVM started threads before the first fork; a forked child would hang")

    def serve(self) -> NoReturn:
        _send(self.control, {"event": "ready", "environment": self.environment})
        while True:
            ready, _, _ = select.select([self.control], [], [], 0.05)
            if ready:
                order = _receive(self.control)
                if order is None:
                    os._exit(0)
                if order["do"] == "spawn":
                    self._spawn(order)
                elif order["do"] == "signal":
                    for worker, _ in self.workers.values():
                        os.kill(worker, signal.SIGTERM)
            self._reap()

    def _spawn(self, order: dict[str, Any]) -> None:
        from tzerlike.executor.runner import serve_runner

        slot = order["slot"]
        lane = self.lanes[slot]
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        runner = os.fork()
        if runner == 0:
            self.control.close()
            ours.close()
            serve_runner(lane, theirs)
        worker = os.fork()
        if worker == 0:
            theirs.close()
            _serve_worker(self.roles[order["role"]], lane, ours, self.control, order)
        ours.close()
        theirs.close()
        self.workers[slot] = (worker, runner)

    def _reap(self) -> None:
        while self.workers:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for slot, (worker, runner) in list(self.workers.items()):
                if pid == worker:
                    del self.workers[slot]
                    _end(runner)
                    self._report(slot, status)
                elif pid == runner:
                    # The worker finds its socket closed and ends with an error of its own.
                    self.workers[slot] = (worker, -1)

    def _report(self, slot: int, status: int) -> None:
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        mutation = self.lanes[slot].tray.mutation() if number else None
        code = os.waitstatus_to_exitcode(status)
        _send(self.control, {"event": "exited", "slot": slot, "status": code, "signal": number, "mutation": mutation})


def _serve_worker(
    role: Callable[..., None], lane: Any, runner: socket.socket, control: socket.socket, order: dict[str, Any]
) -> NoReturn:
    from tzerlike.child.apart import die_with_parent, silence

    die_with_parent()
    gc.enable()
    # TVM's warnings while programs are built are of no use to anyone; our own errors go over the socket.
    silence()
    status = 0
    slot = order["slot"]
    try:
        role(lane, runner, lambda packet: _send(control, packet | {"slot": slot}), order["params"])
    except UserError as error:
        _send(control, {"event": "failed", "slot": slot, "user": True, "message": str(error)})
        status = 2
    except BaseException:  # noqa: BLE001 - the supervisor must hear of every fault of ours
        _send(control, {"event": "failed", "slot": slot, "user": False, "message": traceback.format_exc()})
        status = 1
    finally:
        os._exit(status)


def _end(runner: int) -> None:
    if runner < 0:
        return
    os.kill(runner, signal.SIGKILL)
    os.waitpid(runner, 0)


def _send(control: socket.socket, packet: dict[str, Any]) -> None:
    if "message" in packet:
        packet["message"] = packet["message"][-16_384:]
    try:
        control.send(json.dumps(packet).encode())
    except (BrokenPipeError, ConnectionError):
        os._exit(1)


def _receive(control: socket.socket) -> dict[str, Any] | None:
    data = control.recv(PACKET_LIMIT)
    if not data:
        return None
    packet: dict[str, Any] = json.loads(data)
    return packet


def warm_up(tray: Any) -> Any:
    """Compile, run, refuse and print once: no child is to pay for lazy imports. Returns a case that compiles."""
    from tzerlike import tvm_api
    from tzerlike.case import Case, ContextConfig, PassSpec
    from tzerlike.child.effort import COMPILE_ONLY, Check, Effort
    from tzerlike.executor.stages import render_module, run_case

    ir = tvm_api.dump_ir(tvm_api.module_of(tvm_api.parse_script(_WARM_UP)))
    passes = (PassSpec("s_tir.LowerInitBlock"), PassSpec("s_tir.ConvertBlocksToOpaque"))
    effort = Effort(frozenset({Check.RESULTS, Check.REJECTIONS})) if tvm_api.KNOWN_IR else COMPILE_ONLY
    for case in (Case(ir), Case(ir, passes, ContextConfig(options=(("tirx.disable_assert", True),)))):
        tray.begin_case(0)
        record = run_case(case, tray, effort=effort)
        if record["exit"] != "ok":
            raise TzerlikeError(f"TVM cannot compile a small function: {record.get('message')}")
        if tvm_api.KNOWN_IR and record["results"]["optimised"]["ending"] != "agrees":
            raise TzerlikeError(f"a small function goes wrong: {record['results']}")
    run_case(Case(ir, (PassSpec("tirx.MakePackedAPI"),)), tray, effort=effort)
    render_module(ir)
    return case


def _randomised() -> bool:
    return not ctypes.CDLL(None).personality(0xFFFFFFFF) & ADDR_NO_RANDOMIZE


def _disable_randomisation() -> bool:
    libc = ctypes.CDLL(None)
    current = libc.personality(0xFFFFFFFF)
    return bool(libc.personality(current | ADDR_NO_RANDOMIZE) != -1) and not _randomised()


if __name__ == "__main__":
    main()
