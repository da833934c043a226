"""A forked child at work: wait for an order, take the cases of a request in turn, write the results."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
from dataclasses import replace
from typing import NoReturn

from tzerlike.core.case import Case
from tzerlike.core.effort import Effort
from tzerlike.core.errors import Fault
from tzerlike.core.limits import bound_memory
from tzerlike.core.observation import Exit, Stage
from tzerlike.coverage import STACKS
from tzerlike.processes.confine import close_all_but, confine
from tzerlike.processes.heap import stir
from tzerlike.processes.job import RunContext
from tzerlike.processes.lane import Lane
from tzerlike.processes.line import ORDER

_WATCHED = 1 / 8
"""The last part of a case's time, in which its stacks are kept."""


def serve_child(lane: Lane, line: socket.socket, mapped: int) -> NoReturn:
    ordered = False
    try:
        os.setpgid(0, 0)
        os.dup2(lane.stderr, 2)
        os.dup2(lane.stderr, 1)
        lane.prelude()
        lane.coverage.enter(lane.slot)
        close_all_but(line.fileno())
        order = line.recv(ORDER.size)
        if len(order) < ORDER.size:
            os._exit(0)
        ordered = True
        _, seconds, _, memory = ORDER.unpack(order)
        bound_memory(mapped, memory)
        # Not earlier: it clears the record, and while this child waited its elder may have died.
        lane.death.watch()
        if lane.confined:
            confine()
        _work(lane, seconds)
    except MemoryError:
        _unless(ordered)
        lane.channel.add_result({"exit": Exit.OOM.value, "message": "MemoryError", "log": [0, 0]})
    except BaseException as error:  # noqa: BLE001 - a fault of ours must reach the worker, not the interpreter's exit
        _unless(ordered)
        _lay_fault(lane, error)
    # Not line.send: a confined process may write, and not send.
    os.write(line.fileno(), b"d")
    os._exit(0)


def _unless(ordered: bool) -> None:
    """End a child that has no order yet: the channel is its elder's, and the runner forks another one."""
    if not ordered:
        os._exit(1)


def _lay_fault(lane: Lane, error: BaseException) -> None:
    fault = Fault.of(error)
    record = {"exit": Exit.FAULT.value, "kind": fault.kind, "frames": fault.frames, "message": fault.text}
    # What the program wrote over, or filled, may fail here too; the worker sees then that there is no record.
    with contextlib.suppress(Exception):
        record |= {"stage": lane.channel.stage().value, "pass": lane.channel.pass_name()}
    with contextlib.suppress(Exception):
        lane.channel.add_result(record)


def _work(lane: Lane, seconds: float) -> None:
    """Take the request's cases in turn; results, stages and blocks go to shared memory as they come."""
    request = lane.channel.request()
    if "job" in request:
        lane.channel.begin_case(0)
        start = lane.coverage.new(lane.slot)
        lane.jobs[request["job"]](request["item"], lane.channel, seconds)
        lane.channel.enter_stage(Stage.DONE)
        if not request["count"]:
            # Nobody's coverage: the first case that gets there is to find it armed.
            lane.coverage.rearm(lane.slot, start)
        return

    effort = Effort.from_json(request["effort"])
    stir(effort.layout)

    def blocks() -> int:
        return lane.coverage.new(lane.slot)

    lane.stacks.watch(seconds * _WATCHED / STACKS)

    def paced(limited: bool) -> None:
        lane.stacks.clear()
        signal.setitimer(signal.ITIMER_PROF, seconds * (1 - _WATCHED) if limited else 0)

    around = RunContext(blocks, paced, exploring=request["count"])
    columns = ("cases", "baselines", "spares_baseline", "spares_run")
    for index, (data, known, *spared) in enumerate(zip(*(request[name] for name in columns), strict=True)):
        paced(True)
        lane.channel.begin_case(index)
        start = blocks()
        case = Case.from_json(data)
        sparing = replace(around, spares_baseline=spared[0], spares_run=spared[1])
        record = lane.run_case(case, lane.channel, sparing, effort, known)
        paced(False)
        record = {"stage": lane.channel.stage().value, "pass": lane.channel.pass_name()} | record
        lane.channel.enter_stage(Stage.DONE)
        record["seconds"] = lane.channel.seconds()
        record["peak_memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if record["exit"] != Exit.OK.value or not request["count"]:
            lane.coverage.rearm(lane.slot, start)
        record["log"] = [start, blocks()]
        lane.channel.add_result(record)
