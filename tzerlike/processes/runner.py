"""The runner: a process forked from the zygote that does nothing but fork the children of one worker.

Its heap is the same before every case, so that a case behaves alike whatever ran before it, and it stays small, so
that a fork is cheap.
"""

from __future__ import annotations

import os
import select
import signal
import socket
from dataclasses import dataclass
from typing import NoReturn

from tzerlike.core.forks import die_with_parent, fork
from tzerlike.core.limits import mapped_bytes
from tzerlike.processes.lane import Lane
from tzerlike.processes.line import ORDER, REPLY
from tzerlike.processes.served import serve_child


@dataclass(frozen=True, slots=True)
class _Child:
    """A forked child that waits for its order on `line`; `handle` is a pidfd."""

    pid: int
    handle: int
    line: socket.socket


def serve_runner(lane: Lane, orders: socket.socket, number: int = 0) -> NoReturn:
    """Hand each order to a child of its own until the worker hangs up; never returns.

    `number` is how many runners have died in this one's place before it; orders to them are let lie. While a child
    works, the runner forks the next one and reaps the last: on a machine with a core to spare, neither costs the worker
    anything.
    """
    die_with_parent(os.getppid())
    mapped = mapped_bytes()
    spare = _fork_child(lane, mapped)
    if number:
        orders.send(REPLY.pack(number, False, 0, False))
    ending: list[_Child] = []
    while True:
        order = orders.recv(ORDER.size)
        if len(order) < ORDER.size:
            os._exit(0)
        meant_for, _, wall, _ = ORDER.unpack(order)
        if meant_for != number:
            continue
        child = spare
        while not _sent(child, order):
            # Somebody killed it while it waited.
            os.waitpid(child.pid, 0)
            _forget(child)
            child = _fork_child(lane, mapped)
        waiter = select.poll()
        waiter.register(child.handle, select.POLLIN)
        waiter.register(child.line, select.POLLIN)
        # Let the child get hold of a core: woken by a process that goes on to fork, it would wait behind the fork.
        waiter.poll(1)
        spare = _fork_child(lane, mapped)
        ending = [old for old in ending if not _reaped(old)]
        timed_out = not waiter.poll(wall * 1000)
        status = 0
        done = not timed_out and bool(_receive_now(child.line))
        if done:
            ending.append(child)
        else:
            _kill_group(child.pid)
            _, status = os.waitpid(child.pid, 0)
            _forget(child)
        orders.send(REPLY.pack(number, done, status, timed_out))


def _reaped(child: _Child) -> bool:
    """Reap a child that has said that it is done, if it has ended by now; one that has not is to end."""
    _kill_group(child.pid)
    pid, _ = os.waitpid(child.pid, os.WNOHANG)
    if pid:
        _forget(child)
    return bool(pid)


def _forget(child: _Child) -> None:
    os.close(child.handle)
    child.line.close()


def _sent(child: _Child, order: bytes) -> bool:
    """Give a child its order, unless it is dead."""
    try:
        child.line.send(order)
    except (BrokenPipeError, ConnectionError):
        return False
    return True


def _receive_now(line: socket.socket) -> bytes:
    try:
        return line.recv(1, socket.MSG_DONTWAIT)
    except (BlockingIOError, ConnectionError):
        return b""


def _fork_child(lane: Lane, mapped: int) -> _Child:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent = os.getpid()
    pid = fork()
    if pid == 0:
        ours.close()
        die_with_parent(parent)
        serve_child(lane, theirs, mapped)
    theirs.close()
    return _Child(pid, os.pidfd_open(pid), ours)


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        # The group exists only once the child has called setpgid; before that the child is alone.
        try:
            os.kill(leader, signal.SIGKILL)
        except ProcessLookupError:
            return
