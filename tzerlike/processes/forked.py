"""Work that may kill its process, done in a confined child."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn, TypeVar

from tzerlike.core.errors import Fault
from tzerlike.core.forks import die_with_parent, fork

_T = TypeVar("_T")

_FAULT = 70
_SECONDS = 10.0


def in_child(work: Callable[[], str | None]) -> tuple[str | None, int]:
    """Return what `work` returns and 0, or None and the signal that its process died of.

    Its processor time is limited; running out of it is SIGPROF. Raises Fault when `work` raises.
    """
    return next(each_in_child((None,), lambda _: work()))


def each_in_child(items: Sequence[_T], work: Callable[[_T], str | None]) -> Iterator[tuple[str | None, int]]:
    """Yield for each item in turn what `in_child` would return for `work` on it.

    One child works through the items as long as it lives; after a death the next one takes up behind the item that
    killed, so that a fork is paid for once and for each death.
    """
    done = 0
    while done < len(items):
        ours, theirs = os.pipe()
        parent = os.getpid()
        child = fork()
        if child == 0:
            os.close(ours)
            die_with_parent(parent)
            _serve(theirs, items[done:], work)
        os.close(theirs)
        fault: Fault | None = None
        try:
            with open(ours, "rb") as pipe:
                # A line that is not whole is the last word of a child that died of it.
                while (line := pipe.readline()).endswith(b"\n"):
                    answer = json.loads(line)
                    # A child that fails says why before it ends, in place of an answer.
                    if isinstance(answer, dict):
                        fault = Fault(answer["kind"], tuple(answer["frames"]), answer["text"])
                        break
                    done += 1
                    yield answer, 0
        finally:
            # Also when nobody wants the rest: the child finds the pipe closed and ends.
            _, status = os.waitpid(child, 0)
        if fault is not None:
            raise fault
        if os.WIFSIGNALED(status):
            done += 1
            yield None, os.WTERMSIG(status)
        elif status:
            text = f"work ended its process with status {os.waitstatus_to_exitcode(status)}"
            raise Fault("ChildLost", ("processes/forked.py each_in_child",), text)


def silence() -> None:
    """Send what this process prints from now on, TVM's warnings too, nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _serve(descriptor: int, items: Sequence[_T], work: Callable[[_T], str | None]) -> NoReturn:
    # Not earlier: it takes NumPy, and not all who import this module have that.
    from tzerlike.processes.confine import close_all_but, confine_where_possible

    try:
        close_all_but(descriptor)
        confine_where_possible()
        # Whoever reads may have had enough: then a write ends this process.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for item in items:
            signal.setitimer(signal.ITIMER_PROF, _SECONDS)
            _write(descriptor, work(item))
        os._exit(0)
    except BaseException as error:  # noqa: BLE001 - a fault of ours must reach the parent
        fault = Fault.of(error)
        _write(descriptor, {"kind": fault.kind, "frames": fault.frames, "text": fault.text})
    finally:
        os._exit(_FAULT)


def _write(descriptor: int, answer: object) -> None:
    """Write an answer as a line of JSON."""
    data = memoryview(json.dumps(answer).encode() + b"\n")
    while data:
        data = data[os.write(descriptor, data) :]
