"""A zygote without TVM: `fake_zygote.py -m tzerlike.processes.zygote`, in place of the interpreter that a Client
starts.

Its one role, `count`, asks its runner for one child after the other, and writes down after each how many it has had.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tzerlike.core import forks
from tzerlike.core.forks import die_with_parent
from tzerlike.coverage import NoCoverage
from tzerlike.processes import signals, zygote
from tzerlike.processes.channel import Channel
from tzerlike.processes.lane import Lane
from tzerlike.processes.line import Line
from tzerlike.processes.stop import hold_stop, on_stop


def count(lane: Lane, runner: socket.socket, report: Callable[[dict[str, Any]], None], params: dict[str, Any]) -> None:
    """Have `total` children, and do what `habit` says in between."""
    root, total = Path(params["root"]), params["total"]
    place = root / f"{lane.slot}.json"
    done = json.loads(place.read_text())["done"] if place.exists() else 0
    stopped: list[int] = []
    on_stop(lambda number, frame: stopped.append(number))
    line = Line(runner, lane.channel.renew_beat)
    while done < total and not stopped:
        lane.channel.beat(done, "counting")
        if params["habit"] == "raises":
            raise ValueError("as it was told")
        if params["habit"] == "hangs once" and done == 3 and not (root / "hung").exists():
            (root / "hung").touch()
            while True:
                pass
        lane.channel.lay_request({"job": "echo", "item": {"done": done}, "count": False})
        reply = line.ask(5.0, 55.0, 1 << 30)
        if reply is None or not reply.done:
            continue
        assert [record["done"] for record in lane.channel.results()] == [done]
        done += 1
        state = {"done": done, "pid": os.getpid(), "culprit": params["death"]}
        (root / f"{lane.slot}.tmp").write_text(json.dumps(state))
        os.replace(root / f"{lane.slot}.tmp", place)


def echo(item: dict[str, Any], channel: Channel, seconds: float) -> None:
    channel.begin_case(0)
    time.sleep(0.02)
    channel.add_result(item)


def refuse_forks(number: int) -> None:
    """Have each of the first `number` forks of every process refused."""
    left = [number]
    real = os.fork

    def fork() -> int:
        if left[0]:
            left[0] -= 1
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        left[0] = number
        return real()

    forks.os.fork = fork  # type: ignore[attr-defined]


def main() -> None:
    signals.ignore()
    hold_stop()
    control = socket.socket(fileno=os.dup(0))
    os.dup(1)
    order, (cache, sheet) = zygote._receive(control)
    os.close(sheet)
    die_with_parent(os.getppid())
    habit = os.path.basename(os.readlink(f"/proc/self/fd/{cache}"))
    if habit == "dies at once":
        os.kill(os.getpid(), signal.SIGKILL)
    if habit.startswith("refuses "):
        refuse_forks(int(habit.removeprefix("refuses ")))
    made = zygote._Zygote.__new__(zygote._Zygote)
    made.control = control
    made.coverage = NoCoverage()
    made.lanes = [Lane.prepare(slot, made.coverage, jobs={"echo": echo}) for slot in range(order["slots"])]
    made.roles = types.SimpleNamespace(ROLES={"count": count})
    made.posts = {}
    zygote._send(control, {"event": "ready", "environment": {}, "settled": True})
    made.serve()


if __name__ == "__main__":
    main()
