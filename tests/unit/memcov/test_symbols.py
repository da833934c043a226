"""Names of functions that a library does not export."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from tzerlike.coverage import describe
from tzerlike.coverage.symbols import function_at

CODE = """
namespace inner { static int __attribute__((noinline)) hidden(int x) { return x * 3 + 1; } }
static int __attribute__((noinline)) other(int x) { return x - 7; }
extern "C" void *address(int which) { return which ? (void *)other : (void *)inner::hidden; }
"""


def built(directory: Path, name: str, *flags: str) -> Path:
    (directory / "code.cc").write_text(CODE)
    library = directory / name
    order = ["g++", "-O1", "-shared", "-fPIC", *flags, str(directory / "code.cc"), "-o", str(library)]
    subprocess.run(order, check=True)
    return library


def address_in(library: Path, which: int) -> int:
    loaded = ctypes.CDLL(str(library))
    loaded.address.restype = ctypes.c_void_p
    return int(loaded.address(which))


@pytest.mark.parametrize(("which", "name"), [(0, "inner::hidden(int)"), (1, "other(int)")])
def test_a_function_that_is_not_exported_has_its_name(tmp_path: Path, which: int, name: str) -> None:
    library = built(tmp_path, f"libwhole{which}.so")
    frame = describe(address_in(library, which))
    assert frame is not None
    assert (frame.name, frame.library) == (name, library.name)


def test_a_stripped_library_says_nothing_and_exported_names_stay(tmp_path: Path) -> None:
    library = built(tmp_path, "libstripped.so", "-s")
    frame = describe(address_in(library, 0))
    assert frame is not None and frame.offset > 0
    assert frame.name == ""
    exported = describe(ctypes.cast(ctypes.CDLL(str(library)).address, ctypes.c_void_p).value or 0)
    assert exported is not None and exported.name == "address"


def test_what_is_no_library_has_no_names(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no library")
    for path in (tmp_path / "libnobody.so", tmp_path / "text", Path("[vdso]"), tmp_path):
        assert function_at(path, 0x1000) == ""
