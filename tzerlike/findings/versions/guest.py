"""The process of the other Python: `python -m tzerlike.findings.versions.guest`.

Reads one JSON object a line from its standard input and answers each with one on its standard output. What a line asks
for is done in a forked child with limits of its own, so that this process survives whatever TVM does.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TextIO

from tzerlike.core.limits import bound_memory, mapped_bytes
from tzerlike.core.observation import Exit, Stage
from tzerlike.processes.channel import Channel, Garbled
from tzerlike.processes.forked import silence

Work = Callable[[Mapping[str, Any], Channel], dict[str, Any]]


def main() -> None:
    """Say which TVM this is, then answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    silence()
    try:
        from tzerlike.core.harness import HARNESSES
        from tzerlike.findings.versions import judge
        from tzerlike.systems import tvm_api
    except Exception:  # noqa: BLE001 - whatever another TVM raises on import is the answer
        _say(answers, {"fault": traceback.format_exc().strip().splitlines()[-1]})
        return
    table: dict[str, Work] = {
        "judge": judge.judge_case,
        "libraries": judge.list_libraries,
        "print": judge.print_case,
        "round-trip": judge.round_trip_case,
    }
    _say(answers, {"tvm": str(tvm_api.tvm.__version__)})
    channel = Channel()
    for line in sys.stdin:
        item = json.loads(line)
        work = table.get(item["do"]) or HARNESSES[item["do"]].load("elsewhere")
        _say(answers, _in_child(work, item, channel))


def _say(answers: TextIO, packet: dict[str, Any]) -> None:
    answers.write(json.dumps(packet) + "\n")
    answers.flush()


def _in_child(work: Work, item: Mapping[str, Any], channel: Channel) -> dict[str, Any]:
    channel.lay_request({})
    channel.begin_case(0)
    child = os.fork()
    if child == 0:
        _work(work, item, channel)
    handle = os.pidfd_open(child)
    ended, _, _ = select.select([handle], [], [], 10 * item["seconds"] + 5)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(handle)
    try:
        place: dict[str, Any] = {"stage": channel.stage().value, "pass": channel.pass_name()}
        for record in channel.results():
            return place | record
    except Garbled:
        # So does one that writes over what its process has to say.
        return {"stage": Stage.RUN.value, "pass": "", "wrong": True, "exit": Exit.CRASH.value, "signal": 0}
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if number == signal.SIGSYS:
        return place | {"exit": Exit.CONFINED.value}
    if not ended or number == signal.SIGPROF:
        return place | {"exit": Exit.TIMEOUT.value}
    # A program that dies of running computes nothing that is right.
    ran = {"wrong": True} if channel.stage() is Stage.RUN else {}
    return place | ran | {"exit": Exit.CRASH.value, "signal": number}


def _work(work: Work, item: Mapping[str, Any], channel: Channel) -> NoReturn:
    # Not earlier: it takes NumPy, and this Python may lack that.
    from tzerlike.processes.confine import close_all_but, confine_where_possible

    try:
        os.setpgid(0, 0)
        os.close(0)
        bound_memory(mapped_bytes(), item["memory"])
        # TVM's own handler would print a backtrace for many seconds.
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGBUS, signal.SIGILL):
            signal.signal(number, signal.SIG_DFL)
        close_all_but()
        confine_where_possible()
        signal.setitimer(signal.ITIMER_PROF, item["seconds"])
        channel.add_result(work(item, channel))
    except MemoryError:
        channel.add_result({"exit": Exit.OOM.value})
    except BaseException:  # noqa: BLE001 - a fault of ours must reach the one who asked
        channel.add_result({"exit": Exit.FAULT.value, "message": traceback.format_exc()[-2000:]})
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
