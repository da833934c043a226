"""Another heap: small blocks elsewhere, fresh memory filled; in children, since there is no way back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.memcov import SOURCES

PROGRAM = """
import ctypes, sys
from tzerlike.processes.heap import stir

stir(int(sys.argv[1]))
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = (ctypes.c_size_t,)
fresh = libc.malloc(1 << 16)
print(set(ctypes.string_at(fresh, 1 << 15)[16:]), [libc.malloc(48) - libc.malloc(48) for _ in range(8)])
"""


def seen(layout: int) -> str:
    # Without randomisation of addresses and of hashes, as in a client.
    fixed = {**os.environ, "PYTHONHASHSEED": "0"}
    command = ["setarch", "-R", sys.executable, "-c", PROGRAM, str(layout)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=fixed).stdout


OTHER = """
import ctypes, sys
from tzerlike.processes.heap import other_fresh_memory, stir

def filled():
    fresh = libc.malloc(1 << 16)
    return ctypes.string_at(fresh, 1 << 15)[20000]

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = (ctypes.c_size_t,)
stir(int(sys.argv[1]))
before = filled()
with other_fresh_memory(int(sys.argv[1])):
    print(before, filled(), end=" ")
print(filled())
"""


@pytest.mark.parametrize("layout", [0, 1, 2])
def test_fresh_memory_is_filled_otherwise_for_a_while(layout: int) -> None:
    command = [sys.executable, "-c", OTHER, str(layout)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    before, meanwhile, after = map(int, said.split())
    assert meanwhile not in (0, before)
    assert after == before or not layout, "fresh memory that nobody fills is as it comes"


UNWRITTEN = """
import ctypes, sys
from tzerlike.processes.stack import soil_stack

unwritten = ctypes.CDLL(sys.argv[2]).fixture_unwritten
unwritten()
soil_stack(int(sys.argv[1]))
print(unwritten())
"""


def test_code_that_reads_what_it_has_not_written_finds_another_byte_on_each_stack(tmp_path: Path) -> None:
    subprocess.run(["make", "-s", "-C", str(SOURCES), f"LIBRARY_DIR={tmp_path}", "fixture"], check=True)
    orders = [[sys.executable, "-c", UNWRITTEN, str(layout), str(tmp_path / "libfixture.so")] for layout in range(4)]
    bytes_ = [subprocess.run(order, capture_output=True, text=True, check=True, timeout=60).stdout for order in orders]
    assert len(set(bytes_[1:])) == 3


def test_layouts_differ_and_repeat() -> None:
    pictures = [seen(layout) for layout in range(3)]
    assert len(set(pictures)) == 3
    assert [seen(layout) for layout in range(3)] == pictures


@pytest.mark.parametrize("layout", [1, 2])
def test_fresh_memory_is_filled_with_one_byte_that_is_not_zero(layout: int) -> None:
    filled = seen(layout).partition("}")[0].strip("{")
    assert filled.isdigit()
    assert filled != "0"
