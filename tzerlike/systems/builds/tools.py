"""The tools that a build needs, and the packages that contain them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from tzerlike.core.errors import UserError

LLVM = "19"
"""The release of LLVM that the instrumentation and the recipe are known to work with."""

_PROGRAMS = {
    f"clang++-{LLVM}": f"clang-{LLVM}",
    f"ld.lld-{LLVM}": f"lld-{LLVM}",
    f"llvm-config-{LLVM}": f"llvm-{LLVM}-dev",
    f"llvm-objcopy-{LLVM}": f"llvm-{LLVM}",
    "cmake": "cmake",
    "ninja": "ninja-build",
}
_HEADERS = {"zlib.h": "zlib1g-dev", "zstd.h": "libzstd-dev", "libxml2/libxml/xmlversion.h": "libxml2-dev"}
_RUNTIME = ("libclang_rt.ubsan_standalone-x86_64.a", f"libclang-rt-{LLVM}-dev")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The programs of a build; `version` is the compiler's own line, and so part of what a build is."""

    clang: str
    version: str
    llvm_config: str
    objcopy: str = f"llvm-objcopy-{LLVM}"

    def sanitizer_runtime(self) -> str:
        """Return the library of AddressSanitizer; UserError with the line that installs it."""
        name = "libclang_rt.asan-x86_64.so"
        path = _answer(self.clang, f"-print-file-name={name}")
        if path == name:
            raise UserError(f"AddressSanitizer is missing: apt-get install {_RUNTIME[1]}")
        return path


def find_toolchain(which: Callable[[str], str | None] = shutil.which) -> Toolchain:
    """Return the programs found by `which`; UserError with the one line that installs all that is missing."""
    paths = {program: which(program) for program in _PROGRAMS}
    missing = [package for program, package in _PROGRAMS.items() if paths[program] is None]
    clang = paths[f"clang++-{LLVM}"]
    if clang is None:
        # Nothing can be asked of it, so all that depends on it is listed too: installing twice is worse.
        missing += [*_HEADERS.values(), _RUNTIME[1]]
    else:
        missing += [package for header, package in _HEADERS.items() if not _has_header(clang, header)]
        if _answer(clang, f"-print-file-name={_RUNTIME[0]}") == _RUNTIME[0]:
            missing.append(_RUNTIME[1])
    if missing or clang is None:
        raise UserError(f"building TVM needs more packages: apt-get install {' '.join(missing)}")
    config, objcopy = paths[f"llvm-config-{LLVM}"], paths[f"llvm-objcopy-{LLVM}"]
    assert config is not None and objcopy is not None
    return Toolchain(clang, _answer(clang, "--version").splitlines()[0], config, objcopy)


def find_symbolizer(which: Callable[[str], str | None] = shutil.which) -> tuple[str, str]:
    """Return llvm-symbolizer and llvm-cxxfilt; UserError with the line that installs them."""
    symbolizer, filt = which(f"llvm-symbolizer-{LLVM}"), which(f"llvm-cxxfilt-{LLVM}")
    if symbolizer is None or filt is None:
        raise UserError(f"llvm-symbolizer is missing: apt-get install llvm-{LLVM}")
    return symbolizer, filt


def _answer(program: str, *arguments: str) -> str:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"{program} {' '.join(arguments)}: status {done.returncode}; reinstall it")
    return done.stdout.strip()


def _has_header(clang: str, header: str) -> bool:
    command = [clang, "-fsyntax-only", "-x", "c++", "-"]
    code = f"#if !__has_include(<{header}>)\n#error\n#endif\n"
    done = subprocess.run(command, input=code, capture_output=True, text=True, check=False)
    return done.returncode == 0
