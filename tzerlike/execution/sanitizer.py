"""AddressSanitizer's report on a process that it ended: the kind of error, and where.

Its frames come as addresses; the process that reads them has TVM at the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tzerlike.core.observation import Frame

_HEAD = re.compile(r"^==\d+==ERROR: AddressSanitizer: ([\w-]+)", re.M)
_FRAME = re.compile(r"^(\s*#\d+) 0x([0-9a-f]+)\s.*$", re.M)
_END = re.compile(r"^(SUMMARY: |Shadow bytes around)", re.M)
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_LINES = 80


@dataclass(frozen=True, slots=True)
class SanitizerReport:
    """`kind` is what AddressSanitizer calls the error (heap-use-after-free), `text` the report with names in the place
    of addresses, `frames` those of the access, innermost first."""

    kind: str
    text: str
    frames: tuple[Frame, ...]


def report_in(stderr: str, named: Callable[[int], Frame]) -> SanitizerReport | None:
    """Return the report in what a process wrote, or None; `named` gives the function at an address."""
    head = _HEAD.search(stderr)
    if head is None:
        return None
    body = _END.split(stderr[head.start() :], maxsplit=1)[0]
    frames: list[Frame] = []
    lines: list[str] = []
    first = True
    for line in body.splitlines()[:_LINES]:
        found = _FRAME.match(line)
        if found is None:
            # The first stack is that of the access; those of the allocation and its end come behind a blank line.
            first = first and not (frames and not line.strip())
            lines.append(_ADDRESS.sub("ADDRESS", line))
            continue
        # A return address is that of the next instruction: the byte before it belongs to the call.
        frame = named(int(found[2], 16) - 1)
        lines.append(f"{found[1]} {frame.function}")
        if first:
            frames.append(frame)
    return SanitizerReport(head[1], "\n".join(lines).strip(), tuple(frames))
