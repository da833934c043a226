"""Writes the calls on a schedule as a script, each before it is made: the last line is the one that kills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tzerlike.systems.tvm_api import s_tir, tvm, tvm_ffi

SCHEDULE = "sch"


def _same(*i: Any) -> Any:
    return i


def _turned(*i: Any) -> Any:
    return i[::-1]


MAPS: Mapping[str, Callable[..., Any]] = {"lambda *i: i[::-1]": _turned, "lambda *i: i": _same}
"""Maps of as many indices as there are, by their text, the plainest last."""


class Tape:
    """The lines so far, and the names of what the calls returned."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self.write = write
        self.names: list[tuple[Any, str]] = []
        self.calls = 0
        self.depth = 0

    def text(self, value: Any) -> str:
        """Return an expression for an argument; ValueError where there is none."""
        if isinstance(value, tvm_ffi.Object):
            for known, name in self.names:
                if known.same_as(value):
                    return name
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        for text, known in MAPS.items():
            if value is known:
                return text
        if isinstance(value, tuple):
            return "(" + "".join(f"{self.text(item)}, " for item in value) + ")"
        if isinstance(value, list | tvm_ffi.Array):
            return "[" + ", ".join(self.text(item) for item in value) + "]"
        if isinstance(value, tvm_ffi.Object):
            return f"tvm.ir.load_json({str(tvm.ir.save_json(value))!r})"
        raise ValueError(f"no text for a {type(value).__name__}")

    def name(self, value: Any, name: str) -> None:
        if isinstance(value, list | tuple | tvm_ffi.Array):
            for index, item in enumerate(value):
                self.name(item, f"{name}[{index}]")
        elif isinstance(value, tvm_ffi.Object):
            self.names.append((value, name))


After = Callable[[Any, str, tuple[Any, ...], Exception | None], None]
"""What is done after a call: with the schedule, the method's name, its arguments, and what it raised, if it did."""


def record_schedule_calls(write: Callable[[str], None], after: After = lambda *call: None) -> None:
    """From here on, for good, tell `write` a line of Python for each call on any Schedule of this process.

    `after` may end all by an exception of its own.

    For a forked child that is about to die; lines presume one schedule, `sch`. A call whose arguments have no text
    is written as a line that raises RuntimeError: the script must not go on without the call.
    """
    tape = Tape(write)
    for name in dir(s_tir.Schedule):
        method = getattr(s_tir.Schedule, name)
        if not name.startswith("_") and callable(method) and not isinstance(method, type):
            setattr(s_tir.Schedule, name, _recorded(tape, name, getattr(method, "__wrapped__", method), after))


def _recorded(tape: Tape, name: str, method: Callable[..., Any], after: After) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if tape.depth:
            return method(self, *args, **kwargs)
        tape.calls += 1
        result_name = f"v{tape.calls}"
        try:
            words = [tape.text(arg) for arg in args] + [f"{key}={tape.text(value)}" for key, value in kwargs.items()]
            tape.write(f"{result_name} = {SCHEDULE}.{name}({', '.join(words)})")
        except ValueError as error:
            tape.write(f"raise RuntimeError({str(error)!r})")
        tape.depth += 1
        try:
            result = method(self, *args, **kwargs)
        except Exception as error:
            after(self, name, args, error)
            # The next attempt of the mutator: what was refused changed nothing.
            tape.write(f"# the call above was refused: {result_name}")
            raise
        finally:
            tape.depth -= 1
        after(self, name, args, None)
        tape.name(result, result_name)
        return result

    return call


def without_refused(lines: list[str]) -> list[str]:
    """Drop the calls that the schedule refused."""
    refused = {line.rpartition(" ")[2] for line in lines if line.startswith("# the call above")}
    return [line for line in lines if not line.startswith("#") and line.partition(" ")[0] not in refused]
