"""Compile the coverage library: `python memcov/build.py DIRECTORY`. It takes a C++ compiler, and no make.

What a wheel, a source distribution and `make` all use. DIRECTORY then holds libmemcov.so, which brings its C++ library
along, and what `tzerlike tvm build` links into an instrumented TVM. CXX names the compiler, g++ by default.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = ("breakpoint.cc", "blocks.cc", "sancov.cc", "confine.cc", "crash.cc", "stack.cc", "x86.cc")
FLAGS = ("-O2", "-std=c++17", "-fPIC", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", "-fno-plt")
SHARED = ("-shared", "-static-libstdc++", "-Wl,-z,now,--gc-sections,--exclude-libs,ALL")


def build(directory: Path, compiler: Sequence[str] = ("g++",)) -> None:
    """Put the library into `directory`. FileNotFoundError without a compiler, CalledProcessError where it fails."""
    directory.mkdir(parents=True, exist_ok=True)
    _write(directory / "syscalls.inc", _system_calls(compiler))
    compile_ = [*compiler, *FLAGS, f"-I{directory}"]
    _output(directory / "libmemcov.so", [*compile_, *SHARED, *(str(HERE / name) for name in SOURCES)])
    _output(directory / "sancov_hooks.o", [*compile_, "-c", str(HERE / "sancov_hooks.cc")])
    shutil.copyfile(HERE / "sancov.ld", directory / "sancov.ld")


def _system_calls(compiler: Sequence[str]) -> str:
    """The names of all system calls that this machine's headers know, as cases of a switch."""
    macros = subprocess.run(
        [*compiler, "-dM", "-E", "-x", "c++", "-"],
        input="#include <sys/syscall.h>\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = re.findall(r"^#define __NR_(\w+) (\d+)$", macros, re.MULTILINE)
    return "".join(f'case {number}: return "{name}";\n' for name, number in found)


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(text)
    temporary.replace(path)


def _output(path: Path, command: Sequence[str]) -> None:
    temporary = path.with_name(path.name + ".tmp")
    subprocess.run([*command, "-o", str(temporary)], check=True)
    temporary.replace(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python memcov/build.py DIRECTORY")
    build(Path(sys.argv[1]).resolve(), os.environ.get("CXX", "g++").split())
