"""The sources of memcov, and children that reach code under its coverage."""

import ctypes
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tzerlike.coverage import BreakpointCoverage, Indices, describe

SOURCES = Path(__file__).parents[1] / "memcov"


def objdump(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield address, mnemonic and operands of every instruction of .text."""
    text = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", "-j", ".text", str(path)], check=True, capture_output=True, text=True
    ).stdout
    for line in text.splitlines():
        address, tab, instruction = line.partition(":\t")
        if tab:
            mnemonic, _, operands = instruction.partition(" ")
            yield int(address, 16), mnemonic, operands.strip()


def fork(work: Callable[[], object]) -> int:
    """Run `work` in a forked child and return its wait status; an exception there is exit status 97."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            work()
        except BaseException:  # noqa: BLE001 the child must end here, whatever happens
            os._exit(97)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def traced(cov: BreakpointCoverage, work: Callable[[], object], slot: int = 0) -> int:
    """Run `work` in a child that is covered."""

    def child() -> None:
        cov.enter(slot)
        work()

    cov.begin(slot)
    return fork(child)


def check(condition: bool) -> None:
    """An assertion for children, where pytest's would only say 97 as well."""
    if not condition:
        raise AssertionError


def address_of(function: Any) -> int:
    value = ctypes.cast(function, ctypes.c_void_p).value
    assert value is not None
    return value


def functions_of(cov: BreakpointCoverage, base: int, blocks: Indices, slot: int = 0) -> set[str]:
    frames = (describe(base + int(blocks[i])) for i in cov.new_indices(slot))
    return {frame.name for frame in frames if frame is not None}
