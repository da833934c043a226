"""What TVM raises for lack of memory, by how much memory the process has used."""

from __future__ import annotations

import resource

import pytest

from tzerlike.core.observation import Exit
from tzerlike.systems.refusal import CompilerRefused


@pytest.mark.parametrize(
    ("message", "times", "exit_"),
    [
        ("std::bad_alloc", 4, Exit.OOM),
        ("std::bad_alloc", 64, Exit.REJECTED),
        ("no such thing", 4, Exit.REJECTED),
    ],
)
def test_memory_ran_out_where_much_of_it_is_in_use(message: str, times: int, exit_: Exit) -> None:
    """`times` is how many times what this process uses it may."""

    refused = CompilerRefused(RuntimeError(message))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used * times, before[1]))
    said = refused.record()["exit"]
    resource.setrlimit(resource.RLIMIT_AS, before)
    assert said == exit_.value
