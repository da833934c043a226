"""A bad access to memory in instrumented code: AddressSanitizer ends the child, and its report becomes the finding."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, environment
from tzerlike.core.errors import UserError
from tzerlike.core.observation import Frame
from tzerlike.execution.sanitizer import report_in
from tzerlike.systems.builds.recipe import BuildRecipe
from tzerlike.systems.builds.source import Source
from tzerlike.systems.builds.tools import Toolchain

CODE = """
extern "C" __attribute__((noinline)) int peek(const int* p, int n) { return p[n]; }
extern "C" int stale(int n) {
  int* numbers = new int[4];
  delete[] numbers;
  return peek(numbers, n) + 1;
}
"""
REPORT = """\
warning: something else
=================================================================
==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010 at pc 0x000000000010 bp 0x7ff sp 0x7ff
READ of size 4 at 0x602000000010 thread T0
    #0 0x000000000011  (/lib/libtvm_compiler.so+0x11) (BuildId: 12)
    #1 0x000000000021  (/lib/libtvm_compiler.so+0x21)

freed by thread T0 here:
    #0 0x000000000031  (/lib/libclang_rt.asan-x86_64.so+0x31)

SUMMARY: AddressSanitizer: heap-use-after-free (/lib/libtvm_compiler.so+0x11)
Shadow bytes around the buggy address:
"""


def test_a_report_names_the_error_and_the_functions_of_the_access() -> None:
    report = report_in(REPORT, lambda address: Frame(f"f{address:x}", "libtvm_compiler.so"))
    assert report is not None
    assert report.kind == "heap-use-after-free"
    assert [frame.function for frame in report.frames] == ["f10", "f20"]
    assert "0x" not in report.text
    assert "freed by thread T0 here:\n    #0 f30" in report.text
    assert report.text.startswith("==12==ERROR") and "SUMMARY" not in report.text
    assert report_in("==12== all is well", lambda address: Frame("", "")) is None


def test_a_child_that_reads_freed_memory_is_a_crash_with_the_report(tmp_path: Path) -> None:
    clang = shutil.which("clang++-19")
    if clang is None:
        pytest.skip("clang is missing, nothing gets instrumented: apt-get install clang-19 libclang-rt-19-dev")
    tools = Toolchain(clang, "clang 19", "llvm-config-19")
    recipe = BuildRecipe(Source("none", tmp_path, "0"), tools, sanitized=True)
    try:
        variables = recipe.variables
    except UserError as error:
        pytest.skip(str(error))
    (tmp_path / "toy.cc").write_text(CODE)
    library = tmp_path / "libtvm_toy.so"
    order = [clang, "-shared", "-fPIC", "-O1", "-fsanitize=address", "-o", str(library), str(tmp_path / "toy.cc")]
    subprocess.run(order, check=True)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "data" / "sanitized_child.py"), str(library)],
        env=environment(**variables), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["exit"] == "crash"
    assert seen["message"].startswith("AddressSanitizer: heap-use-after-free\n==")
    assert seen["parts"][:3] == ["build", "AddressSanitizer: heap-use-after-free", "peek"]
    assert [function for function, _ in seen["backtrace"][:2]] == ["peek", "stale"]
